//! Replicas of a Tool Service that are disturbed while they work: all calls are for the count probe, in one project, so that
//! its counter says afterwards how often the work was done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosFinding, ChaosKind, Fault, Party};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::call::Call;
use super::judge::repeat;
use super::judge::repeat::Repetition;
use super::judge::seen;
use super::judge::seen::Calls;
use super::scene::Scene;
use super::session::UtpSession;
use super::tool::Tool;
use crate::engine::chaos::{Called, Fleet, Processes, Replica};
use crate::engine::judge::{CheckFailure, Finding};
use crate::transcript::{Frame, Transcript};

/// From one sending of a command to the next, while it is not answered.
const AGAIN: Duration = Duration::from_secs(1);
/// For answers that come although nobody waits for them: from a replica that slept, or that lost its claim.
const AFTERMATH: Duration = Duration::from_secs(3);
/// How often the counter is read at the end, where it is not answered.
const READINGS: usize = 5;
/// What a service has to do for that.
const HINT: &str = "claim a call under (`agent_turn_id`, `tool_call_id`) where all replicas find it, for a time that ends; store \
                    outcome and effect together before the report; and acknowledge a command only after that, so that what a \
                    replica takes with it is delivered to another";

/// The replicas of a Tool Service.
pub(super) struct UtpFleet {
    session: Arc<UtpSession>,
    profile: &'static str,
    scene: Mutex<Scene>,
    transcript: Arc<Transcript>,
    calls: std::sync::Mutex<Vec<Call>>,
}

impl UtpFleet {
    /// Those of the role that has this profile.
    pub(super) fn new(session: &Arc<UtpSession>, profile: &'static str) -> Self {
        // As of a repeat: a reading of the counter that was late is no reason not to read it again.
        let transcript = Arc::new(Transcript::of_attempt(1));
        let project = session.test_environment.project_of("chaos", "", Arc::clone(&transcript));
        let scene = Mutex::new(Scene::bare(session, project));
        Self { session: Arc::clone(session), profile, scene, transcript, calls: std::sync::Mutex::default() }
    }

    async fn make(&self, deadline: Instant) -> Called {
        let call = self.scene.lock().await.prepare(Tool::Count);
        let index = {
            let mut calls = crate::transcript::lock(&self.calls);
            calls.push(call.clone());
            calls.len() - 1
        };
        let status =
            |frames: &[Frame]| Some(seen::outcome(frames, &call)?.text("/payload/status") == Some("success"));
        let mut times = 0;
        loop {
            self.scene.lock().await.send(&self.session, &call).await;
            times += 1;
            let left = deadline.saturating_duration_since(Instant::now());
            let answered = self.transcript.linger(self.scaled(AGAIN).min(left), status).await;
            if answered.is_some() || left.is_zero() {
                return Called { index, times, succeeded: answered };
            }
        }
    }

    fn with_processes<T>(&self, act: impl FnOnce(Processes<'_>) -> T) -> T {
        let environment = &self.session.test_environment;
        act(Processes {
            replicas: &environment.process,
            broker_nodes: environment.broker_nodes.as_deref(),
            set_link: &|number, link| environment.replicas.set_link(number, link),
        })
    }

    /// The counter's number, as soon as the fleet gives one.
    async fn runs(&self) -> Option<i64> {
        let mut scene = self.scene.lock().await;
        for _ in 0..READINGS {
            if let Some(runs) = scene.runs_counted(&self.session).await {
                return Some(runs);
            }
        }
        None
    }

    async fn judge(&self, called: Vec<Called>) -> (Vec<ChaosFinding>, Option<String>) {
        tokio::time::sleep(self.scaled(AFTERMATH)).await;
        let runs = self.runs().await;
        let calls = std::mem::take(&mut *crate::transcript::lock(&self.calls));
        let frames = self.transcript.all();
        let mut findings = Vec::new();
        for own in &called {
            findings.extend(of_call(&frames, &calls, own));
        }
        let count = |wanted| called.iter().filter(|own| own.succeeded == wanted).count();
        let (succeeded, failed) = (count(Some(true)), count(Some(false)));
        // One that was not answered may have been done, and so may one that was reported as failed.
        let most = called.len();
        let Some(runs) = runs else {
            findings.push(lost("after the disturbances the count probe is not answered any more".to_owned()));
            return (findings, None);
        };
        let runs = usize::try_from(runs).unwrap_or_default();
        let what = format!(
            "of {most} calls {succeeded} succeeded and {failed} failed, and the count probe was run {runs} times"
        );
        // What was reported as failed is neither lost nor done twice, and shows nothing either.
        let shows_nothing = findings.is_empty() && succeeded * 2 < most;
        if runs > most {
            findings.push(ChaosFinding { kind: ChaosKind::Twice, ..lost(what) });
            return (findings, None);
        }
        if runs == 0 && succeeded > 1 {
            return (
                findings,
                Some(format!("{what}: with several replicas it has to count over all of them")),
            );
        }
        if runs < succeeded {
            let mut finding = lost(what);
            finding.hint.push_str("; the count probe counts over all replicas");
            findings.push(finding);
            return (findings, None);
        }
        (findings, shows_nothing.then_some(what))
    }
}

impl Fleet for UtpFleet {
    fn profile(&self) -> &'static str {
        self.profile
    }

    fn replicas(&self) -> Replica {
        Replica::try_from(self.session.test_environment.replicas_count).unwrap_or(Replica::MAX)
    }

    fn scaled(&self, time: Duration) -> Duration {
        self.session.timeouts.scaled(time)
    }

    fn begin(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            let counts = self.scene.lock().await.begin_count(&self.session).await;
            counts.then_some(()).ok_or_else(|| "the count probe gives no number".to_owned())
        }
        .boxed()
    }

    fn call(self: Arc<Self>, deadline: Instant) -> BoxFuture<'static, Called> {
        async move { self.make(deadline).await }.boxed()
    }

    fn broker_nodes(&self) -> u32 {
        let nodes = self.session.test_environment.broker_nodes.as_ref().map_or(0, |nodes| nodes.count());
        // Without its only node there is no broker, and nothing to be learned of the replicas.
        if nodes > 1 { u32::try_from(nodes).unwrap_or(u32::MAX) } else { 0 }
    }

    fn disturb(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.with_processes(|processes| processes.disturb(party, fault))
    }

    fn restore(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.with_processes(|processes| processes.restore(party, fault))
    }

    fn findings(&self, called: Vec<Called>) -> BoxFuture<'_, (Vec<ChaosFinding>, Option<String>)> {
        self.judge(called).boxed()
    }
}

/// What is wrong with the messages of one call.
fn of_call(frames: &[Frame], calls: &[Call], own: &Called) -> Option<ChaosFinding> {
    let call = calls.get(own.index)?;
    let id = &call.tool_call_id;
    if own.succeeded.is_none() {
        let times = if own.times == 1 { "once".to_owned() } else { format!("{} times", own.times) };
        let mut finding = lost(format!("call `{id}` was sent {times} and never answered"));
        finding.frames = seen::command(frames, call).map(Frame::excerpt).into_iter().collect();
        return Some(finding);
    }
    let others: Vec<String> =
        calls.iter().filter(|other| other.tool_call_id != *id).flat_map(Call::names).collect();
    let calls = Calls::new(call, &others);
    // That all callbacks name one card is only recommended (UTP Tool Protocol §3.2), and a rule of its own.
    match repeat::has_one_effect(frames, &calls, Repetition { is_across: true, ..Repetition::default() }) {
        Err(CheckFailure::Broken(broken)) => Some(twice(frames, id, &broken)),
        _ => None,
    }
}

fn lost(message: String) -> ChaosFinding {
    ChaosFinding { kind: ChaosKind::Lost, message, hint: HINT.to_owned(), frames: Vec::new() }
}

fn twice(frames: &[Frame], id: &str, broken: &Finding) -> ChaosFinding {
    let shown = frames.iter().filter(|frame| broken.frames.contains(&frame.n));
    ChaosFinding {
        kind: ChaosKind::Twice,
        message: format!("call `{id}`: {}", broken.message),
        hint: broken.hint.clone(),
        frames: shown.map(Frame::excerpt).collect(),
    }
}
