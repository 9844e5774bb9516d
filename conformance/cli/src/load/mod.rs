//! `load`: valid calls at a fixed rate against one role of a target, measured and judged.
//!
//! `target` starts it as `certify` does, `trial` is one rate, `progress` what is seen meanwhile.

mod progress;
mod target;
mod trial;

use std::path::Path;
use std::sync::Arc;

use callmark_reports::load::{
    LoadReport, LoadSearch, LoadTrial, LoadVerdict, load_html, load_human, load_json,
};
use callmark_suite::engine::load::{Search, Trial};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::spec::revision::split;

use self::progress::Shown;
use self::target::Opened;
use crate::args::{CertifyArguments, Format, LoadArguments};
use crate::exit::{self, Failure};
use crate::folder::{Folder, Purpose};
use crate::{console, setup};

/// Roles whose calls the suite makes by itself.
const ROLES: [&str; 3] = ["utp.tool-service", "hub.server", "toolbus.server"];
/// A search tries no higher rate.
const HIGHEST: f64 = 100_000.0;

/// The reports.
const JSON: &str = "load.json";
const PAGE: &str = "index.html";

static REPORTS: Purpose = Purpose {
    mark: "callmark-load.txt",
    heading: "# written by `callmark load`, which replaces and removes these files",
    command: "callmark load",
    files: is_ours,
    is_older: |_| false,
    is_shared: false,
};

/// Runs it.
pub(crate) fn run(arguments: &LoadArguments) -> Result<u8, Failure> {
    let library = Arc::new(setup::traffic_library()?);
    let mut manifest = setup::manifest(&described(arguments))?;
    console::hide(&manifest.secrets());
    let runtime = setup::runtime()?;
    if arguments.target.is_some() {
        let named: Vec<String> = arguments.profile.iter().cloned().collect();
        runtime.block_on(setup::settle(&mut manifest, &named, target::limits(arguments)))?;
    }
    let profile = profile(&manifest, arguments.profile.as_deref())?;
    let folder = arguments.out.as_deref().map(open).transpose()?;
    let report = runtime.block_on(load(arguments, &library, &manifest, &profile))?;
    // A target may repeat them.
    let report = console::without_secrets(&report).map_err(Failure::internal)?;
    if let Some(folder) = &folder {
        let (json, page) = (load_json(&report), load_html(&report));
        folder.replace([(JSON, json.as_str()), (PAGE, page.as_str())])?;
    }
    match arguments.format {
        Format::Json => print!("{}", load_json(&report)),
        Format::Human => print!("{}", load_human(&report)),
    }
    if let (Some(out), false) = (&arguments.out, arguments.quiet) {
        eprintln!("report: {}", out.join(PAGE).display());
    }
    Ok(code(&report))
}

fn is_ours(name: &str) -> bool {
    let logs = families::ALL.protocols().flat_map(|protocol| protocol.logs().iter().copied());
    [JSON, PAGE].into_iter().chain(logs).any(|own| own == name)
}

/// What of the command line says which target it is, as `certify` takes it.
fn described(arguments: &LoadArguments) -> CertifyArguments {
    CertifyArguments {
        target: arguments.target.clone(),
        broker: arguments.broker.clone(),
        transport: arguments.transport,
        ..CertifyArguments::default()
    }
}

fn open(path: &Path) -> Result<Folder, Failure> {
    let folder = Folder::open(path, &REPORTS)?;
    folder.mark([JSON, PAGE])?;
    Ok(folder)
}

/// The role that is called.
fn profile(manifest: &Manifest, named: Option<&str>) -> Result<String, Failure> {
    let is_role = |profile: &str| ROLES.contains(&split(profile).0);
    let roles = || ROLES.join(", ");
    let Some(name) = named else {
        let own: Vec<&str> = manifest.profiles().into_iter().filter(|own| is_role(own)).collect();
        return match own.as_slice() {
            [only] => Ok((*only).to_owned()),
            [] => Err(Failure::usage("the manifest describes no role that can be loaded")
                .hint(format!("those are: {}", roles()))),
            several => Err(Failure::usage("the manifest describes several roles that can be loaded")
                .hint(format!("name one with `--profile`: {}", several.join(", ")))),
        };
    };
    setup::known_profile(name)?;
    if !is_role(name) {
        return Err(Failure::usage(format!("`{name}` cannot be loaded: nobody knows harmless calls of it"))
            .hint(format!("those that can are: {}", roles())));
    }
    // Of several revisions the first.
    let profile = setup::named_profiles(manifest, name).into_iter().next().unwrap_or_else(|| name.to_owned());
    match manifest.missing_table(&profile) {
        Some(table) => {
            Err(Failure::usage(format!("the manifest has no table `[{table}]`, which `{profile}` needs"))
                .hint("`callmark init --help` lists what it writes a starting manifest for"))
        }
        None => Ok(profile),
    }
}

/// Starts the target, makes the calls, and ends what was started.
async fn load(
    arguments: &LoadArguments,
    library: &Arc<Library>,
    manifest: &Manifest,
    profile: &str,
) -> Result<LoadReport, Failure> {
    let shown = Shown::new(arguments.quiet);
    let opened = Opened::start(arguments, manifest, profile, &shown).await?;
    let loading = async {
        if let Some(p99) = arguments.p99.filter(|_| arguments.find) {
            return search(arguments, library, &opened, p99, &shown).await;
        }
        let trial = trial::run(arguments, library, &opened, (arguments.rate, 0), &shown).await?;
        Ok(trial.report(&opened, None))
    };
    let loaded = tokio::select! {
        loaded = loading => loaded,
        () = exit::until_signal() => Err(Failure::incomplete("interrupted before all calls were made")),
    };
    if let Some(why) = opened.ended() {
        shown.say(&format!("the target's process ended: {why}"));
    }
    opened.stop().await;
    loaded
}

/// Searches the highest rate that is held with a p99 within this bound; the report is about that one, or about the last
/// where none was held.
async fn search(
    arguments: &LoadArguments,
    library: &Arc<Library>,
    opened: &Opened,
    p99: std::time::Duration,
    shown: &Shown,
) -> Result<LoadReport, Failure> {
    let mut search = Search::new(arguments.rate, HIGHEST);
    let (mut trials, mut first) = (Vec::new(), 0);
    let mut kept: Option<(bool, trial::Tried)> = None;
    while let Some(rate) = search.next_rate() {
        let trial = trial::run(arguments, library, opened, (rate, first), shown).await?;
        first += trial.calls();
        let why_not = trial.why_not(p99);
        let is_held = why_not.is_none();
        let seen = LoadTrial { rate, p99_us: trial.p99_us(), why_not };
        shown.say(&format!(
            "{rate:.1} calls a second: {}",
            seen.why_not.as_deref().map_or_else(|| "held".to_owned(), |why| format!("not held, {why}"))
        ));
        trials.push(seen);
        search.learn(Trial { rate, is_held });
        // A rate that is held stands for one that is not, and a higher one for a lower one.
        let is_better = kept.as_ref().is_none_or(|(held, _)| is_held || !*held);
        if is_better {
            kept = Some((is_held, trial));
        }
    }
    let bound = u64::try_from(p99.as_micros()).unwrap_or(u64::MAX);
    let found = LoadSearch { p99_us: bound, best: search.best(), trials };
    let (_, trial) = kept.ok_or_else(|| Failure::internal("a search that tries nothing"))?;
    Ok(trial.report(opened, Some(found)))
}

fn code(report: &LoadReport) -> u8 {
    match report.verdict {
        LoadVerdict::Violations | LoadVerdict::Overloaded => exit::NONCONFORMANT,
        LoadVerdict::Behind => exit::INCOMPLETE,
        LoadVerdict::Held => match &report.search {
            // The calls of the last rate were answered, and too late.
            Some(search) if search.best.is_none() => exit::NONCONFORMANT,
            _ => exit::CONFORMANT,
        },
    }
}
