//! `timings.json`: how long the scenarios of a run took. No part of the record, which is the same for every run.

use std::path::Path;

use callmark_suite::engine::files;
use callmark_suite::engine::run::{Durations, Remark, RunOutput};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The file of a run.
pub(crate) const TIMINGS: &str = "timings.json";
/// Name of its shape.
const SCHEMA: &str = "callmark.timings/1";
/// Largest file that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What the file says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timings {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Said>,
    /// Microseconds, by scenario. What did not run is not there.
    #[serde(rename = "scenarios_us")]
    pub(crate) durations: Durations,
    schema: String,
}

/// What was run again, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    log: Vec<String>,
    scenario: Option<String>,
    text: String,
}

impl Timings {
    /// Of a run.
    pub(crate) fn of(output: &RunOutput) -> Self {
        let took = |took: &std::time::Duration| u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let durations = output.timings.iter().map(|(id, own)| (id.clone(), took(own))).collect();
        let said = |remark: &Remark| Said {
            log: remark.log.clone(),
            scenario: remark.scenario.clone(),
            text: remark.text.clone(),
        };
        Self { remarks: output.remarks.iter().map(said).collect(), durations, schema: SCHEMA.to_owned() }
    }

    /// Of a run with these shards. What judges every exchange took what it took in all of them.
    pub(crate) fn merged(shards: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self { remarks: Vec::new(), durations: Durations::new(), schema: SCHEMA.to_owned() };
        for shard in shards {
            all.remarks.extend(shard.remarks);
            for (id, took) in shard.durations {
                let sum = all.durations.entry(id).or_default();
                *sum = sum.saturating_add(took);
            }
        }
        all
    }

    /// Reads the file of an earlier run.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let refused = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("`{}` holds no timings: {why}", path.display())).hint(
                "`callmark certify` and `callmark merge` write `timings.json` into their `--out` directory",
            )
        };
        let text = files::read_text(path, MAX_BYTES).map_err(|error| refused(&error))?;
        let read: Self = serde_json::from_str(&text).map_err(|error| refused(&error))?;
        if read.schema == SCHEMA {
            Ok(read)
        } else {
            Err(refused(&format!("its schema is `{}`, not `{SCHEMA}`", read.schema)))
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }
}
