//! What the doctor found of one thing, and how it is printed.

use crate::console;

/// What became of one thing that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is as it should be.
    Good,
    /// It is not; with the class of the cause.
    Bad(&'static str),
    /// It is not there, or was not tried.
    Untried,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    what: String,
    pub(super) state: State,
    text: String,
}

pub(super) fn good(what: &str, text: impl Into<String>) -> Check {
    Check { what: what.to_owned(), state: State::Good, text: text.into() }
}

pub(super) fn bad(what: &str, cause: &'static str, text: impl Into<String>) -> Check {
    Check { what: what.to_owned(), state: State::Bad(cause), text: text.into() }
}

pub(super) fn note(what: &str, text: impl Into<String>) -> Check {
    Check { what: what.to_owned(), state: State::Untried, text: text.into() }
}

pub(super) fn show(checks: &[Check]) {
    for Check { what, state, text } in checks {
        let text = console::redacted(text);
        match state {
            State::Good => println!("  ok {what:<14} {text}"),
            State::Bad(cause) => println!("  !! {what:<14} {cause}: {text}"),
            State::Untried => println!("  -  {what:<14} {text}"),
        }
    }
}
