//! Where judged messages come from, and what was counted there.

use super::format::Format;

/// Where messages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A recording of this form.
    Recording(Format),
    /// Exchanges over HTTP, while they pass.
    Exchanges,
    /// Messages on a bus, while they pass.
    Bus,
    /// Records of a store, while they are stored.
    Store,
    /// Calls that the suite makes under load.
    Load,
}

impl Origin {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recording(format) => format.name(),
            Self::Exchanges => "HTTP exchanges that passed",
            Self::Bus => "messages that passed on the bus",
            Self::Store => "records that were stored",
            Self::Load => "calls under load",
        }
    }
}

/// One recording, or traffic that passed.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it was given.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Bytes that were read.
    pub bytes: u64,
    /// Messages in it.
    pub messages: u64,
    /// Messages that belong to no exchange that can be judged: of other protocols, of calls that began before or were not
    /// answered, of scenarios that are not known.
    pub unattributed: u64,
    /// Messages too long to be judged.
    pub too_long: u64,
    /// Messages that passed unjudged, because the judge was behind.
    pub dropped: u64,
    /// The line at which it breaks off.
    pub cut_short: Option<u64>,
}

impl Source {
    /// One of which nothing was read yet.
    pub fn new(name: String, origin: Origin) -> Self {
        Self {
            name,
            origin,
            bytes: 0,
            messages: 0,
            unattributed: 0,
            too_long: 0,
            dropped: 0,
            cut_short: None,
        }
    }
}
