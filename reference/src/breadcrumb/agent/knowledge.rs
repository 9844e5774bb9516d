//! What the agent knows: tools from `tool.catalog.v1`, configurations from `tool.config.v1`.
//!
//! Of a configuration only its id, its title and its tool are kept: what else it holds is for the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::breadcrumb::client::Breadcrumb;

pub(super) const CATALOG: &str = "tool.catalog.v1";
pub(super) const CONFIG: &str = "tool.config.v1";

/// Bounds of what is kept; what comes later is not.
const MAX_CATALOGS: usize = 64;
const MAX_TOOLS: usize = 256;
const MAX_CONFIGS: usize = 256;
/// No name of a function may be longer.
const FUNCTION_CHARS: usize = 64;

/// What is known of tools and configurations.
#[derive(Default)]
pub(super) struct Knowledge {
    /// By the ids of their breadcrumbs, which change and are then received again.
    catalogs: BTreeMap<String, (i64, Vec<Arc<KnownTool>>)>,
    configs: BTreeMap<String, Config>,
    known: Arc<Known>,
}

/// All that can be called, as it is at one moment.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tools: Vec<Offered>,
    pub(super) configs: BTreeMap<String, Config>,
}

/// A tool and the name by which the model calls it.
pub(super) struct Offered {
    pub(super) function: String,
    pub(super) tool: Arc<KnownTool>,
}

/// A tool of a catalogue.
pub(super) struct KnownTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) output_schema: Option<Value>,
    /// Nothing where the catalogue's schema is none.
    pub(super) input: Option<Validator>,
}

/// A configuration that a call may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) title: String,
    pub(super) tool: Option<String>,
}

impl Knowledge {
    /// Learns from a breadcrumb; whether there was anything to learn.
    pub(super) fn receive(&mut self, breadcrumb: &Breadcrumb) -> bool {
        let learnt = match breadcrumb.schema_name.as_deref() {
            Some(CATALOG) => self.receive_catalog(breadcrumb),
            Some(CONFIG) => self.receive_config(breadcrumb),
            _ => false,
        };
        if learnt {
            self.known = Arc::new(self.gather());
        }
        learnt
    }

    /// What can be called now.
    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known)
    }

    fn receive_catalog(&mut self, breadcrumb: &Breadcrumb) -> bool {
        let room = self.catalogs.len() < MAX_CATALOGS;
        match self.catalogs.get(&breadcrumb.id) {
            // Schemas are compiled once for each version.
            Some((version, _)) if *version >= breadcrumb.version => return false,
            None if !room => return false,
            _ => {}
        }
        let entries = breadcrumb.context.get("tools").and_then(Value::as_array).into_iter().flatten();
        let tools = entries.filter_map(KnownTool::read).take(MAX_TOOLS).map(Arc::new).collect();
        self.catalogs.insert(breadcrumb.id.clone(), (breadcrumb.version, tools));
        true
    }

    fn receive_config(&mut self, breadcrumb: &Breadcrumb) -> bool {
        if self.configs.len() >= MAX_CONFIGS && !self.configs.contains_key(&breadcrumb.id) {
            return false;
        }
        let text = |name: &str| breadcrumb.context.get(name).and_then(Value::as_str).map(str::to_owned);
        let before = self.configs.get(&breadcrumb.id);
        // An event has no title; the one that was read from the store is kept.
        let title = match before {
            Some(before) if breadcrumb.title.is_empty() => before.title.clone(),
            _ => breadcrumb.title.clone(),
        };
        let config = Config { title, tool: text("toolName").or_else(|| text("tool")) };
        if before == Some(&config) {
            return false;
        }
        self.configs.insert(breadcrumb.id.clone(), config);
        true
    }

    fn gather(&self) -> Known {
        let (mut names, mut functions) = (BTreeSet::new(), BTreeSet::new());
        let mut tools = Vec::new();
        for tool in self.catalogs.values().flat_map(|(_, tools)| tools) {
            if tools.len() < MAX_TOOLS && names.insert(tool.name.as_str()) {
                let function = function(&tool.name, &functions);
                functions.insert(function.clone());
                tools.push(Offered { function, tool: Arc::clone(tool) });
            }
        }
        Known { tools, configs: self.configs.clone() }
    }
}

impl Known {
    /// The tool that the model means by a name: that of its function, or its own.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<KnownTool>> {
        let function = self.tools.iter().find(|offered| offered.function == name);
        let found = function.or_else(|| self.tools.iter().find(|offered| offered.tool.name == name));
        found.map(|offered| &offered.tool)
    }
}

impl KnownTool {
    fn read(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        let schema = entry.get("input_schema").filter(|schema| schema.is_object());
        let input_schema =
            schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": Map::new()}));
        (!name.is_empty()).then(|| Self {
            name,
            description: text("description"),
            input: jsonschema::draft202012::new(&input_schema).ok(),
            input_schema,
            output_schema: entry.get("output_schema").filter(|schema| schema.is_object()).cloned(),
        })
    }
}

/// A name that APIs of models allow, and that no other function has.
fn function(tool: &str, taken: &BTreeSet<String>) -> String {
    let fit = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') { letter } else { '_' }
    };
    let name: String = tool.chars().map(fit).take(FUNCTION_CHARS - 4).collect();
    let others = (2_u32..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(others).find(|name| !taken.contains(name)).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::{CATALOG, CONFIG, Knowledge};
    use crate::breadcrumb::client::Breadcrumb;

    pub(in super::super) const CONFIG_ID: &str = "3f0c1b6e-5d1a-4c0e-9a58-0b6d2b1f7e11";

    pub(in super::super) fn breadcrumb(
        id: &str,
        version: i64,
        schema_name: &str,
        context: &Value,
    ) -> Breadcrumb {
        let value = json!({"id": id, "version": version, "schema_name": schema_name, "title": "of a test",
                           "tags": [], "context": context});
        Breadcrumb::read(value).expect("a breadcrumb")
    }

    /// Two tools and a configuration.
    pub(in super::super) fn knowledge() -> Knowledge {
        let schema = json!({"type": "object", "properties": {"expression": {"type": "string"}},
                            "required": ["expression"]});
        let tools = json!({"tools": [
            {"name": "calculator", "description": "Evaluates an expression.", "input_schema": schema},
            {"name": "web.notes", "description": "Finds notes."},
            {"name": "web_notes"}, {"description": "nameless"}
        ]});
        let config = json!({"toolName": "calculator", "config": {"apiKey": "s3cr3t"}});
        let mut knowledge = Knowledge::default();
        assert!(knowledge.receive(&breadcrumb("c", 1, CATALOG, &tools)));
        assert!(knowledge.receive(&breadcrumb(CONFIG_ID, 1, CONFIG, &config)));
        knowledge
    }

    #[test]
    fn tools_are_found_by_their_function_or_their_name() {
        let knowledge = knowledge();
        let known = knowledge.known();
        let functions: Vec<_> = known.tools.iter().map(|offered| offered.function.as_str()).collect();
        assert_eq!(functions, ["calculator", "web_notes", "web_notes_2"]);
        let name = |function: &str| known.find(function).map(|tool| tool.name.as_str());
        assert_eq!(name("web_notes"), Some("web.notes"));
        assert_eq!(name("web_notes_2"), Some("web_notes"));
        assert_eq!(name("web.notes"), Some("web.notes"));
        assert_eq!(name("Calculator"), None);
    }

    #[test]
    fn a_catalogue_replaces_its_older_versions() {
        let mut knowledge = knowledge();
        assert!(!knowledge.receive(&breadcrumb("c", 1, CATALOG, &json!({"tools": []}))));
        assert!(knowledge.receive(&breadcrumb("c", 2, CATALOG, &json!({"tools": [{"name": "echo"}]}))));
        assert!(!knowledge.receive(&breadcrumb("n", 1, "note.v1", &json!({"tools": [{"name": "kite"}]}))));
        let known = knowledge.known();
        assert!(
            known.find("echo").is_some()
                && known.find("calculator").is_none()
                && known.find("kite").is_none()
        );
        assert_eq!(known.configs[CONFIG_ID].tool.as_deref(), Some("calculator"));
    }
}
