//! A tool call as the worker prepares it: the tool.call card (K0) and the command (C0).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::project_name::ProjectName;
use super::proof::{Proof, WorkResult};
use super::revision::Revision;
use super::subject;
use super::token;
use super::tool::{Tool, ToolTable};
use super::trace::{RECURSION_DEPTH, Traceparent};

/// The channel of every scenario that does not ask for another one.
pub const CHANNEL: &str = "public";
/// An agent of the roster that a PMO can be asked to give work to.
pub const HELPER: &str = "ag_helper";
/// A further agent of the roster, since a PMO may give an agent one turn at a time.
pub const OTHER_HELPER: &str = "ag_other_helper";
/// The worker target that serves the calling agent unless a scenario says otherwise.
pub const WORKER_TARGET: &str = "pool_blue";
/// The caller.
pub const AGENT: &str = "ag_pilot";

/// A call that has been prepared and perhaps sent.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub tool: Tool,
    /// The tool's name at the target.
    pub tool_name: String,
    /// Where the command is published.
    pub subject: String,
    /// The id that the suite gave it.
    pub tool_call_id: String,
    /// Only who read the tool.call card knows it.
    pub token: String,
    /// What shows that the work was done: the token, or what the upstream says to who asks for it.
    pub proof: Proof,
    /// Trace of the command.
    pub trace: Traceparent,
    /// Headers of the command.
    pub headers: BTreeMap<String, String>,
    /// Members of the command, wherever the revision puts them.
    pub command: Map<String, Value>,
    /// Members of its payload that the revision puts elsewhere.
    pub misplaced: Map<String, Value>,
    /// The revision in which it is sent.
    pub revision: Revision,
    /// The tool.call card.
    pub card: Value,
    /// Where in `content.result` the probe puts its answer.
    pub result_pointer: String,
    /// JSON Pointers into `content.result` to what may differ between two results of the call.
    pub volatile: Vec<String>,
    /// Whether a party that the target needs for it fails.
    pub obstructed: bool,
}

/// What a call is made from.
#[derive(Clone, Copy, Debug)]
pub struct Blueprint<'a> {
    /// What is called.
    pub tool: Tool,
    /// What the manifest says of it.
    pub table: &'a ToolTable,
    /// `<ver>` of the subjects.
    pub version: &'a str,
    /// `<project_id>`.
    pub project_id: &'a str,
    /// What the project's ids are made of. Ids take its unique part, token and trace the stable one.
    pub name: &'a ProjectName,
    /// Seed of all ids; unique among the calls of a project.
    pub seed: &'a str,
}

impl Call {
    /// A complete, valid call.
    pub fn new(blueprint: Blueprint<'_>) -> Self {
        let Blueprint { tool, table, version, project_id, name, seed } = blueprint;
        let trace = Traceparent::from_seed(&format!("{}{}/{seed}", name.stable, name.suffix));
        // The counter may be kept per key: all calls of a project count under one.
        let token = match tool {
            Tool::Count => format!("key-{}", name.stable),
            _ => format!("tok-{}", &trace.trace_id[20..32]),
        };
        let result_pointer =
            table.result_pointer.clone().unwrap_or_else(|| default_pointer(tool, table).to_owned());
        let proof = match (tool, table.work.as_ref().and_then(|work| work.results.clone())) {
            (Tool::Search | Tool::Reader, _) => Proof::Word(token::proof(&token)),
            (_, Some([expected, other])) => Proof::Result(WorkResult {
                expected,
                other,
                pointer: result_pointer.clone(),
                volatile: table.volatile.clone(),
            }),
            _ => Proof::Word(token.clone()),
        };
        let ids = Ids {
            call: name.made(&format!("call_{seed}")),
            card: name.made(&format!("card_tc_{seed}")),
            turn: name.made(&format!("turn_{seed}")),
        };
        let template = template(table, version);
        let subject = subject::expand(&template, project_id, CHANNEL);
        let mut headers = BTreeMap::new();
        headers.insert("traceparent".to_owned(), trace.to_string());
        headers.insert(RECURSION_DEPTH.to_owned(), "1".to_owned());
        let mut call = Self {
            tool,
            tool_name: table.tool_name.clone(),
            tool_call_id: ids.call.clone(),
            headers,
            command: command(&ids, &table.tool_name, after_execution(table)),
            misplaced: Map::new(),
            revision: Revision::of(version),
            card: card(&ids, project_id, &table.tool_name, &subject),
            result_pointer,
            volatile: table.volatile.clone(),
            subject,
            token,
            proof,
            trace,
            obstructed: false,
        };
        call.set_arguments(table, "suspend");
        if call.revision == Revision::V1r4 {
            call.command.insert("project_id".to_owned(), Value::from(project_id));
            call.command.insert("channel_id".to_owned(), Value::from(CHANNEL));
            call.headers.remove(RECURSION_DEPTH);
            call.command.insert("recursion_depth".to_owned(), json!(1));
        }
        call.add_headers(table);
        if tool.is_builtin() || call.revision == Revision::V1r4 {
            // What a PMO built-in needs beside the members of a tool command (UTP §4.1).
            call.command.insert("step_id".to_owned(), call.card["metadata"]["step_id"].clone());
        }
        call
    }

    /// Adds what a deployment needs in every command. A name counts in any spelling.
    fn add_headers(&mut self, table: &ToolTable) {
        for (name, text) in &table.headers {
            // That each variable is set was looked at before the first call.
            let Ok(text) = text.resolved() else { continue };
            self.headers.retain(|own, _| !own.eq_ignore_ascii_case(name));
            self.headers.insert(name.clone(), text);
        }
    }

    /// Whether the tool repeats no word of its arguments, so that only its own arguments can be given to it.
    pub fn shows_its_work_alone(&self) -> bool {
        self.proof.is_a_result()
    }

    /// Whether a failure is what is to be expected, by the tool itself or by what it needs.
    pub fn is_bound_to_fail(&self) -> bool {
        self.tool == Tool::Fail || self.obstructed
    }

    /// Headers and payload of the command.
    pub fn encoded(&self) -> (BTreeMap<String, String>, Map<String, Value>) {
        let (headers, mut payload) = self.revision.encode(&self.command, &self.headers);
        payload.extend(self.misplaced.clone());
        (headers, payload)
    }

    /// Sets a header of the command; one that is a member in other revisions is that member.
    pub fn set_header(&mut self, name: String, text: String) {
        match self.revision.member(&name) {
            Some(member) => drop(self.command.insert(member.to_owned(), Value::from(text))),
            None => drop(self.headers.insert(name, text)),
        }
    }

    /// Removes a header of the command, whatever the revision has in it.
    pub fn remove_header(&mut self, name: &str) {
        match self.revision.member(name) {
            Some(member) => drop(self.command.remove(member)),
            None => drop(self.headers.remove(name)),
        }
    }

    /// Removes the headers of the command, and with them the members that its revision sends there.
    pub fn remove_headers(&mut self) {
        self.headers.clear();
        self.command.retain(|member, _| self.revision.header(member).is_none());
    }

    /// Removes a member of the command.
    pub fn remove(&mut self, member: &str) {
        self.command.remove(member);
    }

    /// Sets a member of the command; ids that the card repeats follow.
    pub fn set(&mut self, member: &str, value: Value) {
        if member == "tool_call_id"
            && let Some(id) = value.as_str().filter(|id| !id.is_empty())
        {
            id.clone_into(&mut self.tool_call_id);
            self.card["tool_call_id"] = value.clone();
            self.card["metadata"]["tool_call_id"] = value.clone();
        }
        if member == "agent_id" && value.is_string() {
            self.card["author_id"] = value.clone();
        }
        if member == "agent_turn_id" && value.is_string() {
            self.card["metadata"]["agent_turn_id"] = value.clone();
        }
        self.command.insert(member.to_owned(), value);
    }

    /// Sets a member of the card's metadata; the header that says the same follows.
    pub fn set_metadata(&mut self, member: &str, value: Value) {
        if member == "step_id" && self.revision == Revision::V1r4 {
            self.command.insert(member.to_owned(), value.clone());
        }
        self.card["metadata"][member] = value;
    }

    /// Fills the arguments of the card.
    pub fn set_arguments(&mut self, table: &ToolTable, after_execution: &str) {
        self.card["content"]["arguments"] = self.arguments(table, &self.token, after_execution);
    }

    /// The tool's arguments with any token.
    pub fn arguments(&self, table: &ToolTable, token: &str, after_execution: &str) -> Value {
        let template = table.arguments.clone().unwrap_or_else(|| default_arguments(self.tool));
        filled(&called(&template, &self.tool_call_id), token, after_execution)
    }

    /// Its id, its turn and its token, by which its messages are distinguished from those of other calls.
    pub fn names(&self) -> impl Iterator<Item = String> + use<> {
        let turn = self.command.get("agent_turn_id").and_then(Value::as_str).map(str::to_owned);
        [self.tool_call_id.clone(), self.token.clone()].into_iter().chain(turn)
    }

    /// The member of the command that names the caller.
    pub fn agent_id(&self) -> Option<&str> {
        self.command.get("agent_id").and_then(Value::as_str)
    }

    /// A member of the card's metadata.
    pub fn card_metadata(&self, member: &str) -> Option<&Value> {
        self.card["metadata"].get(member)
    }
}

/// The `resource.tools` row of a tool.
pub fn row(table: &ToolTable, version: &str, project_id: &str) -> Value {
    json!({
        "project_id": project_id,
        "tool_name": table.tool_name,
        "description": "Called by the conformance suite.",
        "parameters": parameters(&table.options),
        "target_subject": template(table, version),
        "after_execution": after_execution(table),
        "options": table.options,
    })
}

/// A schema that names what a call may pass, for who passes on nothing else.
fn parameters(options: &Value) -> Value {
    let argument = match options.pointer("/jina/mode").and_then(Value::as_str) {
        Some("search") => "query",
        Some("reader") => "url",
        _ => return json!({"type": "object"}),
    };
    let from_environment = options.get("envs").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let names = std::iter::once(argument).chain(from_environment.map(String::as_str));
    let properties: Map<String, Value> =
        names.map(|name| (name.to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": [argument]})
}

fn template(table: &ToolTable, version: &str) -> String {
    table.target_subject.clone().unwrap_or_else(|| subject::usual(version, &table.tool_name))
}

fn after_execution(table: &ToolTable) -> &str {
    table.after_execution.as_deref().unwrap_or("suspend")
}

struct Ids {
    call: String,
    card: String,
    turn: String,
}

/// The documented members and no other: extension fields are for the scenarios that are about them.
fn command(ids: &Ids, tool_name: &str, after_execution: &str) -> Map<String, Value> {
    let members = [
        ("agent_id", json!(AGENT)),
        ("agent_turn_id", json!(ids.turn)),
        ("turn_epoch", json!(6)),
        ("tool_call_id", json!(ids.call)),
        ("tool_call_card_id", json!(ids.card)),
        ("after_execution", json!(after_execution)),
        ("tool_name", json!(tool_name)),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn card(ids: &Ids, project_id: &str, tool_name: &str, subject: &str) -> Value {
    json!({
        "card_id": ids.card, "project_id": project_id, "type": "tool.call",
        "author_id": AGENT, "created_at": "2031-04-02T10:11:12+00:00", "tool_call_id": ids.call,
        "content": {
            "__type__": "ToolCallContent", "tool_name": tool_name, "arguments": {},
            "status": "called", "target_subject": subject,
        },
        "metadata": {
            "agent_turn_id": ids.turn, "step_id": "step_3", "tool_call_id": ids.call,
            "trace_id": "5f1c0d5e2b7a4c66a1d2e3f405162738", "parent_step_id": "step_root",
        },
    })
}

fn default_pointer(tool: Tool, table: &ToolTable) -> &'static str {
    match tool {
        Tool::Echo if table.work.is_some() => "",
        Tool::Echo => "/echo",
        Tool::Count => "/count",
        _ => "",
    }
}

fn default_arguments(tool: Tool) -> Value {
    match tool {
        Tool::Echo => json!({"k": "{token}"}),
        Tool::Count => json!({"key": "{token}"}),
        Tool::Fail => json!({"message": "{token}"}),
        Tool::Ctl => json!({
            "after_execution": "{after_execution}",
            "control": {"after_execution": "{after_execution}"},
            "__cg_control": {"after_execution": "{after_execution}"},
        }),
        Tool::ProvisionAgent => json!({
            "action": "ensure", "agent_id": "ag_{token}", "profile_name": "{token}", "worker_target": WORKER_TARGET,
        }),
        Tool::DelegateAsync => task("{agent}", "{token}"),
        Tool::LaunchPrincipal => json!({"profile_name": "{token}", "instruction": "{token}"}),
        Tool::AskExpert => json!({"expert_profile": "{token}", "question": "{token}"}),
        Tool::ForkJoin => {
            json!({"tasks": [task("{agent}", "first {token}"), task("{other_agent}", "second {token}")]})
        }
        // An executor that keeps answers must not have this one from an earlier run.
        Tool::Search => json!({"query": "{token} {call}"}),
        Tool::Reader => json!({"url": "https://example.org/{token}/{call}"}),
    }
}

/// What one agent of the roster is to do.
fn task(agent: &str, instruction: &str) -> Value {
    json!({"target_strategy": "reuse", "target_ref": agent, "instruction": instruction})
}

/// Fills in the id of the call.
fn called(template: &Value, call_id: &str) -> Value {
    match template {
        Value::String(text) => Value::String(text.replace("{call}", call_id)),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), called(value, call_id))).collect()
        }
        other => other.clone(),
    }
}

fn filled(template: &Value, token: &str, after_execution: &str) -> Value {
    match template {
        Value::String(text) => Value::String(
            text.replace("{token}", token)
                .replace("{after_execution}", after_execution)
                .replace("{agent}", HELPER)
                .replace("{other_agent}", OTHER_HELPER),
        ),
        Value::Array(items) => items.iter().map(|item| filled(item, token, after_execution)).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, token, after_execution)))
                .collect(),
        ),
        plain => plain.clone(),
    }
}
