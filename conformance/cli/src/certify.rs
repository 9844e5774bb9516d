//! `certify`: run the features against a target, write the reports, answer with the verdict.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use callmark_reports::record::TargetInfo;
use callmark_suite::engine::by_hand::quoted;
use callmark_suite::engine::family::Family;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::engine::run::{Library, Progress, Quiet, Remark, RunOutput, RunPlan, Selection};
use callmark_suite::engine::setup;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::net::inbound::Inbound;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::spec::library as features;
use clap::ValueEnum;

use crate::args::CertifyArguments;
use crate::baseline::LoadedBaseline;
use crate::broker::{self, BrokerChoice, RunningBroker};
use crate::bundled::{self, InThisProcess};
use crate::certificate::{self, Signer};
use crate::chaos;
use crate::conclusion::{self, Conclusion};
use crate::console;
use crate::daily;
use crate::descriptors::{self, Need};
use crate::exit::{self, Failure};
use crate::forecast;
use crate::progress::ProgressBar;
use crate::reports::{self, Written};
use crate::setup::{
    choose_broker, edition, known_profile, library, manifest, named_profiles, no_broker, of_revisions,
    runtime, settle,
};
use crate::shards::{self, Part};
use crate::timings::Timings;

/// The manifest of a directory.
const MANIFEST: &str = "callmark.toml";

/// The variable that stands for a broker with credentials in a command to paste.
const BROKER: &str = "CALLMARK_BROKER";

/// Runs it.
pub(crate) fn run(arguments: &CertifyArguments) -> Result<u8, Failure> {
    let arguments = &with_target(arguments);
    if arguments.daily.watch {
        return daily::watch(arguments);
    }
    let library = Arc::new(library()?);
    let mut manifest = manifest(arguments)?;
    console::hide(&manifest.secrets());
    let runtime = runtime()?;
    if arguments.target.is_some() && !arguments.plan.dry_run && !arguments.daily.list {
        runtime.block_on(settle(&mut manifest, &arguments.profile, limits(arguments, false)))?;
    }
    let mut selection = selection(&library, &manifest, arguments)?;
    if arguments.daily.failed {
        let record = (arguments.out.as_path(), arguments.strict);
        selection = daily::failures(&library, selection, &manifest, record)?;
    }
    let (selection, part) = match arguments.shard {
        None => (selection, None),
        Some(shard) => {
            let part = Part::of(&library, selection, shard, arguments)?;
            (part.selection.clone(), Some(part))
        }
    };
    if arguments.daily.list {
        return daily::list(&library, &selection, arguments);
    }
    if arguments.plan.dry_run {
        return Ok(forecast::print(arguments, &library, &manifest, &selection));
    }
    if arguments.chaos {
        chaos::check(&manifest)?;
    }
    forecast::consent(arguments, &library, &manifest, &selection)?;
    let baseline = LoadedBaseline::read(arguments.baseline.as_deref(), arguments.write_baseline)?;
    let signing = |key| Signer::read(key, &manifest, &selection.profiles);
    let signer = arguments.sign.as_deref().map(signing).transpose()?;
    // Before the run, so that the programs are those that are started.
    let programs = part.as_ref().and_then(|_| certificate::programs(&manifest, &selection.profiles));
    // What a whole run of the target holds, whatever part of it is selected now.
    let profiles =
        manifest.profiles().into_iter().map(str::to_owned).chain(selection.profiles.clone()).collect();
    // Other families need no broker, so none is started for them.
    let choice = selected_broker(&manifest, &selection)
        .map(|named| choose_broker(arguments.broker.as_ref(), named))
        .transpose()?;
    let folder = reports::open(&arguments.out)?;
    certificate::remove_old(&arguments.out)?;
    shards::remove_old(&arguments.out)?;
    let running = certify(arguments, &library, &manifest, selection, choice.as_ref());
    let mut output = match runtime.block_on(running) {
        Ok(output) => output,
        Err(failure) => {
            // A thread of an interrupted run may still look at a timer; it ends with the process.
            std::mem::forget(runtime);
            return Err(failure);
        }
    };
    let stale = match baseline {
        Some(baseline) => baseline.apply(&mut output.record, &library, &profiles)?,
        None => Vec::new(),
    };
    let transcripts = |mut out: &mut dyn std::io::Write| output.write_transcripts(&mut out);
    let written =
        Written { record: &output.record, timings: Timings::of(&output), transcripts: &transcripts };
    reports::write(&folder, &written)?;
    if let Some(part) = part {
        certificate::keep(&arguments.out, &manifest, &output)?;
        part.write(arguments, &output, programs, rerun(arguments))?;
    }
    let sign = |signer: Signer| {
        conclusion::sign(&output.record, || signer.sign(&arguments.out, &library, &manifest, &output))
    };
    let conclusion = Conclusion {
        format: arguments.format,
        is_quiet: arguments.quiet,
        out: &arguments.out,
        certificate: signer.map(sign).transpose()?.flatten(),
        baseline: (arguments.baseline.as_deref(), stale),
    };
    let code = conclusion.of(&output.record)?;
    // The process ends now: to take apart every message of the run would take its time.
    std::mem::forget((output, library));
    Ok(code)
}

/// The command line, with the manifest beside which it was given where it names no target.
fn with_target(arguments: &CertifyArguments) -> CertifyArguments {
    let here = Path::new(MANIFEST);
    // Whatever is there is meant, also what cannot be read: that must not look like a run of the reference.
    let is_meant = !arguments.bundled && arguments.target.is_none() && here.symlink_metadata().is_ok();
    if is_meant {
        eprintln!("manifest: `{MANIFEST}` of this directory (`--bundled` certifies the bundled reference)");
    }
    let target = if is_meant { Some(here.to_owned()) } else { arguments.target.clone() };
    CertifyArguments { target, ..arguments.clone() }
}

fn selection(
    library: &Library,
    manifest: &Manifest,
    arguments: &CertifyArguments,
) -> Result<Selection, Failure> {
    for profile in &arguments.profile {
        known_profile(profile)?;
    }
    let profiles: Vec<String> = if arguments.profile.is_empty() {
        manifest.profiles().into_iter().map(str::to_owned).collect()
    } else {
        arguments.profile.iter().flat_map(|name| named_profiles(manifest, name)).collect()
    };
    let is_described = !profiles.is_empty();
    let profiles = of_revisions(profiles, &arguments.revision)?;
    if profiles.is_empty() && is_described {
        return Err(Failure::nothing("the manifest describes no profile in this revision")
            .hint("`protocol_version` under `[utp]` and `revisions` under `[toolbus]` say which ones the target has"));
    }
    if profiles.is_empty() {
        return Err(Failure::nothing("the manifest has no table of any profile, so nothing is selected")
            .hint("add for example `[utp.tool-service]`, or name a profile with `--profile`"));
    }
    let missing = |profile: &String| Some((profile.clone(), manifest.missing_table(profile)?.to_owned()));
    if let Some((profile, table)) = profiles.iter().find_map(missing) {
        return Err(Failure::usage(format!(
            "the manifest has no table `[{table}]`, which `{profile}` needs"
        ))
        .hint("`callmark init --help` lists what it writes a starting manifest for"));
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
    let edition = edition(library, arguments.edition.as_deref(), manifest)?;
    let rules = arguments.rule.clone();
    let selection = Selection { profiles, rules, tags, edition, ..Selection::default() };
    if library.select(&selection).is_empty() {
        return Err(Failure::nothing("no scenario is selected").hint(
            "`callmark rules --profile …` shows which rules a profile has and which still wait for features",
        ));
    }
    Ok(selection)
}

/// The broker that the manifest names for one of the selected profiles.
fn selected_broker<'m>(manifest: &'m Manifest, selection: &Selection) -> Option<&'m str> {
    let families = selection.profiles.iter().filter_map(|profile| families::ALL.of(profile));
    families.map(Family::protocol).find_map(|protocol| protocol.broker(manifest))
}

/// Runs a selection against the target, and ends whatever it started.
pub(crate) async fn certify(
    arguments: &CertifyArguments,
    library: &Arc<Library>,
    manifest: &Manifest,
    selection: Selection,
    choice: Option<&BrokerChoice>,
) -> Result<RunOutput, Failure> {
    let shown = Arc::new(ProgressBar::new());
    let say = |text: String| {
        if !arguments.quiet {
            shown.say(&text);
        }
    };
    let is_bundled = arguments.target.is_none();
    let wanted = usize::from(arguments.jobs);
    let limit = descriptors::raise();
    let jobs = descriptors::jobs(wanted, limit, need(&selection, is_bundled))?;
    if jobs < wanted {
        // It is no progress, so `--quiet` does not hide it.
        shown.say(&format!(
            "running {jobs} scenarios at a time, not {wanted}: this process may open only {limit} files (`ulimit -n`)"
        ));
    }
    if choice.is_none() && arguments.broker.is_some() {
        say("`--broker` changes nothing: no selected profile is reached through a broker".to_owned());
    }
    // A shard without scenarios needs no target.
    let is_empty = selection.scenarios.as_ref().is_some_and(BTreeSet::is_empty);
    let profiles: &[String] = if is_empty { &[] } else { &selection.profiles };
    let choice = choice.filter(|_| !is_empty).inspect(|choice| say(format!("broker: {choice}")));
    let broker = start_broker(arguments, manifest, choice).await?;
    if is_bundled {
        bundled::keep_files_in_memory();
    }
    // Before it is completed for the bundled reference: as it is signed.
    let places = manifest.places();
    let mut manifest = manifest.clone();
    let in_process = if is_bundled && !is_empty {
        let started = InThisProcess::start(&mut manifest, profiles).await;
        Some(started.map_err(Failure::incomplete)?)
    } else {
        None
    };
    let manifest = &manifest;
    say(format!("target: {} {}", manifest.target.name, manifest.target.version));
    let (outbound, inbound) = (Outbound::of(manifest), Inbound::of(manifest));
    let opening = setup::open(
        library.families,
        OpenPlan {
            manifest,
            profiles: library.families.select(profiles),
            broker_url: broker.as_ref().map_or("", |broker| broker.urls()),
            broker_nodes: broker.as_ref().and_then(RunningBroker::nodes),
            limits: limits(arguments, is_bundled),
            outbound: Arc::clone(&outbound),
            inbound: Arc::clone(&inbound),
            seed: arguments.seed,
            logs: arguments.out.clone(),
            in_process: in_process.as_ref().map(InThisProcess::roles),
        },
    );
    let opened = tokio::select! {
        // Signals are waited for before anything is started.
        biased;
        () = exit::until_signal() => return Err(interrupted()),
        opened = opening => opened,
    };
    for (profile, (cause, message)) in &opened.blocked {
        // An error is no progress, so `--quiet` does not hide it.
        shown.say(&format!("{profile} cannot run ({}): {message}", cause.name()));
    }
    // Shards are signed when they are merged.
    let is_kept = arguments.sign.is_some() || arguments.shard.is_some();
    let progress: Arc<dyn Progress> = if arguments.quiet { Arc::new(Quiet) } else { Arc::clone(&shown) as _ };
    let plan = Arc::new(RunPlan {
        selection,
        sessions: opened.sessions.clone(),
        blocked: opened.blocked.clone(),
        target: TargetInfo { name: manifest.target.name.clone(), version: manifest.target.version.clone() },
        places,
        strict: arguments.strict,
        fail_fast: arguments.daily.fail_fast,
        jobs: if manifest.is_serial() { 1 } else { jobs.min(in_flight(manifest)) },
        lead: None,
        alone: run::ALONE,
        seed: arguments.seed,
        rerun: rerun(arguments),
        secrets: manifest.secrets().into_iter().chain(opened.sessions.secrets()).collect(),
        outbound,
        progress: Arc::clone(&progress),
        memory: Arc::new(if is_kept { ReplayMode::Record } else { ReplayMode::Off }),
    });
    let running = async {
        let mut output = run::run(library, &plan).await;
        if arguments.chaos {
            output.record.chaos = chaos::run(&plan, &say).await?;
        }
        Ok(output)
    };
    let mut output = tokio::select! {
        output = running => output,
        () = until_interrupted(&shown) => Err(interrupted()),
    };
    if manifest.target.cleans_up() {
        forecast::say_cleaned_up(&opened.sessions.clean_up().await);
    }
    opened.close().await;
    remark_on(&inbound, &*progress, output.as_mut().ok());
    stop(in_process, broker).await;
    output
}

/// Starts the broker of a run, or finds it running, where the run needs one.
async fn start_broker(
    arguments: &CertifyArguments,
    manifest: &Manifest,
    choice: Option<&BrokerChoice>,
) -> Result<Option<RunningBroker>, Failure> {
    let Some(choice) = choice else { return Ok(None) };
    let started = broker::start_for(choice, manifest, &arguments.out).await;
    started.map(Some).map_err(|error| no_broker(&error))
}

/// Ends what was started for the target.
async fn stop(in_process: Option<InThisProcess>, broker: Option<RunningBroker>) {
    if let Some(in_process) = in_process {
        in_process.stop().await;
    }
    if let Some(broker) = broker {
        broker.stop().await;
    }
}

/// Remarks on what a started target asked for and did not get.
fn remark_on(inbound: &Inbound, progress: &dyn Progress, mut output: Option<&mut RunOutput>) {
    for text in inbound.remarks() {
        let remark = Remark { scenario: None, text, log: Vec::new() };
        progress.remark(&remark);
        if let Some(output) = &mut output {
            output.remarks.push(remark);
        }
    }
}

/// How many scenarios may run at a time for the sake of the target.
fn in_flight(manifest: &Manifest) -> usize {
    let manners = manifest.target.manners.as_ref();
    manners.and_then(|manners| manners.in_flight).unwrap_or(usize::MAX)
}

/// What the selected profiles need descriptors for.
fn need(selection: &Selection, is_bundled: bool) -> Need {
    let families = families::ALL.iter().filter(|family| selection.profiles.iter().any(|own| family.has(own)));
    Need { families: families.count(), is_bundled }
}

/// Waits for a signal that ends the run. No scenario is shown after it.
async fn until_interrupted(shown: &ProgressBar) {
    exit::until_signal().await;
    shown.interrupted();
}

fn interrupted() -> Failure {
    Failure::incomplete("interrupted before the run was complete")
}

fn limits(arguments: &CertifyArguments, is_bundled: bool) -> TimeoutLimits {
    if is_bundled {
        bundled::limits(arguments.timeout_scale)
    } else {
        TimeoutLimits { scale: arguments.timeout_scale, ..TimeoutLimits::default() }
    }
}

/// The command that runs this target again in the same way; it can be pasted.
fn rerun(arguments: &CertifyArguments) -> String {
    let mut command = match &arguments.target {
        Some(path) => format!("callmark certify --target {}", word(&path.display().to_string())),
        None => "callmark certify --bundled".to_owned(),
    };
    let standard = CertifyArguments::default();
    let mut add = |option: String| command.extend([" ", option.as_str()]);
    if let Some(folder) = features::folder() {
        add(format!("--features {}", word(&folder.display().to_string())));
    }
    if let Some(edition) = &arguments.edition {
        add(format!("--edition {}", word(edition)));
    }
    if let Some(broker) = &arguments.broker {
        // Credentials are in no report, so whoever pastes the line sets them.
        let shown = broker.to_string();
        let shown = if shown == broker.given() { word(&shown) } else { format!("\"${{{BROKER}}}\"") };
        add(format!("--broker {shown}"));
    }
    if let Some(transport) = arguments.transport.as_ref().and_then(ValueEnum::to_possible_value) {
        add(format!("--transport {}", transport.get_name()));
    }
    if arguments.strict {
        add("--strict".to_owned());
    }
    if arguments.chaos {
        add("--chaos".to_owned());
    }
    if arguments.seed != standard.seed {
        add(format!("--seed {}", arguments.seed));
    }
    if arguments.timeout_scale.total_cmp(&standard.timeout_scale).is_ne() {
        add(format!("--timeout-scale {}", arguments.timeout_scale));
    }
    command
}

/// A word of a shell, in quotes where it needs them.
fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@=,+%".contains(&byte);
    let is_word = !text.is_empty() && text.bytes().all(is_plain);
    if is_word { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rerun_names_everything_that_the_verdict_depends_on() {
        let check = |change: fn(&mut CertifyArguments), expect: &str| {
            let mut arguments = CertifyArguments::default();
            change(&mut arguments);
            assert_eq!(rerun(&arguments), expect);
        };
        check(|own| own.jobs = 4, "callmark certify --bundled");
        check(
            |own| own.target = Some("a b/it's.toml".into()),
            "callmark certify --target 'a b/it'\\''s.toml'",
        );
        check(
            |own| {
                own.target = Some("./callmark.toml".into());
                own.transport = Some(crate::args::TransportChoice::Http);
                own.strict = true;
                own.seed = 7;
                own.timeout_scale = 2.5;
                own.broker = Some(BrokerChoice::Url("nats://127.0.0.1:4222".to_owned()));
            },
            "callmark certify --target ./callmark.toml --broker nats://127.0.0.1:4222 --transport http --strict \
             --seed 7 --timeout-scale 2.5",
        );
        check(|own| own.edition = Some("2026.1".to_owned()), "callmark certify --bundled --edition 2026.1");
        check(
            |own| own.broker = Some(BrokerChoice::Url("nats://me:hush@h:1".to_owned())),
            "callmark certify --bundled --broker \"${CALLMARK_BROKER}\"",
        );
    }
}
