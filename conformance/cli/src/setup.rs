//! What commands have in common before anything runs: features and rules, the manifest, the broker, the profiles that
//! there are.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::time::Instant;

use callmark_suite::engine::lint;
use callmark_suite::engine::manifest::{Manifest, ManifestError};
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::run::Library;
use callmark_suite::engine::setup;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::guard;
use callmark_suite::net::inbound::Inbound;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::spec::library as features;
use callmark_suite::spec::registry::nearest;
use callmark_suite::spec::revision::split;
use miette::Diagnostic as _;

use crate::args::CertifyArguments;
use crate::broker::{BrokerChoice, BrokerStartError};
use crate::bundled;
use crate::exit::{self, Failure};

/// As an edition of the command line: all checks of the suite count.
const NEWEST: &str = "newest";
/// Most faults of features that are printed one by one.
const NOTED_FAULTS: usize = 20;

/// The manifest of the target, with what the command line says otherwise.
pub(crate) fn manifest(arguments: &CertifyArguments) -> Result<Manifest, Failure> {
    let mut manifest = if let Some(path) = &arguments.target {
        Manifest::read(path).map_err(|error| bad_manifest(&error))?
    } else {
        let program = std::env::current_exe().map_err(Failure::internal)?;
        bundled::manifest(&program).map_err(Failure::internal)?
    };
    if let (Some(choice), Some(utp)) = (&arguments.broker, manifest.get_mut::<UtpTable>()) {
        choice.given().clone_into(&mut utp.nats);
    }
    let Some(choice) = arguments.transport else { return Ok(manifest) };
    let shown = arguments
        .target
        .as_ref()
        .map_or_else(|| "bundled.toml".to_owned(), |path| path.display().to_string());
    match manifest.get_mut::<ToolbusTable>() {
        Some(toolbus) => toolbus.transport = Some(choice.into()),
        None => return Err(Failure::usage("`--transport` is for a manifest with a table `[toolbus]`")),
    }
    manifest.check(&shown).map_err(|error| bad_manifest(&error))?;
    Ok(manifest)
}

/// Asks the target of the named profiles, or of all where none is named, what the manifest leaves to it and profiles depend on, such as revisions of its protocol.
///
/// # Errors
/// The directory for what is started cannot be made, or a signal came.
pub(crate) async fn settle(
    manifest: &mut Manifest,
    names: &[String],
    limits: TimeoutLimits,
) -> Result<(), Failure> {
    let is_named = |id: &str| names.is_empty() || names.iter().any(|name| split(name).0 == split(id).0);
    let concerned = families::ALL.profiles().map(|own| own.id).filter(|id| is_named(id));
    let concerned: Vec<String> = concerned.map(str::to_owned).collect();
    let logs = guard::directory("settle-").map_err(Failure::incomplete)?;
    let plan = OpenPlan {
        manifest,
        profiles: families::ALL.select(&concerned),
        broker_url: "",
        broker_nodes: None,
        limits,
        outbound: Outbound::of(manifest),
        inbound: Inbound::of(manifest),
        seed: 1,
        logs: logs.path().to_owned(),
        in_process: None,
    };
    let settled = tokio::select! {
        // Signals are waited for before anything is started.
        biased;
        () = exit::until_signal() => return Err(Failure::incomplete("interrupted before the run began")),
        settled = setup::settle(families::ALL, &plan) => settled,
    };
    drop(plan);
    for write in settled {
        write(manifest);
    }
    Ok(())
}

/// The profiles that a name of the command line stands for: the one with this id, or where the manifest describes only
/// later revisions of it, those.
pub(crate) fn named_profiles(manifest: &Manifest, name: &str) -> Vec<String> {
    let described = manifest.profiles();
    let revised = || described.iter().filter(|own| split(own).0 == name).map(|own| (*own).to_owned());
    let stands_for_itself = described.contains(&name) || split(name).1.is_some();
    if stands_for_itself || revised().next().is_none() {
        return vec![name.to_owned()];
    }
    revised().collect()
}

/// Those of some profiles that are for one of these revisions; a protocol that has none of them keeps all of its own.
///
/// # Errors
/// No protocol has such a revision.
pub(crate) fn of_revisions(profiles: Vec<String>, revisions: &[String]) -> Result<Vec<String>, Failure> {
    let first = |profile: &str| {
        let family = families::ALL.of(split(profile).0);
        family.map(|family| family.protocol().first_revisions()).unwrap_or_default()
    };
    let all = || {
        let named = families::ALL.profiles().filter_map(|own| split(own.id).1);
        let first = families::ALL.protocols().flat_map(|own| own.first_revisions().iter().copied());
        first.chain(named).collect::<BTreeSet<&str>>()
    };
    if let Some(unknown) = revisions.iter().find(|revision| !all().contains(revision.as_str())) {
        let there_are = all().into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("there is no revision `{unknown}`"))
            .hint(format!("there are: {there_are}")));
    }
    let is_meant = |profile: &String| {
        let first = first(profile);
        let own: Vec<&str> = split(profile).1.map_or_else(|| first.to_vec(), |revision| vec![revision]);
        first.is_empty()
            || revisions.is_empty()
            || own.iter().any(|own| revisions.iter().any(|meant| meant == own))
    };
    Ok(profiles.into_iter().filter(is_meant).collect())
}

/// What runs a run.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(Failure::internal)
}

/// The features and rules inside this binary.
pub(crate) fn library() -> Result<Library, Failure> {
    Library::load().map_err(unread)
}

/// Of these, what judges messages that no run caused.
pub(crate) fn traffic_library() -> Result<Library, Failure> {
    Library::load_for_traffic().map_err(unread)
}

/// What is built in can be read, so only features of a directory are at fault.
pub(crate) fn unread(error: impl Display) -> Failure {
    match features::folder() {
        Some(folder) => Failure::usage(error)
            .hint(format!("`{}`, which `--features` names, cannot be used as it is", folder.display())),
        None => Failure::internal(error),
    }
}

/// Has rules, features, mutants and editions read from a directory for the rest of the process.
///
/// # Errors
/// The directory cannot be read, or holds no registry.
pub(crate) fn read_features(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    let hint = "`--features` takes a directory as `features/` of Callmark's sources is";
    if !folder.join("registry").is_dir() {
        return Err(Failure::usage(format!("`{shown}` holds no features: it has no `registry/`")).hint(hint));
    }
    features::read_from(folder)
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be read: {error}")).hint(hint))
}

/// Says on standard error what the lint finds in features that were read from a directory: who writes them learns it where
/// they are tried.
pub(crate) fn note_faults(library: &Library) {
    if features::folder().is_none() {
        return;
    }
    let faults = lint::faults(library);
    for fault in faults.iter().take(NOTED_FAULTS) {
        eprintln!("note: {fault}");
    }
    if let Some(more) = faults.len().checked_sub(NOTED_FAULTS).filter(|more| *more > 0) {
        eprintln!("note: {more} more of the kind");
    }
}

/// The edition whose checks count: that of the command line, or else the manifest's; nothing where all checks do.
///
/// # Errors
/// There is no such edition.
pub(crate) fn edition(
    library: &Library,
    given: Option<&str>,
    manifest: &Manifest,
) -> Result<Option<String>, Failure> {
    let name = given.or(manifest.edition.as_deref()).filter(|name| *name != NEWEST);
    let known = |name| library.editions.named(name).map(|edition| edition.name().to_owned());
    let hint = format!("`callmark editions` lists them; `--edition {NEWEST}` counts all checks");
    name.map(known).transpose().map_err(|error| Failure::usage(error).hint(hint))
}

/// A manifest that cannot be used, all its faults in one message.
pub(crate) fn bad_manifest(error: &ManifestError) -> Failure {
    let faults: Vec<String> = error.faults.iter().map(|fault| format!("\n- {fault}")).collect();
    Failure::usage(format!("`{}` cannot be used:{}", error.path, faults.concat()))
        .hint("`callmark init` writes a commented manifest to compare with")
}

/// The broker that the manifest names, where it describes a target that may need one.
pub(crate) fn named_broker(manifest: &Manifest) -> Option<&str> {
    families::ALL.protocols().find_map(|protocol| protocol.broker(manifest))
}

/// The broker of the command line, else the one that the manifest names.
pub(crate) fn choose_broker(given: Option<&BrokerChoice>, named: &str) -> Result<BrokerChoice, Failure> {
    if let Some(choice) = given {
        return Ok(choice.clone());
    }
    named.parse().map_err(|error| Failure::usage(format!("`utp.nats`: {error}")))
}

/// A broker that cannot be had, with how to get it.
pub(crate) fn no_broker(error: &BrokerStartError) -> Failure {
    let failure = Failure::caused(error);
    match error.help() {
        Some(help) => failure.hint(help),
        None => failure,
    }
}

/// Refuses a profile that there is not.
pub(crate) fn known_profile(profile: &str) -> Result<(), Failure> {
    if families::ALL.profile(profile).is_some() {
        return Ok(());
    }
    let ids = || families::ALL.profiles().map(|known| known.id);
    let failure = Failure::usage(format!("there is no profile `{profile}`"));
    Err(match nearest(profile, ids()) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("there are: {}", ids().collect::<Vec<_>>().join(", "))),
    })
}

/// Seconds since `began`, for people.
pub(crate) fn seconds(began: Instant) -> String {
    format!("{:.1} s", began.elapsed().as_secs_f64())
}
