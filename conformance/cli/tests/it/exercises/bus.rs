//! Exercises on a bus: a Tool Service, a PMO and a worker do their work among the parties of the reference.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use async_nats::{Client, HeaderMap};
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::message::{RosterRow, ToolRow, TurnRequest};
use callmark_reference::utp::runtime::{Reports, RuntimeConfig};
use callmark_reference::utp::{
    Caller, L0, L0Config, Pmo, PmoConfig, Revision, Runtime, ScriptedModel, ToolService, ToolServiceConfig,
    pmo, revision, round_trip, rows,
};
use callmark_suite::net::wire::Wire;
use futures::StreamExt as _;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::relay::Relay;
use super::{PATIENCE, Watched, Workload};

/// For a program to subscribe.
const START_DEADLINE: Duration = Duration::from_secs(30);
const CHANNEL: &str = "public";
/// Whose turns the worker takes, and whom work can be given to.
const AGENTS: [&str; 2] = ["ag_pilot", "ag_helper"];
const WORKER_TARGET: &str = "worker_generic";

/// Who is watched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    ToolService,
    Pmo,
    Worker,
}

/// A target with a broker of its own, and all others, on a thread that never waits for a test.
pub(super) struct Bus {
    parties: Arc<Parties>,
    wire: Option<Arc<dyn Wire>>,
    runtime: Handle,
    /// The thread ends with this.
    _end: oneshot::Sender<()>,
}

/// Who is there.
struct Parties {
    role: Role,
    revision: Revision,
    target: Option<Broker>,
    others: Broker,
    l0: L0,
    _programs: Vec<Program>,
    _runtime: Option<(Runtime, ScriptedModel)>,
    _service: Option<ToolService>,
    _pmo: Option<Pmo>,
}

/// A program of the examples; it ends with the test.
pub(super) struct Program(Child);

impl Program {
    /// Starts a file of the examples with further variables.
    pub(super) fn start(file: &str, variables: &[(&str, &str)]) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
        let child = Command::new("python3")
            .arg(file)
            .envs(variables.iter().copied())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("Python with `nats-py` (`ci/setup` installs it)"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bus {
    /// Starts everybody; without a wire between the target and the others where it is `direct`.
    pub(super) fn start(role: Role, revision: Revision, direct: bool) -> Self {
        // One thread, so that a relay passes messages on in their order.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        std::thread::spawn(move || runtime.block_on(ended).ok());
        let parties = on(&handle, Parties::start(role, revision, direct));
        Self { parties: Arc::new(parties), wire: None, runtime: handle, _end: end }
    }
}

/// Has a runtime do something, and waits for it.
fn on<T: Send + 'static>(runtime: &Handle, work: impl Future<Output = T> + Send + 'static) -> T {
    let (done, doing) = mpsc::channel();
    runtime.spawn(async move { done.send(work.await) });
    doing.recv().expect("work that does not panic")
}

impl Parties {
    async fn start(role: Role, revision: Revision, direct: bool) -> Self {
        let others = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let target =
            if direct { None } else { Some(Broker::start(BrokerConfig::default()).await.expect("a broker")) };
        let l0 = L0::start(L0Config::new(others.url())).await.expect("L0");
        let url = target.as_ref().unwrap_or(&others).url();
        let own = [("CALLMARK_NATS_URL", url.as_str()), ("CALLMARK_PROTOCOL_VERSION", revision.as_str())];
        let mut programs = Vec::new();
        let (mut agents, mut service, mut pmo) = (None, None, None);
        match role {
            Role::ToolService => programs.push(Program::start("python/tool_service.py", &own)),
            Role::Pmo => {
                agents = Some(runtime_on(&others.url()).await);
                // The example speaks the revision that was first.
                if revision == Revision::V1r3 {
                    programs.push(Program::start("python-pmo/pmo.py", &own));
                } else {
                    pmo = Some(Pmo::start(PmoConfig::new(&url)).await.expect("a PMO"));
                }
            }
            Role::Worker => {
                let own = ToolService::start(ToolServiceConfig::new(others.url())).await;
                service = Some(own.expect("a Tool Service"));
                pmo = Some(Pmo::start(PmoConfig::new(others.url())).await.expect("a PMO"));
                agents = Some(runtime_on(&url).await);
            }
        }
        let subscribed = |broker: &Broker| {
            let mut subjects = broker.subscriptions().into_iter().flatten();
            subjects.any(|own| own.starts_with(&format!("cg.{revision}.")) && own.contains(role.last()))
        };
        let began = Instant::now();
        // A party of the reference subscribes before it says that it has started.
        while !programs.is_empty() && !subscribed(target.as_ref().unwrap_or(&others)) {
            assert!(began.elapsed() < START_DEADLINE, "the target does not subscribe");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self {
            role,
            revision,
            target,
            others,
            l0,
            _programs: programs,
            _runtime: agents,
            _service: service,
            _pmo: pmo,
        }
    }

    /// Does the work of the role in this project.
    async fn exercise(&self, project: &str, wire: Option<&Arc<dyn Wire>>) {
        let relay = match (&self.target, wire) {
            (Some(target), Some(wire)) => {
                let urls = (&*target.url(), &*self.others.url());
                Some(Relay::start(urls, self.role.inbound(), self.role == Role::Worker, wire).await)
            }
            _ => None,
        };
        match self.role {
            Role::ToolService => {
                self.call(project, &self.tool_rows(project), &tool_calls(), wire.is_some()).await;
            }
            Role::Pmo => {
                self.call(project, &pmo::rows(project, self.revision), &built_ins(), wire.is_some()).await;
            }
            Role::Worker => self.take_turns(project, wire.is_some()).await,
        }
        drop(relay);
    }

    /// The reference's rows, with the subjects of the example.
    fn tool_rows(&self, project: &str) -> Vec<ToolRow> {
        let mut rows = rows(project, self.revision);
        for row in &mut rows {
            let subject = row.target_subject.replace("tides.table", "tides.lookup");
            row.target_subject = subject.replace("tool.probe.", "tool.tides.probe.");
        }
        rows
    }

    /// Makes all calls at once, each twice. Where nothing can be wrong, all are answered.
    async fn call(&self, project: &str, rows: &[ToolRow], calls: &[(&str, Value)], is_faulty: bool) {
        for row in rows {
            self.l0.put_tool(row.clone()).await.expect("a row");
        }
        for agent in AGENTS {
            self.l0.put_roster(RosterRow::new(project, agent, WORKER_TARGET)).await.expect("a row");
        }
        let connected =
            Caller::connect(&self.others.url(), self.revision, self.l0.handle(), project, CHANNEL).await;
        let caller = connected.expect("a caller").with_deadline(patience(is_faulty));
        let made = calls.iter().cycle().take(2 * calls.len()).map(|(tool, arguments)| {
            let row = rows.iter().find(|row| row.tool_name == *tool).expect("a row");
            caller.call(row, arguments)
        });
        let answered = join_all(made).await;
        if !is_faulty {
            assert!(answered.iter().all(Result::is_ok), "{:?}", answered.iter().find(|own| own.is_err()));
        }
    }

    /// Has an agent take turns that need tools and other agents.
    async fn take_turns(&self, project: &str, is_faulty: bool) {
        let rows = rows(project, self.revision).into_iter().chain(pmo::rows(project, self.revision));
        for row in rows.filter(|row| !row.tool_name.starts_with("probe.")) {
            self.l0.put_tool(row).await.expect("a row");
        }
        for agent in AGENTS {
            self.l0.put_roster(RosterRow::new(project, agent, WORKER_TARGET)).await.expect("a row");
        }
        let client = async_nats::connect(self.others.url()).await.expect("a broker");
        let ends = format!("cg.{}.{project}.{CHANNEL}.evt.agent.{}.task", self.revision, AGENTS[0]);
        let ends = client.subscribe(ends).await.expect("a subscription");
        round_trip(&client).await.expect("a broker that answers");
        let patience = patience(is_faulty);
        let turns =
            INSTRUCTIONS.iter().map(|text| tokio::time::timeout(patience, self.ask(&client, project, text)));
        let asked = join_all(turns).await;
        let begun = asked.into_iter().flatten().flatten().count();
        let over = tokio::time::timeout(patience, ends.take(begun).count()).await;
        if !is_faulty {
            assert_eq!((begun, over.ok()), (INSTRUCTIONS.len(), Some(INSTRUCTIONS.len())), "turns that end");
        }
    }

    /// Asks for a turn; nothing where it is refused.
    async fn ask(&self, client: &Client, project: &str, instruction: &str) -> Option<()> {
        let mut headers = HeaderMap::new();
        if self.revision >= Revision::V1r4 {
            headers.insert(revision::headers::PROJECT_ID, project);
            headers.insert(revision::headers::CHANNEL_ID, CHANNEL);
        }
        let request = json!(TurnRequest::new(AGENTS[0], instruction)).to_string();
        let subject = format!("l0.v1.{project}.{CHANNEL}.turns.start");
        client.request_with_headers(subject, headers, request.into()).await.ok().map(|_| ())
    }
}

/// A runtime whose reports L0 takes, and its model.
async fn runtime_on(nats_url: &str) -> (Runtime, ScriptedModel) {
    let model = ScriptedModel::start(([127, 0, 0, 1], 0).into()).await.expect("a model");
    let mut config = RuntimeConfig::new(nats_url, model.url());
    config.reports = Reports::Platform;
    (Runtime::start(config).await.expect("a runtime"), model)
}

impl Role {
    /// What the last subscription of a program is for.
    fn last(self) -> &'static str {
        match self {
            Self::ToolService => ".probe.ctl",
            Self::Pmo => ".evt.agent.",
            Self::Worker => "",
        }
    }

    /// The subjects that the target receives.
    fn inbound(self) -> &'static [&'static str] {
        match self {
            Self::ToolService => &["cg.*.*.*.cmd.tool.>"],
            Self::Pmo => &["cg.*.*.*.cmd.sys.pmo.>", "cg.*.*.*.evt.agent.*.task"],
            Self::Worker => &["cg.*.*.*.cmd.agent.*.wakeup", "l0.v1.*.*.turns.start"],
        }
    }
}

impl Workload for Bus {
    fn put_between(&mut self, wire: Arc<dyn Wire>) {
        self.wire = Some(wire);
    }

    fn watch(&self, number: usize, report: &Path) -> Watched {
        let (url, [project, other]) = (self.parties.others.url(), projects(number));
        let own = ["watch", "--bundled", "--broker", &url, "--project", &project, "--project", &other];
        Watched::start(&[&own[..], &["--report"]].concat(), report, "watching ")
    }

    fn exercise(&mut self, number: usize, _: &str) {
        let (parties, wire) = (Arc::clone(&self.parties), self.wire.clone());
        // A worker's fault that is late spares all of one project.
        let times = if parties.role == Role::Worker { 2 } else { 1 };
        on(&self.runtime, async move {
            for project in projects(number).iter().take(times) {
                parties.exercise(project, wire.as_ref()).await;
            }
        });
    }
}

/// For an answer; less where a fault may have taken it away.
fn patience(is_faulty: bool) -> Duration {
    if is_faulty { PATIENCE } else { START_DEADLINE }
}

/// The projects of an exercise.
fn projects(number: usize) -> [String; 2] {
    ["", "_again"].map(|end| format!("prj_exercise_{number}{end}"))
}

/// Calls of the example's tools: with an answer, with part of one, and with failures.
fn tool_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("probe.echo", json!({"k": "a text", "n": [1, 2.5, null]})),
        ("tide_table", json!({"harbour": "Brest", "days": 3})),
        ("probe.fail", json!({})),
        ("probe.ctl", json!({"control": {"after_execution": "terminate"}})),
        ("tide_table", json!({"harbour": "Atlantis"})),
    ]
}

/// Calls of the PMO's built-ins: those that answer at once, those that wait, and failures.
fn built_ins() -> Vec<(&'static str, Value)> {
    let task = json!({"target_strategy": "new", "target_ref": "pilot", "instruction": "Say hello"});
    vec![
        ("provision_agent", json!({"action": "ensure", "agent_id": AGENTS[0], "profile_name": "pilot"})),
        ("provision_agent", json!({"action": "derive", "profile_name": "pilot"})),
        ("delegate_async", task.clone()),
        ("launch_principal", json!({"profile_name": "pilot", "instruction": "Say hello"})),
        ("ask_expert", json!({"expert_profile": "pilot", "question": "Where is Brest?"})),
        ("fork_join", json!({"tasks": [task, task]})),
        (
            "delegate_async",
            json!({"target_strategy": "reuse", "target_ref": "ag_nobody", "instruction": "Go"}),
        ),
    ]
}

/// What an agent is asked: for tools, and for the work of other agents.
const INSTRUCTIONS: [&str; 6] = [
    "When is high water in Brest?",
    "Give me the tide table of Dover",
    "Ask an expert about Brest",
    "Launch a principal of Dover",
    "Provision the agent",
    "When is high water in Saint-Malo?",
];
