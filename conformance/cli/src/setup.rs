//! What commands have in common before anything runs: features and rules, the manifest, the broker, the profiles that
//! there are.

use std::time::Instant;

use callmark_suite::engine::manifest::{Manifest, ManifestError};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::spec::registry::nearest;
use miette::Diagnostic as _;

use crate::args::CertifyArguments;
use crate::broker::{BrokerChoice, BrokerStartError};
use crate::bundled;
use crate::exit::Failure;

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

/// What runs a run.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(Failure::internal)
}

/// The features and rules inside this binary.
pub(crate) fn library() -> Result<Library, Failure> {
    Library::load().map_err(Failure::internal)
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
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: Vec<String> = causes.map(|cause| format!(": {cause}")).collect();
    let failure = Failure::incomplete(format!("{error}{}", causes.concat()));
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
