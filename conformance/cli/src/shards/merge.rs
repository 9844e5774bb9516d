//! `merge`: one record of all shards of a run, with all reports, and a certificate where one is asked for.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::families;
use serde_json::Value;

use super::read::Shards;
use super::{remove_old, transcripts};
use crate::args::MergeArguments;
use crate::baseline::LoadedBaseline;
use crate::certificate::{self, Signer};
use crate::conclusion::{self, Conclusion};
use crate::exit::Failure;
use crate::reports::{self, Written};
use crate::setup::library;

/// Runs it.
pub(crate) fn merge(arguments: &MergeArguments) -> Result<u8, Failure> {
    let library = Arc::new(library()?);
    let shards = Shards::read(&arguments.shards)?;
    refuse_own(&shards, &arguments.out)?;
    let selection = shards.selection()?;
    let nothing = Value::Null;
    let manifest = shards.manifest().unwrap_or(&nothing);
    let signer = arguments.sign.as_deref().map(|key| signer(key, &shards)).transpose()?;
    let baseline = LoadedBaseline::read(arguments.baseline.as_deref(), arguments.write_baseline)?;
    let profiles = profiles(manifest)?.into_iter().chain(selection.profiles.clone()).collect();
    let mut record = run::merge(&library, &selection, &shards.outputs()).map_err(|error| {
        Failure::usage(error).hint("a file of a shard was changed or is of another run: run that shard again")
    })?;
    let folder = reports::open(&arguments.out)?;
    certificate::remove_old(&arguments.out)?;
    remove_old(&arguments.out)?;
    let stale = match baseline {
        Some(baseline) => baseline.apply(&mut record, &library, &profiles)?,
        None => Vec::new(),
    };
    let transcripts = |out: &mut dyn Write| transcripts::write(shards.directories(), out);
    reports::write(
        &folder,
        &Written { record: &record, timings: shards.timings(), transcripts: &transcripts },
    )?;
    let sign = |signer: Signer| {
        let kept = (manifest, shards.accounts());
        conclusion::sign(&record, || signer.sign_merged(&arguments.out, &library, &record, kept))
    };
    Conclusion {
        format: arguments.format,
        is_quiet: arguments.quiet,
        out: &arguments.out,
        certificate: signer.map(sign).transpose()?.flatten(),
        baseline: (arguments.baseline.as_deref(), stale),
    }
    .of(&record)
}

/// Refuses to write over a shard.
fn refuse_own(shards: &Shards, out: &Path) -> Result<(), Failure> {
    let Ok(out) = out.canonicalize() else { return Ok(()) };
    let is_out = |directory: &&Path| directory.canonicalize().is_ok_and(|own| own == out);
    match shards.directories().find(is_out) {
        None => Ok(()),
        Some(own) => Err(Failure::usage(format!("`{}` is the directory of a shard", own.display()))
            .hint("choose another directory with `--out`, so that the shards stay as they are")),
    }
}

fn signer(key: &Path, shards: &Shards) -> Result<Signer, Failure> {
    if shards.are_whole() {
        Signer::of_shards(key, shards.programs()?)
    } else {
        Err(Failure::usage("`--sign` is for whole profiles, and the shards are those of some rules or tags")
            .hint("run the shards without `--rule` and `--tags`"))
    }
}

/// The profiles of a manifest.
fn profiles(manifest: &Value) -> Result<BTreeSet<String>, Failure> {
    let manifest = Manifest::of(&families::ALL.tables(), manifest.clone())
        .map_err(|why| Failure::usage(format!("`manifest.json` of the shards is no manifest: {why}")))?;
    Ok(manifest.profiles().into_iter().map(str::to_owned).collect())
}
