//! What a scenario has beside its calls: breadcrumbs in the store, configurations with their keys, steps of a workflow.

use std::str::FromStr;
use std::sync::Arc;

use cucumber::Parameter;
use serde_json::{Map, Value, json};

use super::call::Call;
use crate::engine::parameters::vocabulary;
use crate::engine::target::Port;
use crate::families::breadcrumb::manifest::{ASTRAL_ACTIONS, LANGUAGE_MODELS, STANDARD_TOOLS};

/// The custom setting of a scenario's first configuration; each further one has one more (`docs/breadcrumbs.md`, "Language
/// models").
pub const CUSTOM: u64 = 17;
/// The version of a breadcrumb that nobody has changed.
pub const FIRST: u64 = 1;
/// Under this id nothing is stored.
pub const NOTHING: &str = "7d1e4c20-5b3f-4f6a-8e21-c94d0a6b3f58";

/// The schema of what is stored for a scenario.
pub const MEMO: &str = "memo.v1";
/// How its title begins, behind the run's prefix.
pub const MEMO_TITLE: &str = "Pump log ";

/// What a scene has beside its calls.
#[derive(Clone, Debug, Default)]
pub struct Fixtures {
    /// Ids of breadcrumbs that were stored for it.
    pub stored: Vec<String>,
    /// Its configurations.
    pub configs: Vec<Config>,
    /// The steps of its workflow.
    pub steps: Vec<Step>,
    /// What a browser does in its call.
    pub action: Option<String>,
    /// Where nothing listens.
    pub nowhere: Option<String>,
    /// Keeps others from there.
    pub held: Option<Arc<Port>>,
    /// Whether the invocation has no `message`.
    pub is_wordless: bool,
    /// What a call asks to be stored as it is.
    pub context: Value,
    /// The id of a call of which every sign is a digit.
    pub number: Option<String>,
}

/// A configuration of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its breadcrumb.
    pub id: String,
    /// Which of the run's keys it has.
    pub key: usize,
    /// Its model.
    pub model: String,
    /// Its custom setting.
    pub custom: u64,
}

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its id.
    pub id: String,
    /// Its tool.
    pub tool: String,
    /// On which steps it depends.
    pub after: Vec<String>,
    /// Whether it says so where it depends on none.
    pub says_none: bool,
    /// Its input.
    pub input: Value,
}

impl Step {
    /// As an item of `input.steps`.
    pub(in crate::families::breadcrumb) fn item(&self) -> Value {
        let mut item = json!({"id": self.id, "tool": self.tool, "input": self.input});
        if !self.after.is_empty() || self.says_none {
            item["dependencies"] = json!(self.after);
        }
        item
    }
}

/// A tool of the standard, `astral` with its action.
#[derive(Clone, Debug, PartialEq, Eq, Parameter)]
#[param(
    name = "act",
    regex = "openrouter|venice|ollama_local|calculator|random|echo|timer|breadcrumb-create|breadcrumb-update|breadcrumb-search|astral navigate|astral extract|astral click|astral screenshot|astral evaluate|no-such-tool"
)]
pub struct Act {
    /// The tool.
    pub tool: String,
    /// The action.
    pub action: Option<String>,
}

impl FromStr for Act {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (tool, action) =
            text.split_once(' ').map_or((text, None), |(tool, action)| (tool, Some(action.to_owned())));
        let is_known = STANDARD_TOOLS.contains(&tool) || tool == "no-such-tool";
        let is_done = action.as_deref().is_none_or(|action| ASTRAL_ACTIONS.contains(&action));
        if is_known && is_done {
            return Ok(Self { tool: tool.to_owned(), action });
        }
        Err(format!("`{text}` is no tool of the standard"))
    }
}

impl Act {
    /// Whether it asks a language model.
    pub fn is_model(&self) -> bool {
        LANGUAGE_MODELS.contains(&self.tool.as_str())
    }
}

/// What is said in the conversation of most calls: roles and texts.
const CONVERSATION: [(&str, &str); 4] = [
    ("system", "Answer in one word"),
    ("user", "Colour of snow?"),
    ("assistant", "{\"colour\": \"white\"}\n  - and 0 % black"),
    ("user", "Colour of coal, “Kohle”?"),
];
/// What is said in one in which several messages of a role follow each other.
const MONOLOGUES: [(&str, &str); 7] = [
    ("system", "Answer in one word"),
    ("user", "I have two questions"),
    ("user", "Colour of snow?"),
    ("user", "And of coal?"),
    ("assistant", "White"),
    ("assistant", "Black"),
    ("user", "Colour of grass?"),
];

/// What is said in one in which the model is instructed twice.
const INSTRUCTIONS: [(&str, &str); 5] = [
    ("system", "Answer in one word"),
    ("user", "Colour of snow?"),
    ("assistant", "White"),
    ("system", "From here on answer in capitals"),
    ("user", "Colour of coal?"),
];
/// What is said again and again in a long one, and how often.
const EXCHANGE: [(&str, &str); 2] = [("user", "Colour of the next one?"), ("assistant", "Grey")];
const EXCHANGES: usize = 20;

vocabulary! {
    /// What a conversation is like.
    pub(super) enum Conversation "conversation" {
        "several messages of a role follow each other" => Monologues,
        "the model is instructed once more on the way" => Instructions,
        "forty messages and one follow each other" => Long,
    }
}

impl Conversation {
    /// Its messages, each with the id of the call.
    pub(super) fn messages(self, id: &str) -> Value {
        match self {
            Self::Monologues => marked(MONOLOGUES, id),
            Self::Instructions => marked(INSTRUCTIONS, id),
            Self::Long => marked(std::iter::repeat_n(EXCHANGE, EXCHANGES).flatten().chain([EXCHANGE[0]]), id),
        }
    }
}

/// A conversation whose every message holds the id of the call.
pub(in crate::families::breadcrumb) fn messages(id: &str) -> Value {
    marked(CONVERSATION, id)
}

fn marked<'a>(said: impl IntoIterator<Item = (&'a str, &'a str)>, id: &str) -> Value {
    let each = said.into_iter().enumerate();
    each.map(|(number, (role, text))| json!({"role": role, "content": format!("{text} ({id}/{number})")}))
        .collect()
}

/// Puts other messages in place of those of an input, wherever it has them.
pub fn replace_messages(input: &mut Value, messages: &Value) {
    match input {
        Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => {
            input.clone_from(messages);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_messages(item, messages)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_messages(member, messages)),
        _ => {}
    }
}

/// The messages of a call of a language model, wherever its input has them: roles and texts.
pub fn sent(call: &Call) -> Vec<(String, String)> {
    fn find(value: &Value) -> Option<&Vec<Value>> {
        match value {
            Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => Some(items),
            Value::Array(items) => items.iter().find_map(find),
            Value::Object(members) => members.values().find_map(find),
            _ => None,
        }
    }
    let text = |message: &Map<String, Value>, name: &str| {
        message.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let messages = call.input.as_ref().and_then(find).into_iter().flatten();
    messages.filter_map(Value::as_object).map(|own| (text(own, "role"), text(own, "content"))).collect()
}
