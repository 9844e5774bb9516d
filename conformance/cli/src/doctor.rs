//! `doctor`: check a manifest and its target step by step, and name the class of the first cause.

use std::sync::Arc;

use callmark_suite::breadcrumb::agent::session::CrumbAgentSession;
use callmark_suite::breadcrumb::session::RunnerSession;
use callmark_suite::hub::agent::session::AgentSession;
use callmark_suite::hub::session::HubSession;
use callmark_suite::management::session::ManagementSession;
use callmark_suite::manifest::{Builtin, Customer, Manifest, ProbeName};
use callmark_suite::pace::{Pace, PaceLimits};
use callmark_suite::runtime::session::RuntimeSession;
use callmark_suite::stage::{self, StagePlan};
use callmark_suite::toolbus::call::Probe;
use callmark_suite::toolbus::session::ToolbusSession;
use callmark_suite::transcript::Frame;
use callmark_suite::utp::judge::seen::{self, Calls};
use callmark_suite::utp::scene::Scene;
use callmark_suite::utp::session::{Liveness, UtpSession};
use callmark_suite::utp::tool::Role;

use crate::args::DoctorArguments;
use crate::broker;
use crate::certify::{bad_manifest, choose_broker, no_broker};
use crate::exit::{self, Failure};

/// Runs it.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let manifest = Manifest::read(&arguments.target).map_err(|error| bad_manifest(&error))?;
    good("manifest", &format!("`{}` is sound", arguments.target.display()));
    let profiles = manifest.profiles();
    if profiles.is_empty() {
        return Err(Failure::nothing("the manifest has no table of any profile")
            .hint("add for example `[utp.tool-service]` with its probes"));
    }
    good("profiles", &profiles.join(", "));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::internal)?;
    runtime.block_on(examine(arguments, &manifest))
}

async fn examine(arguments: &DoctorArguments, manifest: &Manifest) -> Result<u8, Failure> {
    let broker = match manifest.utp {
        Some(_) => {
            let choice = choose_broker(arguments.broker.as_ref(), manifest)?;
            let broker = broker::start(&choice).await.map_err(|error| no_broker(&error))?;
            good("broker", &choice.to_string());
            Some(broker)
        }
        None => None,
    };
    let log = std::env::temp_dir().join(format!("callmark-doctor-{}.log", std::process::id()));
    let profiles: Vec<String> = manifest.profiles().into_iter().map(str::to_owned).collect();
    let set = stage::set(StagePlan {
        manifest,
        profiles: &profiles,
        nats_url: broker.as_ref().map_or("", |broker| broker.url()),
        limits: PaceLimits { scale: arguments.timeout_scale, ..PaceLimits::default() },
        seed: 1,
        log: log.clone(),
        target: None,
        exercise: None,
    })
    .await;
    let mut sound = true;
    for (profile, (cause, message)) in &set.blocked {
        bad(profile, cause.name(), message);
        sound = false;
    }
    for session in set.stage.utp.values() {
        sound &= liveness(session);
        if session.role == Role::ToolService && session.liveness != Liveness::Stirs {
            sound &= probes(session).await;
        }
        if session.role == Role::Pmo && session.liveness != Liveness::Stirs {
            sound &= builtins(session).await;
        }
    }
    if let Some(capture) = &set.stage.capture {
        good("capture", &format!("{} messages", capture.len()));
    }
    if let Some(session) = &set.stage.management {
        sound &= registry(session);
    }
    if let Some(session) = &set.stage.toolbus {
        sound &= server(session);
    }
    if let Some(session) = &set.stage.hub {
        sound &= hub(session).await;
    }
    if let Some(session) = &set.stage.agent {
        sound &= agent(session);
    }
    if let Some(session) = &set.stage.runtime {
        sound &= runtime(session);
    }
    if let Some(session) = &set.stage.runner {
        sound &= runner(session);
    }
    if let Some(session) = &set.stage.crumb_agent {
        sound &= crumb_agent(session);
    }
    set.strike().await;
    if let Some(broker) = broker {
        broker.stop().await;
    }
    let _ = std::fs::remove_file(&log);
    for name in ["toolbus.log", "hub.log", "agent.log", "registry.log", "runner.log", "crumb-agent.log"] {
        let _ = std::fs::remove_file(log.with_file_name(name));
    }
    if sound {
        println!("\nready: callmark certify --target {}", arguments.target.display());
        return Ok(exit::CONFORMANT);
    }
    Ok(exit::INCOMPLETE)
}

/// What the calibration of a tool bus session found.
fn server(session: &ToolbusSession) -> bool {
    if let Some(why) = session.why_idle() {
        bad("server", "fixture", &format!("the echo probe does not give back what it is given: {why}"));
        return false;
    }
    good("server", &format!("echoes a value, results at `{}`", session.result_pointer));
    pace(&session.pace);
    let mut sound = true;
    let declared = session.capabilities();
    for probe in Probe::ALL.into_iter().filter(|probe| *probe != Probe::Echo) {
        let name = probe.capability();
        match session.baseline(probe) {
            Some(Ok(_)) => good(&name, "answers a plain call"),
            Some(Err(why)) => {
                bad(&name, "fixture", &format!("a plain call of `{}` does not work: {why}", probe.key()));
                sound = false;
            }
            None if declared.contains(&name) => {
                println!("  -  {name:<14} declared, and not tried without a run");
            }
            None => println!("  -  {name:<14} not declared: what needs it will be not-applicable"),
        }
    }
    for (name, what) in [
        ("root", "a context root"),
        ("root.none", "a server without a context root"),
        ("restart", "a restart"),
    ] {
        if !declared.contains(name) {
            println!("  -  {name:<14} {what} cannot be had: what needs it will be not-applicable");
        }
    }
    sound
}

/// What the calibration of a session with a Hub found, and whether each customer is what it is said to be.
async fn hub(session: &Arc<HubSession>) -> bool {
    if !session.works() {
        bad("hub", "implementation", "it gives one answer to two tools and to a tool that does not exist");
        return false;
    }
    good("hub", "tells requests apart");
    pace(&session.pace);
    let mut sound = true;
    for customer in Customer::ALL {
        let name = customer.name();
        if !session.table.customers.contains_key(&customer) {
            println!("  -  {name:<14} not named: what needs it will be not-applicable");
            continue;
        }
        match session.try_customer(customer).await {
            Ok(told) => good(name, &told),
            Err(told) => {
                bad(name, "fixture", &told);
                sound = false;
            }
        }
    }
    match &session.provider {
        Some(provider) if provider.was_asked() => {
            good("provider", "the Hub asks the one that the suite plays");
        }
        Some(_) => {
            let message = "the Hub asks the provider at `CALLMARK_PROVIDER_URL` nothing";
            bad("provider", "config", message);
            sound = false;
        }
        None => println!("  -  provider       not the suite's: what arrives there will be not-applicable"),
    }
    sound
}

/// What the calibration of a session with a management API found.
fn registry(session: &ManagementSession) -> bool {
    if !session.works() {
        bad("registry", "implementation", session.why_idle());
        return false;
    }
    good("registry", "takes a definition and gives it back");
    pace(&session.pace);
    true
}

/// How long the suite waits for this target.
fn pace(pace: &Pace) {
    good("pace", &format!("answers within {:?}, silence after {:?}", pace.answer, pace.quiet));
}

/// What a target declares or shows that it can.
fn capabilities(names: impl IntoIterator<Item = String>) {
    for name in names {
        println!("  ok {name}");
    }
}

/// What the calibration of a session with an agent found.
fn agent(session: &AgentSession) -> bool {
    if !session.works() {
        let message = "it was told to call a Hub tool, and either asked the mock Hub nothing or did not give back \
                       what the Hub answered: check `hub.agent.drive`, and that the agent takes its Hub from \
                       `CALLMARK_HUB_URL`";
        bad("agent", "fixture", message);
        return false;
    }
    good("agent", &format!("calls `{}` at the mock Hub and gives back its result", session.hub_tool()));
    pace(&session.pace);
    capabilities(session.capabilities());
    true
}

/// What the calibration of a session with an agent runtime found.
fn runtime(session: &RuntimeSession) -> bool {
    if !session.works() {
        let message = "it is up, and neither a tool call of its model came out as a command nor, where it has no \
                       worker, a report was taken: check that it takes turns and reports below `runtime.v1` and its \
                       model from `CALLMARK_MODEL_URL`";
        let elsewhere = session.elsewhere().unwrap_or_default();
        bad("runtime", "fixture", &format!("{message}{elsewhere}"));
        return false;
    }
    if session.calls() || session.resumes() {
        good("runtime", "turns a tool call of its model into a command");
    } else {
        good("runtime", "takes a report");
    }
    pace(&session.pace);
    if session.resumes() {
        good("suspend", &format!("after the result {}", session.baseline.suspend.text()));
        good("terminate", &format!("after the result {}", session.baseline.terminate.text()));
    }
    for (is_there, name, what) in [
        (session.baseline.parallel, "parallel", "it makes the calls of one answer one by one"),
        (session.baseline.keeps_consumed, "inbox", "it shows no record that a turn has gone on with"),
    ] {
        if !is_there {
            println!("  -  {name:<14} {what}: what needs it will be not-applicable");
        }
    }
    capabilities(session.capabilities());
    true
}

/// What the calibration of a session with a tool runner found.
fn runner(session: &RunnerSession) -> bool {
    if !session.works() {
        let message = "it answers the first call without the output of the tool: check its `tool.response.v1`, and \
                       `breadcrumb.inputs` if the tool takes another input";
        bad("runner", "implementation", message);
        return false;
    }
    good("runner", "executes a call, and answers it by its id");
    pace(&session.pace);
    capabilities(session.capabilities());
    true
}

/// What the calibration of a session with an agent that writes invocations found.
fn crumb_agent(session: &CrumbAgentSession) -> bool {
    if !session.works() {
        let message = "its user told it to use a tool, and no invocation with that tool came in their session: check \
                       that it takes its store from `CALLMARK_STORE_URL` and its model from `CALLMARK_MODEL_URL`";
        bad("agent", "fixture", message);
        return false;
    }
    good("agent", "writes an invocation with the tool that its user asks for");
    true
}

fn liveness(session: &UtpSession) -> bool {
    let (who, work) = match session.role {
        Role::Pmo => ("pmo", "it does the work of a built-in"),
        Role::ToolService | Role::OpenApi => ("target", "it does the work of the echo probe"),
    };
    match session.liveness {
        Liveness::Answers => good(who, &format!("{work} and reports it")),
        Liveness::Works => {
            bad(who, "implementation", &format!("{work}, and reports nothing"));
            return false;
        }
        Liveness::Stirs if session.role == Role::Pmo => {
            let message = "it reacts, and starts no turn and enters no agent that shows the card's arguments: check \
                           `utp.pmo.builtins` and `utp.pmo.arguments`";
            bad(who, "fixture", message);
            return false;
        }
        Liveness::Stirs => {
            let message = "it reacts, and the value in the echo probe's card comes back nowhere: check `tool_name`, \
                           `target_subject` and `arguments` of `utp.tool-service.probes.echo`";
            bad("target", "fixture", message);
            return false;
        }
    }
    pace(&session.pace);
    true
}

async fn probes(session: &Arc<UtpSession>) -> bool {
    let mut sound = true;
    for probe in ProbeName::ALL {
        let name = format!("probe.{}", probe.name());
        if !session.declares(probe.into()) {
            println!("  -  {name:<14} not declared: what needs it will be not-applicable");
            continue;
        }
        match try_probe(session, probe).await {
            Ok(()) => good(&name, "does what it should"),
            Err(message) => {
                bad(&name, "fixture", &message);
                sound = false;
            }
        }
    }
    sound
}

/// Which built-ins there are, and whether each does what its card says.
async fn builtins(session: &Arc<UtpSession>) -> bool {
    let mut sound = true;
    for builtin in Builtin::ALL {
        let name = builtin.name();
        if !session.declares(builtin.into()) {
            println!("  -  {name:<14} not declared: what needs it will be not-applicable");
            continue;
        }
        match try_builtin(session, builtin).await {
            Ok(()) => good(name, "does what it should"),
            Err(message) => {
                bad(name, "fixture", &message);
                sound = false;
            }
        }
    }
    sound
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

fn good(what: &str, text: &str) {
    println!("  ok {what:<14} {text}");
}

fn bad(what: &str, cause: &str, text: &str) {
    println!("  !! {what:<14} {cause}: {text}");
}
