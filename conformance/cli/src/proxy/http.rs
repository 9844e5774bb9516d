//! A reverse proxy over HTTP: it ends with the command that it was given, or when it is interrupted, and then reports.

use std::fs;
use std::net::SocketAddr;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use callmark_reports::recording::{RecordingVerdict, recording_human, recording_json};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::recording::live::{self, Feed};
use callmark_suite::engine::recording::{Judged, Origin, RecordingError};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::net::proxy::ReverseProxy;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use url::Url;

use crate::args::{HttpProtocol, ProxyArguments};
use crate::exit::{self, Failure};
use crate::{console, judge, setup};

/// The variable in which the command finds the proxy.
const URL: &str = "CALLMARK_PROXY_URL";
/// For requests that are under way when the proxy is to end.
const END_DEADLINE: Duration = Duration::from_secs(5);
/// For the command to end when the proxy is interrupted.
const COMMAND_DEADLINE: Duration = Duration::from_secs(10);

/// Runs it.
pub(super) fn run(arguments: &ProxyArguments, listen: SocketAddr, to: &Url) -> Result<u8, Failure> {
    let library = Arc::new(setup::library()?);
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
    let judging =
        waiting.judge(&feed, own, observers, (name, Origin::Exchanges)).map_err(Failure::incomplete)?;
    let ended = setup::runtime()?.block_on(pass_on(arguments, listen, to, &manifest, &feed));
    let judged = judging.finish();
    report(arguments, &library, judged, ended?)
}

/// Passes on until the end; answers the exit code of the command.
async fn pass_on(
    arguments: &ProxyArguments,
    listen: SocketAddr,
    to: &Url,
    manifest: &Manifest,
    feed: &Arc<Feed>,
) -> Result<u8, Failure> {
    let proxy = ReverseProxy::start(listen, to, &Outbound::of(manifest), feed).await;
    let proxy = proxy.map_err(Failure::usage)?;
    eprintln!("listening {}", proxy.url());
    let ended = until_end(arguments, proxy.url()).await;
    proxy.shutdown(END_DEADLINE).await;
    ended
}

/// Waits for the end of the command, or for a signal, which ends the command.
async fn until_end(arguments: &ProxyArguments, url: &str) -> Result<u8, Failure> {
    let [program, rest @ ..] = arguments.command.as_slice() else {
        exit::until_signal().await;
        return Ok(exit::CONFORMANT);
    };
    let mut command = Command::new(program);
    command.args(rest).env(URL, url).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| {
        Failure::incomplete(format!("`{}` cannot be started: {error}", program.to_string_lossy()))
    })?;
    let lost = |error: std::io::Error| Failure::incomplete(format!("the command is lost: {error}"));
    tokio::select! {
        ended = child.wait() => return ended.map(code).map_err(lost),
        () = exit::until_signal() => {}
    }
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        // One that has ended needs none.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
    match tokio::time::timeout(COMMAND_DEADLINE, child.wait()).await {
        Ok(ended) => ended.map(code).map_err(lost),
        Err(_) => Ok(exit::INCOMPLETE),
    }
}

fn code(ended: ExitStatus) -> u8 {
    ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::INCOMPLETE)
}

fn report(
    arguments: &ProxyArguments,
    library: &Library,
    judged: Result<Judged, RecordingError>,
    code: u8,
) -> Result<u8, Failure> {
    let judged = judged.map_err(Failure::internal)?;
    let report = judged.report(library, arguments.by.strict);
    if let Some(path) = &arguments.report {
        fs::write(path, recording_json(&report)).map_err(|error| exit::cannot_write(path, &error))?;
    }
    eprintln!("{}", recording_human(&report).trim_end());
    Ok(match report.verdict {
        _ if code != exit::CONFORMANT => code,
        RecordingVerdict::Violations => exit::NONCONFORMANT,
        RecordingVerdict::NoViolation if report.exchanges == 0 => exit::NOTHING,
        RecordingVerdict::NoViolation => exit::CONFORMANT,
    })
}
