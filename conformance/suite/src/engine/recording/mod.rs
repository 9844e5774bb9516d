//! Traffic that the suite did not cause: it is read, put together into exchanges, and judged by the `@always` scenarios.
//!
//! `rulebook` takes the judgements out of the scenarios, once a role; `format` says what a file is; `reader` and the
//! modules beside it read one into a `sink`; `observer` is how a protocol puts its messages together; `judge` judges, and
//! `tally` counts. `live` takes traffic that passes in place of a file, `progress` is what is known of it meanwhile, and
//! `latencies` how long its exchanges took.
//! Deliberately absent: anything that waits, sends or asks a target.

mod decoding;
mod error;
pub mod format;
mod har;
pub mod judge;
pub mod latencies;
mod lines;
pub mod live;
mod nats;
pub mod observer;
pub mod progress;
mod reader;
mod recorded;
mod report;
mod rulebook;
mod sink;
mod source;
mod stdio;
mod tally;
mod transcript;
mod workers;

use std::sync::Arc;

use crate::transcript::Frame;

pub use self::error::RecordingError;
pub use self::reader::{Input, judge_files};
pub use self::report::Judged;
pub use self::rulebook::{Clause, Rulebook};
pub use self::source::{Origin, Source};

/// Bytes of one line, or of one message, of a recording.
pub const MAX_LINE: usize = 4 * 1024 * 1024;
/// Bytes of the messages of one exchange, or of one scenario, as they were recorded.
pub const MAX_WINDOW: usize = 8 * 1024 * 1024;
/// Exchanges, or scenarios, that have begun and not ended.
pub const MAX_OPEN: usize = 4096;

/// Messages that are judged together, in order: those of one exchange, or of one scenario of a run.
#[derive(Clone, Debug)]
pub struct Window {
    /// The roles of the target in them.
    pub profiles: Arc<[&'static str]>,
    /// Numbered from 1.
    pub frames: Vec<Frame>,
    /// Where it begins in the recording.
    pub at: At,
}

/// A place in the recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Index of the file.
    pub file: usize,
    /// Line, from 1; in a format without lines the number of the entry.
    pub line: u64,
}
