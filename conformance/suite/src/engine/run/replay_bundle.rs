//! What is kept of a run so that it can be judged again, without its target (DESIGN, transcript and judge).
//!
//! The transcript holds the messages. A [`ReplayBundle`] holds the rest: what was selected, what the sessions found out
//! before the first scenario, and what the steps of each scenario saw and when. Over both, the same steps run again
//! and come to the same record, or the difference is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::record::{Shard, TargetInfo};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Quiet, RunPlan, Selection};
use super::replay::{Replay, ReplayMode};
use super::scenario_result;
use super::scenario_result::ScenarioResult;
use crate::engine::family::Families;
use crate::engine::manifest::Manifest;
use crate::engine::secrets::stand_in;
use crate::engine::session::Snapshots;
use crate::transcript::{Frame, Observations};

/// Name of the shape.
pub const ACCOUNT_SCHEMA: &str = "callmark.account/1";
/// Name of the shape of [`MergedBundle`].
pub const MERGED_ACCOUNT_SCHEMA: &str = "callmark.merged-account/1";

/// A run, as whoever judges it again receives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayBundle {
    /// [`ACCOUNT_SCHEMA`].
    pub schema: String,
    /// Seed of all ids.
    pub seed: u64,
    /// Whether warnings were failures.
    pub strict: bool,
    /// Who was certified.
    pub target: TargetInfo,
    /// By what it was started and reached, by key of the manifest.
    pub places: BTreeMap<String, Value>,
    /// The selected profiles.
    pub profiles: Vec<String>,
    /// The edition that was pinned; nothing where all scenarios count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// Start of the command that reruns a rule.
    pub rerun: String,
    /// What stands for secrets.
    pub secrets: Vec<String>,
    /// What the sessions found out.
    pub found: Snapshots,
    /// What steps saw, by scenario.
    pub scenarios: BTreeMap<String, Observations>,
    /// Which part of a run it is of; nothing of a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardBundle>,
}

/// Which part of a run an account is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardBundle {
    /// Which one.
    pub shard: Shard,
    /// The scenarios that were given to it.
    pub scenarios: BTreeSet<String>,
}

/// The accounts of all shards of a run. Each shard had sessions of its own, so what these found out is kept apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedBundle {
    /// [`MERGED_ACCOUNT_SCHEMA`].
    pub schema: String,
    /// In the order of the shards.
    pub shards: Vec<ReplayBundle>,
}

impl MergedBundle {
    /// Of these shards.
    pub fn of(shards: Vec<ReplayBundle>) -> Self {
        Self { schema: MERGED_ACCOUNT_SCHEMA.to_owned(), shards }
    }

    /// Why these are not the accounts of all shards of one run.
    pub fn fault(&self) -> Option<String> {
        let first = self.shards.first()?;
        let of = self.shards.len();
        for (own, place) in self.shards.iter().zip(1_usize..) {
            let shard =
                own.shard.as_ref().map(|own| (usize::from(own.shard.index), usize::from(own.shard.of)));
            if shard != Some((place, of)) {
                return Some(format!("its part {place} is not the account of shard {place}/{of}"));
            }
            if let Some(what) = first.difference(own) {
                return Some(format!("shards 1/{of} and {place}/{of} have another {what}"));
            }
        }
        None
    }
}

impl ReplayBundle {
    /// Of a run that was kept, without these secrets.
    pub(super) fn of(
        plan: &RunPlan,
        secrets: &[String],
        results: &BTreeMap<String, ScenarioResult>,
    ) -> Option<Self> {
        matches!(*plan.memory, ReplayMode::Record).then_some(())?;
        let names = scenario_result::numbered(secrets);
        let found = plan.sessions.snapshots().into_iter();
        let hidden = found.map(|(family, snapshot)| (family, names.rename(&snapshot)));
        let looks = |result: &ScenarioResult| {
            let mut looks = result.artifacts.transcript.as_ref()?.looks()?;
            looks.external.values_mut().flatten().for_each(|value| *value = names.rename(value));
            Some(looks)
        };
        Some(Self {
            schema: ACCOUNT_SCHEMA.to_owned(),
            seed: plan.seed,
            strict: plan.strict,
            target: plan.target.clone(),
            places: plan.places.iter().map(|(key, value)| (key.clone(), names.rename(value))).collect(),
            profiles: plan.selection.profiles.clone(),
            edition: plan.selection.edition.clone(),
            rerun: plan.rerun.clone(),
            secrets: (1..=secrets.len()).map(stand_in).collect(),
            found: hidden.collect(),
            scenarios: results.iter().filter_map(|(id, own)| Some((id.clone(), looks(own)?))).collect(),
            shard: plan.selection.shard.map(|shard| ShardBundle {
                shard,
                scenarios: plan.selection.scenarios.clone().unwrap_or_default(),
            }),
        })
    }

    /// In what the runs of two accounts differ that are parts of one.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let is_other = [
            (self.target != other.target, "target"),
            (self.places != other.places, "way to the target"),
            (self.profiles != other.profiles, "selection"),
            (self.edition != other.edition, "edition"),
            (self.seed != other.seed, "seed"),
            (self.strict != other.strict, "`--strict`"),
            (self.rerun != other.rerun, "command line"),
        ];
        is_other.into_iter().find_map(|(differs, what)| differs.then_some(what))
    }

    /// What of it cannot be of a run against the target of this manifest.
    fn contradiction(&self, families: Families, manifest: &Manifest) -> Option<String> {
        let named = |name: &str, version: &str| format!("{name} {version}").trim_end().to_owned();
        let own = named(&self.target.name, &self.target.version);
        let other = named(&manifest.target.name, &manifest.target.version);
        if (&self.target.name, &self.target.version) != (&manifest.target.name, &manifest.target.version) {
            return Some(format!("its target is `{own}`, and that of the manifest is `{other}`"));
        }
        if self.profiles.is_empty() {
            return Some("it names no profile".to_owned());
        }
        let unknown = |profile: &&String| families.profile(profile).is_none();
        if let Some(profile) = self.profiles.iter().find(unknown) {
            return Some(format!("there is no profile `{profile}`"));
        }
        let missing = |profile: &String| Some((profile.clone(), manifest.missing_table(profile)?.to_owned()));
        let (profile, table) = self.profiles.iter().find_map(missing)?;
        Some(format!("it is of `{profile}`, and the manifest has no table `[{table}]`"))
    }

    /// Where the target was started or reached otherwise than this manifest says.
    fn elsewhere(&self, manifest: &Manifest) -> Option<String> {
        let declared = manifest.places();
        let keys = self.places.keys().chain(declared.keys());
        let key = keys.into_iter().find(|key| self.places.get(*key) != declared.get(*key))?;
        let shown = |places: &BTreeMap<String, Value>| {
            places.get(key).map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"))
        };
        let (own, other) = (shown(&self.places), shown(&declared));
        Some(format!("it was reached with {own} as `{key}`, and the manifest has {other}"))
    }

    /// What judges the run again, over the messages of each scenario.
    ///
    /// # Errors
    /// The account does not fit the manifest.
    pub fn plan(
        self,
        families: Families,
        manifest: &Manifest,
        frames: BTreeMap<String, Vec<Frame>>,
    ) -> Result<Arc<RunPlan>, String> {
        let sessions = match self.contradiction(families, manifest) {
            Some(why) => Err(why),
            // What a session found out names the key more plainly than a comparison of all places.
            None => families
                .restore(self.found.clone(), manifest, self.seed)
                .and_then(|sessions| self.elsewhere(manifest).map_or(Ok(sessions), Err)),
        };
        let sessions =
            sessions.map_err(|why| format!("the account is not of the target of the manifest: {why}"))?;
        let (shard, scenarios) = self.shard.map(|own| (own.shard, own.scenarios)).unzip();
        let (profiles, edition) = (self.profiles, self.edition);
        let selection = Selection { profiles, scenarios, shard, edition, ..Selection::default() };
        Ok(Arc::new(RunPlan {
            selection,
            sessions,
            blocked: BTreeMap::new(),
            target: self.target,
            places: self.places,
            strict: self.strict,
            fail_fast: false,
            jobs: 1,
            lead: None,
            alone: 0,
            seed: self.seed,
            rerun: self.rerun,
            secrets: self.secrets,
            outbound: Arc::default(),
            progress: Arc::new(Quiet),
            memory: Arc::new(ReplayMode::Replay(Replay::new(frames, self.scenarios))),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::families;

    /// What is said of an account of a run against the first manifest beside the second.
    fn said(profile: &str, own: &str, other: &str) -> Option<String> {
        let manifest = |table: &str| {
            let text = format!("[target]\nname = \"a\"\n{table}");
            Manifest::parse("callmark.toml", &text, Path::new(".")).expect("a sound manifest")
        };
        let (own, other) = (manifest(own), manifest(other));
        let profiles = vec![profile.to_owned()];
        let account = json!({
            "schema": ACCOUNT_SCHEMA, "seed": 1, "strict": false, "target": {"name": "a", "version": ""},
            "places": own.places(), "profiles": profiles, "rerun": "", "secrets": [],
            "found": {}, "scenarios": {},
        });
        let account: ReplayBundle = serde_json::from_value(account).expect("an account");
        account.plan(families::ALL, &other, BTreeMap::new()).err()
    }

    #[test]
    fn an_account_of_a_target_elsewhere_is_refused_in_every_family() {
        let check = |profile: &str, own: &str, other: &str, key: &str| {
            assert_eq!(said(profile, own, own), None, "{profile}");
            for said in [said(profile, own, other), said(profile, other, own)] {
                assert!(
                    said.as_ref().is_some_and(|said| said.contains(&format!("`{key}`"))),
                    "{key}: {said:?}"
                );
            }
        };
        let service = "[utp]\nnats = \"nats://a:1\"\n[utp.tool-service]\n";
        check("utp.tool-service", service, &service.replace("//a:", "//b:"), "utp.nats");
        check("utp.pmo", "[utp]\nstart = [\"./a\"]\n", "[utp]\nstart = [\"./b\"]\n", "utp.start");
        check("utp.openapi", "[utp]\n", "[utp]\nplatform = \"http\"\n", "utp.platform");
        let runtime = "[utp]\nruntime.url = \"http://a\"\n[utp.worker]\n[utp.execution]\n";
        for profile in ["utp.worker", "utp.execution"] {
            check(profile, runtime, &runtime.replace("//a", "//b"), "utp.runtime.url");
        }
        let registry = "[utp]\n[utp.registry]\nbase_url = \"http://a\"\n";
        check("utp.registry", registry, &registry.replace("//a", "//b"), "utp.registry.base_url");
        let schema = "[utp]\n[utp.schema]\ncapture = \"a.jsonl\"\n";
        check("utp.schema", schema, &schema.replace("a.jsonl", "b.jsonl"), "utp.schema.capture");
        let bus = "[toolbus]\ncommand = [\"a\"]\n";
        check("toolbus.server", bus, &bus.replace("\"a\"", "\"b\""), "toolbus.command");
        let hub = "[hub]\nsecret = \"hush\"\nbase_url = \"http://a\"\n";
        check("hub.server", hub, &hub.replace("//a", "//b"), "hub.base_url");
        let agent = "[hub.agent]\nsecret = \"hush\"\nlisten = \"127.0.0.1:1\"\ndrive.http = \"http://a\"\n";
        check("hub.agent", agent, &agent.replace("//a", "//b"), "hub.agent.drive.http");
        let runner = "[breadcrumb]\nstart = [\"a\"]\n[breadcrumb.runner]\n";
        for profile in ["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"] {
            check(profile, runner, &runner.replace("\"a\"", "\"b\""), "breadcrumb.start");
        }
        let agent = "[breadcrumb.agent]\nstart = [\"a\"]\n";
        check("breadcrumb.agent", agent, &agent.replace("\"a\"", "\"b\""), "breadcrumb.agent.start");
    }
}
