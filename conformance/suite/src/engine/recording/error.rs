//! Why recordings cannot be judged.

use std::io;

use super::At;

/// Why recordings cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("it cannot be read: {error}")]
    Read {
        /// Index of the file.
        file: usize,
        /// Why.
        error: io::Error,
    },
    /// It is in none of the known forms.
    #[error("it is no recording that is known")]
    Unknown {
        /// Index of the file.
        file: usize,
    },
    /// A line or an entry of it cannot be read.
    #[error("{message}")]
    Parse {
        /// Where.
        at: At,
        /// What is wrong there.
        message: String,
    },
    /// The machine cannot start a thread.
    #[error("no thread can be started: {0}")]
    Threads(io::Error),
    /// A bug of ours.
    #[error("a judgement panicked")]
    Judge,
}

impl RecordingError {
    pub(super) fn parse(at: At, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The line is that of the recording, not that within the message.
        let what = text.split(" at line ").next().unwrap_or(&text);
        let column = if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
        Self::Parse { at, message: format!("{what}{column}") }
    }

    /// Where it happened, as far as that is known.
    pub fn at(&self) -> At {
        match self {
            Self::Read { file, .. } | Self::Unknown { file } => At { file: *file, line: 0 },
            Self::Parse { at, .. } => *at,
            Self::Threads(_) | Self::Judge => At::default(),
        }
    }
}
