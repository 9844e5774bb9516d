//! `run.json`: the record itself, for machines.
//!
//! Neighbours: the schema `run` in `callmark-schemas` describes what is written here.
//! Deliberately absent: shortening for readers, since this file must read back as the same record. Characters
//! that turn the direction of text are written as escapes, which read back as themselves.

use serde::Serialize;

use crate::record::RunRecord;
use crate::text;

/// The record as pretty JSON with a newline at its end. Reads back as an equal record.
pub fn json(record: &RunRecord) -> String {
    pretty_json(record).expect("a record is plain data with string keys")
}

/// A value as pretty JSON with a newline at its end, and with nothing in it that a terminal or the log of a CI job obeys.
///
/// # Errors
/// The value has no form as JSON.
pub fn pretty_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text::escape_acting(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_and_needs_no_further_escape() {
        let value = serde_json::json!({"name": "👩\u{200d}🚀 \u{202e} ##[error] ::error:: \u{1b}[1m"});
        let text = pretty_json(&value).expect("plain data");
        assert_eq!(text::inert(&text, false), text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
