//! One scenario with an agent: what its users want, and how the turns go.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use super::ledger::Ledger;
use super::scenario_state::ScenarioState;
use super::session::CrumbAgentSession;
use super::task::Task;
use super::user_request::UserRequest;
use crate::transcript;
use crate::transcript::{Frame, Transcript};

/// Deadlines that a turn may take in which something happens again and again.
const ROUNDS: u32 = 4;

/// The state of one scenario.
pub(super) struct Scene {
    pub session: Arc<CrumbAgentSession>,
    pub state: Arc<ScenarioState>,
    /// Stands in everything that the users say.
    pub unique: String,
    user_requests: Vec<UserRequest>,
    // Ends with the scene.
    _attending: JoinSet<()>,
}

impl Scene {
    pub(super) fn new(session: &Arc<CrumbAgentSession>, scenario: &str, transcript: Arc<Transcript>) -> Self {
        let unique = session.unique(scenario);
        let (state, attending) = session.enter(&unique, transcript);
        Self { session: Arc::clone(session), state, unique, user_requests: Vec::new(), _attending: attending }
    }

    /// Something more is wanted.
    pub(super) fn want(&mut self, user_request: UserRequest) {
        self.user_requests.push(user_request);
    }

    /// The session of the first user, as tags name it.
    pub(super) fn session_id(&self) -> String {
        self.session.conversation("sess", &self.unique)
    }

    /// That of another one, with capitals.
    pub(super) fn other_session_id(&self) -> String {
        self.session.conversation("Peer_B", &self.unique)
    }

    /// One user asks for everything, one after the other.
    ///
    /// # Errors
    /// Why that does not get to the agent.
    pub(super) async fn ask(&mut self) -> Result<(), String> {
        for (number, user_request) in std::mem::take(&mut self.user_requests).into_iter().enumerate() {
            let task = Task::new(user_request, &self.unique, number + 1, self.session_id());
            self.session.say(&self.state, task).await?;
            self.wait(number).await;
        }
        Ok(())
    }

    /// Each thing is asked for by a user of its own, at the same time.
    ///
    /// # Errors
    /// Why that does not get to the agent.
    pub(super) async fn ask_together(&mut self) -> Result<(), String> {
        let user_requests = std::mem::take(&mut self.user_requests);
        for (number, user_request) in user_requests.iter().enumerate() {
            let session = if number == 0 { self.session_id() } else { self.other_session_id() };
            let task = Task::new(*user_request, &self.unique, number + 1, session);
            self.session.say(&self.state, task).await?;
        }
        for number in 0..user_requests.len() {
            self.wait(number).await;
        }
        Ok(())
    }

    /// Waits until a task is over, or nothing has happened for too long.
    async fn wait(&self, task: usize) {
        self.wait_over(task).await;
        if let Some(task) = self.state.tasks().get(task) {
            self.session.around.router.open_calls.answered(&task.mark);
        }
    }

    async fn wait_over(&self, task: usize) {
        let (tasks, began) = (self.state.tasks(), Instant::now());
        let transcript = &self.state.scenario_channel.transcript;
        let deadline = self.session.deadline();
        loop {
            let seen = transcript.seen();
            let over =
                |frames: &[Frame]| Ledger::of(frames, &tasks).is_over(frames, &tasks, task).then_some(());
            let is_over = transcript.wait(deadline, over).await.is_some();
            let is_late = || began.elapsed() > deadline * ROUNDS;
            if is_over || transcript.seen() == seen || transcript.record_external("late", is_late) {
                return;
            }
        }
    }

    /// Waits for what may still come.
    pub(super) async fn wait_settle_window(&self) {
        transcript::sleep_unless_replaying(self.session.timeouts.settle_window).await;
    }
}
