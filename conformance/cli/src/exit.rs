//! Exit codes, and failures with a hint.

use std::fmt::Display;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use miette::{GraphicalReportHandler, GraphicalTheme, MietteDiagnostic, Report};

/// Conformant, or done.
pub(crate) const CONFORMANT: u8 = 0;
/// Nonconformant.
pub(crate) const NONCONFORMANT: u8 = 1;
/// The command line or the manifest cannot be used.
pub(crate) const USAGE: u8 = 2;
/// The target could not be run, or a check could not run.
pub(crate) const INCOMPLETE: u8 = 3;
/// The selection names nothing.
pub(crate) const NOTHING: u8 = 4;
/// The target conforms, and the baseline has entries that it no longer needs.
pub(crate) const STALE_BASELINE: u8 = 5;
/// Nobody reads standard output any more: 128 and the number of SIGPIPE, as shells say it.
const PIPE_CLOSED: i32 = 141;
/// A bug of ours.
pub(crate) const INTERNAL: u8 = 70;

/// What is added to the number of the signal that ended a command.
const SIGNAL: i32 = 128;

/// The exit code of a command that was run for the user; of one that a signal ended, what a shell makes of it.
pub(crate) fn of_command(ended: ExitStatus) -> u8 {
    let code = ended.code().or_else(|| ended.signal().map(|signal| SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(INCOMPLETE)
}

/// Ends the process because nobody reads standard output any more, for example `head`; that is no fault of ours.
pub(crate) fn pipe_closed() -> ! {
    std::process::exit(PIPE_CLOSED)
}

/// Why a command ended without its result.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    report: Box<MietteDiagnostic>,
}

impl Failure {
    /// The command line or a file of the user's cannot be used.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// Something outside could not be reached or started.
    pub(crate) fn incomplete(message: impl Display) -> Self {
        Self::new(INCOMPLETE, message)
    }

    /// The same, with what caused it, where the error does not say so itself.
    pub(crate) fn caused(error: impl std::error::Error) -> Self {
        let mut message = error.to_string();
        for cause in std::iter::successors(error.source(), |cause| cause.source()) {
            let cause = cause.to_string();
            if !message.ends_with(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        Self::incomplete(message)
    }

    /// A bug of ours.
    pub(crate) fn internal(message: impl Display) -> Self {
        Self::new(INTERNAL, message)
            .hint("this is a bug in Callmark; please report it with the command that you ran")
    }

    /// The selection names nothing.
    pub(crate) fn nothing(message: impl Display) -> Self {
        Self::new(NOTHING, message)
    }

    fn new(code: u8, message: impl Display) -> Self {
        Self { code, report: Box::new(MietteDiagnostic::new(message.to_string())) }
    }

    /// Says what to do.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.report.help = Some(hint.to_string());
        self
    }

    /// Prints it to stderr; answers the exit code.
    pub(crate) fn print(self) -> u8 {
        let theme = if colored(&std::io::stderr()) {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let report = Report::new(*self.report);
        if handler.render_report(&mut text, report.as_ref()).is_err() {
            text = report.to_string();
        }
        eprintln!("{}", text.trim_end());
        self.code
    }
}

/// Returns on Ctrl-C, SIGTERM or SIGHUP, so that what was started can be ended.
pub(crate) async fn until_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    // Without handlers the signal ends the process, which is what it is for.
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
        (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}

/// Whether a stream may be coloured: a terminal, and no `NO_COLOR`.
pub(crate) fn colored(stream: &impl std::io::IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A file of `--out` that cannot be written: the user named a place that does not do, or what did is full.
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let message = format!("`{}` cannot be written: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Failure::incomplete(message).hint("make room there, or choose another directory with `--out`")
        }
        _ => Failure::usage(message).hint("choose another directory with `--out`"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_command_that_a_signal_ended_has_the_code_that_a_shell_gives_it() {
        for (status, code) in [(0, 0), (7 << 8, 7), (9, 137), (15, 143)] {
            assert_eq!(of_command(ExitStatus::from_raw(status)), code, "{status}");
        }
    }

    #[test]
    fn a_disk_that_is_full_is_no_fault_of_the_command_line() {
        let code = |kind: ErrorKind| cannot_write(Path::new("reports/run.json"), &Error::from(kind)).code;
        assert_eq!(code(ErrorKind::StorageFull), INCOMPLETE);
        assert_eq!(code(ErrorKind::QuotaExceeded), INCOMPLETE);
        assert_eq!(code(ErrorKind::PermissionDenied), USAGE);
    }
}
