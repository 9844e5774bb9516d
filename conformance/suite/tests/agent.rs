//! Agents against the suite: a faithful one passes everything, a broken one is noticed by its rule, and one that does
//! nothing passes nothing.

mod faithful;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_reports::record::{Outcome, RunRecord, TargetInfo, Verdict};
use callmark_suite::engine::codec::PlainJson;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::engine::run::{Library, RunPlan, Selection};
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::target::OpenContext;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families::hub::agent::manifest::{AgentTable, ModelKind};
use callmark_suite::families::hub::agent::session::{AgentSession, StartAgent};
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::mutation;
use callmark_suite::mutation::{Breadth, Pace, Patience, TargetFactory, TargetInstance};
use callmark_suite::net::wire::{PassthroughWire, Wire};
use faithful::Habits;
use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

const HOOK: &str = "drive.http = \"http://{listen}/drive\"";

fn table(more: &str) -> AgentTable {
    let text = format!(
        "[target]\nname = \"agent of a test\"\n[hub.agent]\nstart = [\"agent\"]\nstart_timeout_seconds = 1.5\n{more}\n"
    );
    let manifest = Manifest::parse("agent.toml", &text, Path::new(".")).expect("a sound manifest");
    manifest.get::<HubTable>().cloned().and_then(|hub| hub.agent).expect("a table of an agent")
}

fn plan(table: AgentTable, wire: Arc<dyn Wire>) -> OpenContext<AgentTable> {
    OpenContext {
        table,
        directory: PathBuf::from("."),
        log: std::env::temp_dir().join(format!("callmark-agent-test-{}.log", std::process::id())).into(),
        limits: TimeoutLimits {
            answer_floor: Duration::from_millis(500),
            late_floor: Duration::from_millis(100),
            ..TimeoutLimits::default()
        },
        wire,
        seed: 1,
        outbound: Arc::default(),
        inbound: Arc::default(),
    }
}

async fn certify(plan: OpenContext<AgentTable>, agent: Option<StartAgent>) -> RunRecord {
    let library = Arc::new(Library::load().expect("a sound library"));
    let mut blocked = BTreeMap::new();
    let mut sessions = Sessions::default();
    match AgentSession::open(plan, agent).await {
        Ok(session) => sessions.insert(session),
        Err(error) => {
            blocked.insert("hub.agent".to_owned(), (error.cause(), error.to_string()));
        }
    }
    let selection = Selection { profiles: vec!["hub.agent".to_owned()], ..Selection::default() };
    let target = TargetInfo { name: "agent of a test".to_owned(), version: String::new() };
    let plan = RunPlan { blocked, jobs: 64, alone: 0, ..RunPlan::new(selection, sessions, target) };
    let plan = Arc::new(plan);
    let record = run::run(&library, &plan).await.record;
    plan.sessions.close().await;
    record
}

/// Outcomes of rules that are none of these.
fn others(record: &RunRecord, expected: &[Outcome]) -> Vec<String> {
    let other = record.rules.iter().filter(|rule| !expected.contains(&rule.outcome));
    other.map(|rule| format!("{} {:?} {:#?}", rule.id, rule.outcome, rule.scenarios)).collect()
}

async fn passes(more: &str, habits: Habits, applicable: &[Outcome]) -> RunRecord {
    let record = certify(plan(table(more), Arc::new(PassthroughWire)), Some(faithful::start(habits))).await;
    let faults = others(&record, &[&[Outcome::Passed, Outcome::Noted], applicable].concat());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(record.rules.len(), 23);
    assert_eq!(record.verdict, Verdict::Conformant);
    record
}

const SEARCHES: &str = "web_search = { tool = \"research_web_search\", inputs = { query = \"{query}\" } }\n";

#[tokio::test]
async fn a_faithful_agent_passes_every_rule() {
    let habits = Habits { looks_first: true, ..Habits::default() };
    passes(&format!("{SEARCHES}{HOOK}"), habits, &[]).await;
}

#[tokio::test]
async fn one_that_never_asks_for_the_status_is_not_judged_by_that() {
    let record = passes(HOOK, Habits::default(), &[Outcome::NotApplicable]).await;
    let silent: Vec<&str> = record
        .rules
        .iter()
        .filter(|rule| rule.outcome == Outcome::NotApplicable)
        .map(|rule| rule.id.as_str())
        .collect();
    assert_eq!(silent, ["HUB-117"]);
}

#[tokio::test]
async fn the_chat_shows_as_much_as_the_hook() {
    let chat = "drive.chat = \"http://{listen}/v1/chat\"";
    passes(chat, Habits::default(), &[Outcome::NotApplicable]).await;
    let habits = Habits { model: ModelKind::Anthropic, ..Habits::default() };
    passes(&format!("{chat}\ndrive.model = \"anthropic\""), habits, &[Outcome::NotApplicable]).await;
}

#[tokio::test]
async fn the_hook_may_be_a_command_line() {
    let program = std::env::current_exe().expect("this program");
    let mut table = table("drive.command = [\"hook\"]");
    table.launch.start = None;
    table.drive.command = Some(
        [&program.display().to_string(), "--exact", "acts_as_a_hook", "--nocapture"]
            .map(str::to_owned)
            .to_vec(),
    );
    table.launch.env.insert("ACT_AS_A_HOOK".to_owned(), "{hub_url}".to_owned());
    let record = certify(plan(table, Arc::new(PassthroughWire)), None).await;
    let faults = others(&record, &[Outcome::Passed, Outcome::Noted, Outcome::NotApplicable]);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(record.verdict, Verdict::Conformant);
}

/// The program behind that command line; without its environment it does nothing.
#[tokio::test]
async fn acts_as_a_hook() {
    if std::env::var_os("ACT_AS_A_HOOK").is_none_or(|hub| Some(hub) != std::env::var_os("CALLMARK_HUB_URL")) {
        return;
    }
    let mut call = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin(), &mut call).expect("a call");
    println!("\n{}", faithful::hook(&call).await);
    std::process::exit(0);
}

#[tokio::test]
async fn an_agent_of_few_tools_is_judged_by_those() {
    let more = format!("tools = [\"email_read\"]\nlocal = []\nfetch_page = false\n{HOOK}");
    let record =
        certify(plan(table(&more), Arc::new(PassthroughWire)), Some(faithful::start(Habits::default())))
            .await;
    assert_eq!(record.verdict, Verdict::Conformant);
    assert_eq!(record.summary.not_applicable, 4);
}

#[tokio::test]
async fn an_agent_of_one_customer_says_so_or_fails() {
    let habits = Habits { serves_the_first_only: true, ..Habits::default() };
    let broken = certify(plan(table(HOOK), Arc::new(PassthroughWire)), Some(faithful::start(habits))).await;
    let failed: Vec<&str> = broken
        .rules
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Failed | Outcome::Warned))
        .map(|rule| rule.id.as_str())
        .collect();
    assert_eq!(failed, ["HUB-19"], "{:#?}", others(&broken, &[Outcome::Passed]));
    let fixed = "customer_id = \"b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7\"\n";
    passes(&format!("{fixed}{HOOK}"), habits, &[Outcome::NotApplicable]).await;
}

#[tokio::test]
async fn two_runs_of_a_broken_agent_give_the_same_record() {
    let wire = || {
        let library = Arc::new(Library::load().expect("a sound library"));
        let mutants = mutation::mutants(&library.registry).expect("sound mutants");
        let faults = mutants
            .into_iter()
            .filter(|mutant| mutant.profile == "hub.agent" && mutant.rule != "HUB-04")
            .flat_map(|mutant| mutant.fault)
            .collect();
        Arc::new(mutation::mutating_wire::MutatingWire::new(faults, &PlainJson))
    };
    let record = || async {
        let agent = Some(faithful::start(Habits::default()));
        callmark_reports::json(&certify(plan(table(HOOK), wire()), agent).await)
    };
    assert_eq!(record().await, record().await);
}

/// Faithful agents behind a wire.
struct Shop;

impl TargetFactory for Shop {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn TargetInstance>, String>> {
        async { Ok(Box::new(Shop) as Box<dyn TargetInstance>) }.boxed()
    }
}

impl TargetInstance for Shop {
    fn sessions<'a>(
        &'a mut self,
        _: &'a str,
        wire: Arc<dyn Wire>,
        _: Patience,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            let agent = Some(faithful::start(Habits::default()));
            let session = AgentSession::open(plan(table(&format!("{SEARCHES}{HOOK}")), wire), agent).await;
            Ok(Sessions::one(session.map_err(|error| error.to_string())?))
        }
        .boxed_local()
    }
}

/// Keeps the panics quiet by which cucumber learns that a scenario ended; all others are printed as ever.
fn quiet_halts() {
    let ours = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !callmark_suite::engine::world::is_abort(info.payload()) {
            ours(info);
        }
    }));
}

#[test]
fn every_mutant_is_noticed_by_its_rule_and_by_no_other() {
    quiet_halts();
    let library = Arc::new(Library::load().expect("a sound library"));
    let mutants = mutation::mutants(&library.registry).expect("sound mutants");
    let mutants: Vec<_> = mutants.into_iter().filter(|mutant| mutant.profile == "hub.agent").collect();
    assert!(mutants.len() >= 30, "{} mutants", mutants.len());
    let pace = Pace { workers: 2, jobs: 64, also: &[], breadth: Breadth::All };
    let matrix = mutation::run(&library, &mutants, &Shop, pace, &|_, _| {}).expect("a matrix");
    let faults: Vec<String> = matrix
        .mutants
        .iter()
        .filter(|mutant| !mutant.killed || !mutant.undeclared_collateral.is_empty())
        .map(|mutant| format!("{} {:?} {:?}", mutant.id, mutant.outcome, mutant.undeclared_collateral))
        .collect();
    // A run keeps panics quiet, also this one's message.
    eprintln!("{}", faults.join("\n"));
    assert!(faults.is_empty(), "{} mutants", faults.len());
    for rule in library.registry.of_profile("hub.agent") {
        let broken = mutants.iter().any(|mutant| mutant.rule == rule.id);
        let breakable = rule.level != callmark_reports::record::Level::May;
        assert!(broken || !breakable, "{} has no mutant", rule.id);
    }
}

/// An agent that does nothing of what it should passes nothing.
async fn check_null(table: AgentTable) {
    let record = certify(plan(table, Arc::new(PassthroughWire)), None).await;
    let passes: Vec<&str> = record
        .rules
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| rule.id.as_str())
        .collect();
    assert!(passes.is_empty(), "{passes:?}");
    assert_eq!(record.verdict, Verdict::Incomplete);
    assert_eq!(record.rules.len(), 23);
}

async fn null(respond: impl Respond + 'static) {
    let server = MockServer::builder().disable_request_recording().start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut table = table(HOOK);
    table.launch.start = None;
    table.secret = Some("s3cr3t".to_owned());
    table.drive.http = Some(format!("{}/drive", server.uri()));
    check_null(table).await;
}

#[tokio::test]
async fn not_found_for_everything() {
    null(ResponseTemplate::new(404)).await;
}

#[tokio::test]
async fn an_internal_error_for_everything() {
    null(ResponseTemplate::new(500).set_body_string("<html>oops</html>")).await;
}

#[tokio::test]
async fn an_empty_body_for_everything() {
    null(ResponseTemplate::new(200)).await;
}

#[tokio::test]
async fn an_echo_of_everything() {
    null(|request: &Request| {
        ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json")
    })
    .await;
}

#[tokio::test]
async fn silence() {
    null(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
}

#[tokio::test]
async fn always_a_success() {
    null(ResponseTemplate::new(200).set_body_json(json!({"ok": true, "outcome": {}}))).await;
}

#[tokio::test]
async fn always_a_failure() {
    null(ResponseTemplate::new(200).set_body_json(json!({"ok": false, "outcome": "INTEGRATION_EXPIRED"})))
        .await;
}

#[tokio::test]
async fn programs_that_echo_end_or_say_nothing() {
    for command in ["cat", "exit 3", "true", "cat >/dev/null; echo '{\"ok\":true,\"outcome\":{}}'"] {
        let mut table = table("drive.command = [\"sh\", \"-c\", \"true\"]");
        table.launch.start = None;
        table.drive.command = Some(["sh", "-c", command].map(str::to_owned).to_vec());
        check_null(table).await;
    }
}

#[tokio::test]
async fn an_agent_that_ends_later_breaks_what_ended_it_and_nothing_else() {
    // A process that ends while a faithful agent elsewhere does the work: the scenarios after its end cannot run.
    let dir = tempfile::tempdir().expect("a directory");
    let end = dir.path().join("end");
    let made = std::process::Command::new("mkfifo").arg(&end).status().expect("a named pipe");
    assert!(made.success());
    let wait = format!("read word < {}; echo asked to end; exit 7", end.display());
    let mut table = table(HOOK);
    table.launch.start = Some(["sh", "-c", &wait].map(str::to_owned).to_vec());
    let server = MockServer::builder().disable_request_recording().start().await;
    let requests = std::sync::atomic::AtomicU32::new(0);
    let respond = move |_: &Request| {
        if requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 20 {
            std::fs::write(&end, "now\n").expect("a reader");
        }
        ResponseTemplate::new(200)
            .set_body_json(json!({"ok": true, "outcome": {}}))
            .set_delay(Duration::from_millis(3))
    };
    Mock::given(any()).respond_with(respond).mount(&server).await;
    table.drive.http = Some(format!("{}/drive", server.uri()));
    let record = certify(plan(table, Arc::new(PassthroughWire)), None).await;
    let ended =
        record.rules.iter().flat_map(|rule| &rule.scenarios).filter_map(|scenario| scenario.reason.as_ref());
    let ended = ended
        .filter(|reason| reason.starts_with("implementation: ") && reason.contains("asked to end"))
        .count();
    assert!(ended > 20, "{ended}");
}

#[tokio::test]
async fn an_agent_that_ends_at_once() {
    let mut table = table(HOOK);
    table.launch.start = Some(["sh", "-c", "exit 3"].map(str::to_owned).to_vec());
    check_null(table).await;
}
