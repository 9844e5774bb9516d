//! `watch`: the rules over what passes on a bus or is stored in a breadcrumb store, until a command ends or somebody
//! interrupts.

use std::sync::Arc;

use callmark_reports::recording::RecordingReport;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::recording::Origin;
use callmark_suite::engine::recording::live::{self, Feed};
use callmark_suite::families;
use callmark_suite::families::breadcrumb::store_watch::StoreWatch;
use callmark_suite::families::utp::bus_watch::BusWatch;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::nats_servers;

use crate::args::{Format, WatchArguments};
use crate::beside;
use crate::broker::BrokerChoice;
use crate::exit::Failure;
use crate::live::{Live, Shown};
use crate::{console, judge, proxy, setup};

/// What is watched.
enum Place {
    /// A bus, by the servers that it has.
    Bus(String),
    /// A breadcrumb store, by its address.
    Store(String),
}

/// Whoever listens there.
enum Listening {
    Bus(BusWatch),
    Store(StoreWatch),
}

/// Runs it.
pub(crate) fn run(arguments: &WatchArguments) -> Result<u8, Failure> {
    let library = Arc::new(setup::traffic_library()?);
    let manifest = judge::manifest(&arguments.by)?;
    console::hide(&manifest.secrets());
    let place = Place::of(arguments, &manifest)?;
    let (name, origin) = (place.name(), place.origin());
    let own = judge::judge(&library, &manifest)?;
    let (feed, waiting) = live::feed();
    let shown = Shown::new(&library, &feed, (&name, origin), arguments.by.strict);
    let observers = families::ALL.observers_of(&manifest, Some(place.protocol()));
    let judging = waiting.judge(&feed, own, observers, (name, origin)).map_err(Failure::incomplete)?;
    let ended = setup::runtime()?.block_on(watch(arguments, &manifest, &place, &feed, &shown));
    let judged = judging.finish();
    let code = ended?;
    let report = judged.map_err(Failure::internal)?.report(&library, arguments.by.strict);
    finish(arguments, &report)?;
    Ok(proxy::exit_code(code, &report))
}

impl Place {
    /// The bus of a manifest; where it has none, the store.
    fn of(arguments: &WatchArguments, manifest: &Manifest) -> Result<Self, Failure> {
        if let Some(utp) = manifest.get::<UtpTable>() {
            return bus(arguments, &utp.nats).map(Self::Bus);
        }
        if let Some(store) = StoreWatch::place(manifest) {
            if arguments.broker.is_some() || !arguments.project.is_empty() {
                let text = "`--broker` and `--project` are for a bus, and the manifest has no table `[utp]`";
                return Err(Failure::usage(text));
            }
            return Ok(Self::Store(store.to_owned()));
        }
        Err(Failure::usage(
            "the manifest has neither a table `[utp]` nor `store` under `[breadcrumb]`, and a bus or a store is what is \
             watched",
        )
        .hint(
            "what is spoken over HTTP passes `callmark proxy --listen`, an MCP server on standard input and output \
             `callmark proxy --stdio`",
        ))
    }

    /// Without credentials.
    fn name(&self) -> String {
        match self {
            Self::Bus(urls) => nats_servers::redacted(urls),
            Self::Store(base) => base.clone(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Bus(_) => Origin::Bus,
            Self::Store(_) => Origin::Store,
        }
    }

    /// The table of its protocol.
    fn protocol(&self) -> &'static str {
        match self {
            Self::Bus(_) => "utp",
            Self::Store(_) => "breadcrumb",
        }
    }
}

/// The servers of the bus.
fn bus(arguments: &WatchArguments, named: &str) -> Result<String, Failure> {
    match setup::choose_broker(arguments.broker.as_ref(), named)? {
        BrokerChoice::Url(urls) => Ok(urls),
        choice => Err(Failure::usage(format!("`{choice}` is no broker that others use")).hint(
            "name the servers that your system uses: `--broker nats://host:4222`, or `nats` under `[utp]`",
        )),
    }
}

async fn watch(
    arguments: &WatchArguments,
    manifest: &Manifest,
    place: &Place,
    feed: &Arc<Feed>,
    shown: &Shown,
) -> Result<u8, Failure> {
    let listening = match place {
        Place::Bus(urls) => {
            BusWatch::start(manifest, urls, &arguments.project, feed).await.map(Listening::Bus)
        }
        Place::Store(_) => StoreWatch::start(manifest, feed).await.map(Listening::Store),
    };
    let listening = listening.map_err(Failure::incomplete)?;
    let live = Live::start(shown, arguments.format, (arguments.metrics, arguments.page)).await?;
    eprintln!("watching {}", place.name());
    // The server says after the start whether this may listen, so it is looked for as long as anything passes.
    let watching = async {
        let ended = beside::until_end(&arguments.command, None, arguments.format).await;
        // What the command caused may still be on its way.
        listening.drain().await;
        ended
    };
    let ended = tokio::select! {
        biased;
        why = listening.refused() => Err(Failure::incomplete(why)),
        ended = watching => ended,
    };
    drop(live);
    ended
}

impl Listening {
    async fn drain(&self) {
        match self {
            Self::Bus(bus) => bus.drain().await,
            Self::Store(store) => store.drain().await,
        }
    }

    /// Returns when this may not listen, and says why. A store says that at once.
    async fn refused(&self) -> String {
        match self {
            Self::Bus(bus) => bus.refused().await,
            Self::Store(_) => std::future::pending().await,
        }
    }
}

fn finish(arguments: &WatchArguments, report: &RecordingReport) -> Result<(), Failure> {
    proxy::write_report(arguments.report.as_deref(), report)?;
    match arguments.format {
        Format::Human => proxy::print_report(report),
        Format::Json => {
            let mut line = serde_json::to_value(report).map_err(Failure::internal)?;
            line["type"] = "report".into();
            println!("{line}");
        }
    }
    Ok(())
}
