//! The lines of `transcript.jsonl`, as the threads that judge parse them.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::At;
use super::error::RecordingError;
use crate::transcript::Frame;

/// A line.
#[derive(Deserialize)]
struct Recorded {
    #[serde(rename = "scenario")]
    _scenario: IgnoredAny,
    frame: Frame,
}

/// The messages of lines.
pub(super) fn frames(
    mut bytes: &[u8],
    lines: &[(usize, u64)],
    file: usize,
) -> Result<Vec<Frame>, RecordingError> {
    let mut frames = Vec::with_capacity(lines.len());
    for (length, line) in lines {
        let (own, rest) = bytes.split_at(*length);
        let read: Recorded = serde_json::from_slice(own)
            .map_err(|error| RecordingError::parse(At { file, line: *line }, &error))?;
        frames.push(read.frame);
        bytes = rest;
    }
    Ok(frames)
}
