//! `run.json`: the record itself, for machines.
//!
//! Neighbours: the schema `run` in `callmark-schemas` describes what is written here.
//! Deliberately absent: shortening for readers, since this file must read back as the same record. Characters
//! that turn the direction of text are written as escapes, which read back as themselves.

use crate::record::RunRecord;
use crate::text;

/// The record as pretty JSON with a newline at its end. Reads back as an equal record.
pub fn json(record: &RunRecord) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("a record is plain data with string keys");
    text.push('\n');
    text::escape_acting(&text)
}
