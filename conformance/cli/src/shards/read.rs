//! The shards of a run, read from their directories. Each difference that would make two runs of them is refused.

use std::path::{Path, PathBuf};

use callmark_reports::certificate::Item;
use callmark_reports::record::RunRecord;
use callmark_suite::engine::run::replay_bundle::ReplayBundle;
use callmark_suite::engine::run::{Selection, ShardOutput};
use callmark_suite::spec::library;
use serde_json::Value;

use super::part::ShardFile;
use crate::certificate;
use crate::exit::Failure;
use crate::report;
use crate::timings::{TIMINGS, Timings};

/// The record of a run.
const RECORD: &str = "run.json";

/// All shards of a run, in their order.
pub(super) struct Shards(Vec<OneShard>);

/// What a directory holds.
struct OneShard {
    directory: PathBuf,
    record: RunRecord,
    file: ShardFile,
    manifest: Value,
    account: ReplayBundle,
    timings: Timings,
}

impl Shards {
    /// Reads the shards of these directories.
    pub(super) fn read(directories: &[PathBuf]) -> Result<Self, Failure> {
        let mut shards =
            directories.iter().map(|path| OneShard::read(path)).collect::<Result<Vec<_>, _>>()?;
        // Stable: of two that have one number the first is named first.
        shards.sort_by_key(|shard| shard.file.shard);
        if let [first, others @ ..] = &shards[..] {
            others.iter().try_for_each(|other| first.goes_with(other))?;
        }
        let shards = Self(shards);
        shards.is_complete()?;
        Ok(shards)
    }

    /// Refuses what is there twice or not at all.
    fn is_complete(&self) -> Result<(), Failure> {
        let twice = self.0.windows(2).find_map(|pair| match pair {
            [one, other] if one.file.shard == other.file.shard => Some((one, other)),
            _ => None,
        });
        if let Some((one, other)) = twice {
            return Err(Failure::usage(format!(
                "{} and {} are both shard {}",
                one.shown(),
                other.shown(),
                one.file.shard
            ))
            .hint("name each shard once; run it again where two machines ran the same one"));
        }
        let of = self.0.first().map_or(0, |first| first.file.shard.of);
        let is_there = |index: &u16| self.0.iter().any(|own| own.file.shard.index == *index);
        let missing: Vec<String> =
            (1..=of).filter(|index| !is_there(index)).map(|index| format!("{index}/{of}")).collect();
        match &missing[..] {
            [] => Ok(()),
            [one] => Err(Failure::usage(format!("shard {one} is missing"))),
            several => Err(Failure::usage(format!("shards {} are missing", several.join(", ")))),
        }
        .map_err(|failure| {
            failure.hint("a run has no verdict until all of its shards are there: name the directory of each")
        })
    }

    fn first(&self) -> Option<&OneShard> {
        self.0.first()
    }

    /// The directories.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|shard| shard.directory.as_path())
    }

    /// What was divided.
    pub(super) fn selection(&self) -> Result<Selection, Failure> {
        let Some(first) = self.first() else { return Ok(Selection::default()) };
        let tags = first.file.tags.as_deref().map(str::parse).transpose().map_err(Failure::usage)?;
        let (profiles, rules) = (first.file.profiles.clone(), first.file.rules.clone());
        let edition = first.file.edition.clone();
        Ok(Selection { profiles, rules, tags, edition, ..Selection::default() })
    }

    /// Whether all of the profiles was divided, and no part.
    pub(super) fn are_whole(&self) -> bool {
        self.first().is_some_and(|first| first.file.rules.is_empty() && first.file.tags.is_none())
    }

    /// The manifest of all of them, without its secrets.
    pub(super) fn manifest(&self) -> Option<&Value> {
        self.first().map(|first| &first.manifest)
    }

    /// The programs that all of them started.
    pub(super) fn programs(&self) -> Result<Vec<Item>, Failure> {
        let unread = |shard: &OneShard| {
            Failure::usage(format!(
                "shard {} could not read the programs that it started, and a certificate holds their digests",
                shard.file.shard
            ))
            .hint("run the shards again where these programs can be read")
        };
        let mut programs: Option<(&OneShard, &Vec<Item>)> = None;
        for shard in &self.0 {
            let own = shard.file.programs.as_ref().ok_or_else(|| unread(shard))?;
            let (first, expected) = *programs.get_or_insert((shard, own));
            if own != expected {
                return Err(Failure::usage(format!(
                    "shards {} and {} started other programs",
                    first.file.shard, shard.file.shard
                ))
                .hint("a certificate is about one target: run all shards with the same files"));
            }
        }
        Ok(programs.map(|(_, programs)| programs.clone()).unwrap_or_default())
    }

    /// What is left of each.
    pub(super) fn outputs(&self) -> Vec<ShardOutput> {
        let output = |shard: &OneShard| ShardOutput {
            record: shard.record.clone(),
            scenarios: shard.file.scenarios.clone(),
            watched: shard.file.watched.clone(),
        };
        self.0.iter().map(output).collect()
    }

    /// How long everything took.
    pub(super) fn timings(&self) -> Timings {
        Timings::merged(self.0.iter().map(|shard| shard.timings.clone()))
    }

    /// What judges each of them again.
    pub(super) fn accounts(&self) -> Vec<ReplayBundle> {
        self.0.iter().map(|shard| shard.account.clone()).collect()
    }
}

impl OneShard {
    fn read(directory: &Path) -> Result<Self, Failure> {
        let shown = directory.display();
        let unusable = |why: String| {
            Failure::usage(format!("`{shown}` holds no shard: {why}"))
                .hint("`callmark certify --shard K/N --out DIR` writes one")
        };
        if !directory.is_dir() {
            return Err(unusable("there is no such directory".to_owned()));
        }
        let path = directory.join(RECORD);
        if !path.exists() {
            return Err(unusable(format!("there is no `{RECORD}` in it")));
        }
        let record = report::read(&path)?;
        let file = match ShardFile::read(directory).map_err(unusable)? {
            Some(file) => file,
            None if record.shard.is_none() => {
                return Err(unusable("it is the record of a whole run".to_owned()));
            }
            None => return Err(unusable("its `shard.json` is missing".to_owned())),
        };
        if record.shard != Some(file.shard) {
            return Err(unusable("its record and its `shard.json` are not of the same shard".to_owned()));
        }
        let is_ours = (record.suite.version.as_str(), record.suite.features_sha256.as_str())
            == (env!("CARGO_PKG_VERSION"), library::features_sha256());
        if !is_ours {
            return Err(Failure::usage(format!(
                "`{shown}` was made by callmark {} with other features than this callmark {} has",
                record.suite.version,
                env!("CARGO_PKG_VERSION")
            ))
            .hint("merge with the version that ran the shards"));
        }
        let (manifest, account) = certificate::kept(directory).map_err(unusable)?;
        let timings = Timings::read(&directory.join(TIMINGS))?;
        Ok(Self { directory: directory.to_owned(), record, file, manifest, account, timings })
    }

    fn shown(&self) -> String {
        format!("`{}`", self.directory.display())
    }

    /// Refuses a shard of another run.
    fn goes_with(&self, other: &Self) -> Result<(), Failure> {
        let of = |shard: &Self| format!("{} (shard {})", shard.shown(), shard.file.shard);
        let refused = |what: &str, hint: &str| {
            Err(Failure::usage(format!("{} and {} have {what}", of(self), of(other))).hint(hint))
        };
        let (own, others) = (&self.file, &other.file);
        if own.shard.of != others.shard.of {
            return refused("different numbers of shards", "divide one run into one number of shards");
        }
        if self.record.target != other.record.target {
            return refused("different targets", "merge shards of one target in one version");
        }
        if self.record.suite.seed != other.record.suite.seed {
            return refused("different seeds", "run all shards with the same `--seed`");
        }
        if (&own.profiles, &own.rules, &own.tags) != (&others.profiles, &others.rules, &others.tags) {
            return refused(
                "different selections",
                "run all shards with the same `--profile`, `--rule` and `--tags`",
            );
        }
        if own.edition != others.edition {
            let named = |file: &ShardFile| file.edition.clone().unwrap_or_else(|| "all checks".to_owned());
            let hint = format!(
                "pin the same edition for all shards, in the manifest or with `--edition`; now {} and {}",
                named(own),
                named(others)
            );
            return refused("different editions", &hint);
        }
        if own.rerun != others.rerun || self.account.strict != other.account.strict {
            let hint =
                format!("run all shards with the same options; now `{}` and `{}`", own.rerun, others.rerun);
            return refused("different options", &hint);
        }
        if self.manifest != other.manifest {
            return refused("different manifests", "run all shards with the same manifest and environment");
        }
        if own.division != others.division {
            return refused(
                "different divisions of the scenarios",
                "give all shards the same file with `--timings`, or none of them any",
            );
        }
        Ok(())
    }
}
