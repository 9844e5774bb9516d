//! The lines of both directions between an MCP client and a server: JSON-RPC, one message or one batch a line.
//!
//! Which side sent a line follows from the line. Whatever else stands between them, for example a log, is not theirs.

use std::io::BufRead;

use serde_json::Value;

use super::At;
use super::error::RecordingError;
use super::lines::{Line, Lines};
use super::observer::{Seen, Traffic};
use super::sink::Gathering;

/// Reads them.
pub(super) fn read(
    from: impl BufRead,
    file: usize,
    gathering: &mut Gathering<'_, '_>,
) -> Result<(), RecordingError> {
    let mut lines = Lines::new(from, b'\n');
    let mut line = Vec::new();
    loop {
        let next = lines.next_text(&mut line, || gathering.sink.too_long());
        let Some(next) = next.map_err(|error| RecordingError::Read { file, error })? else { break };
        let at = At { file, line: lines.number };
        match serde_json::from_slice::<Value>(&line) {
            Ok(body) => gathering.take(&Seen { at, traffic: Traffic::Rpc(body) }, line.len()),
            Err(_) if next == Line::Last => gathering.sink.cut_short(at),
            Err(error) => return Err(RecordingError::parse(at, &error)),
        }
    }
    gathering.sink.bytes(lines.bytes);
    Ok(())
}
