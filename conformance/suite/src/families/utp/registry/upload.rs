//! One upload, with what was read of its tool before and after it.

use serde_json::Value;

use super::definition::Definition;
use super::exchange::{Exchange, Reading, is_made_of};
use crate::engine::judge::CheckFailure;
use crate::transcript::Frame;

/// An upload that was made, by the numbers of its exchanges.
#[derive(Clone, Debug)]
pub struct MadeUpload {
    /// What was uploaded.
    pub definition: Definition,
    /// The upload.
    pub post: u64,
    /// What was read before it, where that was read.
    pub before: Option<u64>,
    /// What was read last.
    pub after: Option<u64>,
}

/// An upload, as the transcript shows it.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// What was uploaded.
    pub definition: &'a Definition,
    /// The upload.
    pub post: Exchange<'a>,
    /// What was read before it.
    pub before: Option<Exchange<'a>>,
    /// What was read last.
    pub after: Option<Exchange<'a>>,
}

/// An upload under test and what is around it.
pub(super) struct Seen<'a> {
    /// The upload.
    pub upload: Upload<'a>,
    /// That of an earlier version.
    pub old: Option<Upload<'a>>,
    /// Good ones before and after it.
    pub good: Vec<Upload<'a>>,
    /// What was read of the tool in another project.
    pub elsewhere: Option<Exchange<'a>>,
    /// The project of the path.
    pub project: &'a str,
}

impl<'a> Upload<'a> {
    /// What the frames show of an upload.
    pub fn of(frames: &'a [Frame], made: &'a MadeUpload) -> Option<Self> {
        let exchange = |number: Option<u64>| number.and_then(|number| Exchange::of(frames, number));
        Some(Self {
            definition: &made.definition,
            post: Exchange::of(frames, made.post)?,
            before: exchange(made.before),
            after: exchange(made.after),
        })
    }

    /// What was read before it.
    pub fn reading_before(&self) -> Reading<'a> {
        self.before.map_or(Reading::Unknown, |read| read.reading(self.definition))
    }

    /// What was read last.
    pub fn reading_after(&self) -> Reading<'a> {
        self.after.map_or(Reading::Unknown, |read| read.reading(self.definition))
    }

    /// The row that is there after it, where it was taken and the row shows what only the definition said.
    pub fn stored(&self) -> Option<&'a Value> {
        match self.reading_after() {
            Reading::Row(row) if self.post.is_2xx() && is_made_of(row, self.definition) => Some(row),
            _ => None,
        }
    }

    /// As [`Upload::stored`], for judgements that look at the row only.
    ///
    /// # Errors
    /// Nothing to judge: that the definition is taken and can be read is another rule's business.
    pub fn row(&self) -> Result<&'a Value, CheckFailure> {
        self.stored().ok_or_else(|| {
            CheckFailure::NotObserved(format!("there is no row to look at: {}", self.summary()))
        })
    }

    /// Why there is no row.
    pub fn summary(&self) -> String {
        if !self.post.is_2xx() {
            return format!("the definition is not accepted: {}", self.post.summary());
        }
        match self.after {
            Some(read) if read.is_2xx() => {
                "the definition is accepted, and what is read back does not show it".to_owned()
            }
            Some(read) => format!("the definition is accepted and cannot be read back: {}", read.summary()),
            None => "the definition is accepted and was not read back".to_owned(),
        }
    }
}
