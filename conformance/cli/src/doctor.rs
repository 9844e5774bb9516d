//! `doctor`: check a manifest and its target step by step, and name the class of the first cause.
//!
//! What looks at a target answers with checks; `show` is the one place that prints them.

mod check;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::breadcrumb::agent::session::CrumbAgentSession;
use callmark_suite::breadcrumb::session::RunnerSession;
use callmark_suite::engine::session::Session as _;
use callmark_suite::engine::setup::{self, OpenPlan};
use callmark_suite::families;
use callmark_suite::hub::agent::session::AgentSession;
use callmark_suite::hub::contract;
use callmark_suite::hub::session::HubSession;
use callmark_suite::judge::Cause;
use callmark_suite::management::session::ManagementSession;
use callmark_suite::manifest::{Builtin, Customer, Manifest, ProbeName, UtpTable};
use callmark_suite::pace::{Pace, PaceLimits};
use callmark_suite::runtime::session::RuntimeSession;
use callmark_suite::target::guard;
use callmark_suite::toolbus::call::Probe;
use callmark_suite::toolbus::session::ToolbusSession;
use callmark_suite::transcript::Frame;
use callmark_suite::utp::judge::seen::{self, Calls};
use callmark_suite::utp::scene::Scene;
use callmark_suite::utp::services::Services;
use callmark_suite::utp::session::{Liveness, UtpSession};
use callmark_suite::utp::tool::Role;

use crate::args::DoctorArguments;
use crate::broker::{self, RunningBroker};
use crate::certify::{bad_manifest, choose_broker, no_broker};
use crate::console;
use crate::exit::{self, Failure};

use self::check::{Check, State, bad, good, note, show};

/// Between two looks at who listens on the broker.
const LOOK: Duration = Duration::from_millis(250);
/// What only the suite's own client subscribes to.
const OURS: &str = "l0.v1.>";
/// What is said of what the manifest leaves out.
const NOT_DECLARED: &str = "not declared: what needs it will be not-applicable";

/// Runs it.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let manifest = Manifest::read(&arguments.target).map_err(|error| bad_manifest(&error))?;
    console::hide(&manifest.secrets());
    show(&[good("manifest", format!("`{}` is sound", arguments.target.display()))]);
    let profiles = manifest.profiles();
    if profiles.is_empty() {
        return Err(Failure::nothing("the manifest has no table of any profile")
            .hint("add for example `[utp.tool-service]` with its probes"));
    }
    show(&[good("profiles", profiles.join(", "))]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::internal)?;
    runtime.block_on(async {
        // What was started ends with the sessions that started it.
        tokio::select! {
            // Signals are waited for before anything is started.
            biased;
            () = exit::told_to_end() => Err(Failure::incomplete("told to end before all was looked at")),
            code = examine(arguments, &manifest) => code,
        }
    })
}

async fn examine(arguments: &DoctorArguments, manifest: &Manifest) -> Result<u8, Failure> {
    let broker = match manifest.get::<UtpTable>() {
        Some(_) => {
            let choice = choose_broker(arguments.broker.as_ref(), manifest)?;
            let broker = broker::start(&choice).await.map_err(|error| no_broker(&error))?;
            show(&[good("broker", choice.to_string())]);
            Some(broker)
        }
        None => None,
    };
    let logs = tempfile::Builder::new().prefix("callmark-doctor-").tempdir().map_err(Failure::incomplete)?;
    guard::directory(logs.path());
    let profiles: Vec<String> = manifest.profiles().into_iter().map(str::to_owned).collect();
    let opening = setup::open(
        families::ALL,
        OpenPlan {
            manifest,
            profiles: &profiles,
            broker_url: broker.as_ref().map_or("", |broker| broker.url()),
            limits: PaceLimits { scale: arguments.timeout_scale, ..PaceLimits::default() },
            seed: 1,
            logs: logs.path().to_owned(),
            in_process: None,
        },
    );
    let (opened, subscribed) = listening(broker.as_ref(), opening).await;
    let mut sound = true;
    let mut say = |checks: Vec<Check>| {
        show(&checks);
        sound &= checks.iter().all(|check| !matches!(check.state, State::Bad(_)));
    };
    for (profile, (cause, message)) in &opened.blocked {
        say(vec![bad(profile, cause.name(), message.clone())]);
        if *cause == Cause::Reachability && profile.starts_with("utp.") && broker.is_some() {
            say(vec![subscriptions(subscribed.as_ref())]);
        }
    }
    let services = opened.sessions.get::<Services>().unwrap_or_default();
    for session in services.roles.values() {
        say(liveness(session));
        if session.role == Role::ToolService && session.liveness != Liveness::Stirs {
            say(probes(session).await);
        }
        if session.role == Role::Pmo && session.liveness != Liveness::Stirs {
            say(builtins(session).await);
        }
    }
    if let Some(capture) = &services.capture {
        say(vec![good("capture", format!("{} messages", capture.len()))]);
    }
    if let Some(session) = &opened.sessions.get::<ManagementSession>() {
        say(registry(session));
    }
    if let Some(session) = &opened.sessions.get::<ToolbusSession>() {
        say(server(session).await);
    }
    if let Some(session) = &opened.sessions.get::<HubSession>() {
        say(hub(session).await);
    }
    if let Some(session) = &opened.sessions.get::<AgentSession>() {
        say(agent(session));
    }
    if let Some(session) = &opened.sessions.get::<RuntimeSession>() {
        say(runtime(session));
    }
    if let Some(session) = &opened.sessions.get::<RunnerSession>() {
        say(runner(session).await);
    }
    if let Some(session) = &opened.sessions.get::<CrumbAgentSession>() {
        say(crumb_agent(session));
    }
    opened.close().await;
    if let Some(broker) = broker {
        broker.stop().await;
    }
    if sound {
        println!("\nready: callmark certify --target {}", arguments.target.display());
        return Ok(exit::CONFORMANT);
    }
    Ok(exit::INCOMPLETE)
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
    note("subscriptions", text)
}

/// What the calibration of a tool bus session found, and what each probe answers.
async fn server(session: &ToolbusSession) -> Vec<Check> {
    if let Some(why) = session.why_idle() {
        let text = format!("the echo probe does not give back what it is given: {why}");
        return vec![bad("server", "fixture", text)];
    }
    let found = format!("echoes a value, results at `{}`", session.result_pointer);
    let mut checks = vec![good("server", found), pace(&session.pace)];
    let declared = session.capabilities();
    for probe in Probe::ALL.into_iter().filter(|probe| *probe != Probe::Echo) {
        let name = probe.capability();
        checks.push(match session.try_probe(probe).await {
            Some(Ok(told)) => good(&name, told),
            Some(Err(why)) => bad(&name, "fixture", format!("`{}`: {why}", probe.key())),
            None => note(&name, NOT_DECLARED),
        });
    }
    for (name, what) in [
        ("root", "a context root"),
        ("root.none", "a server without a context root"),
        ("restart", "a restart"),
    ] {
        if !declared.contains(name) {
            checks.push(note(name, format!("{what} cannot be had: what needs it will be not-applicable")));
        }
    }
    checks
}

/// What the calibration of a session with a Hub found, and whether each customer is what it is said to be.
async fn hub(session: &Arc<HubSession>) -> Vec<Check> {
    if !session.works() {
        let (Ok(told) | Err(told)) = session.try_customer(Customer::Connected).await;
        let text = format!("it gives one answer to two tools and to a tool that does not exist; {told}");
        return vec![bad("hub", "implementation", text)];
    }
    let mut checks = vec![good("hub", "tells requests apart"), pace(&session.pace)];
    for tool in contract::TOOLS {
        checks.push(if session.missing().contains(tool) {
            bad(tool, "implementation", "the Hub answers `TOOL_NOT_FOUND`")
        } else {
            good(tool, "the Hub knows it")
        });
    }
    for customer in Customer::ALL {
        let name = customer.name();
        if !session.table.customers.contains_key(&customer) {
            checks.push(note(name, "not named: what needs it will be not-applicable"));
            continue;
        }
        checks.push(match session.try_customer(customer).await {
            Ok(told) => good(name, told),
            Err(told) => bad(name, "fixture", told),
        });
    }
    checks.push(match &session.provider {
        Some(provider) if provider.was_asked() => {
            good("provider", "the Hub asks the one that the suite plays")
        }
        Some(_) => bad("provider", "config", "the Hub asks the provider at `CALLMARK_PROVIDER_URL` nothing"),
        None => note("provider", "not the suite's: what arrives there will be not-applicable"),
    });
    checks
}

/// What the calibration of a session with a management API found.
fn registry(session: &ManagementSession) -> Vec<Check> {
    if !session.works() {
        return vec![bad("registry", "implementation", session.why_idle())];
    }
    vec![good("registry", "takes a definition and gives it back"), pace(&session.pace)]
}

/// How long the suite waits for this target.
fn pace(pace: &Pace) -> Check {
    good("pace", format!("answers within {:?}, silence after {:?}", pace.answer, pace.quiet))
}

/// What a target declares or shows, and nobody calls without a run.
fn capabilities(names: impl IntoIterator<Item = String>) -> impl Iterator<Item = Check> {
    names.into_iter().map(|name| note(&name, "declared, and not tried without a run"))
}

/// What the calibration of a session with an agent found.
fn agent(session: &AgentSession) -> Vec<Check> {
    if !session.works() {
        let message = "it was told to call a Hub tool, and either asked the mock Hub nothing or did not give back \
                       what the Hub answered: check `hub.agent.drive`, and that the agent takes its Hub from \
                       `CALLMARK_HUB_URL`";
        return vec![bad("agent", "fixture", message)];
    }
    let found = format!("calls `{}` at the mock Hub and gives back its result", session.hub_tool());
    let mut checks = vec![good("agent", found), pace(&session.pace)];
    checks.extend(capabilities(session.capabilities()));
    checks
}

/// What the calibration of a session with an agent runtime found.
fn runtime(session: &RuntimeSession) -> Vec<Check> {
    if !session.works() {
        let message = "it is up, and neither a tool call of its model came out as a command nor, where it has no \
                       worker, a report was taken: check that it takes turns and reports below `runtime.v1` and its \
                       model from `CALLMARK_MODEL_URL`";
        let elsewhere = session.elsewhere().unwrap_or_default();
        return vec![bad("runtime", "fixture", format!("{message}{elsewhere}"))];
    }
    let makes_calls = session.calls() || session.resumes();
    let found = if makes_calls { "turns a tool call of its model into a command" } else { "takes a report" };
    let mut checks = vec![good("runtime", found), pace(&session.pace)];
    if session.resumes() {
        for (name, behaviour) in
            [("suspend", session.baseline.suspend), ("terminate", session.baseline.terminate)]
        {
            checks.push(good(name, format!("after the result {}", behaviour.text())));
        }
    }
    for (is_there, name, what) in [
        (session.baseline.parallel != Some(false), "parallel", "it makes the calls of one answer one by one"),
        (session.baseline.keeps_consumed, "inbox", "it shows no record that a turn has gone on with"),
    ] {
        if !is_there {
            checks.push(note(name, format!("{what}: what needs it will be not-applicable")));
        }
    }
    checks.extend(capabilities(session.capabilities()));
    checks
}

/// What the calibration of a session with a tool runner found, and what each of its tools answers.
async fn runner(session: &Arc<RunnerSession>) -> Vec<Check> {
    if !session.works() {
        let message = "it answers the first call without the output of the tool: check its `tool.response.v1`, and \
                       `breadcrumb.inputs` if the tool takes another input";
        return vec![bad("runner", "implementation", message)];
    }
    let mut checks = vec![good("runner", "executes a call, and answers it by its id"), pace(&session.pace)];
    for tool in &session.table.catalog {
        checks.push(match session.try_tool(tool).await {
            Ok(told) => good(tool, told),
            Err(why) => bad(tool, "fixture", why),
        });
    }
    checks
}

/// What the calibration of a session with an agent that writes invocations found.
fn crumb_agent(session: &CrumbAgentSession) -> Vec<Check> {
    if !session.works() {
        let message = "its user told it to use a tool, and no invocation with that tool came in their session: check \
                       that it takes its store from `CALLMARK_STORE_URL` and its model from `CALLMARK_MODEL_URL`";
        return vec![bad("agent", "fixture", message)];
    }
    vec![good("agent", "writes an invocation with the tool that its user asks for")]
}

fn liveness(session: &UtpSession) -> Vec<Check> {
    let (who, work) = match session.role {
        Role::Pmo => ("pmo", "it does the work of a built-in"),
        Role::ToolService | Role::OpenApi => ("target", "it does the work of the echo probe"),
    };
    let trouble = match session.liveness {
        Liveness::Answers => {
            return vec![good(who, format!("{work} and reports it")), pace(&session.pace)];
        }
        Liveness::Works => bad(who, "implementation", format!("{work}, and reports nothing")),
        Liveness::Stirs if session.role == Role::Pmo => bad(
            who,
            "fixture",
            "it reacts, and starts no turn and enters no agent that shows the card's arguments: check \
             `utp.pmo.builtins` and `utp.pmo.arguments`",
        ),
        Liveness::Stirs => bad(
            "target",
            "fixture",
            "it reacts, and the value in the echo probe's card comes back nowhere: check `tool_name`, \
             `target_subject` and `arguments` of `utp.tool-service.probes.echo`",
        ),
    };
    vec![trouble]
}

async fn probes(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = Vec::new();
    for probe in ProbeName::ALL {
        let name = format!("probe.{}", probe.name());
        checks.push(if session.declares(probe.into()) {
            tried(&name, try_probe(session, probe).await)
        } else {
            note(&name, NOT_DECLARED)
        });
    }
    checks
}

/// Which built-ins there are, and whether each does what its card says.
async fn builtins(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = Vec::new();
    for builtin in Builtin::ALL {
        checks.push(if session.declares(builtin.into()) {
            tried(builtin.name(), try_builtin(session, builtin).await)
        } else {
            note(builtin.name(), NOT_DECLARED)
        });
    }
    checks
}

fn tried(name: &str, result: Result<(), String>) -> Check {
    match result {
        Ok(()) => good(name, "does what it should"),
        Err(message) => bad(name, "fixture", message),
    }
}

async fn try_builtin(session: &UtpSession, builtin: Builtin) -> Result<(), String> {
    let project = session.ground.project(&format!("doctor {}", builtin.name()));
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let call = scene.prepare(builtin.into());
    scene.send(session, &call).await;
    if !scene.answer(session, &call).await {
        return Err(format!("`{}` on `{}` was not answered", call.tool_name, call.subject));
    }
    let frames: Vec<Frame> = project.transcript.frames();
    let report = seen::report(&frames, &Calls { subject: &call, others: &[] });
    if seen::reflects(&frames, &call) {
        return Ok(());
    }
    Err(match report.and_then(|report| report.text("/payload/status")) {
        Some("failed") => "it fails: check its arguments in `utp.pmo.arguments`".to_owned(),
        _ => "its arguments show in no turn that it starts and no agent that it enters".to_owned(),
    })
}

async fn try_probe(session: &UtpSession, probe: ProbeName) -> Result<(), String> {
    let project = session.ground.project(&format!("doctor {}", probe.name()));
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let mut call = scene.prepare(probe.into());
    if probe == ProbeName::Ctl {
        let table = scene.table(probe.into()).clone();
        call.set_arguments(&table, "terminate");
        project.seed_card(&call.card);
    }
    scene.send(session, &call).await;
    if !scene.answer(session, &call).await {
        return Err(format!("`{}` on `{}` was not answered", call.tool_name, call.subject));
    }
    let frames: Vec<Frame> = project.transcript.frames();
    let calls = Calls { subject: &call, others: &[] };
    let result =
        seen::result_card(&frames, &calls).and_then(|(_, card)| card.pointer("/content/result").cloned());
    let at = result.as_ref().and_then(|result| result.pointer(&call.result_pointer));
    match probe {
        ProbeName::Echo if !at.is_some_and(|value| seen::mentions(value, &call.token)) => {
            Err(format!("its arguments are not at `{}` of `content.result`", call.result_pointer))
        }
        ProbeName::Count if at.and_then(serde_json::Value::as_i64).is_none() => {
            Err(format!("there is no number at `{}` of `content.result`", call.result_pointer))
        }
        ProbeName::Fail
            if seen::report(&frames, &calls)
                .is_some_and(|report| report.text("/payload/status") == Some("success")) =>
        {
            Err("it succeeds, and it should throw".to_owned())
        }
        ProbeName::Ctl
            if result
                .as_ref()
                .and_then(|result| result.pointer("/__cg_control/after_execution"))
                .is_none() =>
        {
            Err("its result holds no `__cg_control.after_execution`".to_owned())
        }
        _ => Ok(()),
    }
}
