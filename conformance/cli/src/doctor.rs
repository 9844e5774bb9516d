//! `doctor`: check a manifest and its target step by step, and name the class of the first cause.
//!
//! What looks at a target answers with checks; `Diagnosis` is the one place that prints them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::diagnosis::{Check, State};
use callmark_suite::engine::judge::Cause;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::setup;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::guard;
use callmark_suite::net::inbound::Inbound;
use callmark_suite::net::outbound::Outbound;
use serde_json::{Value, json};

use crate::args::{DoctorArguments, DoctorFormat};
use crate::broker::{self, RunningBroker};
use crate::console;
use crate::exit::{self, Failure};
use crate::setup::{bad_manifest, choose_broker, named_broker, no_broker, runtime, settle};

/// Between two looks at who listens on the broker.
const LOOK: Duration = Duration::from_millis(250);
/// What only the suite's own client subscribes to.
const OURS: &str = "l0.v1.>";

/// Name of the shape of what it prints as JSON.
const SCHEMA: &str = "callmark.doctor/1";

/// Runs it.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let mut diagnosis = Diagnosis { format: arguments.format, checks: Vec::new(), logs: None };
    let outcome = diagnose(arguments, &mut diagnosis);
    diagnosis.finish(arguments, matches!(outcome, Ok(exit::CONFORMANT)));
    outcome
}

fn diagnose(arguments: &DoctorArguments, diagnosis: &mut Diagnosis) -> Result<u8, Failure> {
    let mut manifest = Manifest::read(&arguments.target).map_err(|error| {
        diagnosis.keep(Check::bad("manifest", Cause::Config, error.faults.join("; ")));
        bad_manifest(&error)
    })?;
    console::hide(&manifest.secrets());
    diagnosis.show(vec![Check::good("manifest", format!("`{}` is sound", arguments.target.display()))]);
    let runtime = runtime()?;
    runtime.block_on(settle(&mut manifest, &[], limits(arguments)))?;
    let profiles = manifest.profiles();
    if profiles.is_empty() {
        diagnosis.keep(Check::bad("profiles", Cause::Config, "the manifest has no table of any profile"));
        return Err(Failure::nothing("the manifest has no table of any profile")
            .hint("add for example `[utp.tool-service]` with its probes"));
    }
    diagnosis.show(vec![Check::good("profiles", profiles.join(", "))]);
    runtime.block_on(async {
        // What was started ends with the sessions that started it.
        tokio::select! {
            // Signals are waited for before anything is started.
            biased;
            () = exit::until_signal() => Err(Failure::incomplete("interrupted before everything was checked")),
            code = examine(arguments, &manifest, diagnosis) => code,
        }
    })
}

fn limits(arguments: &DoctorArguments) -> TimeoutLimits {
    TimeoutLimits { scale: arguments.timeout_scale, ..TimeoutLimits::default() }
}

async fn examine(
    arguments: &DoctorArguments,
    manifest: &Manifest,
    diagnosis: &mut Diagnosis,
) -> Result<u8, Failure> {
    let logs = guard::directory("doctor-").map_err(Failure::incomplete)?;
    diagnosis.logs = Some(format!("{}/", logs.path().display()));
    let broker = match named_broker(manifest) {
        Some(named) => {
            let choice = choose_broker(arguments.broker.as_ref(), named)?;
            let broker = broker::start_for(&choice, manifest, logs.path()).await.map_err(|error| {
                diagnosis.keep(Check::bad("broker", Cause::Reachability, error.to_string()));
                no_broker(&error)
            })?;
            diagnosis.show(vec![Check::good("broker", broker.shown(&choice))]);
            Some(broker)
        }
        None => None,
    };
    let profiles: Vec<String> = manifest.profiles().into_iter().map(str::to_owned).collect();
    let inbound = Inbound::of(manifest);
    let opening = setup::open(
        families::ALL,
        OpenPlan {
            manifest,
            profiles: families::ALL.select(&profiles),
            broker_url: broker.as_ref().map_or("", |broker| broker.urls()),
            broker_nodes: broker.as_ref().and_then(RunningBroker::nodes),
            limits: limits(arguments),
            outbound: Outbound::of(manifest),
            inbound: Arc::clone(&inbound),
            seed: 1,
            logs: logs.path().to_owned(),
            in_process: None,
        },
    );
    let (opened, subscribed) = listening(broker.as_ref(), opening).await;
    let mut sound = true;
    let mut say = |checks: Vec<Check>| {
        let is_silent = checks.iter().any(|check| check.is_about_silence);
        sound &= checks.iter().all(|check| !matches!(check.state, State::Bad(_)));
        diagnosis.show(checks);
        if broker.is_some() && is_silent {
            diagnosis.show(vec![subscriptions(subscribed.as_ref())]);
        }
    };
    for (profile, (cause, message)) in &opened.blocked {
        let check = Check::bad(profile, *cause, message.clone());
        let is_on_bus = families::ALL.of(profile).is_some_and(|family| family.protocol().is_on_bus(profile));
        let is_silent = *cause == Cause::Reachability && is_on_bus;
        say(vec![if is_silent { check.about_silence() } else { check }]);
    }
    for session in opened.sessions.iter() {
        say(Arc::clone(session).diagnose().await);
    }
    opened.close().await;
    say(inbound.remarks().into_iter().map(|text| Check::note("way in", text)).collect());
    if let Some(broker) = broker {
        broker.stop().await;
    }
    Ok(if sound { exit::CONFORMANT } else { exit::INCOMPLETE })
}

/// Opens the sessions, and meanwhile notes what clients of the broker subscribe to.
async fn listening<T>(
    broker: Option<&RunningBroker>,
    setting: impl Future<Output = T>,
) -> (T, Option<BTreeSet<String>>) {
    let mut subscribed = broker.and_then(RunningBroker::subscriptions).map(|_| BTreeSet::new());
    let mut looks = tokio::time::interval(LOOK);
    tokio::pin!(setting);
    loop {
        tokio::select! {
            set = &mut setting => return (set, subscribed),
            _ = looks.tick() => {
                let clients = broker.and_then(RunningBroker::subscriptions).unwrap_or_default();
                let is_ours = |own: &Vec<String>| own.iter().any(|subject| subject == OURS);
                let theirs = clients.into_iter().filter(|own| !is_ours(own)).flatten();
                if let Some(subscribed) = &mut subscribed {
                    subscribed.extend(theirs.filter(|subject| !subject.starts_with("_INBOX.")));
                }
            }
        }
    }
}

/// What helps where nothing comes from a target on the bus.
fn subscriptions(subscribed: Option<&BTreeSet<String>>) -> Check {
    let text = match subscribed {
        None => {
            "this broker cannot be asked who listens; with `--broker embedded` the doctor lists it".to_owned()
        }
        Some(subjects) if subjects.is_empty() => {
            "nobody subscribed to anything: check that the target connects to `CALLMARK_NATS_URL`".to_owned()
        }
        Some(subjects) => {
            let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
            format!("the target listens on `{}`", subjects.join("`, `"))
        }
    };
    Check::note("subscriptions", text)
}

/// What was found so far.
struct Diagnosis {
    format: DoctorFormat,
    checks: Vec<Check>,
    /// Path of the directory with the logs, with a slash. It is gone when somebody reads of it, so only the rest is shown.
    logs: Option<String>,
}

impl Diagnosis {
    /// Adds checks, which people see at once.
    fn show(&mut self, mut checks: Vec<Check>) {
        if let Some(logs) = &self.logs {
            for check in &mut checks {
                check.text = check.text.replace(logs, "");
            }
        }
        if self.format == DoctorFormat::Human {
            checks.iter().for_each(print);
        }
        self.checks.extend(checks);
    }

    /// Adds one that people see as the failure with which the command ends.
    fn keep(&mut self, check: Check) {
        self.checks.push(check);
    }

    fn finish(&self, arguments: &DoctorArguments, is_ready: bool) {
        let target = arguments.target.display().to_string();
        match self.format {
            DoctorFormat::Human if is_ready => println!("\nready: callmark certify --target {target}"),
            DoctorFormat::Human => {}
            DoctorFormat::Json => {
                let checks: Vec<Value> = self.checks.iter().map(as_json).collect();
                let all = json!({"schema": SCHEMA, "target": target, "ready": is_ready, "checks": checks});
                println!("{all:#}");
            }
        }
    }
}

fn print(Check { what, state, text, .. }: &Check) {
    let text = console::redacted(text);
    match state {
        State::Good => println!("  ok {what:<14} {text}"),
        State::Bad(cause) => println!("  !! {what:<14} {}: {text}", cause.name()),
        State::Untried => println!("  -  {what:<14} {text}"),
    }
}

fn as_json(Check { what, state, text, .. }: &Check) -> Value {
    let text = console::redacted(text);
    match state {
        State::Good => json!({"what": what, "state": "good", "text": text}),
        State::Bad(cause) => json!({"what": what, "state": "bad", "cause": cause.name(), "text": text}),
        State::Untried => json!({"what": what, "state": "untried", "text": text}),
    }
}
