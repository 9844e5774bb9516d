//! One part of a run: which scenarios it has, and what it leaves beside its reports for `callmark merge`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use callmark_reports::certificate::Item;
use callmark_reports::record::Shard;
use callmark_suite::engine::files;
use callmark_suite::engine::run::{Division, Durations, Library, RunOutput, Selection, Watched};
use serde::{Deserialize, Serialize};

use crate::args::CertifyArguments;
use crate::exit::{Failure, cannot_write};
use crate::timings::Timings;

/// What a shard leaves for `callmark merge`, beside its reports.
pub(crate) const SHARD: &str = "shard.json";
/// Name of its shape.
pub(super) const SCHEMA: &str = "callmark.shard/1";
/// Largest one that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What `shard.json` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShardFile {
    /// [`SCHEMA`].
    pub(super) schema: String,
    /// Which part it is.
    pub(super) shard: Shard,
    /// The same for all shards of one division.
    pub(super) division: String,
    /// What was selected: profiles, rules, and a tag expression. Whatever it was divided into.
    pub(super) profiles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rules: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<String>,
    /// The edition that was pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edition: Option<String>,
    /// Start of the command that reruns a rule: whatever else the verdict depends on.
    pub(super) rerun: String,
    /// The scenarios of this part.
    pub(super) scenarios: BTreeSet<String>,
    /// What judges every exchange came to over those of this part.
    pub(super) watched: BTreeMap<String, Watched>,
    /// The programs that were started, and their scripts; nothing where one could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) programs: Option<Vec<Item>>,
}

/// A part that is to be run.
pub(crate) struct Part {
    /// Its scenarios.
    pub(crate) selection: Selection,
    shard: Shard,
    division: String,
}

impl Part {
    /// A part of a selection.
    pub(crate) fn of(
        library: &Library,
        selection: Selection,
        shard: Shard,
        arguments: &CertifyArguments,
    ) -> Result<Self, Failure> {
        let durations = match &arguments.timings {
            Some(path) => Timings::read(path)?.durations,
            None => Durations::new(),
        };
        let division = Division::of(library, &selection, shard.of, &durations);
        let scenarios = division.scenarios(shard.index);
        if scenarios.is_empty() {
            // It is no progress, so `--quiet` does not hide it.
            eprintln!(
                "shard {shard} has no scenario, since {} are selected; it asks the target nothing",
                library.select(&selection).len()
            );
        }
        let selection = Selection { scenarios: Some(scenarios), shard: Some(shard), ..selection };
        Ok(Self { selection, shard, division: division.digest() })
    }

    /// Writes what `callmark merge` has to know of it.
    pub(crate) fn write(
        self,
        arguments: &CertifyArguments,
        output: &RunOutput,
        programs: Option<Vec<Item>>,
        rerun: String,
    ) -> Result<(), Failure> {
        let file = ShardFile {
            schema: SCHEMA.to_owned(),
            shard: self.shard,
            division: self.division,
            profiles: self.selection.profiles,
            rules: self.selection.rules,
            tags: arguments.tags.clone(),
            edition: self.selection.edition,
            rerun,
            scenarios: self.selection.scenarios.unwrap_or_default(),
            watched: output.watched.clone(),
            programs,
        };
        let value = serde_json::to_value(file).map_err(Failure::internal)?;
        let path = arguments.out.join(SHARD);
        let text = format!("{:#}\n", output.without_secrets(&value));
        std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))
    }
}

impl ShardFile {
    /// Reads that of a directory; nothing where there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, String> {
        let path = directory.join(SHARD);
        if !path.exists() {
            return Ok(None);
        }
        let text = files::read_text(&path, MAX_BYTES).map_err(|error| error.to_string())?;
        let read: Self = serde_json::from_str(&text).map_err(|error| format!("`{SHARD}`: {error}"))?;
        if read.schema != SCHEMA {
            return Err(format!("the schema of its `{SHARD}` is `{}`, not `{SCHEMA}`", read.schema));
        }
        Ok(Some(read))
    }
}

/// Takes away what an earlier shard left: it is not about what is written now.
pub(crate) fn remove_old(out: &Path) -> Result<(), Failure> {
    let path = out.join(SHARD);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot_write(&path, &error)),
        _ => Ok(()),
    }
}
