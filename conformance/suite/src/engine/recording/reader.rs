//! Reads recordings, whatever their form, and has judged what is in them.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use super::error::RecordingError;
use super::format::{BEGINNING, Format};
use super::judge::Judge;
use super::observer::Observer;
use super::report::Judged;
use super::sink::{Gathering, Sink};
use super::source::Origin;
use super::{har, nats, stdio, transcript};

/// Bytes that are read at a time.
const CHUNK: usize = 256 * 1024;

/// What some editors begin a file with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A recording.
pub struct Input {
    /// For people: its path.
    pub name: String,
    /// Its bytes.
    pub bytes: Box<dyn Read>,
    /// Its form; none where that follows from how it begins.
    pub format: Option<Format>,
}

/// Judges recordings one after the other; the ends of one are not the beginnings of the next.
///
/// `observers` makes those of all protocols, for a recording that the suite did not write.
///
/// # Errors
/// The first recording that cannot be read, and where.
pub fn judge_files(
    mut judge: Judge,
    observers: &dyn Fn() -> Vec<Box<dyn Observer>>,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<Judged, RecordingError> {
    let mut sink = Sink::start(&mut judge, None).map_err(RecordingError::Threads)?;
    let mut outcome = Ok(());
    for (file, input) in inputs.into_iter().enumerate() {
        outcome = read(&mut sink, file, input, observers);
        if outcome.is_err() {
            break;
        }
    }
    let (tally, sources) = sink.finish();
    outcome?;
    let rulebooks = judge.rulebooks().map(|(profile, own)| (profile, Arc::clone(own))).collect();
    Ok(Judged { tally: tally?, rulebooks, sources })
}

fn read(
    sink: &mut Sink<'_>,
    file: usize,
    input: Input,
    observers: &dyn Fn() -> Vec<Box<dyn Observer>>,
) -> Result<(), RecordingError> {
    let Input { name, mut bytes, format } = input;
    // Of a form that is known nothing is waited for.
    let beginning = if format.is_some() { Ok(Vec::new()) } else { beginning(&mut *bytes) };
    let beginning = beginning.map_err(|error| RecordingError::Read { file, error })?;
    let format = format.or_else(|| Format::of(&beginning)).ok_or(RecordingError::Unknown { file })?;
    let beginning = match beginning.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_vec(),
        None => beginning,
    };
    let from = BufReader::with_capacity(CHUNK, Cursor::new(beginning).chain(bytes));
    sink.begin(name, Origin::Recording(format));
    if format == Format::Transcript {
        return transcript::read(from, file, sink);
    }
    let mut gathering = Gathering::new(observers(), sink);
    match format {
        Format::Har => har::read(from, file, &mut gathering)?,
        Format::NatsText => nats::read_text(from, file, &mut gathering)?,
        Format::NatsDump => nats::read_dump(from, file, &mut gathering)?,
        Format::McpLines | Format::Transcript => stdio::read(from, file, &mut gathering)?,
    }
    gathering.finish();
    Ok(())
}

/// The first bytes of a recording: as many as are looked at, or all.
fn beginning(bytes: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::with_capacity(BEGINNING);
    bytes.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    Ok(beginning)
}
