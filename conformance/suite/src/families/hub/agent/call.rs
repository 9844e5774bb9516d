//! The calls that an agent is driven to make: which tool, with which inputs.

use serde_json::{Map, Value};

use super::manifest::{AgentTable, ToolCallTable};
use crate::engine::manifest::launch;
use crate::families::hub::contract;
use crate::families::hub::contract::{PEOPLE, Subjects, TOOLS};

/// A call, as features choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One of the nine tools, by its place among them.
    Tool(usize),
    /// Any of the nine that the agent has.
    AnyHubTool,
    /// A local tool, by its place in the manifest.
    Local(usize),
    /// The tool that reads a web page.
    Page,
    /// The tool that searches the web.
    Search,
}

/// A call that the agent is to make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its inputs.
    pub inputs: Value,
    /// The end user, where there is one.
    pub user_id: Option<String>,
}

/// Which of an agent's Hub tools serves where any does: those whose inputs name their scenario come first.
const PREFERRED: [&str; 4] = ["email_send", "calendar_create_event", "email_read", "email_search"];

/// The tool that serves where any Hub tool does.
pub fn any_hub_tool(table: &AgentTable) -> &str {
    let has = |tool: &&str| table.tools.iter().any(|own| own == tool);
    PREFERRED.into_iter().find(has).or_else(|| TOOLS.into_iter().find(has)).unwrap_or(PREFERRED[0])
}

/// What the inputs of a scenario refer to: every id of it begins with the run's `prefix` and ends with `unique`.
pub fn subjects(prefix: &str, unique: &str) -> Subjects {
    let own = |address: &str| {
        let (name, host) = address.split_once('@').unwrap_or((address, "orchid.example"));
        format!("{name}-{unique}@{host}")
    };
    let people = PEOPLE.map(own);
    Subjects {
        mark: format!("{prefix}Seed review {unique}"),
        query: format!("from:{}", people[0]),
        people,
        event_id: format!("{prefix}ev_{unique}"),
        message_id: format!("{prefix}m_{unique}"),
        thread_id: format!("{prefix}t_{unique}"),
        ..Subjects::default()
    }
}

/// The tool and the inputs of a call; nothing where the manifest has no such tool.
pub fn chosen(
    choice: Choice,
    table: &AgentTable,
    (prefix, unique): (&str, &str),
    page: &str,
) -> Option<(String, Value)> {
    let own = |own: &ToolCallTable| {
        let inputs = own.inputs.clone().unwrap_or_default();
        (own.tool.clone(), filled(&inputs, &[("mark", unique), ("query", unique), ("url", page)]))
    };
    match choice {
        Choice::Tool(place) => {
            let tool = *TOOLS.get(place)?;
            Some((tool.to_owned(), contract::full_inputs(tool, &subjects(prefix, unique))))
        }
        Choice::AnyHubTool => {
            let tool = any_hub_tool(table);
            Some((tool.to_owned(), contract::full_inputs(tool, &subjects(prefix, unique))))
        }
        Choice::Local(place) => table.local.get(place).map(own),
        Choice::Page => table.fetch_page.table().map(own),
        Choice::Search => table.web_search.as_ref().map(own),
    }
}

/// Fills `{placeholders}` in strings.
pub fn filled(value: &Value, words: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => Value::from(launch::filled(text, words)),
        Value::Array(items) => items.iter().map(|item| filled(item, words)).collect(),
        Value::Object(members) => {
            let filled = members.iter().map(|(name, member)| (name.clone(), filled(member, words)));
            Value::Object(filled.collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

/// The same with another text in place of one, wherever it stands.
pub fn replaced(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| replaced(item, from, to)).collect(),
        Value::Object(members) => {
            let filled = members.iter().map(|(name, member)| (name.clone(), replaced(member, from, to)));
            Value::Object(filled.collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_with_an_id_names_its_scenario() {
        let subjects = subjects("", "c0ffee");
        let silent: Vec<&str> = TOOLS
            .into_iter()
            .filter(|tool| !contract::full_inputs(tool, &subjects).to_string().contains("c0ffee"))
            .collect();
        assert_eq!(silent, ["calendar_get_availability"]);
    }
}
