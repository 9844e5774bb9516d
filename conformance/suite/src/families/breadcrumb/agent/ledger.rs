//! Which of the planned calls each call of the agent is.

use serde_json::Value;

use super::agent_output::{ToolRequest, Utterance};
use super::conversation_reader::KnownId;
use super::seed_data::meant;
use super::task::{PlannedCall, Task};
use crate::families::breadcrumb::crumb::{RESPONSE, SESSION};
use crate::transcript::{Frame, Kind};

/// Characters of an id that has a name in reports.
const SHORTEST: usize = 4;

/// A call that the agent made.
#[derive(Clone, Debug)]
pub(super) struct CallRecord {
    /// Number of the frame.
    pub frame: u32,
    /// All of it, so that it is known again.
    pub call: String,
    /// The tool, as the agent spells it.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Under what id; none where it has none.
    pub id: Option<String>,
    /// Whether its result is to come back.
    pub returns: bool,
    /// Task, stage and place of the planned call that it is.
    pub planned: Option<(usize, usize, usize)>,
}

/// All calls of a scenario, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    pub call_records: Vec<CallRecord>,
}

impl Ledger {
    /// What the frames show.
    pub(super) fn of(frames: &[Frame], tasks: &[Task]) -> Self {
        let mut ledger = Self::default();
        let asked: Vec<u32> = tasks.iter().map(|task| asked_in(frames, task)).collect();
        for said in Utterance::all(frames) {
            for call in said.calls() {
                // Nobody makes a call of a task that is still to come.
                let planned = ledger.planned(call, tasks, |task| asked[task] < said.frame.n);
                let id = call.id().map(str::to_owned);
                let (frame, returns) = (said.frame.n, call.returns());
                ledger.call_records.push(CallRecord {
                    frame,
                    call: call.value.to_string(),
                    tool: call.tool().to_owned(),
                    input: call.input().cloned().unwrap_or_default(),
                    id,
                    returns,
                    planned,
                });
            }
        }
        ledger
    }

    /// The planned call that fits best: the one about the same thing, then one that was not made yet, then the latest.
    fn planned(
        &self,
        call: ToolRequest<'_>,
        tasks: &[Task],
        is_asked: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize, usize)> {
        let tool = meant(call.tool());
        let input = call.value.to_string();
        // A call whose tool is unknown is recognised by what it is about.
        let is_named = |planned_call: &PlannedCall| match tool {
            Some(tool) => planned_call.tool == tool,
            None => planned_call.key.as_ref().is_some_and(|key| input.contains(key.as_str())),
        };
        let mut best = None;
        for (task, stage, place, planned_call) in
            all(tasks).filter(|(task, _, _, planned_call)| is_asked(*task) && is_named(planned_call))
        {
            let is_fresh = !self
                .call_records
                .iter()
                .any(|call_record| call_record.planned == Some((task, stage, place)));
            let about = match &planned_call.key {
                Some(key) if input.contains(key.as_str()) => 2,
                Some(_) => 0,
                None => 1,
            };
            let worth = (about, is_fresh, task);
            if best.is_none_or(|(best, _)| worth > best) {
                best = Some((worth, (task, stage, place)));
            }
        }
        best.map(|(_, planned)| planned)
    }

    /// The calls that are a planned one.
    pub(super) fn made(&self, planned: (usize, usize, usize)) -> impl Iterator<Item = &CallRecord> {
        self.call_records.iter().filter(move |call_record| call_record.planned == Some(planned))
    }

    /// Under which ids the calls of a task are known.
    pub(super) fn known(&self, task: usize) -> Vec<KnownId> {
        let own = self.call_records.iter().filter_map(|call_record| {
            let (of, stage, place) = call_record.planned?;
            (of == task).then_some(())?;
            Some(KnownId { place: (stage, place), id: call_record.id.clone()? })
        });
        own.collect()
    }

    /// The ids that the agent gave, and a stable name for each.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let named = |call_record: &CallRecord| {
            let (id, (task, stage, place)) = (call_record.id.clone()?, call_record.planned?);
            // A shorter one may stand in any text.
            (id.len() >= SHORTEST).then(|| (id, format!("<call {}.{}.{}>", task + 1, stage + 1, place + 1)))
        };
        self.call_records.iter().filter_map(named).collect()
    }

    /// Whether every stage of a task was gone through, its calls are answered, and the agent has spoken since.
    pub(super) fn is_over(&self, frames: &[Frame], tasks: &[Task], task: usize) -> bool {
        let reached = |stage: usize, planned_calls: &Vec<PlannedCall>| {
            (0..planned_calls.len()).all(|place| self.made((task, stage, place)).next().is_some())
        };
        if !tasks[task].stages.iter().enumerate().all(|(stage, planned_calls)| reached(stage, planned_calls))
        {
            return false;
        }
        let own = self
            .call_records
            .iter()
            .filter(|call_record| call_record.planned.is_some_and(|(own, _, _)| own == task));
        let returning: Vec<&CallRecord> = own.filter(|call_record| call_record.returns).collect();
        let answers: Option<Vec<u32>> = returning
            .iter()
            .map(|call_record| {
                let answer = |id: &str| response(frames, id, &tasks[task].session).map(|frame| frame.n);
                call_record.id.as_deref().map_or(Some(0), answer)
            })
            .collect();
        let Some(last) = answers.map(|answers| answers.into_iter().max()) else { return false };
        let Some(last) = last else { return true };
        let own = |said: &&Utterance<'_>| belongs(said, tasks, task);
        Utterance::all(frames)
            .iter()
            .filter(own)
            .any(|said| said.frame.n > last && !said.is_open() && !said.is_blank())
    }
}

/// The frame in which a task was asked for; 0 where that is not to be seen.
fn asked_in(frames: &[Frame], task: &Task) -> u32 {
    let asks = |frame: &&Frame| {
        frame.kind == Kind::Put
            && frame.text("/schema_name") != Some(RESPONSE)
            && frame.body.to_string().contains(&task.mark)
    };
    frames.iter().find(asks).map_or(0, |frame| frame.n)
}

/// Whether something was said about a task, or to its user.
pub(super) fn belongs(said: &Utterance<'_>, tasks: &[Task], task: usize) -> bool {
    let own = &tasks[task];
    if tasks.iter().all(|task| task.session == own.session) {
        return true;
    }
    let text = said.whole().to_string();
    let is_about = |task: &Task| text.contains(&task.mark);
    let is_to = |task: &Task| text.contains(&task.session);
    is_about(own) || (is_to(own) && !tasks.iter().any(is_about))
}

/// The tool's answer to the call with this id in a session, as the suite gave it.
pub(super) fn response<'a>(frames: &'a [Frame], id: &str, session: &str) -> Option<&'a Frame> {
    let tag = format!("{SESSION}{session}");
    frames.iter().find(|frame| {
        frame.kind == Kind::Put
            && frame.text("/schema_name") == Some(RESPONSE)
            && frame.text("/context/request_id") == Some(id)
            && frame.body["tags"].as_array().is_some_and(|tags| tags.iter().any(|own| *own == tag))
    })
}

/// All planned calls with their places.
pub(super) fn all(tasks: &[Task]) -> impl Iterator<Item = (usize, usize, usize, &PlannedCall)> {
    tasks.iter().enumerate().flat_map(|(task, own)| {
        own.places().map(move |((stage, place), planned_call)| (task, stage, place, planned_call))
    })
}
