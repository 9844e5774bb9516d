//! One scenario as the parties play it: its tasks, and the messages about them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::conversation_reader::KnownId;
use super::ledger::Ledger;
use super::task::Task;
use crate::families::breadcrumb::router::ScenarioChannel;
use crate::transcript::{Frame, lock};

/// A scenario's tasks and messages.
pub(super) struct ScenarioState {
    pub scenario_channel: Arc<ScenarioChannel>,
    tasks: Mutex<Vec<Task>>,
}

impl ScenarioState {
    pub(super) fn new(scenario_channel: Arc<ScenarioChannel>) -> Arc<Self> {
        Arc::new(Self { scenario_channel, tasks: Mutex::default() })
    }

    pub(super) fn tasks(&self) -> Vec<Task> {
        lock(&self.tasks).clone()
    }

    pub(super) fn add(&self, task: Task) {
        lock(&self.tasks).push(task);
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.scenario_channel.transcript.frames()
    }

    /// The calls so far.
    pub(super) fn ledger(&self, tasks: &[Task]) -> Ledger {
        self.scenario_channel.transcript.with(|frames| Ledger::of(frames, tasks))
    }

    /// Under which ids the calls of a task are known.
    pub(super) fn known(&self, task: usize) -> Vec<KnownId> {
        let tasks = self.tasks();
        self.ledger(&tasks).known(task)
    }
}

/// All scenarios, by their marks.
#[derive(Default)]
pub(super) struct ScenarioStates(Mutex<HashMap<String, Arc<ScenarioState>>>);

impl ScenarioStates {
    pub(super) fn add(&self, state: &Arc<ScenarioState>) {
        lock(&self.0).insert(state.scenario_channel.unique.clone(), Arc::clone(state));
    }

    /// The play of a scenario.
    pub(super) fn of(&self, unique: &str) -> Option<Arc<ScenarioState>> {
        lock(&self.0).get(unique).cloned()
    }

    /// The play in which somebody used one of the ids that stand in a text.
    pub(super) fn by_request(&self, text: &str) -> Option<Arc<ScenarioState>> {
        let all: Vec<Arc<ScenarioState>> = lock(&self.0).values().cloned().collect();
        all.into_iter().find(|state| {
            let count = state.tasks().len();
            (0..count).any(|task| state.known(task).iter().any(|known| text.contains(&known.id)))
        })
    }
}
