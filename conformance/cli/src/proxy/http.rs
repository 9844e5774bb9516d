//! A reverse proxy over HTTP: it ends with the command that it was given, or when it is interrupted, and then reports.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::recording::live::{self, Feed};
use callmark_suite::engine::recording::{Judged, Origin, RecordingError};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::net::proxy::ReverseProxy;
use url::Url;

use crate::args::{HttpProtocol, ProxyArguments};
use crate::beside;
use crate::exit::Failure;
use crate::live::{Live, Shown};
use crate::{console, judge, setup};

use super::report::{exit_code, print_report, write_report};

/// The variable in which the command finds the proxy.
const URL: &str = "CALLMARK_PROXY_URL";
/// For requests that are under way when the proxy is to end.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// Runs it.
pub(super) fn run(arguments: &ProxyArguments, listen: SocketAddr, to: &Url) -> Result<u8, Failure> {
    let library = Arc::new(setup::traffic_library()?);
    let manifest = judge::manifest(&arguments.by)?;
    console::hide(&manifest.secrets());
    let protocol = arguments.protocol.map(HttpProtocol::name);
    let observers = families::ALL.observers_of(&manifest, protocol);
    if observers.is_empty() {
        let named = protocol.unwrap_or("hub");
        return Err(Failure::usage(format!("the manifest has no table `[{named}]`"))
            .hint("name the manifest of the target behind the proxy, or none"));
    }
    let own = judge::judge(&library, &manifest)?;
    let (feed, waiting) = live::feed();
    let name = to.to_string();
    let shown = Shown::new(&library, &feed, (&name, Origin::Exchanges), arguments.by.strict);
    let judging =
        waiting.judge(&feed, own, observers, (name, Origin::Exchanges)).map_err(Failure::incomplete)?;
    let ended = setup::runtime()?.block_on(pass_on(arguments, (listen, to), &manifest, &feed, &shown));
    let judged = judging.finish();
    report(arguments, &library, judged, ended?)
}

/// Passes on until the end; answers the exit code of the command.
async fn pass_on(
    arguments: &ProxyArguments,
    (listen, to): (SocketAddr, &Url),
    manifest: &Manifest,
    feed: &Arc<Feed>,
    shown: &Shown,
) -> Result<u8, Failure> {
    let proxy = ReverseProxy::start(listen, to, &Outbound::of(manifest), feed).await;
    let proxy = proxy.map_err(Failure::usage)?;
    eprintln!("listening {}", proxy.url());
    let live = Live::start(shown, arguments.format, (arguments.metrics, arguments.page)).await?;
    let ended = beside::until_end(&arguments.command, Some((URL, proxy.url())), arguments.format).await;
    proxy.shutdown(END_DEADLINE).await;
    drop(live);
    ended
}

fn report(
    arguments: &ProxyArguments,
    library: &Library,
    judged: Result<Judged, RecordingError>,
    code: u8,
) -> Result<u8, Failure> {
    let report = judged.map_err(Failure::internal)?.report(library, arguments.by.strict);
    write_report(arguments.report.as_deref(), &report)?;
    print_report(&report);
    Ok(exit_code(code, &report))
}
