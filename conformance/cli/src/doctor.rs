//! `doctor`: check a manifest and its target step by step, and name the class of the first cause.
//!
//! What looks at a target answers with checks; `show` is the one place that prints them.

mod check;
mod utp;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::judge::Cause;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::pace::{TimeoutLimits, Timeouts};
use callmark_suite::engine::session::Session as _;
use callmark_suite::engine::setup;
use callmark_suite::engine::target::guard;
use callmark_suite::families;
use callmark_suite::families::breadcrumb::agent::session::CrumbAgentSession;
use callmark_suite::families::breadcrumb::runner::session::RunnerSession;
use callmark_suite::families::hub::agent::session::AgentSession;
use callmark_suite::families::hub::contract;
use callmark_suite::families::hub::manifest::Customer;
use callmark_suite::families::hub::server::session::HubSession;
use callmark_suite::families::toolbus::call::Probe;
use callmark_suite::families::toolbus::session::ToolbusSession;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::registry::session::ManagementSession;
use callmark_suite::families::utp::runtime::session::RuntimeSession;
use callmark_suite::families::utp::services::Services;
use callmark_suite::families::utp::setup::PROFILES;

use crate::args::DoctorArguments;
use crate::broker::{self, RunningBroker};
use crate::console;
use crate::exit::{self, Failure};
use crate::setup::{bad_manifest, choose_broker, no_broker};

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
    let logs = guard::directory("doctor-").map_err(Failure::incomplete)?;
    let profiles: Vec<String> = manifest.profiles().into_iter().map(str::to_owned).collect();
    let opening = setup::open(
        families::ALL,
        OpenPlan {
            manifest,
            profiles: families::ALL.select(&profiles),
            broker_url: broker.as_ref().map_or("", |broker| broker.url()),
            limits: TimeoutLimits { scale: arguments.timeout_scale, ..TimeoutLimits::default() },
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
        // A registry is reached over HTTP alone.
        let is_on_the_bus = PROFILES.contains(&profile.as_str());
        if *cause == Cause::Reachability && is_on_the_bus && broker.is_some() {
            say(vec![utp::subscriptions(subscribed.as_ref())]);
        }
    }
    let services = opened.sessions.get::<Services>().unwrap_or_default();
    for session in services.roles.values() {
        say(utp::role(session).await);
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
        say(agent(session).await);
    }
    if let Some(session) = &opened.sessions.get::<RuntimeSession>() {
        say(utp::runtime(session));
        if !session.works() && session.refusal().is_none() && broker.is_some() {
            say(vec![utp::subscriptions(subscribed.as_ref())]);
        }
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
fn pace(pace: &Timeouts) -> Check {
    good("pace", format!("answers within {:?}, silence after {:?}", pace.answer, pace.quiet))
}

/// What a target declares or shows, and nobody calls without a run.
fn capabilities(names: impl IntoIterator<Item = String>) -> impl Iterator<Item = Check> {
    names.into_iter().map(|name| note(&name, "declared, and not tried without a run"))
}

/// What the calibration of a session with an agent found.
async fn agent(session: &Arc<AgentSession>) -> Vec<Check> {
    if !session.works() {
        let message = "it was told to call a Hub tool, and either asked the mock Hub nothing or did not give back \
                       what the Hub answered: check `hub.agent.drive`, and that the agent takes its Hub from \
                       `CALLMARK_HUB_URL`";
        return vec![bad("agent", "fixture", format!("{message}; {}", session.told()))];
    }
    let found = format!("calls `{}` at the mock Hub and gives back its result", session.hub_tool());
    let mut checks = vec![good("agent", found), pace(&session.pace)];
    for tool in &session.table.tools {
        checks.push(match session.try_tool(tool).await {
            Ok(told) => good(tool, told),
            Err(why) => bad(tool, "fixture", why),
        });
    }
    let untried = session.capabilities().into_iter().filter(|name| !name.starts_with("tool."));
    checks.extend(capabilities(untried));
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
            Some(Ok(told)) => good(tool, told),
            Some(Err(why)) => bad(tool, "fixture", why),
            None => note(tool, "not tried: the suite has not what it needs"),
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
