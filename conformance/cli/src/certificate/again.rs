//! A run of which only the files are left, judged again, and the statement that follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use callmark_reports::Format;
use callmark_reports::certificate::{Facts, Item, Statement, Word};
use callmark_reports::record::RunRecord;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay_bundle::{
    ACCOUNT_SCHEMA, MERGED_ACCOUNT_SCHEMA, MergedBundle, ReplayBundle,
};
use callmark_suite::engine::run::{Library, RunOutput, RunPlan, Selection, ShardOutput};
use callmark_suite::families;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::spec::library;
use callmark_suite::transcript::Frame;
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::files::{self, ACCOUNT, MANIFEST, MAX_LARGE, MAX_SMALL, RECORD, TRANSCRIPT};
use super::word;
use crate::exit::Failure;
use crate::report;
use crate::setup;

/// The scenarios.
const FEATURES: &str = "features";
/// The rules.
const REGISTRY: &str = "registry";
/// Which scenarios count.
const EDITIONS: &str = "editions";

/// A run that was judged again.
pub(super) struct Judged {
    /// What came out.
    pub(super) record: RunRecord,
    manifest: Manifest,
    profiles: Vec<String>,
    capabilities: Vec<String>,
    strict: bool,
}

impl Judged {
    /// Judges what a directory holds; the inner error says why that cannot be judged.
    pub(super) fn read(directory: &Path, library: &Arc<Library>) -> Result<Result<Self, String>, Failure> {
        let runtime = setup::runtime()?;
        Ok(SavedRun::read(directory).and_then(|kept| kept.judge(library, &runtime)))
    }

    /// What can be certified of it, beside the word of who signs; the error says why nothing can.
    pub(super) fn statement(&self, directory: &Path, word: Word) -> Result<Statement, String> {
        let (started, scripts) = word::names(&self.manifest, &self.profiles);
        if let Some(fault) = word.fault(&started, &scripts) {
            return Err(fault);
        }
        let mut subject = reports(&self.record).map_err(|error| error.to_string())?;
        // The record is the first of the reports; its messages follow.
        subject.insert(1, item(directory, TRANSCRIPT)?);
        let mut configuration = ours();
        configuration.extend([item(directory, MANIFEST)?, item(directory, ACCOUNT)?]);
        let has_hub = self.profiles.iter().any(|profile| profile == "hub.server");
        let facts = Facts {
            subject,
            configuration,
            strict: self.strict,
            stub: has_hub && self.manifest.get::<HubTable>().is_some_and(|hub| hub.stub),
            capabilities: self.capabilities.clone(),
            word,
        };
        Statement::of(&self.record, facts).map_err(|error| error.to_string())
    }
}

/// What travels inside this binary.
pub(super) fn ours() -> Vec<Item> {
    vec![
        Item::known(FEATURES, library::features_sha256().to_owned()),
        Item::known(REGISTRY, library::registry_sha256()),
        Item::known(EDITIONS, library::editions_sha256()),
    ]
}

/// Every report about a record, the record itself first.
fn reports(record: &RunRecord) -> std::io::Result<Vec<Item>> {
    let features = report::features(record);
    let item = |format: Format| Item::written(format.file_name(), |out| format.write(record, &features, out));
    debug_assert_eq!(Format::ALL[0].file_name(), RECORD);
    Format::ALL.into_iter().map(item).collect()
}

/// The digest of a file of the directory.
pub(super) fn item(directory: &Path, name: &str) -> Result<Item, String> {
    let path = directory.join(name);
    let mut file = files::open(&path, MAX_LARGE)?;
    Item::written(name, |out| std::io::copy(&mut file, out).map(drop))
        .map_err(|error| format!("`{}`: {error}", path.display()))
}

/// What a run left, or each shard of one.
struct SavedRun {
    manifest: Manifest,
    accounts: Vec<ReplayBundle>,
    is_merged: bool,
    frames: BTreeMap<String, Vec<Frame>>,
}

/// What shows of which shape an account is.
#[derive(Deserialize)]
struct Shape {
    schema: String,
}

impl SavedRun {
    fn read(directory: &Path) -> Result<Self, String> {
        let manifest: Value = files::read_json(&directory.join(MANIFEST), MAX_SMALL, "a manifest")?;
        let manifest = Manifest::of(&families::ALL.tables(), manifest)
            .map_err(|why| format!("`{MANIFEST}` is not a manifest: {why}"))?;
        let path = directory.join(ACCOUNT);
        let shape: Result<Shape, _> = serde_json::from_slice(&files::read(&path, MAX_LARGE)?);
        let is_merged = shape.as_ref().is_ok_and(|shape| shape.schema == MERGED_ACCOUNT_SCHEMA);
        let accounts = if is_merged {
            let merged: MergedBundle = files::read_json(&path, MAX_LARGE, "an account of a merged run")?;
            if let Some(why) = merged.fault() {
                return Err(format!("`{ACCOUNT}` is not of one run: {why}"));
            }
            merged.shards
        } else {
            vec![files::read_json(&path, MAX_LARGE, "an account of a run")?]
        };
        if let Some(other) = accounts.iter().find(|account| account.schema != ACCOUNT_SCHEMA) {
            return Err(format!("`{ACCOUNT}` is `{}`, not `{ACCOUNT_SCHEMA}`", other.schema));
        }
        let frames = files::transcripts(&directory.join(TRANSCRIPT))?;
        Ok(Self { manifest, accounts, is_merged, frames })
    }

    /// Judges it; what shards came to is put together as `callmark merge` does it.
    fn judge(self, library: &Arc<Library>, runtime: &Runtime) -> Result<Judged, String> {
        let Self { manifest, accounts, is_merged, mut frames } = self;
        let first = accounts.first().ok_or_else(|| format!("`{ACCOUNT}` is of no shard"))?;
        let (profiles, strict, edition) = (first.profiles.clone(), first.strict, first.edition.clone());
        if let Some(name) = &edition {
            library.editions.named(name).map_err(|unknown| format!("`{ACCOUNT}`: {unknown}"))?;
        }
        let mut capabilities: Option<BTreeSet<String>> = None;
        let mut shards = Vec::new();
        for account in accounts {
            let scenarios = account.shard.as_ref().map(|own| own.scenarios.clone()).unwrap_or_default();
            let own = if is_merged {
                scenarios.iter().filter_map(|id| frames.remove_entry(id)).collect()
            } else {
                std::mem::take(&mut frames)
            };
            let plan = account.plan(families::ALL, &manifest, own)?;
            // A shard without scenarios asked nobody.
            if !(is_merged && scenarios.is_empty()) {
                let declared = plan.sessions.capabilities();
                if capabilities.get_or_insert_with(|| declared.clone()) != &declared {
                    return Err("its shards found targets that declare different things".to_owned());
                }
            }
            let output = judged(library, &plan, runtime)?;
            shards.push(ShardOutput { record: output.record, scenarios, watched: output.watched });
        }
        if let Some(id) = frames.keys().next() {
            return Err(format!("`{TRANSCRIPT}` holds messages of `{id}`, which no shard ran"));
        }
        let record = match shards.pop() {
            Some(only) if !is_merged => only.record,
            last => {
                shards.extend(last);
                let selection = Selection { profiles: profiles.clone(), edition, ..Selection::default() };
                run::merge(library, &selection, &shards).map_err(|error| error.to_string())?
            }
        };
        let capabilities = capabilities.unwrap_or_default().into_iter().collect();
        Ok(Judged { record, manifest, profiles, capabilities, strict })
    }
}

/// Runs the steps of a run again, over what they saw.
fn judged(library: &Arc<Library>, plan: &Arc<RunPlan>, runtime: &Runtime) -> Result<RunOutput, String> {
    // What somebody made up for an account may be beyond all that a session finds out.
    let judging = AssertUnwindSafe(|| runtime.block_on(run::run(library, plan)));
    let output = catch_unwind(judging)
        .map_err(|_| format!("`{ACCOUNT}` holds what no session finds out, and cannot be judged"))?;
    match plan.memory.divergences().first() {
        Some((scenario, how)) => Err(format!("scenario `{scenario}` cannot be judged again: {how}")),
        None => Ok(output),
    }
}

/// Where two records of one run differ.
pub(super) fn difference(written: &RunRecord, again: &RunRecord) -> String {
    let differs = written.rules.iter().zip(&again.rules).find(|(one, other)| one != other);
    match differs {
        Some((one, other))
            if (&one.id, &one.profile, &one.outcome) == (&other.id, &other.profile, &other.outcome) =>
        {
            format!(
                "judged again, the messages say something else about {} ({}): it is `{}` as well, with other scenarios, \
                 another reason or other evidence",
                one.id,
                one.profile,
                one.outcome.name()
            )
        }
        Some((one, other)) if (&one.id, &one.profile) == (&other.id, &other.profile) => format!(
            "judged again, the messages say something else about {} ({}): `{}`, where the record says `{}`",
            one.id,
            one.profile,
            other.outcome.name(),
            one.outcome.name()
        ),
        _ if written.rules.len() != again.rules.len() || differs.is_some() => format!(
            "judged again, the messages give a run record of {} rules, and the record has {} or others",
            again.rules.len(),
            written.rules.len()
        ),
        _ if written.target != again.target => {
            "judged again, the messages give a run record of another target".to_owned()
        }
        _ if written.verdict != again.verdict => {
            "judged again, the messages give a run record of another verdict".to_owned()
        }
        _ => "judged again, the messages give another run record".to_owned(),
    }
}
