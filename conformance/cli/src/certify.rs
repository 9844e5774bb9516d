//! `certify`: run the features against a target, write the reports, answer with the verdict.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use callmark_reports::Style;
use callmark_reports::certificate::PrivateKey;
use callmark_reports::record::{RunRecord, TargetInfo, Verdict};
use callmark_suite::manifest::{AgentTable, BreadcrumbTable, HubTable, Manifest, ManifestError};
use callmark_suite::pace::PaceLimits;
use callmark_suite::registry::{PROFILES, nearest};
use callmark_suite::run::memory::Memory;
use callmark_suite::run::{self, Library, Progress, Quiet, RunOutput, RunPlan, Selection};
use callmark_suite::stage::{self, StagePlan};
use callmark_suite::target::Target;
use callmark_suite::utp::capture::Exercise;
use miette::Diagnostic as _;

use crate::args::{CertifyArguments, Format};
use crate::baseline::{self, Used};
use crate::broker::{self, BrokerChoice, BrokerStartError};
use crate::bundled::{self, Reference, Registry, Tour};
use crate::certificate;
use crate::exit::{self, Failure, colored};
use crate::progress::Shown;
use crate::report;

/// Runs it.
pub(crate) fn run(arguments: &CertifyArguments) -> Result<u8, Failure> {
    let library = Arc::new(library()?);
    let manifest = manifest(arguments)?;
    let selection = selection(&library, &manifest, arguments)?;
    let baseline = Used::read(arguments)?;
    let key = arguments.sign.as_deref().map(certificate::signing_key).transpose()?;
    // What a whole run of the target holds, whatever part of it is selected now.
    let profiles =
        manifest.profiles().into_iter().map(str::to_owned).chain(selection.profiles.clone()).collect();
    // Other families need no broker, so none is started for them.
    let choice = if selection.profiles.iter().any(|profile| profile.starts_with("utp.")) {
        Some(choose_broker(arguments.broker.as_ref(), &manifest)?)
    } else {
        None
    };
    std::fs::create_dir_all(&arguments.out).map_err(|error| cannot_write(&arguments.out, &error))?;
    certificate::forget(&arguments.out)?;
    let runtime = runtime()?;
    let mut output = runtime.block_on(certify(arguments, &library, &manifest, selection, choice.as_ref()))?;
    let stale = match baseline {
        Some(baseline) => baseline.apply(&mut output.record, &library, &profiles)?,
        None => Vec::new(),
    };
    write_reports(&arguments.out, &output)?;
    let signed = key.map(|key| sign(arguments, &key, &library, &manifest, &output)).transpose()?;
    show(arguments, &output.record);
    if let Some(signed) = signed.flatten().filter(|_| !arguments.quiet && arguments.format == Format::Human) {
        println!("certificate: {}", signed.display());
    }
    baseline::tell(&stale, arguments.baseline.as_deref().unwrap_or(Path::new("")));
    let code = match output.record.verdict {
        Verdict::Conformant if !stale.is_empty() => exit::STALE_BASELINE,
        Verdict::Conformant => exit::CONFORMANT,
        Verdict::Nonconformant => exit::NONCONFORMANT,
        Verdict::Incomplete => exit::INCOMPLETE,
    };
    // The process ends now: to take apart every message of the run would take its time.
    std::mem::forget((output, library));
    Ok(code)
}

/// Signs what conforms; says why there is no certificate for what does not.
fn sign(
    arguments: &CertifyArguments,
    key: &PrivateKey,
    library: &Arc<Library>,
    manifest: &Manifest,
    output: &RunOutput,
) -> Result<Option<PathBuf>, Failure> {
    if let Err(refused) = certificate::certifiable(&output.record) {
        eprintln!("no certificate: {refused}");
        return Ok(None);
    }
    certificate::sign(&arguments.out, key, library, manifest, output).map(Some)
}

/// The manifest of the target, with what the command line says otherwise.
pub(crate) fn manifest(arguments: &CertifyArguments) -> Result<Manifest, Failure> {
    let mut manifest = if let Some(path) = &arguments.target {
        Manifest::read(path).map_err(|error| bad_manifest(&error))?
    } else {
        let program = std::env::current_exe().map_err(Failure::internal)?;
        bundled::manifest(&program).map_err(Failure::internal)?
    };
    let Some(choice) = arguments.transport else { return Ok(manifest) };
    let shown = arguments
        .target
        .as_ref()
        .map_or_else(|| "bundled.toml".to_owned(), |path| path.display().to_string());
    match &mut manifest.toolbus {
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

/// The broker of the command line, else the manifest's.
pub(crate) fn choose_broker(
    given: Option<&BrokerChoice>,
    manifest: &Manifest,
) -> Result<BrokerChoice, Failure> {
    if let Some(choice) = given {
        return Ok(choice.clone());
    }
    let named = manifest.utp.as_ref().map_or("embedded", |utp| utp.nats.as_str());
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

fn selection(
    library: &Library,
    manifest: &Manifest,
    arguments: &CertifyArguments,
) -> Result<Selection, Failure> {
    for profile in &arguments.profile {
        known_profile(profile)?;
    }
    let profiles = if arguments.profile.is_empty() {
        manifest.profiles().into_iter().map(str::to_owned).collect()
    } else {
        arguments.profile.clone()
    };
    if profiles.is_empty() {
        return Err(Failure::nothing("the manifest has no table of any profile, so nothing is selected")
            .hint("add for example `[utp.tool-service]`, or name a profile with `--profile`"));
    }
    let missing = |profile: &String| Some((profile.clone(), manifest.missing_table(profile)?.to_owned()));
    if let Some((profile, table)) = profiles.iter().find_map(missing) {
        return Err(Failure::usage(format!(
            "the manifest has no table `[{table}]`, which `{profile}` needs"
        ))
        .hint("`callmark init --help` tells for what it writes a manifest to start from"));
    }
    for id in &arguments.rule {
        if library.registry.rule(id).is_none() {
            let failure = Failure::usage(format!("there is no rule `{id}`"));
            return Err(match library.registry.nearest(id) {
                Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
                None => failure.hint("`callmark rules` lists all of them"),
            });
        }
    }
    let tags = arguments.tags.as_deref().map(str::parse).transpose().map_err(Failure::usage)?;
    let selection = Selection { profiles, rules: arguments.rule.clone(), tags, scenarios: None };
    if library.select(&selection).is_empty() {
        return Err(Failure::nothing("no scenario is selected").hint(
            "`callmark rules --profile …` shows which rules a profile has and which still wait for features",
        ));
    }
    Ok(selection)
}

/// Refuses a profile that there is not.
pub(crate) fn known_profile(profile: &str) -> Result<(), Failure> {
    if PROFILES.iter().any(|known| known.id == profile) {
        return Ok(());
    }
    let failure = Failure::usage(format!("there is no profile `{profile}`"));
    Err(match nearest(profile, PROFILES.iter().map(|known| known.id)) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("there are: {}", PROFILES.map(|known| known.id).join(", "))),
    })
}

/// Runs a selection against the target, and ends whatever it started.
pub(crate) async fn certify(
    arguments: &CertifyArguments,
    library: &Arc<Library>,
    manifest: &Manifest,
    selection: Selection,
    choice: Option<&BrokerChoice>,
) -> Result<RunOutput, Failure> {
    let shown = Arc::new(Shown::new());
    let say = |text: String| {
        if !arguments.quiet {
            shown.say(&text);
        }
    };
    let broker = match choice {
        Some(choice) => {
            say(format!("broker: {choice}"));
            Some(broker::start(choice).await.map_err(|error| no_broker(&error))?)
        }
        None => None,
    };
    let is_bundled = arguments.target.is_none();
    if is_bundled {
        bundled::keep_files_in_memory();
    }
    let mut manifest = manifest.clone();
    let registry = if is_bundled && selection.profiles.iter().any(|profile| profile == "utp.registry") {
        Some(Registry::start(&mut manifest).await.map_err(Failure::incomplete)?)
    } else {
        None
    };
    let manifest = &manifest;
    say(format!("target: {} {}", manifest.target.name, manifest.target.version));
    let setting = stage::set(StagePlan {
        manifest,
        profiles: &selection.profiles,
        nats_url: broker.as_ref().map_or("", |broker| broker.url()),
        limits: limits(arguments, is_bundled),
        seed: arguments.seed,
        log: arguments.out.join("target.log"),
        target: is_bundled.then(|| Box::new(Reference::of(&selection.profiles)) as Box<dyn Target>),
        exercise: is_bundled.then_some(&Tour as &dyn Exercise),
    });
    let set = tokio::select! {
        set = setting => set,
        () = exit::told_to_end() => return Err(interrupted()),
    };
    for (profile, (cause, message)) in &set.blocked {
        // An error is no progress, so `--quiet` does not hide it.
        shown.say(&format!("{profile} cannot run ({}): {message}", cause.name()));
    }
    let serial = manifest.utp.as_ref().is_some_and(|utp| utp.serial)
        || manifest.toolbus.as_ref().is_some_and(|toolbus| toolbus.serial)
        || manifest.hub.as_ref().is_some_and(|hub| hub.serial)
        || manifest.breadcrumb.as_ref().is_some_and(BreadcrumbTable::is_serial);
    let progress: Arc<dyn Progress> = if arguments.quiet { Arc::new(Quiet) } else { shown };
    let plan = Arc::new(RunPlan {
        selection,
        stage: set.stage.clone(),
        blocked: set.blocked.clone(),
        target: TargetInfo { name: manifest.target.name.clone(), version: manifest.target.version.clone() },
        strict: arguments.strict,
        jobs: if serial { 1 } else { usize::from(arguments.jobs) },
        seed: arguments.seed,
        rerun: rerun(arguments),
        secrets: secrets(manifest).into_iter().chain(set.stage.secrets()).collect(),
        progress,
        memory: Arc::new(if arguments.sign.is_some() { Memory::Kept } else { Memory::Fleeting }),
    });
    let output = tokio::select! {
        output = run::run(library, &plan) => Ok(output),
        () = exit::told_to_end() => Err(interrupted()),
    };
    set.strike().await;
    if let Some(registry) = registry {
        registry.stop().await;
    }
    if let Some(broker) = broker {
        broker.stop().await;
    }
    output
}

fn interrupted() -> Failure {
    Failure::incomplete("told to end before the run was complete")
}

fn limits(arguments: &CertifyArguments, is_bundled: bool) -> PaceLimits {
    if is_bundled {
        bundled::limits(arguments.timeout_scale)
    } else {
        PaceLimits { scale: arguments.timeout_scale, ..PaceLimits::default() }
    }
}

/// The command that runs this target again.
fn rerun(arguments: &CertifyArguments) -> String {
    match &arguments.target {
        Some(path) => format!("callmark certify --target {}", path.display()),
        None => "callmark certify --bundled".to_owned(),
    }
}

/// Values of the manifest that must not be stored: the target's environment, its HTTP headers, and credentials of the
/// broker.
fn secrets(manifest: &Manifest) -> Vec<String> {
    let utp = manifest.utp.iter();
    let credentials = utp.clone().filter_map(|utp| {
        let (_, rest) = utp.nats.split_once("://")?;
        rest.rsplit_once('@').map(|(user, _)| user)
    });
    let words = credentials.flat_map(|user| user.split(':'));
    let toolbus = manifest.toolbus.iter().flat_map(|own| own.env.values().chain(own.headers.values()));
    let hub = manifest.hub.iter().flat_map(|hub| hub.env.values());
    let service = manifest.hub.iter().filter_map(HubTable::secret);
    let agent = manifest.hub.iter().filter_map(|hub| hub.agent.as_ref()).flat_map(AgentTable::secrets);
    let crumbs = manifest.breadcrumb.iter().flat_map(BreadcrumbTable::secrets);
    let executor =
        utp.clone().filter_map(|utp| utp.openapi.as_ref()).flat_map(|own| own.environment.values());
    let registry = utp
        .clone()
        .filter_map(|utp| utp.registry.as_ref())
        .flat_map(|own| own.env.values().chain(own.headers.values()));
    utp.flat_map(|utp| utp.env.values())
        .chain(executor)
        .chain(registry)
        .chain(toolbus)
        .chain(hub)
        .map(String::as_str)
        .chain(words)
        .map(str::to_owned)
        .chain(service)
        .chain(crumbs)
        .chain(agent)
        .filter(|value| value.len() >= 4)
        .collect()
}

/// Writes every report, the large ones side by side.
fn write_reports(out: &Path, output: &RunOutput) -> Result<(), Failure> {
    let features = report::features(&output.record);
    let write = |formats: &[callmark_reports::Format]| {
        formats.iter().try_for_each(|format| {
            let path = out.join(format.file_name());
            report::write_file(&path, *format, &output.record, &features)
                .map_err(|error| cannot_write(&path, &error))
        })
    };
    let (messages, others): (Vec<_>, Vec<_>) = callmark_reports::Format::ALL
        .into_iter()
        .partition(|format| *format == callmark_reports::Format::Messages);
    std::thread::scope(|scope| {
        let aside = scope.spawn(|| write(&messages));
        let path = out.join("transcript.jsonl");
        let transcript = write_transcript(&path, output).map_err(|error| cannot_write(&path, &error));
        let others = transcript.and_then(|()| write(&others));
        aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(others)
    })?;
    let path = out.join("timings.json");
    std::fs::write(&path, timings(output)).map_err(|error| cannot_write(&path, &error))
}

/// One line a message; written as it goes, since a talkative target makes it long.
fn write_transcript(path: &Path, output: &RunOutput) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    output.write_transcripts(&mut file)?;
    file.flush()
}

/// How long each scenario took, in microseconds. Not part of the record, which is the same for every run.
fn timings(output: &RunOutput) -> String {
    let scenarios: BTreeMap<&String, u128> =
        output.timings.iter().map(|(id, took)| (id, took.as_micros())).collect();
    format!("{:#}\n", serde_json::json!({"schema": "callmark.timings/1", "scenarios_us": scenarios}))
}

/// A file of `--out` that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("`{}` cannot be written: {error}", path.display()))
        .hint("choose another directory with `--out`")
}

fn show(arguments: &CertifyArguments, record: &RunRecord) {
    match arguments.format {
        Format::Json => print!("{}", callmark_reports::json(record)),
        Format::Human if arguments.quiet => {}
        Format::Human => {
            let stdout = std::io::stdout();
            let width = if stdout.is_terminal() { 100 } else { 120 };
            print!("{}", callmark_reports::human(record, Style { color: colored(&stdout), width }));
            println!("reports: {}", arguments.out.join("index.html").display());
        }
    }
}

/// Seconds since `began`, for people.
pub(crate) fn seconds(began: Instant) -> String {
    format!("{:.1} s", began.elapsed().as_secs_f64())
}
