//! Verdicts do not depend on luck: how many scenarios run at a time, what the machine has, which ports are free.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use callmark_reference::hub::{Hub, HubConfig};
use callmark_reports::record::{Outcome, RunRecord, Verdict};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::engine::run::{Library, Progress, Quiet, RunOutput};
use callmark_suite::families;
use callmark_suite::families::hub::manifest::{HubTable, ProviderTable};
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::utp::target::Running;
use callmark_suite::net::wire::Wire;
use callmark_suite::transcript::{Frame, Kind, Message};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::behind;
use crate::port;
use crate::support::{self, Part};

const SECRET: &str = "s3cr3t-for-tests";

/// What becomes of a connection in place of being let through.
#[derive(Clone, Copy)]
enum ConnectionOutcome {
    /// It is let through.
    Through,
    /// Nothing ever comes of it.
    Silence,
    /// It is answered by a status of an error.
    Wrong,
}

/// The reference's Hub behind a proxy that decides what becomes of each connection, by how many requests are with the Hub
/// just then and how many connections came before.
async fn hub_behind(
    outcome: impl Fn(usize, usize) -> ConnectionOutcome + Send + Sync + 'static,
) -> (Manifest, Hub, tokio::task::JoinSet<()>) {
    let provider = port::reserved().to_string();
    let config = HubConfig::new(SECRET.to_owned(), &format!("http://{provider}"));
    let hub = Hub::start(config, SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a Hub");
    let inside: SocketAddr = hub.url().trim_start_matches("http://").parse().expect("an address");
    let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let mut manifest = support::manifest();
    let table = manifest.get_mut::<HubTable>().expect("the bundled manifest has a Hub");
    table.launch.start = None;
    table.secret = Some(SECRET.to_owned());
    table.base_url = Some(format!("http://{}", proxy.local_addr().expect("an address")));
    table.provider = Some(ProviderTable { listen: Some(provider) });
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let open = Arc::new(AtomicUsize::new(0));
        let mut connections = tokio::task::JoinSet::new();
        for before in 0.. {
            let Ok((client, _)) = proxy.accept().await else { return };
            let outcome = outcome(open.load(Ordering::SeqCst), before);
            let asking = matches!(outcome, ConnectionOutcome::Through).then(|| Asking::begin(&open));
            connections.spawn(async move {
                let _ = Box::pin(carry(client, inside, outcome, asking)).await;
            });
        }
    });
    (manifest, hub, tasks)
}

/// A request that is with the Hub.
struct Asking(Arc<AtomicUsize>);

impl Asking {
    fn begin(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(open))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn carry(
    mut client: TcpStream,
    inside: SocketAddr,
    outcome: ConnectionOutcome,
    asking: Option<Asking>,
) -> std::io::Result<()> {
    match outcome {
        ConnectionOutcome::Through => {
            let hub = TcpStream::connect(inside).await?;
            let ((mut from_client, mut to_client), (mut from_hub, mut to_hub)) =
                (client.into_split(), hub.into_split());
            let sending = async { copy(&mut from_client, &mut to_hub).await.map(|_| ()) };
            let answering = async {
                let mut answer = vec![0; 64 * 1024];
                let first = from_hub.read(&mut answer).await?;
                // It is over before the client knows, and can ask again.
                drop(asking);
                to_client.write_all(&answer[..first]).await?;
                copy(&mut from_hub, &mut to_client).await.map(|_| ())
            };
            tokio::try_join!(sending, answering)?;
        }
        ConnectionOutcome::Silence => {
            let mut read = [0; 1024];
            while client.read(&mut read).await? > 0 {}
        }
        ConnectionOutcome::Wrong => {
            let mut read = vec![0; 64 * 1024];
            let _ = client.read(&mut read).await?;
            client
                .write_all(b"HTTP/1.1 500 No\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy")
                .await?;
        }
    }
    Ok(())
}

/// Rules whose scenarios make a few requests each.
const RULES: [&str; 3] = ["HUB-05", "HUB-14", "HUB-30"];

async fn certify(manifest: &Manifest, jobs: usize) -> RunOutput {
    let part = Part { rules: &RULES, jobs, ..Part::default() };
    support::certify_part(manifest, &["hub.server"], "", Box::new(Running), Arc::new(Quiet), part).await
}

fn unwell(record: &RunRecord) -> Vec<(&str, Outcome, Option<&str>)> {
    let of = |outcome: Outcome| !matches!(outcome, Outcome::Passed | Outcome::Noted);
    let unwell = record.rules.iter().filter(|rule| of(rule.outcome));
    unwell.map(|rule| (rule.id.as_str(), rule.outcome, rule.reason.as_deref())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_beside_others_is_no_verdict() {
    let beside = |open: usize, _: usize| {
        if open > 0 { ConnectionOutcome::Silence } else { ConnectionOutcome::Through }
    };
    let (manifest, hub, _door) = hub_behind(beside).await;
    let together = certify(&manifest, 8).await;
    assert_eq!(unwell(&together.record), [], "{:?}", together.remarks);
    let remarked = |part: &str| together.remarks.iter().any(|remark| remark.text.contains(part));
    assert!(remarked("is answered alone, and was not beside"), "{:?}", together.remarks);
    assert!(remarked("`serial = true`"), "{:?}", together.remarks);
    let alone = certify(&manifest, 1).await;
    assert_eq!(alone.remarks, []);
    assert_eq!(callmark_reports::json(&together.record), callmark_reports::json(&alone.record));
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_answer_beside_others_stays_wrong() {
    let beside =
        |open: usize, _: usize| if open > 0 { ConnectionOutcome::Wrong } else { ConnectionOutcome::Through };
    let (manifest, hub, _door) = hub_behind(beside).await;
    let together = certify(&manifest, 8).await;
    let remarked = |part: &str| together.remarks.iter().any(|remark| remark.text.contains(part));
    assert!(!remarked("is answered alone"), "{:?}", together.remarks);
    // A machine that held the suite up gives everything a second chance.
    assert!(together.record.verdict == Verdict::Nonconformant || remarked("held the suite up"));
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_hangs_is_reported_once() {
    let library = Library::load().expect("a library");
    let own =
        |rule: &&str| library.catalogue.cases().iter().any(|case| case.rules.iter().any(|own| own == rule));
    assert!(RULES.iter().all(own));
    // The session's own calls, and those of some scenarios, are answered.
    let waited = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&waited);
    let first = move |_: usize, before: usize| {
        if before < 60 {
            return ConnectionOutcome::Through;
        }
        counting.fetch_add(1, Ordering::SeqCst);
        ConnectionOutcome::Silence
    };
    let (manifest, hub, _door) = hub_behind(first).await;
    let part = Part { rules: &[], jobs: 8, ..Part::default() };
    let output =
        support::certify_part(&manifest, &["hub.server"], "", Box::new(Running), Arc::new(Quiet), part).await;
    assert_eq!(output.record.verdict, Verdict::Incomplete, "{:?}", output.remarks);
    let unwell = unwell(&output.record);
    assert!(unwell.iter().all(|(_, outcome, _)| *outcome != Outcome::Failed), "{unwell:?}");
    let hung = output.remarks.iter().filter(|remark| remark.text.contains("answers nothing any more"));
    assert_eq!(hung.count(), 1, "{:?}", output.remarks);
    // Of a thousand scenarios few waited for an answer; the others say that they did not run.
    let waited = waited.load(Ordering::SeqCst);
    assert!(waited < 200, "{waited} requests were waited for");
    assert!(
        unwell.iter().filter(|(_, outcome, _)| *outcome == Outcome::CouldNotRun).count() > 50,
        "{unwell:?}"
    );
    hub.shutdown().await;
}

/// Loses the reports of failures, until their scenarios run again.
#[derive(Default)]
struct LosesFailures(OnceLock<String>);

impl Wire for LosesFailures {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        vec![message]
    }

    fn incoming(&self, message: Message) -> Vec<Message> {
        if message.kind != Kind::Report || message.body["payload"]["status"] != "failed" {
            return vec![message];
        }
        // What ends an id differs from one time that a scenario runs to the next.
        let id = message.body["correlation_id"].as_str().unwrap_or_default();
        let time = &id[id.len().saturating_sub(6)..];
        if self.0.get_or_init(|| time.to_owned()) == time { Vec::new() } else { vec![message] }
    }
}

/// Reports timeouts in place of what came of some calls.
#[derive(Default)]
struct TimesOut {
    calls: AtomicUsize,
    /// Ids of their cards.
    cards: Mutex<BTreeSet<String>>,
}

impl TimesOut {
    /// The first ones show whether it works at all.
    const WHICH: Range<usize> = 100..160;
}

impl Wire for TimesOut {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        vec![message]
    }

    fn incoming(&self, mut message: Message) -> Vec<Message> {
        let mut cards = self.cards.lock().expect("cards");
        let timeout = json!({"code": "tool_timeout", "message": "nothing came within 600 ms", "detail": {}});
        match message.kind {
            Kind::CardSave if Self::WHICH.contains(&self.calls.fetch_add(1, Ordering::SeqCst)) => {
                cards.extend(message.body["card"]["card_id"].as_str().map(str::to_owned));
                let content = &mut message.body["card"]["content"];
                content["status"] = "timeout".into();
                content["result"] =
                    json!({"error_code": timeout["code"], "error_message": timeout["message"]});
                content["error"] = timeout;
            }
            Kind::Report => {
                let callback = &mut message.body["payload"];
                if callback["tool_result_card_id"].as_str().is_some_and(|id| cards.contains(id)) {
                    callback["status"] = "timeout".into();
                }
            }
            _ => {}
        }
        vec![message]
    }
}

/// A target waits for the parties that the suite plays, and a busy machine makes them late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_that_the_target_reports_beside_others_is_no_verdict() {
    let wire = Arc::new(TimesOut::default());
    let output = behind::certify(wire, "utp.openapi", &[], ReplayMode::Off).await;
    assert_eq!(unwell(&output.record), [], "{:?}", output.remarks);
    let remarked = |part: &str| output.remarks.iter().any(|remark| remark.text.contains(part));
    assert!(remarked("the target reports no timeout in"), "{:?}", output.remarks);
}

/// Whether the target still answers is seen from a scenario that it passed: it runs once more, and the record stays about
/// the first time. What judges the run again has the messages of that one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_that_only_shows_whether_the_target_answers_leaves_nothing() {
    let wire = Arc::new(LosesFailures::default());
    let output = behind::certify(wire, "utp.tool-service", &["TDG-1-01"], ReplayMode::Record).await;
    assert_eq!(unwell(&output.record), [], "{:?}", output.remarks);
    let remarked = |part: &str| output.remarks.iter().any(|remark| remark.text.contains(part));
    assert!(remarked("is answered alone"), "{:?}", output.remarks);
    let frames: BTreeMap<String, Vec<Frame>> =
        output.transcripts().map(|(id, frames)| (id.to_owned(), frames)).collect();
    let ran: BTreeSet<String> = frames.keys().cloned().collect();
    let account = output.account().expect("an account").clone();
    let plan = account.plan(families::ALL, &support::manifest(), frames).expect("a plan");
    let library = Arc::new(Library::load().expect("a library"));
    run::run(&library, &plan).await;
    // The whole profile is judged again, and only one rule of it was run.
    let divergences = plan.memory.divergences();
    let own: Vec<_> = divergences.iter().filter(|(id, _)| ran.contains(id)).collect();
    assert!(own.is_empty(), "{own:?}");
}

/// Which scenarios run just now, and which of those that come last had company.
#[derive(Default)]
struct Watch {
    last: BTreeSet<String>,
    now: Mutex<BTreeSet<String>>,
    seen: AtomicUsize,
    overlaps: Mutex<Vec<String>>,
}

impl Progress for Watch {
    fn begin(&self, _: usize) {}

    fn started(&self, id: &str) {
        if self.last.contains(id) {
            let mut now = self.now.lock().expect("no panic");
            if !now.is_empty() {
                self.overlaps.lock().expect("no panic").push(id.to_owned());
            }
            now.insert(id.to_owned());
            self.seen.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn scenario(&self, id: &str, _: Outcome) {
        self.now.lock().expect("no panic").remove(id);
    }

    fn end(&self) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_end_a_target_runs_alone_in_every_family() {
    let library = Library::load().expect("a library");
    let cases = library.catalogue.cases().iter().filter(|case| case.profile == "hub.server");
    let last = cases.filter(|case| case.tags.contains("last"));
    let watch = Arc::new(Watch { last: last.map(|case| case.id.clone()).collect(), ..Watch::default() });
    let (manifest, hub, _door) = hub_behind(|_, _| ConnectionOutcome::Through).await;
    let part = Part { rules: &["HUB-54"], jobs: 64, ..Part::default() };
    let progress = Arc::clone(&watch) as Arc<dyn Progress>;
    support::certify_part(&manifest, &["hub.server"], "", Box::new(Running), progress, part).await;
    assert!(watch.seen.load(Ordering::SeqCst) > 1, "several of them ran");
    assert_eq!(*watch.overlaps.lock().expect("no panic"), Vec::<String>::new());
    hub.shutdown().await;
}

/// The command line in a shell that has set a limit.
fn limited(limit: &str, arguments: &str) -> Output {
    let home = tempfile::tempdir().expect("a directory");
    let program = support::program();
    let line =
        format!("ulimit {limit} && exec {} certify --bundled {arguments} --out out", program.display());
    Command::new("sh").args(["-c", &line]).current_dir(home.path()).output().expect("the binary runs")
}

#[test]
fn a_soft_limit_of_files_is_raised() {
    let output = limited("-Sn 32", "--profile hub.server --rule HUB-05");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(!errors.contains("scenarios at a time"), "{errors}");
}

#[test]
fn a_hard_limit_of_files_is_named_where_it_is_too_small() {
    let output = limited("-n 32", "--profile hub.server --rule HUB-05");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("this process may open 32 files") && errors.contains("ulimit -Hn"), "{errors}");
}

#[test]
fn a_limit_of_files_decides_how_many_scenarios_run_at_a_time() {
    let output = limited("-n 128", "--profile hub.server --rule HUB-05 --rule HUB-30 --jobs 1000");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("scenarios at a time, not 1000"), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_whose_port_is_taken_is_started_again() {
    let home = tempfile::tempdir().expect("a directory");
    let mut manifest = support::manifest();
    let table = manifest.get_mut::<HubTable>().expect("the bundled manifest has a Hub");
    let line = format!(
        "test -e second || {{ touch second; echo 'OSError: [Errno 98] Address already in use' >&2; exit 1; }}; exec {} serve hub",
        support::program().display()
    );
    table.launch.start = Some(["sh", "-c", &line].map(str::to_owned).to_vec());
    manifest.directory = home.path().to_owned();
    let output = certify(&manifest, 8).await;
    assert_eq!(unwell(&output.record), []);
    assert!(home.path().join("second").is_file(), "it was started before");
}

/// Garbles each success that comes after a failure.
const GARBLES: &str = r#"x; /bad/{x; s/"text":"{/"text":"none","was":"{/; b}; x; /"error":{\|"isError":true/{p; s/.*/bad/; h; d}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_an_earlier_scenario_harmed_fails_nobody_else() {
    let mut manifest = support::manifest();
    let table = manifest.get_mut::<ToolbusTable>().expect("the bundled manifest has a server");
    let line =
        format!("{} serve toolbus --stdio | LC_ALL=C sed -u '{GARBLES}'", support::program().display());
    table.command = Some(["sh", "-c", &line].map(str::to_owned).to_vec());
    // One at a time, so that the second has the server of the first.
    // A failure, and after it two calls whose answers are compared.
    let part = Part { rules: &["BUS-71", "BUS-37"], jobs: 1, ..Part::default() };
    let (target, quiet) = (Box::new(Running), Arc::new(Quiet));
    let output = support::certify_part(&manifest, &["toolbus.server"], "", target, quiet, part).await;
    assert_eq!(unwell(&output.record), [], "{:?}", output.remarks);
    let is_remarked = output.remarks.iter().any(|remark| remark.text.contains("may have harmed"));
    assert!(is_remarked, "{:?}", output.remarks);
}

#[test]
fn a_browser_that_does_not_start_is_trouble_of_the_machine() {
    let home = tempfile::tempdir().expect("a directory");
    let browser = home.path().join("browser");
    std::fs::write(&browser, "#!/bin/sh\nexit 1\n").expect("a file");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    let mut command = Command::new(support::program());
    command.args(["certify", "--bundled", "--rule", "BRD-74", "--out", "out"]).current_dir(home.path());
    command.env("CALLMARK_CHROMIUM", &browser).env("CALLMARK_CHROMEDRIVER", &browser);
    let output = command.output().expect("the binary runs");
    let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
    let record: RunRecord = serde_json::from_str(&record).expect("a record");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(record.verdict, Verdict::Incomplete, "{shown}");
    for rule in record.rules.iter().filter(|rule| rule.id == "BRD-74") {
        assert_eq!(rule.outcome, Outcome::CouldNotRun, "{shown}");
        assert!(rule.reason.as_deref().unwrap_or_default().contains("environment"), "{rule:?}");
    }
    assert_eq!(output.status.code(), Some(3), "{shown}");
}
