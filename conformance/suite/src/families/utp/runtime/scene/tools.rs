//! Which tools a scenario's calls are made of, and when they are registered.

use serde_json::{Value, json};

use super::Scene;
use crate::families::utp::callable::add_options;
use crate::families::utp::runtime::session::RuntimeSession;
use crate::families::utp::runtime::turn::{Row, ToolCall};

/// Tools that calls are made of, in order and in that of their names, in which they are listed: name and target.
const TOOLS: [(&str, &str); 4] = [
    ("tide_table", "tides.lookup"),
    ("vessel_log", "logs.read"),
    ("weather_map", "sky.map"),
    ("wind_rose", "sky.wind"),
];

impl Scene {
    /// A call of a tool of this kind in the last turn.
    pub fn plan_call(&mut self, session: &RuntimeSession, after_execution: &str) -> usize {
        let (name, target) = TOOLS[self.calls.len() % TOOLS.len()];
        let row = Row::external(&session.test_environment.version, name, target, after_execution);
        self.plan(row, None)
    }

    /// A call of this tool in the last turn; its arguments hold a word of the call unless others are given.
    pub fn plan(&mut self, row: Row, arguments: Option<Value>) -> usize {
        let turn = self.turns.len() - 1;
        let mut call = ToolCall::new(&self.project.name, turn, self.calls.len() + 1, row, Value::Null);
        call.arguments =
            arguments.unwrap_or_else(|| json!({"harbour": "Brest", "token": call.argument_token}));
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// Registers the tools that a turn calls. With the first turn it gets all that the scenario may call, since a
    /// runtime may keep the list of a project's tools for a while.
    pub(super) fn seed_tools(&self, session: &RuntimeSession, turn: usize) {
        let is_first = self.started == 0;
        let version = &session.test_environment.version;
        let spare = TOOLS
            .iter()
            .filter(|_| is_first)
            .filter(|(name, _)| !self.calls.iter().any(|call| call.row.tool_name == *name));
        let spare = spare.map(|(name, target)| Row::external(version, name, target, "suspend"));
        let later =
            self.calls.iter().filter(|call| is_first && call.turn != turn).map(|call| call.row.clone());
        let own = self.calls.iter().filter(|call| call.turn == turn).map(|call| call.row.clone());
        for row in spare.chain(later).chain(own) {
            let mut row = row.value(&self.project.id);
            add_options(&mut row["options"], &session.tool_options);
            self.project.seed_tool(&row);
        }
    }
}
