//! The command that runs beside a proxy or a watch, which ends with it.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;

use crate::args::Format;
use crate::exit::{self, Failure};

/// For the command to end when the proxy or the watch is interrupted.
const COMMAND_DEADLINE: Duration = Duration::from_secs(10);

/// Runs a command until it ends, or until a signal, which ends it; without a command until a signal. Answers its exit code.
///
/// Where lines of JSON go to standard output, what the command writes there goes to standard error.
///
/// # Errors
/// When it cannot be started.
pub(crate) async fn until_end(
    command: &[OsString],
    variable: Option<(&str, &str)>,
    format: Format,
) -> Result<u8, Failure> {
    let [program, rest @ ..] = command else {
        exit::until_signal().await;
        return Ok(exit::CONFORMANT);
    };
    let mut command = Command::new(program);
    command.args(rest).envs(variable).kill_on_drop(true);
    if format == Format::Json {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let mut child = command.spawn().map_err(|error| {
        Failure::incomplete(format!("`{}` cannot be started: {error}", program.to_string_lossy()))
    })?;
    let lost = |error: std::io::Error| Failure::incomplete(format!("the command is lost: {error}"));
    tokio::select! {
        ended = child.wait() => return ended.map(exit::of_command).map_err(lost),
        () = exit::until_signal() => {}
    }
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        // One that has ended needs none.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
    match tokio::time::timeout(COMMAND_DEADLINE, child.wait()).await {
        Ok(ended) => ended.map(exit::of_command).map_err(lost),
        Err(_) => Ok(exit::INCOMPLETE),
    }
}
