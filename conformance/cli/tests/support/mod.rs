//! A run against any target, inside the test.

pub(crate) mod nothing;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use callmark_cli::bundled;
use callmark_reports::record::TargetInfo;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::open::OpenPlan;
use callmark_suite::engine::run;
use callmark_suite::engine::run::{Library, Progress, RunOutput, RunPlan, Selection};
use callmark_suite::engine::setup;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::setup::InProcess;
use callmark_suite::families::utp::target::Target;
use callmark_suite::net::outbound::Outbound;

/// What is read and compiled once for all tests of a program, which is most of what a short run takes.
static LIBRARY: LazyLock<Arc<Library>> =
    LazyLock::new(|| Arc::new(Library::load().expect("a sound library").for_many_runs()));

/// The `callmark` that is tried: the gate has the one that it ships tried here as well (`CALLMARK_TEST_PROGRAM`).
pub(crate) fn program() -> PathBuf {
    std::env::var_os("CALLMARK_TEST_PROGRAM")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_callmark")), PathBuf::from)
}

/// The bundled manifest with a short wait for a target that never answers.
pub(crate) fn manifest() -> Manifest {
    let mut manifest = bundled::manifest(&program()).expect("a sound manifest");
    if let Some(utp) = manifest.get_mut::<UtpTable>() {
        utp.launch.start_timeout_seconds = Some(1.5);
        // The target of a test is one of one revision.
        utp.both_at_once = false;
    }
    manifest
}

/// Some rules of some profiles; none means all of them.
pub(crate) fn selection(profiles: &[&str], rules: &[&str]) -> Selection {
    let [profiles, rules] = [profiles, rules].map(|own| own.iter().map(|&own| own.to_owned()).collect());
    Selection { profiles, rules, ..Selection::default() }
}

/// Runs some profiles against a target, on a broker that runs already where they need one.
pub(crate) async fn certify(
    manifest: &Manifest,
    profiles: &[&str],
    nats_url: &str,
    target: Box<dyn Target>,
    progress: Arc<dyn Progress>,
) -> RunOutput {
    certify_part(manifest, profiles, nats_url, target, progress, Part::default()).await
}

/// What of a run is wanted, and with how much patience.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    /// None means all.
    pub(crate) rules: &'a [&'a str],
    /// Scenarios at a time.
    pub(crate) jobs: usize,
    /// Limits of all waiting.
    pub(crate) limits: TimeoutLimits,
}

impl Default for Part<'_> {
    fn default() -> Self {
        let limits = TimeoutLimits {
            answer_floor: Duration::from_millis(500),
            // A first call that was slow must not have the others waited for by the minute.
            answer_ceiling: Duration::from_millis(1500),
            late_floor: Duration::from_millis(100),
            ..TimeoutLimits::default()
        };
        Self { rules: &[], jobs: 64, limits }
    }
}

/// As [`certify`], with a part of the scenarios.
pub(crate) async fn certify_part(
    manifest: &Manifest,
    profiles: &[&str],
    nats_url: &str,
    target: Box<dyn Target>,
    progress: Arc<dyn Progress>,
    part: Part<'_>,
) -> RunOutput {
    let selection = selection(profiles, part.rules);
    let revision = profiles.first().map(|profile| Revision::of_profile(profile)).unwrap_or_default();
    let logs = tempfile::tempdir().expect("a directory");
    let in_process = InProcess { targets: Mutex::new([(revision, target)].into()), exercise: None };
    let opened = setup::open(
        families::ALL,
        OpenPlan {
            manifest,
            profiles: families::ALL.select(&selection.profiles),
            broker_url: nats_url,
            broker_nodes: None,
            limits: part.limits,
            outbound: Outbound::of(manifest),
            inbound: Arc::default(),
            seed: 1,
            logs: logs.path().to_owned(),
            in_process: Some(&in_process),
        },
    )
    .await;
    let target = TargetInfo { name: "target of a test".to_owned(), version: String::new() };
    let plan = Arc::new(RunPlan {
        blocked: opened.blocked.clone(),
        jobs: part.jobs,
        outbound: Outbound::of(manifest),
        progress,
        ..RunPlan::new(selection, opened.sessions.clone(), target)
    });
    let output = Box::pin(run::run(&LIBRARY, &plan)).await;
    opened.close().await;
    output
}
