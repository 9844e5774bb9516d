//! A turn that the suite starts, and the tool calls that its model makes in it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::families::utp::call::{AGENT, CHANNEL};
use crate::families::utp::judge::seen::STATUSES;
use crate::families::utp::message;
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::revision::Revision;
use crate::families::utp::runtime::reach::traced;
use crate::families::utp::subject;
use crate::families::utp::trace::{RECURSION_DEPTH, Traceparent};

/// What the model's ids of calls begin with, behind the run's prefix, unless they are numbers.
const MODEL_IDS: [&str; 3] = [MODEL_ID, PATH_ID, MIXED_ID];
pub(super) const MODEL_ID: &str = "call_m";
pub(super) const PATH_ID: &str = "functions.";
pub(super) const MIXED_ID: &str = "toolu_Ab-";
/// Code and message of the error of a call that did not succeed, the message with the call's word behind it.
pub(super) const ERROR_CODE: &str = "quota_exceeded";
pub(super) const ERROR_MESSAGE: &str = "no more today";
/// What the word in a result begins with.
pub(super) const TOKEN: &str = "tok-";
/// What the word in the arguments of a call begins with. Whoever repeats those has not seen the result.
pub(super) const ARGUMENT_TOKEN: &str = "arg-";
/// Step that a turn hangs under, with the agent and the turn that it is of.
const PARENT_STEP: &str = "step_root";
const PARENT_AGENT: &str = "ag_root";
const PARENT_TURN: &str = "turn_root";
/// Who asks for a turn in `v1r4`, with the turn's number behind it.
const ROOT_CALL: &str = "call_root";

/// A turn of the agent.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The revision in which it is asked for and calls.
    pub revision: Revision,
    /// Its number in the scenario, from 1.
    pub number: usize,
    /// Word in its instruction.
    pub mark: String,
    /// What ids of the run begin with.
    pub prefix: String,
    /// Who runs it.
    pub agent_id: String,
    /// Its id: the suite's, until the runtime says another.
    pub id: String,
    /// Its epoch, once the runtime has said it.
    pub epoch: Value,
    /// Its channel.
    pub channel: String,
    /// Its box.
    pub context_box_id: String,
    /// The step that it hangs under.
    pub parent_step_id: String,
    /// How deeply it is nested, which `v1r4` alone says.
    pub depth: u32,
    /// Its trace.
    pub trace: Traceparent,
}

impl Turn {
    /// The nth turn of a project.
    pub fn new(revision: Revision, name: &ProjectName, number: usize, mark: String) -> Self {
        let trace = Traceparent::from_seed(&format!("{}{}/turn {number}", name.stable, name.suffix));
        Self {
            revision,
            number,
            mark,
            prefix: name.prefix.clone(),
            agent_id: AGENT.to_owned(),
            id: name.made(&format!("turn_{number}")),
            epoch: json!(1),
            channel: CHANNEL.to_owned(),
            context_box_id: name.made(&format!("box_{number}")),
            parent_step_id: format!("{}{PARENT_STEP}", name.prefix),
            depth: 1,
            trace,
        }
    }

    /// A turn of which only messages are known.
    pub(super) fn observed(revision: Revision, mark: &str, agent_id: &str, id: &str) -> Self {
        Self {
            revision,
            number: 1,
            mark: mark.to_owned(),
            prefix: String::new(),
            agent_id: agent_id.to_owned(),
            id: id.to_owned(),
            epoch: Value::Null,
            channel: String::new(),
            context_box_id: String::new(),
            parent_step_id: String::new(),
            depth: 1,
            trace: Traceparent::from_seed(id),
        }
    }

    /// What the runtime is asked to start: headers and body. In `v1r4` it chooses the turn's id.
    pub fn request(&self, project: &str) -> (BTreeMap<String, String>, Value) {
        let instruction = format!("Look up the tide with the tools that you have. {}", self.mark);
        let mut headers = traced(&self.trace.to_string());
        if self.revision == Revision::V1r3 {
            let body = json!({
                "agent_id": self.agent_id, "agent_turn_id": self.id, "instruction": instruction,
                "context_box_id": self.context_box_id, "parent_step_id": self.parent_step_id,
                "trace_id": self.trace.trace_id,
            });
            return (headers, body);
        }
        let (depth, parent_turn) = (self.depth.to_string(), format!("{}{PARENT_TURN}", self.prefix));
        let lineage = [
            ("CG-Project-Id", project),
            ("CG-Channel-Id", &self.channel),
            ("CG-Parent-Agent-Id", PARENT_AGENT),
            ("CG-Parent-Turn-Id", &parent_turn),
            ("CG-Parent-Step-Id", &self.parent_step_id),
            (RECURSION_DEPTH, &depth),
        ];
        headers.extend(lineage.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let body = json!({
            "agent_id": self.agent_id, "instruction": instruction, "context_box_id": self.context_box_id,
            "correlation_id": format!("{}{ROOT_CALL}-{}", self.prefix, self.number),
        });
        (headers, body)
    }
}

/// A row of `resource.tools` as a scenario wants it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The tool's name.
    pub tool_name: String,
    /// With its placeholders.
    pub target_subject: String,
    /// `suspend` or `terminate`.
    pub after_execution: String,
    /// Properties of its parameters.
    pub properties: Map<String, Value>,
    /// Names of the required ones.
    pub required: Vec<String>,
    /// Its options.
    pub options: Value,
}

impl Row {
    /// An external tool whose subject does not follow from its name.
    pub fn external(version: &str, tool_name: &str, target: &str, after_execution: &str) -> Self {
        let text = json!({"type": "string"});
        let properties = ["harbour", "token"].map(|name| (name.to_owned(), text.clone()));
        Self {
            tool_name: tool_name.to_owned(),
            target_subject: subject::usual(version, target),
            after_execution: after_execution.to_owned(),
            properties: properties.into_iter().collect(),
            required: Vec::new(),
            options: json!({}),
        }
    }

    /// The built-in of a PMO.
    pub fn builtin(version: &str, tool_name: &str, arguments: &Value) -> Self {
        let members = arguments.as_object().into_iter().flatten();
        let properties = members.map(|(name, value)| (name.clone(), json!({"type": type_of(value)})));
        Self {
            tool_name: tool_name.to_owned(),
            target_subject: subject::builtin(version, tool_name),
            after_execution: "suspend".to_owned(),
            properties: properties.collect(),
            required: Vec::new(),
            options: json!({}),
        }
    }

    /// Whether it is a built-in of the PMO.
    pub fn is_builtin(&self) -> bool {
        !self.target_subject.contains(".cmd.tool.")
    }

    /// As the store holds it.
    pub fn value(&self, project_id: &str) -> Value {
        json!({
            "project_id": project_id, "tool_name": self.tool_name,
            "description": "High and low water for a harbour.",
            "parameters": {"type": "object", "properties": self.properties, "required": self.required},
            "target_subject": self.target_subject, "after_execution": self.after_execution,
            "options": self.options,
        })
    }
}

/// Whether the suite's model made up an id of a call in a run with this prefix.
pub(super) fn is_model_id(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|own| MODEL_IDS.iter().any(|begin| own.starts_with(begin)))
}

/// The type of a value in a schema.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        _ => "string",
    }
}

/// A tool call of the model, what the worker made of it, and what the suite answers as the tool.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Which turn of the scenario it belongs to.
    pub turn: usize,
    /// In which answer of the model it is, from 0.
    pub round: usize,
    /// The model's id of it.
    pub model_id: String,
    /// The tool.
    pub row: Row,
    /// What the model gives.
    pub arguments: Value,
    /// Word in the arguments; calls with the same arguments have the same.
    pub argument_token: String,
    /// Word in the result.
    pub token: String,
    /// The command that came: all its members, wherever they stand.
    pub command: Option<Value>,
    /// The recursion depth of the command, where it had one.
    pub depth: Option<String>,
    /// The tool.result card.
    pub card: Value,
    /// The callback with its identity, wherever that travels.
    pub callback: Map<String, Value>,
    /// Further headers of the report.
    pub headers: BTreeMap<String, String>,
    /// Members of the report's payload that are there beside the callback's, wherever those travel.
    pub payload: Map<String, Value>,
    /// Members around the payload that are not as they should be.
    pub envelope: Map<String, Value>,
}

impl ToolCall {
    /// A call that the worker does not know yet.
    pub fn new(name: &ProjectName, turn: usize, number: usize, row: Row, arguments: Value) -> Self {
        let own = Traceparent::from_seed(&format!("{}{}/call {number}", name.stable, name.suffix));
        let [argument_token, token] =
            [ARGUMENT_TOKEN, TOKEN].map(|begin| format!("{begin}{}", &own.trace_id[20..32]));
        let model_id = name.made(&format!("{MODEL_ID}{number}"));
        Self { turn, arguments, argument_token, token, ..Self::observed(&model_id, row) }
    }

    /// A call of which only messages are known.
    pub(super) fn observed(id: &str, row: Row) -> Self {
        Self {
            turn: 0,
            round: 0,
            model_id: id.to_owned(),
            row,
            arguments: Value::Null,
            argument_token: String::new(),
            token: String::new(),
            command: None,
            card: Value::Null,
            callback: Map::new(),
            headers: BTreeMap::new(),
            payload: Map::new(),
            envelope: Map::new(),
            depth: None,
        }
    }

    /// The id under which the worker knows it: the command's, until then the model's.
    pub fn id(&self) -> &str {
        let own = self.command.as_ref().and_then(|command| command.get("tool_call_id")?.as_str());
        own.unwrap_or(&self.model_id)
    }

    /// Gives the card of the answer another id, which ends so, and the report that of the card.
    pub fn rename_card(&mut self, ending: &str) {
        self.give_card_id(format!("{}{ending}", self.card["card_id"].as_str().unwrap_or_default()));
    }

    /// Gives the card of the answer this id, and the report that of the card.
    pub fn give_card_id(&mut self, id: String) {
        for members in [&mut self.callback, &mut self.payload, &mut self.envelope] {
            if let Some(pointer) = members.get_mut("tool_result_card_id") {
                *pointer = Value::from(id.clone());
            }
        }
        self.card["card_id"] = Value::from(id);
    }

    /// Gives the answer another card with another result.
    pub fn answer_otherwise(&mut self) {
        self.rename_card("_b");
        self.card["content"]["result"] = json!({"high_water": "another one"});
    }

    /// Prepares what the tool says: a success whose result holds the token.
    pub fn prepare_answer(
        &mut self,
        project_id: &str,
        turn: &Turn,
        number: usize,
        call_card: Option<&Value>,
    ) {
        (self.payload, self.envelope) = (Map::new(), Map::new());
        let command = self.command.clone().unwrap_or_default();
        let member = |name: &str, own: Value| {
            command.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(own)
        };
        let unique = turn.mark.trim_start_matches("mark-");
        let card_id = format!("{}card_tr_{number}_{unique}", turn.prefix);
        let id = self.id().to_owned();
        let turn_id = member("agent_turn_id", json!(turn.id));
        let of_card = |name: &str| call_card.and_then(|card| card["metadata"].get(name)).cloned();
        let step = of_card("step_id").or_else(|| command.get("step_id").cloned()).unwrap_or(json!("step_1"));
        let mut metadata = json!({
            "agent_turn_id": turn_id, "tool_call_id": id, "role": "tool",
            "function_name": self.row.tool_name, "step_id": step,
        });
        for name in ["trace_id", "parent_step_id"] {
            if let Some(value) = of_card(name) {
                metadata[name] = value;
            }
        }
        self.card = json!({
            "card_id": card_id, "project_id": project_id, "type": "tool.result", "author_id": "tool.tides",
            "created_at": "2031-04-02T10:11:14+00:00", "tool_call_id": id,
            "content": {
                "__type__": "ToolResultContent", "status": "success",
                "after_execution": self.row.after_execution, "result": {"high_water": self.token}, "error": null,
            },
            "metadata": metadata,
        });
        let members = [
            ("tool_call_id", json!(id)),
            ("agent_turn_id", turn_id),
            ("turn_epoch", member("turn_epoch", turn.epoch.clone())),
            ("agent_id", member("agent_id", json!(turn.agent_id))),
            ("tool_result_card_id", json!(card_id)),
            ("status", json!("success")),
            ("after_execution", json!(self.row.after_execution)),
            ("step_id", step),
        ];
        self.callback = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let trace = turn.trace.child(&format!("report {number}"));
        self.headers = traced(&trace.to_string());
        // A runtime may take only those reports that are as deep as their commands.
        let depth = self.depth.clone().unwrap_or_else(|| turn.depth.to_string());
        self.headers.insert(RECURSION_DEPTH.to_owned(), depth);
        if turn.revision == Revision::V1r4 {
            for (name, value) in [("CG-Project-Id", project_id), ("CG-Channel-Id", &turn.channel)] {
                self.headers.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Whether its card is the result of the call, whatever its callback says.
    pub fn has_result_card(&self) -> bool {
        let status = self.card.pointer("/content/status").and_then(Value::as_str);
        message::card_type(&self.card) == Some("tool.result")
            && message::call_id(&self.card) == Some(self.id())
            && status.is_some_and(|status| STATUSES.contains(&status))
    }

    /// The report of its callback in one revision: headers and body.
    pub fn report(&self, revision: Revision) -> (BTreeMap<String, String>, Value) {
        let (headers, mut payload) = revision.encode(&self.callback, &self.headers);
        payload.extend(self.payload.clone());
        let mut body = json!({
            "message_type": "tool_result", "correlation_id": self.id(), "source_agent_id": "tool.tides",
            "payload": payload,
        });
        for (member, value) in &self.envelope {
            body[member] = value.clone();
        }
        (headers, body)
    }

    /// Gives card and callback another status; one that is no success has an error.
    pub fn set_status(&mut self, status: &str) {
        self.callback.insert("status".to_owned(), json!(status));
        self.set_card_status(status);
    }

    /// Gives the card another status.
    pub fn set_card_status(&mut self, status: &str) {
        self.card["content"]["status"] = json!(status);
        if status == "success" {
            return;
        }
        let (code, message) = (ERROR_CODE, format!("{ERROR_MESSAGE}: {}", self.token));
        self.card["content"]["error"] = json!({"code": code, "message": message, "detail": {}});
        if status != "partial" {
            self.card["content"]["result"] = json!({"error_code": code, "error_message": message});
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_as_deep_as_its_command() {
        let name = ProjectName {
            prefix: String::new(),
            unique: "u".to_owned(),
            stable: "s".to_owned(),
            suffix: String::new(),
        };
        let turn = Turn::new(Revision::V1r3, &name, 1, "mark-1".to_owned());
        let row = Row::external("v1r3", "tides", "tides.run", "suspend");
        let mut call = ToolCall::new(&name, 0, 1, row, json!({}));
        for (depth, expect) in [(None, "1"), (Some("3"), "3")] {
            call.depth = depth.map(str::to_owned);
            call.prepare_answer("prj_1", &turn, 1, None);
            assert_eq!(call.headers[RECURSION_DEPTH], expect);
        }
    }
}
