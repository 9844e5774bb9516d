//! The file of a baseline: TOML that people write and read, and that `--write-baseline` writes.
//!
//! Neighbours: the parent says what entries mean. All faults of a file are reported at once.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Deserialize;

use super::{Baseline, Date, Known};
use crate::text;

/// What stands above the entries of a file that was written.
const HEAD: &str = "\
# Failures that are known: `callmark certify --baseline` distinguishes them from new ones.
# An entry covers a rule, or one scenario of it. `reason` is needed; `issue` and `expires` (a date) may be added.
# `--write-baseline` renews this file and keeps entries that still fail, but no comments.
";

/// A baseline that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", faults.join("; "))]
#[non_exhaustive]
pub struct BaselineError {
    /// What is wrong with it, one fault each.
    pub faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    known_failing: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: String,
    scenario: Option<String>,
    reason: String,
    issue: Option<String>,
    expires: Option<toml::value::Datetime>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// The text is no TOML, or an entry lacks a reason, names the same as another, or expires on no day.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let file: File = toml::from_str(text).map_err(|error| BaselineError {
            faults: vec![text::block(error.to_string().trim_end(), 2000)],
        })?;
        let mut faults = Vec::new();
        let mut names = BTreeSet::new();
        let mut entries = Vec::new();
        for (n, entry) in (1..).zip(file.known_failing) {
            let shown = format!("entry {n} (`{}`)", text::line(&entry.rule, 80));
            if entry.reason.trim().is_empty() {
                faults.push(format!("{shown}: the `reason` is empty"));
            }
            if !names.insert((entry.rule.clone(), entry.scenario.clone())) {
                faults.push(format!("{shown}: names the same as an entry above"));
            }
            let expires = entry.expires.map(|moment| match (moment.date, moment.time) {
                (Some(date), None) => Ok(Date::of_parts(date.year, date.month, date.day)),
                _ => Err(format!("{shown}: `expires` is no day, as for example 2027-03-31 is")),
            });
            match expires.transpose() {
                Ok(expires) => entries.push(Known {
                    rule: entry.rule,
                    scenario: entry.scenario,
                    reason: entry.reason,
                    issue: entry.issue,
                    expires,
                }),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(Self { entries }) } else { Err(BaselineError { faults }) }
    }

    /// The file. Reads back as the same entries.
    pub fn to_toml(&self) -> String {
        let mut out = HEAD.to_owned();
        for entry in &self.entries {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "\n[[known-failing]]\nrule = {}", quoted(&entry.rule));
            for (key, value) in [
                ("scenario", entry.scenario.as_ref()),
                ("reason", Some(&entry.reason)),
                ("issue", entry.issue.as_ref()),
            ] {
                if let Some(value) = value {
                    let _ = writeln!(out, "{key} = {}", quoted(value));
                }
            }
            if let Some(date) = entry.expires {
                let _ = writeln!(out, "expires = {date}");
            }
        }
        out
    }
}

/// A string of TOML, with every character that acts as an escape.
fn quoted(words: &str) -> String {
    // What JSON writes between quotes, TOML reads as the same, but for `\/`, which is not written here.
    text::escape_acting(&serde_json::Value::from(words).to_string()).replace('\u{7f}', "\\u007f")
}
