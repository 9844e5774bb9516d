//! What the list of tools says of their arguments: which ones headers repeat, and which ones are required.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::families::toolbus::modern::{self, Marks};

/// Arguments of the tools that a server lists.
#[derive(Debug, Default)]
pub(in crate::families::toolbus) struct ListedArguments {
    /// Those that headers repeat.
    pub(super) marks: Marks,
    /// Those that every call must have, by the name of the tool.
    required: BTreeMap<String, Vec<String>>,
    /// Tools whose marks no client can follow.
    unsound: BTreeSet<String>,
}

impl ListedArguments {
    /// Adds those of a page of the list.
    pub(super) fn extend(&mut self, tools: &[Value]) {
        self.marks.extend(modern::marks(tools));
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            if !modern::has_sound_marks(tool) {
                self.unsound.insert(name.to_owned());
            }
            let required = tool.pointer("/inputSchema/required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(|own| own.as_str().map(str::to_owned));
            self.required.insert(name.to_owned(), required.collect());
        }
    }

    /// The headers that repeat arguments of this call, each with its value: those of arguments that `suits`.
    pub(in crate::families::toolbus) fn headers_of_arguments(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        suits: impl Fn(&Value) -> bool,
    ) -> Vec<(String, String)> {
        modern::headers_of_arguments(&self.marks, tool, arguments, suits)
    }

    /// The first of these arguments that the tool requires.
    pub(in crate::families::toolbus) fn required(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Option<String> {
        self.required.get(tool)?.iter().find(|name| arguments.contains_key(*name)).cloned()
    }

    /// Whether the list shows a client which headers it has to send with a call of the tool.
    pub(super) fn shows_headers(&self, tool: &str) -> bool {
        self.required.contains_key(tool) && !self.unsound.contains(tool)
    }
}
