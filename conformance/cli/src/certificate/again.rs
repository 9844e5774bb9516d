//! A run of which only the files are left, judged again, and the statement that follows from it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use callmark_reports::Format;
use callmark_reports::certificate::{Facts, Item, Statement, Word};
use callmark_reports::record::RunRecord;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay_bundle::{ACCOUNT_SCHEMA, ReplayBundle};
use callmark_suite::engine::run::{Library, RunPlan};
use callmark_suite::families;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::spec::library;
use serde_json::Value;

use super::files::{self, ACCOUNT, MANIFEST, MAX_LARGE, MAX_SMALL, RECORD, TRANSCRIPT};
use super::word;
use crate::exit::Failure;
use crate::report;
use crate::setup;

/// The scenarios.
const FEATURES: &str = "features";
/// The rules.
const REGISTRY: &str = "registry";

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
        let (plan, judged) = match plan(directory) {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let runtime = setup::runtime()?;
        // What somebody made up for an account may be beyond all that a session finds out.
        let judging = AssertUnwindSafe(|| runtime.block_on(run::run(library, &plan)));
        let Ok(output) = catch_unwind(judging) else {
            return Ok(Err(format!("`{ACCOUNT}` holds what no session finds out, and cannot be judged")));
        };
        let divergences = plan.memory.divergences();
        Ok(match divergences.first() {
            Some((scenario, how)) => Err(format!("scenario `{scenario}` cannot be judged again: {how}")),
            None => Ok(judged(output.record)),
        })
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
    let mut file = std::io::Read::take(files::open(&path)?, MAX_LARGE);
    Item::written(name, |out| std::io::copy(&mut file, out).map(drop))
        .map_err(|error| format!("`{}`: {error}", path.display()))
}

type Judge = Box<dyn FnOnce(RunRecord) -> Judged>;

/// What judges again.
fn plan(directory: &Path) -> Result<(Arc<RunPlan>, Judge), String> {
    let manifest: Value = files::read_json(&directory.join(MANIFEST), MAX_SMALL, "a manifest")?;
    let manifest = Manifest::of(&families::ALL.tables(), manifest)
        .map_err(|why| format!("`{MANIFEST}` is not a manifest: {why}"))?;
    let account: ReplayBundle = files::read_json(&directory.join(ACCOUNT), MAX_LARGE, "an account of a run")?;
    if account.schema != ACCOUNT_SCHEMA {
        return Err(format!("`{ACCOUNT}` is `{}`, not `{ACCOUNT_SCHEMA}`", account.schema));
    }
    let (profiles, strict) = (account.profiles.clone(), account.strict);
    let frames: BTreeMap<_, _> = files::transcripts(&directory.join(TRANSCRIPT))?;
    let plan = account.plan(families::ALL, &manifest, frames)?;
    let capabilities = plan.sessions.capabilities().into_iter().collect();
    let judged = move |record| Judged { record, manifest, profiles, capabilities, strict };
    Ok((plan, Box::new(judged)))
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
