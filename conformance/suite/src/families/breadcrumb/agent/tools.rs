//! The tools, as the suite plays them: they answer what the agent asks for as its task has it.
//!
//! A call is answered once, however often it is sent. A call whose result is for the user is not answered: the agent has
//! no part in what comes of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::agent_output::{Utterance, single};
use super::driver::Driver;
use super::ledger::{CallRecord, Ledger};
use super::model::{Model, answered};
use super::scenario_state::ScenarioState;
use super::seed_data::{CALCULATOR, LEVELS, MEMO, NOTES, TIDES, meant};
use super::task::{AnswerOrder, PlannedReply, Task};
use crate::families::breadcrumb::crumb::RESPONSE;
use crate::families::breadcrumb::manifest::LANGUAGE_MODELS;
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::transcript::{Frame, Kind};

/// Longer than any scenario lasts.
const LONG: Duration = Duration::from_secs(3600);

/// The parties around an agent.
pub(super) struct Around {
    pub router: Arc<ScenarioRouter>,
    pub driver: Driver,
    pub model: Arc<Model>,
    /// What ids and titles of the suite begin with.
    pub prefix: String,
}

/// Answers the calls of one scenario until it is dropped.
pub(super) async fn attend(around: Arc<Around>, scenario_state: Arc<ScenarioState>, patience: Duration) {
    let mut done = 0;
    let mut answered = HashSet::new();
    loop {
        let fresh = |frames: &[Frame]| {
            let own = frames.iter().filter(|frame| {
                matches!(frame.kind, Kind::Said | Kind::Crumb | Kind::Stored) && frame.n > done
            });
            let own: Vec<Frame> = own.cloned().collect();
            (!own.is_empty()).then_some(own)
        };
        let Some(fresh) = scenario_state.scenario_channel.transcript.linger(LONG, fresh).await else {
            return;
        };
        for frame in &fresh {
            done = frame.n;
            for thought in thoughts(frame) {
                if answered.insert(thought.call) {
                    let (task, content) = around.model.think(&thought.messages);
                    let output = json!({"content": content, "model": "suite", "usage": {"total_tokens": 2}});
                    let reply = PlannedReply::Output(output);
                    around.respond(&scenario_state, task.as_ref(), &thought.id, thought.tool, &reply);
                }
            }
            around.answer(&scenario_state, frame.n, patience, &mut answered).await;
        }
    }
}

/// A request by which an agent asks a language model what to do.
struct Thought {
    id: String,
    tool: &'static str,
    messages: Value,
    /// All of it: two sessions may give the same id.
    call: String,
}

impl Thought {
    fn of(tool: &str, id: Option<&str>, input: Option<&Value>, call: &Value) -> Option<Self> {
        let tool = meant(tool).filter(|tool| LANGUAGE_MODELS.contains(tool))?;
        let messages = input?.get("messages").cloned().unwrap_or_default();
        Some(Self { id: id?.to_owned(), tool, messages, call: call.to_string() })
    }
}

/// The thoughts of one message.
fn thoughts(frame: &Frame) -> Vec<Thought> {
    let Some(said) = Utterance::of(frame) else {
        let single = single(frame);
        let found = single.and_then(|context| {
            let id = context.get("requestId").or_else(|| context.get("request_id"))?.as_str();
            Thought::of(context["tool"].as_str()?, id, context.get("input"), &context)
        });
        return found.into_iter().collect();
    };
    let requests = said.requests();
    let thoughts = requests.iter().filter(|request| request.is_thought());
    thoughts
        .filter_map(|request| Thought::of(request.tool(), request.id(), request.input(), request.value))
        .collect()
}

impl Around {
    /// Answers the calls of one message.
    async fn answer(
        &self,
        scenario_state: &Arc<ScenarioState>,
        frame: u32,
        patience: Duration,
        answered: &mut HashSet<String>,
    ) {
        let tasks = scenario_state.tasks();
        let ledger = scenario_state.ledger(&tasks);
        let own: Vec<CallRecord> =
            ledger.call_records.into_iter().filter(|call_record| call_record.frame == frame).collect();
        let is_due = |call_record: &CallRecord, answered: &HashSet<String>| {
            call_record.returns && call_record.id.is_some() && !answered.contains(&call_record.call)
        };
        let mut due: Vec<CallRecord> =
            own.into_iter().filter(|call_record| is_due(call_record, answered)).collect();
        let is_arranged =
            |(task, _, _): &(usize, usize, usize)| tasks[*task].answers != AnswerOrder::AsCalled;
        let stage = due.iter().find_map(|call_record| call_record.planned.filter(is_arranged));
        if let Some((task, stage, _)) = stage {
            let all = siblings(scenario_state, &tasks, task, stage, patience).await;
            due = all.into_iter().filter(|call_record| is_due(call_record, answered)).collect();
            tasks[task].answers.arrange(&mut due);
        }
        for call_record in due {
            let id = call_record.id.unwrap_or_default();
            let planned = call_record
                .planned
                .map(|(task, stage, place)| (&tasks[task], &tasks[task].stages[stage][place]));
            if let Some((task, planned_call)) = planned {
                self.respond(scenario_state, Some(task), &id, planned_call.tool, &planned_call.reply);
            } else {
                // An agent may look further than its task asks it to.
                let reply = meant(&call_record.tool)
                    .map_or_else(unknown_tool, |tool| unplanned_reply(tool, &call_record.input));
                self.respond(scenario_state, None, &id, &call_record.tool, &reply);
            }
            answered.insert(call_record.call);
        }
    }

    /// Gives the agent the answer to a call.
    fn respond(
        &self,
        scenario_state: &ScenarioState,
        task: Option<&Task>,
        id: &str,
        tool: &str,
        reply: &PlannedReply,
    ) {
        let tasks = scenario_state.tasks();
        let Some(task) = task.or(tasks.last()) else { return };
        let (status, members) = answered(reply);
        let mut context = json!({"request_id": id, "tool": tool, "status": status});
        for (name, value) in members {
            context[name] = value;
        }
        let tags = ["tool:response".to_owned(), format!("request:{id}"), format!("session:{}", task.session)];
        let body = json!({
            "schema_name": RESPONSE, "title": format!("{}Response: {tool}", self.prefix), "tags": tags, "context": context,
        });
        // An agent that has ended is found out by who waits for it.
        let _ = self.driver.deliver(&self.router, &scenario_state.scenario_channel, body);
    }
}

fn unknown_tool() -> PlannedReply {
    PlannedReply::Failure { error: "there is no such tool here".to_owned(), decoy: json!({}) }
}

/// What a tool of the catalog answers where no task plans the call: as little as its output schema permits.
fn unplanned_reply(tool: &str, input: &Value) -> PlannedReply {
    let output = match tool {
        CALCULATOR => {
            let expression = input["expression"].as_str().unwrap_or_default();
            let terms: Result<Vec<f64>, _> = expression.split('+').map(|term| term.trim().parse()).collect();
            let Ok(terms) = terms else {
                let error = "the calculator takes sums of numbers only".to_owned();
                return PlannedReply::Failure { error, decoy: json!({}) };
            };
            json!({"result": terms.into_iter().sum::<f64>()})
        }
        NOTES | LEVELS | TIDES => json!({"notes": []}),
        MEMO => json!({"saved": true}),
        _ => json!({"content": "Nothing is known of that.", "model": "suite", "usage": {"total_tokens": 2}}),
    };
    PlannedReply::Output(output)
}

/// The calls of one stage, in the order of the plan: those that come together, and others that come soon.
async fn siblings(
    scenario_state: &ScenarioState,
    tasks: &[Task],
    task: usize,
    stage: usize,
    patience: Duration,
) -> Vec<CallRecord> {
    let count = tasks[task].stages[stage].len();
    let is_whole = |frames: &[Frame]| {
        let ledger = Ledger::of(frames, tasks);
        (0..count).all(|place| ledger.made((task, stage, place)).next().is_some()).then_some(())
    };
    scenario_state.scenario_channel.transcript.linger(patience, is_whole).await;
    let ledger = scenario_state.ledger(tasks);
    (0..count).flat_map(|place| ledger.made((task, stage, place)).cloned().collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_the_catalog_is_there_for_calls_that_nobody_planned() {
        let check = |tool: &str, input: Value, expect: Option<Value>| {
            let output = match unplanned_reply(tool, &input) {
                PlannedReply::Output(output) => Some(output),
                PlannedReply::Failure { .. } => None,
            };
            assert_eq!(output, expect, "{tool} {input}");
        };
        check(CALCULATOR, json!({"expression": "2 + 40.5"}), Some(json!({"result": 42.5})));
        check(CALCULATOR, json!({"expression": "6 * 7"}), None);
        check(NOTES, json!({"query": "anything else"}), Some(json!({"notes": []})));
        check(MEMO, json!({"text": "by the way"}), Some(json!({"saved": true})));
    }
}
