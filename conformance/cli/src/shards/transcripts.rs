//! The messages of all shards in one file, in the order in which a single run writes them: by scenario.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::reports::TRANSCRIPT;

/// Longest line that is read: many times what a run writes.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// What is read of a line.
#[derive(Deserialize)]
struct Line {
    scenario: String,
}

/// The file of a shard, with the line that is next.
struct Source {
    path: PathBuf,
    lines: BufReader<File>,
    next: Option<(String, Vec<u8>)>,
}

impl Source {
    fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(TRANSCRIPT);
        let file = File::open(&path);
        let file =
            file.map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))?;
        let mut source = Self { path, lines: BufReader::new(file), next: None };
        source.advance()?;
        Ok(source)
    }

    fn advance(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        self.next = None;
        if self.lines.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut text)? > 0 {
            let refused = |why: String| io::Error::other(format!("`{}`: {why}", self.path.display()));
            if text.len() > usize::try_from(MAX_LINE).unwrap_or(usize::MAX) {
                return Err(refused(format!("a line is longer than {MAX_LINE} bytes")));
            }
            let line: Line = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
            self.next = Some((line.scenario, text));
        }
        Ok(())
    }
}

/// Writes the messages of the shards in these directories. Each has its own in order, so only one line of each is in
/// memory at a time.
pub(super) fn write<'a>(directories: impl Iterator<Item = &'a Path>, out: &mut dyn Write) -> io::Result<()> {
    let mut sources = directories.map(Source::open).collect::<io::Result<Vec<_>>>()?;
    loop {
        let waiting = sources.iter_mut().filter(|source| source.next.is_some());
        let first = waiting.min_by(|one, other| {
            let scenario = |source: &Source| source.next.as_ref().map(|(scenario, _)| scenario.clone());
            scenario(one).cmp(&scenario(other))
        });
        let Some(source) = first else { return Ok(()) };
        if let Some((_, text)) = &source.next {
            out.write_all(text)?;
        }
        source.advance()?;
    }
}
