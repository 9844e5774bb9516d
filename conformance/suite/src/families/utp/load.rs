//! Calls of a UTP role under load: each is a whole exchange with the worker and the platform, in a project of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::call::Call;
use super::judge::seen;
use super::scene::Scene;
use super::session::UtpSession;
use crate::engine::load::{Caller, Exchanged};
use crate::transcript::{Frame, Transcript};

/// Makes calls of the tool by which the role shows that it is alive.
pub(super) struct UtpCaller {
    session: Arc<UtpSession>,
    profile: &'static str,
}

impl UtpCaller {
    /// Calls of the role that has this profile, by its session.
    pub(super) fn new(session: &Arc<UtpSession>, profile: &'static str) -> Self {
        Self { session: Arc::clone(session), profile }
    }

    async fn make(&self, number: u64, deadline: Instant) -> Exchanged {
        let test_environment = &self.session.test_environment;
        let transcript = Arc::<Transcript>::default();
        let project =
            test_environment.project_of(&format!("load, call {number}"), "", Arc::clone(&transcript));
        let mut scene = Scene::bare(&self.session, Arc::clone(&project));
        let call = scene.prepare(self.session.sentinel());
        scene.send(&self.session, &call).await;
        let left = deadline.saturating_duration_since(Instant::now());
        let outcome = |frames: &[Frame]| {
            let report = seen::outcome(frames, &call)?;
            Some((report.at_us, failure(frames, report, &call)))
        };
        let found = transcript.linger(left, outcome).await;
        let began = transcript.began();
        let (answered, failure) = match found {
            Some((at_us, failure)) => (Some(began + Duration::from_micros(at_us)), failure),
            None => (None, None),
        };
        let platform = Arc::clone(&test_environment.platform_service);
        let messages = move || {
            platform.close(&project.id);
            transcript.all()
        };
        Exchanged { answered, failure, messages: Box::new(messages) }
    }
}

/// What a report says in place of the work that was asked for.
fn failure(frames: &[Frame], report: &Frame, call: &Call) -> Option<String> {
    let status = report.text("/payload/status").unwrap_or("none");
    if status != "success" {
        return Some(format!("the report has the status `{status}`"));
    }
    let card = seen::card_of(frames, report).map_or(&Value::Null, |(_, card)| card);
    let shows_work = call.proof.is_in_card(card) || call.proof.is_repeated_in(&report.body);
    (!shows_work).then(|| "the result is not that of the call".to_owned())
}

impl Caller for UtpCaller {
    fn profile(&self) -> &'static str {
        self.profile
    }

    fn call(&self, number: u64, deadline: Instant) -> BoxFuture<'_, Exchanged> {
        self.make(number, deadline).boxed()
    }

    /// For a second report, or a card that comes after its report.
    fn linger(&self) -> Duration {
        self.session.timeouts.settle_window
    }
}
