//! What a session found out of its target, and what each thing that the manifest declares does when it is tried once.
//!
//! Neighbours: [`Session::diagnose`](super::session::Session::diagnose) gives it; the command line prints it.

use crate::engine::judge::Cause;
use crate::engine::timing::Timeouts;

/// What is said of what the manifest leaves out.
pub const NOT_DECLARED: &str = "not declared: what needs it will be not-applicable";

/// What became of one thing that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is as it should be.
    Good,
    /// It is not; with the class of the cause.
    Bad(Cause),
    /// It is not there, or was not tried.
    Untried,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, a word.
    pub what: String,
    /// What became of it.
    pub state: State,
    /// What was found, a fragment without a full stop.
    pub text: String,
    /// Whether nothing came from the target over the bus, so that what it subscribed to may say why.
    pub is_about_silence: bool,
}

impl Check {
    /// It is as it should be.
    pub fn good(what: &str, text: impl Into<String>) -> Self {
        Self::new(what, State::Good, text.into())
    }

    /// It is not.
    pub fn bad(what: &str, cause: Cause, text: impl Into<String>) -> Self {
        Self::new(what, State::Bad(cause), text.into())
    }

    /// It is not there, or was not tried.
    pub fn note(what: &str, text: impl Into<String>) -> Self {
        Self::new(what, State::Untried, text.into())
    }

    /// How long the suite waits for this target.
    pub fn timeouts(timeouts: &Timeouts) -> Self {
        Self::good(
            "pace",
            format!(
                "answers within {} ms, silence after {} ms",
                timeouts.answer.as_millis(),
                timeouts.settle_window.as_millis()
            ),
        )
    }

    /// What a target declares or shows, and nobody calls without a run.
    pub fn untried(capability: &str) -> Self {
        Self::note(capability, "declared, and not tried without a run")
    }

    /// Says that nothing came from the target over the bus.
    #[must_use]
    pub fn about_silence(mut self) -> Self {
        self.is_about_silence = true;
        self
    }

    fn new(what: &str, state: State, text: String) -> Self {
        Self { what: what.to_owned(), state, text, is_about_silence: false }
    }
}
