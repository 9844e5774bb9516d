//! `certify --watch`: certifies, and again on each change of the target's files: first what failed, then all.
//!
//! Each run is a process of its own, this program without `--watch`: it forgets nothing of the one before and keeps
//! nothing for the next.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use super::failures::FAILED;
use super::files::{DuringRun, Snapshot, Watched, changed};
use crate::args::CertifyArguments;
use crate::console;
use crate::exit::{self, Failure};
use crate::setup::runtime;

/// Between two looks at the files. Two looks that show the same end a change: an editor may write several.
const LOOK: Duration = Duration::from_millis(300);
/// Removes what a terminal shows, and what it has shown.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J\x1b[3J";

/// Ready when the user wants no more.
type Signaled = Pin<Box<dyn Future<Output = ()>>>;

/// What ended a run.
enum Ended {
    /// It came to its end, with this exit code.
    Run(u8),
    /// The user wants no more.
    Signal,
}

/// Certifies until Ctrl-C; answers the exit code of the last run.
pub(crate) fn watch(arguments: &CertifyArguments) -> Result<u8, Failure> {
    let Some(manifest) = &arguments.target else {
        return Err(Failure::usage(
            "`--watch` looks at the files of a target, and there is no manifest here",
        )
        .hint("name it with `--target`; `callmark init` writes one to start from"));
    };
    runtime()?.block_on(certify_on_change(arguments, manifest))
}

async fn certify_on_change(arguments: &CertifyArguments, manifest: &Path) -> Result<u8, Failure> {
    // One for the whole watch, so that no signal is missed between two things that are waited for.
    let mut signal: Signaled = Box::pin(exit::until_signal());
    let mut seen = Watched::of(manifest, &arguments.out).look();
    let mut code = match run(false, &mut signal).await? {
        Ended::Run(code) => code,
        Ended::Signal => return Ok(exit::INCOMPLETE),
    };
    let mut during = DuringRun::default();
    loop {
        during.settle(&mut seen, &Watched::of(manifest, &arguments.out).look());
        if !arguments.quiet {
            eprintln!("watching the files of `{}`; Ctrl-C ends", manifest.display());
        }
        let change = tokio::select! {
            biased;
            () = &mut signal => return Ok(code),
            change = next_change(arguments, manifest, &mut seen) => change,
        };
        clear();
        if !arguments.quiet {
            eprintln!("changed: `{change}`");
        }
        if code == exit::NONCONFORMANT || code == exit::INCOMPLETE {
            match run(true, &mut signal).await? {
                Ended::Signal => return Ok(code),
                Ended::Run(now @ (exit::NONCONFORMANT | exit::INCOMPLETE)) => {
                    code = now;
                    continue;
                }
                // Nothing fails any more, or there was no record of what did.
                Ended::Run(_) => {}
            }
        }
        match run(false, &mut signal).await? {
            Ended::Signal => return Ok(code),
            Ended::Run(now) => code = now,
        }
    }
}

/// Waits until files differ from those `seen`, and no longer change; names one that did.
async fn next_change(arguments: &CertifyArguments, manifest: &Path, seen: &mut Snapshot) -> String {
    let look = || Watched::of(manifest, &arguments.out).look();
    loop {
        tokio::time::sleep(LOOK).await;
        let mut now = look();
        let Some(change) = changed(seen, &now).map(|path| path.display().to_string()) else { continue };
        loop {
            tokio::time::sleep(LOOK).await;
            let later = look();
            if changed(&now, &later).is_none() {
                break;
            }
            now = later;
        }
        *seen = now;
        return change;
    }
}

/// One run, as the command line of this process says.
async fn run(only_failed: bool, signal: &mut Signaled) -> Result<Ended, Failure> {
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let mut command = Command::new(program);
    command.args(words(std::env::args_os().skip(1), only_failed)).kill_on_drop(true);
    let mut child = command.spawn().map_err(Failure::incomplete)?;
    let lost = |error: std::io::Error| Failure::incomplete(format!("the run is lost: {error}"));
    tokio::select! {
        biased;
        () = signal => {}
        ended = child.wait() => {
            let code = ended.map_err(lost)?.code().and_then(|code| u8::try_from(code).ok());
            return Ok(Ended::Run(code.unwrap_or(exit::INCOMPLETE)));
        }
    }
    end(&mut child).await;
    Ok(Ended::Signal)
}

/// Has a run end what it started. On a terminal it got the signal as well.
async fn end(child: &mut Child) {
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        // One that has ended needs none.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
    // It ends by itself; whoever does not want to wait for that presses Ctrl-C again.
    tokio::select! {
        _ = child.wait() => {}
        () = exit::until_signal() => {}
    }
}

/// The command line of a run.
fn words(given: impl Iterator<Item = OsString>, only_failed: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.filter(|word| word != "--watch").collect();
    if only_failed {
        words.push(FAILED.into());
    }
    words
}

fn clear() {
    if std::io::stdout().is_terminal() {
        // Where nobody reads any more, the next run reports it.
        let _ = console::pass(CLEAR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_flags_of_the_watch_but_its_own() {
        let check = |given: &[&str], only_failed: bool, expect: &[&str]| {
            assert_eq!(words(given.iter().map(OsString::from), only_failed), expect);
        };
        check(&["certify", "--watch", "--jobs", "4"], false, &["certify", "--jobs", "4"]);
        check(&["certify", "--strict", "--watch"], true, &["certify", "--strict", "--failed"]);
    }
}
