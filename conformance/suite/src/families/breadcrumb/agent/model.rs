//! The language model that the suite plays: OpenAI-compatible, plain or streamed.
//!
//! A task is known by its mark in the conversation, and which answer is due by what the conversation holds, not by how
//! often the agent asks. Where functions are offered they are called, else the model writes the whole invocation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use super::conversation_reader::{Outcome, ReportedOutcomes, call_id, ending, numbers, read, text};
use super::scenario_state::{ScenarioState, ScenarioStates};
use super::seed_data::{meant, plain};
use super::task::{Input, Next, PlannedCall, PlannedReply, Task};
use crate::families::breadcrumb::crumb::INVOCATION;
use crate::families::breadcrumb::router::ScenarioRouter;
use crate::families::utp::runtime::model::spoken;
use crate::net::http_server::{HttpReply, ReceivedRequest};
use crate::transcript::Kind;

/// The model, and what it has learnt of the agent.
pub(super) struct Model {
    pub router: Arc<ScenarioRouter>,
    pub states: Arc<ScenarioStates>,
    /// Whether functions were ever offered: a request without is then for something else, such as a title.
    offers: AtomicBool,
}

/// What the model does next.
enum Turn {
    /// Calls, each with its stage and its place there.
    Calls(Vec<((usize, usize), PlannedCall)>),
    Words(String),
}

impl Model {
    pub(super) fn new(router: &Arc<ScenarioRouter>, states: &Arc<ScenarioStates>) -> Arc<Self> {
        let (router, states) = (Arc::clone(router), Arc::clone(states));
        Arc::new(Self { router, states, offers: AtomicBool::new(false) })
    }

    /// Answers a request over HTTP.
    pub(super) fn serve(&self, received: &ReceivedRequest) -> HttpReply {
        let path = received.bare_path();
        if path.ends_with("/models") {
            let model = json!({"id": "suite", "object": "model"});
            return HttpReply::json(200, &json!({"object": "list", "data": [model]}));
        }
        if !path.ends_with("/chat/completions") {
            let error = json!({"error": {"message": "the suite's model serves chat completions", "type": "not_found"}});
            return HttpReply::json(404, &error);
        }
        let channel = received.channel();
        let Some((state, task)) = self.find(&received.body["messages"]) else {
            self.router.record_incoming(Kind::Model, &channel, BTreeMap::new(), received.body.clone());
            return spoken(&received.body, &words("There is nothing to do."));
        };
        let arrived = self.router.record_incoming_of(
            &state.scenario_channel,
            Kind::Model,
            &channel,
            BTreeMap::new(),
            received.body.clone(),
        );
        let Some(request) = arrived.into_iter().next() else { return HttpReply::Hang };
        let reply = self.next(&state, task, &request);
        match self
            .router
            .send(&state.scenario_channel, Kind::ModelReply, &channel, BTreeMap::new(), reply)
            .pop()
        {
            Some(reply) => spoken(&received.body, &reply),
            None => HttpReply::Hang,
        }
    }

    /// What the model says where it is a tool, always a text, and what task that is about.
    pub(super) fn think(&self, messages: &Value) -> (Option<Task>, String) {
        let Some((state, task)) = self.find(messages) else {
            return (None, "There is nothing to do.".to_owned());
        };
        let (task, known) = (state.tasks().swap_remove(task), state.known(task));
        let reported = read(messages.as_array().map_or(&[], Vec::as_slice), &task, &known);
        let text = written(&task, &turn(&task, &reported, false), &reported);
        (Some(task), text)
    }

    /// The task that a conversation is about: the one whose mark was said last.
    fn find(&self, messages: &Value) -> Option<(Arc<ScenarioState>, usize)> {
        let messages = messages.as_array()?;
        for message in messages.iter().rev() {
            let text = message.to_string();
            let mut scenario_channel = None;
            for (at, _) in text.match_indices('-') {
                let mark = at.checked_sub(12).and_then(|begin| text.get(begin..at));
                let Some(state) = mark.and_then(|mark| self.states.of(mark)) else { continue };
                let tasks = state.tasks();
                let ours = tasks.iter().position(|task| text[at - 12..].starts_with(&task.mark));
                scenario_channel = ours.map(|task| (state, task)).or(scenario_channel);
            }
            if scenario_channel.is_some() {
                return scenario_channel;
            }
        }
        let all: String = messages.iter().map(text).collect::<Vec<_>>().join("\n");
        let state = self.states.by_request(&all)?;
        let count = state.tasks().len();
        let names_task = |task: &usize| state.known(*task).iter().any(|known| all.contains(&known.id));
        let task = (0..count).rev().find(names_task)?;
        Some((state, task))
    }

    fn next(&self, state: &ScenarioState, task: usize, request: &Value) -> Value {
        let tasks = state.tasks();
        let task_of = &tasks[task];
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let reported = read(messages, task_of, &state.known(task));
        let turn = turn(task_of, &reported, request["parallel_tool_calls"] == false);
        let offered = request["tools"].as_array().into_iter().flatten();
        let functions: Vec<&Value> = offered.filter_map(|tool| tool.get("function")).collect();
        let is_silenced = !functions.is_empty() && request["tool_choice"] == "none";
        if functions.is_empty() || is_silenced {
            if is_silenced || self.offers.load(Ordering::Relaxed) {
                return words(&match turn {
                    Turn::Words(words) => words,
                    Turn::Calls(..) => working(task_of),
                });
            }
            return words(&written(task_of, &turn, &reported));
        }
        self.offers.store(true, Ordering::Relaxed);
        match turn {
            Turn::Words(last) => spoken_by_function(&functions, request, &last),
            Turn::Calls(planned_calls) => called(&functions, task_of, &planned_calls, &reported),
        }
    }
}

/// What the user is sent while tools work.
fn working(task: &Task) -> String {
    format!("One moment, I am on it ({}).", task.mark)
}

/// What a sound model does, given what it was sent; `one_by_one` where it must make one call at a time.
fn turn(task: &Task, reported: &ReportedOutcomes, one_by_one: bool) -> Turn {
    for (stage, planned_calls) in task.stages.iter().enumerate() {
        let outcome = |place: usize| reported.outcomes.get(&(stage, place));
        let is_open =
            |place: &usize| !reported.called.contains(&(stage, *place)) && outcome(*place).is_none();
        let open: Vec<usize> = (0..planned_calls.len()).filter(is_open).collect();
        let due = if one_by_one { open.first().into_iter().copied().collect() } else { open.clone() };
        if one_by_one && !due.is_empty() || open.len() == planned_calls.len() {
            return Turn::Calls(
                due.iter().map(|place| ((stage, *place), planned_calls[*place].clone())).collect(),
            );
        }
        let waits = |(place, planned_call): (usize, &PlannedCall)| {
            planned_call.return_to_llm && outcome(place).is_none()
        };
        if planned_calls.iter().enumerate().any(waits) {
            return Turn::Words(working(task));
        }
        let failed =
            (0..planned_calls.len()).any(|place| matches!(outcome(place), Some(Outcome::Failure(_))));
        let goes_on = match task.next {
            Next::AfterSuccess => !failed,
            Next::AfterFailure => failed,
        };
        if !goes_on {
            break;
        }
    }
    Turn::Words(last_words(task, reported))
}

/// What the user is sent in the end: the outcome of the last stage that there was, call by call.
fn last_words(task: &Task, reported: &ReportedOutcomes) -> String {
    let last = reported.outcomes.keys().map(|(stage, _)| *stage).max().unwrap_or_default();
    let outcomes = reported.outcomes.iter().filter(|((stage, _), _)| *stage == last);
    let parts: Vec<String> = outcomes
        .filter_map(|((stage, place), outcome)| {
            let planned_call = task.stages.get(*stage)?.get(*place)?;
            planned_call.return_to_llm.then(|| match outcome {
                Outcome::Output(text) => format!("{}: {text}", planned_call.label),
                Outcome::Failure(text) => format!("{} is not to be had: {text}", planned_call.label),
            })
        })
        .collect();
    if parts.is_empty() { format!("It is done ({}).", task.mark) } else { parts.join(" ") }
}

fn words(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// The input of a call.
fn input(planned_call: &PlannedCall, reported: &ReportedOutcomes) -> Value {
    match &planned_call.input {
        Input::Given(input) => input.clone(),
        Input::Addition => {
            let outcome = reported.outcomes.get(&(0, 0));
            let found = match outcome {
                Some(Outcome::Output(text)) => numbers(text),
                _ => Vec::new(),
            };
            let terms: Vec<String> = found.iter().map(u64::to_string).collect();
            let expression = if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") };
            json!({"expression": expression})
        }
    }
}

/// An id that a model gives to a call where it is asked for one.
fn request_id(task: &Task, planned_call: &PlannedCall, place: (usize, usize)) -> String {
    format!("{}-{}", planned_call.tool, ending(task, place))
}

/// The call as an item of `tool_requests`.
fn request(
    task: &Task,
    planned_call: &PlannedCall,
    place: (usize, usize),
    reported: &ReportedOutcomes,
) -> Value {
    let mut request = json!({
        "tool": planned_call.tool, "input": input(planned_call, reported), "requestId": request_id(task, planned_call, place),
        "return_to_llm": planned_call.return_to_llm,
    });
    if let Some(config) = planned_call.config_id {
        request["config_id"] = json!(config);
    }
    request
}

/// The whole invocation as a text.
fn written(task: &Task, turn: &Turn, reported: &ReportedOutcomes) -> String {
    let context = match turn {
        Turn::Words(words) => json!({"message": words}),
        Turn::Calls(planned_calls) => {
            let requests: Vec<Value> = planned_calls
                .iter()
                .map(|(place, planned_call)| request(task, planned_call, *place, reported))
                .collect();
            json!({"message": working(task), "tool_requests": requests})
        }
    };
    let tags = ["agent:response".to_owned(), format!("session:{}", task.session)];
    let breadcrumb =
        json!({"schema_name": INVOCATION, "title": "Response", "tags": tags, "context": context});
    json!({"action": "create", "breadcrumb": breadcrumb}).to_string()
}

/// Calls of the functions that were offered.
fn called(
    functions: &[&Value],
    task: &Task,
    planned_calls: &[((usize, usize), PlannedCall)],
    reported: &ReportedOutcomes,
) -> Value {
    let calls: Option<Vec<Value>> = planned_calls
        .iter()
        .map(|(place, planned_call)| {
            let function = fitting(functions, planned_call.tool)?;
            let arguments = arguments(function, task, planned_call, *place, reported);
            let name = &function["name"];
            let id = call_id(task, *place);
            Some(json!({
                "id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()},
            }))
        })
        .collect();
    match calls {
        Some(calls) => json!({"role": "assistant", "content": working(task), "tool_calls": calls}),
        None => words("I was offered no function for that tool."),
    }
}

/// Words; by a function that takes some, where the model must call one.
fn spoken_by_function(functions: &[&Value], request: &Value, text: &str) -> Value {
    let names = ["message", "answer", "response", "reply", "text", "content"];
    let is_tool = |function: &&&Value| meant(function["name"].as_str().unwrap_or_default()).is_some();
    let must = matches!(&request["tool_choice"], Value::String(choice) if choice == "required");
    let found = functions.iter().filter(|function| must && !is_tool(function)).find_map(|function| {
        let takes = |name: &&&str| function["parameters"]["properties"].get(**name).is_some();
        Some((&function["name"], *names.iter().find(takes)?))
    });
    let Some((function, name)) = found else { return words(text) };
    let arguments = json!({name: text}).to_string();
    let call = json!({"id": "call_last_word", "type": "function", "function": {"name": function, "arguments": arguments}});
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

/// The function for a tool: the one of its name, else one that takes any tool's name.
fn fitting<'a>(functions: &[&'a Value], tool: &str) -> Option<&'a Value> {
    let named = |function: &&&Value| plain(function["name"].as_str().unwrap_or_default()) == plain(tool);
    let takes = |function: &&&Value, names: &[&str]| {
        names.iter().all(|name| function["parameters"]["properties"].get(*name).is_some())
    };
    let exact = functions.iter().find(named);
    let general = functions.iter().find(|function| takes(function, &["tool", "input"]));
    let whole = functions.iter().find(|function| takes(function, &["tool_requests"]));
    exact.or(general).or(whole).copied()
}

fn arguments(
    function: &Value,
    task: &Task,
    planned_call: &PlannedCall,
    place: (usize, usize),
    reported: &ReportedOutcomes,
) -> Value {
    let properties = function["parameters"]["properties"].as_object();
    let takes = |name: &str| properties.is_some_and(|all| all.contains_key(name));
    let input = input(planned_call, reported);
    if takes("tool_requests") {
        return json!({"message": working(task), "tool_requests": [request(task, planned_call, place, reported)]});
    }
    let mut arguments = if takes("input") {
        Map::from_iter([("input".to_owned(), input)])
    } else {
        input.as_object().cloned().unwrap_or_default()
    };
    let more = [
        ("tool", Some(json!(planned_call.tool))),
        ("requestId", Some(json!(request_id(task, planned_call, place)))),
        ("request_id", Some(json!(request_id(task, planned_call, place)))),
        ("return_to_llm", Some(json!(planned_call.return_to_llm))),
        ("config_id", planned_call.config_id.map(Value::from)),
        ("message", Some(json!(working(task)))),
    ];
    for (name, value) in more {
        if let Some(value) = value.filter(|_| takes(name)) {
            arguments.entry(name).or_insert(value);
        }
    }
    Value::Object(arguments)
}

/// The output or the error that a planned answer brings, as an answer's `context` has it.
pub(super) fn answered(reply: &PlannedReply) -> (&'static str, Vec<(&'static str, Value)>) {
    match reply {
        PlannedReply::Output(output) => ("success", vec![("output", output.clone())]),
        PlannedReply::Failure { error, decoy } => {
            ("error", vec![("error", json!(error)), ("output", decoy.clone())])
        }
    }
}
