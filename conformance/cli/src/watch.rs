//! `watch`: the rules over what passes on a bus, until a command ends or somebody interrupts.

use std::sync::Arc;

use callmark_reports::recording::RecordingReport;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::recording::Origin;
use callmark_suite::engine::recording::live::{self, Feed};
use callmark_suite::families;
use callmark_suite::families::utp::bus_watch::BusWatch;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::nats_servers;

use crate::args::{Format, WatchArguments};
use crate::beside;
use crate::broker::BrokerChoice;
use crate::exit::Failure;
use crate::live::{Live, Shown};
use crate::{console, judge, proxy, setup};

/// The table of the bus's protocol.
const PROTOCOL: &str = "utp";

/// Runs it.
pub(crate) fn run(arguments: &WatchArguments) -> Result<u8, Failure> {
    let library = Arc::new(setup::library()?);
    let manifest = judge::manifest(&arguments.by)?;
    console::hide(&manifest.secrets());
    let urls = urls(arguments, &manifest)?;
    let name = nats_servers::redacted(&urls);
    let own = judge::judge(&library, &manifest)?;
    let (feed, waiting) = live::feed();
    let shown = Shown::new(&library, &feed, (&name, Origin::Bus), arguments.by.strict);
    let observers = families::ALL.observers_of(&manifest, Some(PROTOCOL));
    let judging = waiting.judge(&feed, own, observers, (name, Origin::Bus)).map_err(Failure::incomplete)?;
    let ended = setup::runtime()?.block_on(watch(arguments, &manifest, &urls, &feed, &shown));
    let judged = judging.finish();
    let code = ended?;
    let report = judged.map_err(Failure::internal)?.report(&library, arguments.by.strict);
    finish(arguments, &report)?;
    Ok(proxy::exit_code(code, &report))
}

/// The servers of the bus.
fn urls(arguments: &WatchArguments, manifest: &Manifest) -> Result<String, Failure> {
    let named = manifest.get::<UtpTable>().map(|utp| utp.nats.as_str());
    let Some(named) = named else {
        return Err(Failure::usage("the manifest has no table `[utp]`, and a bus is what is watched").hint(
            "what is spoken over HTTP passes `callmark proxy --listen`, an MCP server on standard input and output \
             `callmark proxy --stdio`",
        ));
    };
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
    urls: &str,
    feed: &Arc<Feed>,
    shown: &Shown,
) -> Result<u8, Failure> {
    let bus = BusWatch::start(manifest, urls, &arguments.project, feed).await.map_err(Failure::incomplete)?;
    let live = Live::start(shown, arguments.format, (arguments.metrics, arguments.page)).await?;
    eprintln!("watching {}", nats_servers::redacted(urls));
    // The server says after the start whether this may listen, so it is looked for as long as anything passes.
    let watching = async {
        let ended = beside::until_end(&arguments.command, None, arguments.format).await;
        // What the command caused may still be on its way.
        bus.drain().await;
        ended
    };
    let ended = tokio::select! {
        biased;
        why = bus.refused() => Err(Failure::incomplete(why)),
        ended = watching => ended,
    };
    drop(live);
    ended
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
