//! The directory of `certify --out`: which files are ours there, and how the reports of a run get into it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callmark_reports::Format;
use callmark_reports::record::{RUN_SCHEMA, RunRecord};
use callmark_suite::families;

use crate::certificate;
use crate::exit::Failure;
use crate::folder::{self, Draft, Folder, Purpose};
use crate::report;
use crate::shards::SHARD;
use crate::timings::{TIMINGS, Timings};

/// The messages of a run.
pub(crate) const TRANSCRIPT: &str = "transcript.jsonl";
/// The list of what `certify` wrote.
pub(crate) const MARK: &str = "callmark-reports.txt";

static REPORTS: Purpose = Purpose {
    mark: MARK,
    heading: "# written by `callmark certify`, which replaces and removes these files",
    command: "callmark certify",
    files: is_ours,
    is_older: holds_record,
    is_shared: false,
};

/// A directory for the reports of a run.
pub(crate) fn open(path: &Path) -> Result<Folder, Failure> {
    let folder = Folder::open(path, &REPORTS)?;
    folder.mark(names())?;
    Ok(folder)
}

/// Every file that a run may write.
fn names() -> impl Iterator<Item = &'static str> {
    let logs = families::ALL.protocols().flat_map(|protocol| protocol.logs().iter().copied());
    let reports = Format::ALL.into_iter().map(Format::file_name);
    reports.chain([TRANSCRIPT, TIMINGS, SHARD]).chain(certificate::WRITTEN).chain(logs)
}

fn is_ours(name: &str) -> bool {
    names().any(|own| own == name)
}

/// Whether there is a record of a run: versions without a mark wrote one as well.
fn holds_record(path: &Path) -> bool {
    let record = path.join(Format::Json.file_name());
    let is_file = std::fs::symlink_metadata(&record).is_ok_and(|record| record.is_file());
    is_file && report::read_as_it_is(&record).is_ok_and(|record: RunRecord| record.schema == RUN_SCHEMA)
}

/// What is written of a run.
pub(crate) struct Written<'a> {
    /// Its record, from which the reports are rendered.
    pub(crate) record: &'a RunRecord,
    /// How long its scenarios took.
    pub(crate) timings: Timings,
    /// Writes its messages.
    pub(crate) transcripts: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

/// Writes every report, two at a time. They get into their places when all of them are whole.
pub(crate) fn write(folder: &Folder, written: &Written<'_>) -> Result<(), Failure> {
    let Written { record, timings, transcripts } = written;
    let timings = timings.text().map_err(Failure::internal)?;
    let features = report::features(record);
    let draft = |format: Format| {
        let draft = folder.draft(format.file_name())?;
        draft.with(|file| format.write(record, &features, file))
    };
    // The largest first: two threads then end at about the same time.
    let mut formats = Format::ALL.to_vec();
    formats.sort_by_key(|format| *format != Format::Messages);
    let left = Mutex::new(formats.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let rest = || std::iter::from_fn(next).map(draft).collect::<Result<Vec<Draft>, Failure>>();
    let drafts = std::thread::scope(|scope| -> Result<Vec<Draft>, Failure> {
        let aside = scope.spawn(rest);
        let mut drafts = vec![
            folder.draft(TRANSCRIPT)?.with(|file| transcripts(file))?,
            folder.draft(TIMINGS)?.with(|file| file.write_all(timings.as_bytes()))?,
        ];
        drafts.extend(rest()?);
        drafts.extend(aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(drafts)
    })?;
    folder::publish(drafts)
}
