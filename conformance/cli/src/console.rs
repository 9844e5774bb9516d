//! Standard output and standard error: the only way to them.
//!
//! `print!`, `println!`, `eprint!` and `eprintln!` of this crate are the macros below, so nothing gets past. Text of a
//! target or of a manifest is obeyed by nobody who reads these streams (`callmark_reports::inert`), and a stream that
//! cannot be written is no panic.

use std::fmt;
use std::io::{self, ErrorKind, Write as _};
use std::sync::OnceLock;

use callmark_reports::inert;
use callmark_suite::engine::secrets::Redactor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit;

macro_rules! print {
    ($($text:tt)*) => { $crate::console::out(format_args!($($text)*)) };
}

macro_rules! println {
    () => { $crate::console::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::console::out(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::console::err(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard output, whole lines at a time. Ends the process where that cannot be written.
pub(crate) fn out(text: fmt::Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    let text = text.to_string();
    let text = inert(&text, exit::colored(&stdout));
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    drop(stdout);
    if let Err(error) = written {
        cannot_write(&error);
    }
}

/// Passes on what is not ours, unchanged, to a program that reads it.
///
/// # Errors
/// Nobody reads it any more.
pub(crate) fn pass(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

static SECRETS: OnceLock<Redactor> = OnceLock::new();

/// Keeps the secrets of a manifest out of what is said about its target.
pub(crate) fn hide(secrets: &[String]) {
    // A process certifies one target.
    let _ = SECRETS.set(Redactor::hiding(secrets));
}

/// A text about a target, without its secrets.
pub(crate) fn redacted(text: &str) -> String {
    SECRETS.get().map_or_else(|| text.to_owned(), |secrets| secrets.text(text))
}

/// Something about a target, without its secrets.
///
/// # Errors
/// It cannot be written as JSON, or not be read again.
pub(crate) fn without_secrets<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    serde_json::from_str(&redacted(&serde_json::to_string(value)?))
}

/// Writes to standard error, which has no other place to report that it cannot be written.
pub(crate) fn err(text: fmt::Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    let text = redacted(&text.to_string());
    let text = inert(&text, exit::colored(&stderr));
    let _ = stderr.write_all(text.as_bytes());
}

/// Ends the process because its result cannot be written to standard output.
pub(crate) fn cannot_write(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit::pipe_closed();
    }
    err(format_args!("standard output cannot be written: {error}\n"));
    std::process::exit(exit::USAGE.into())
}
