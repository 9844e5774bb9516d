//! What a tool is to those who run it, and the catalogue in which tools are found by name.
//!
//! Neighbours: `runner` reads requests and routes answers, `workflow` runs several tools for one request; both find
//! them here. A tool knows nothing of breadcrumbs, sessions or request ids: it gets an input and gives an output.
//!
//! Names are compared exactly (Standard, "Field definitions": `tool` is case-sensitive).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::secret::Secret;

/// How many faults of an input one failure names.
const NAMED_FAULTS: usize = 5;
/// How much of an input a failure repeats.
const SHOWN_CHARS: usize = 300;

/// What a catalogue says about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// By which it is asked for; no two tools of a catalogue share one.
    pub name: String,
    /// What it does, for a model that chooses among tools.
    pub description: String,
    /// The family of the Standard's "Output field access": `llm`, `utility`, `breadcrumb`, `workflow` or `browser`.
    pub category: String,
    /// JSON Schema of the input, which is an object.
    pub input_schema: Value,
    /// JSON Schema of the output, which is an object.
    pub output_schema: Value,
}

impl ToolDefinition {
    /// As an entry of `tool.catalog.v1`.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "category": self.category,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
        })
    }
}

/// A tool.
pub trait Tool: Send + Sync {
    /// What it is and takes.
    fn definition(&self) -> &ToolDefinition;

    /// Runs once. The value is the `output` of the response, an object that satisfies the output schema.
    ///
    /// The input satisfies the input schema. The future is dropped when the call's deadline has passed.
    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>>;

    /// How long one call may take, where that is not for the runner to say.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Ends what the tool keeps between calls; the runner asks for it once, when it ends itself.
    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// One call of a tool.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ToolCall {
    /// The parameters.
    pub input: Map<String, Value>,
    /// What the request's `config_id` stands for; nothing where it names none.
    pub config: Option<ToolConfig>,
}

impl ToolCall {
    /// A call without a configuration.
    pub fn new(input: Map<String, Value>) -> Self {
        Self { input, config: None }
    }

    /// The same call with this configuration.
    #[must_use]
    pub fn with_config(mut self, config: Option<ToolConfig>) -> Self {
        self.config = config;
        self
    }
}

/// What a `tool.config.v1` breadcrumb supplies (Standard, `config_id`): a key, a model, settings of the tool's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolConfig {
    /// The tool that it is for, where it says so.
    pub tool: Option<String>,
    /// The API key, already decrypted.
    pub key: Option<Secret>,
    /// `defaultModel`.
    pub model: Option<String>,
    /// All other settings under their own names, for instance `temperature` and `maxTokens`.
    pub settings: Map<String, Value>,
}

/// Why a call came to nothing: a text for a person, which holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ToolFailure {
    text: String,
}

impl ToolFailure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// Why a tool cannot be in a catalogue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// Another one has its name.
    #[error("there are two tools `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Its input schema is no JSON Schema.
    #[error("the input schema of `{name}` cannot be used: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong with the schema.
        reason: String,
    },
}

/// Tools in the order in which they were added, found by their exact name. Clones share the tools.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Arc<Entry>>,
    places: BTreeMap<String, usize>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    input: Validator,
}

impl Catalog {
    /// A catalogue without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool behind the others.
    ///
    /// # Errors
    ///
    /// When its name is taken, or its input schema is none.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), CatalogError> {
        let definition = tool.definition();
        let name = definition.name.clone();
        let input = jsonschema::draft202012::new(&definition.input_schema)
            .map_err(|error| CatalogError::Schema { name: name.clone(), reason: error.to_string() })?;
        if self.places.contains_key(&name) {
            return Err(CatalogError::Duplicate { name });
        }
        self.places.insert(name, self.entries.len());
        self.entries.push(Arc::new(Entry { tool, input }));
        Ok(())
    }

    /// The tool of exactly this name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// All tools, in their order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// What is said about them, in their order.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools().map(|tool| tool.definition())
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tool of this name, once the input satisfies its schema.
    ///
    /// # Errors
    ///
    /// When there is no such tool, or the input is not for it.
    pub fn admit(&self, name: &str, input: &Map<String, Value>) -> Result<Arc<dyn Tool>, ToolFailure> {
        let entry = self.entry(name).ok_or_else(|| self.unknown(name))?;
        let instance = Value::Object(input.clone());
        let faults: Vec<_> =
            entry.input.iter_errors(&instance).take(NAMED_FAULTS).map(|error| fault(&error)).collect();
        if faults.is_empty() {
            Ok(Arc::clone(&entry.tool))
        } else {
            Err(ToolFailure::new(format!("the input is not what `{name}` takes: {}", faults.join("; "))))
        }
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.places.get(name).and_then(|place| self.entries.get(*place)).map(AsRef::as_ref)
    }

    fn unknown(&self, name: &str) -> ToolFailure {
        let nearest = self
            .places
            .keys()
            .map(|known| (strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase()), known))
            .min()
            .filter(|(distance, _)| *distance <= 2);
        let shown = shorten(name);
        ToolFailure::new(match nearest {
            Some((_, known)) => format!("there is no tool `{shown}`; did you mean `{known}`?"),
            None => format!("there is no tool `{shown}`"),
        })
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.definitions().map(|definition| &definition.name)).finish()
    }
}

/// One fault of an input and where it is; the value itself may be long, or not for a log.
fn fault(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let text = shorten(&error.masked().to_string());
    if place.is_empty() { text } else { format!("`{place}`: {text}") }
}

/// At most so much of a text as a failure should repeat.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use serde_json::{Value, json};

    use super::{Catalog, CatalogError, Tool, ToolCall, ToolConfig, ToolDefinition, ToolFailure};
    use crate::secret::Secret;

    struct Fixed(ToolDefinition);

    impl Tool for Fixed {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        fn run(&self, _call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
            Box::pin(async { Ok(json!({})) })
        }
    }

    fn fixed(name: &str, input_schema: Value) -> Arc<dyn Tool> {
        Arc::new(Fixed(ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            category: "utility".to_owned(),
            input_schema,
            output_schema: json!({"type": "object"}),
        }))
    }

    fn catalog() -> Catalog {
        let mut catalog = Catalog::new();
        let schema = json!({
            "type": "object",
            "properties": {"depth": {"type": "integer"}},
            "required": ["depth"],
        });
        catalog.add(fixed("sounding", schema)).expect("a tool");
        catalog.add(fixed("anchor", json!({"type": "object"}))).expect("a tool");
        catalog
    }

    #[test]
    fn tools_are_found_by_their_exact_name_and_keep_their_order() {
        let catalog = catalog();
        assert!(catalog.find("anchor").is_some());
        assert!(catalog.find("Anchor").is_none());
        assert!(catalog.find("anchor ").is_none());
        let names: Vec<_> = catalog.definitions().map(|definition| definition.name.as_str()).collect();
        assert_eq!(names, ["sounding", "anchor"]);
    }

    #[test]
    fn an_input_is_admitted_by_the_schema_alone() {
        fn check(name: &str, input: &Value, expect: Option<&str>) {
            let admitted = catalog().admit(name, input.as_object().expect("an object"));
            match (admitted, expect) {
                (Ok(tool), None) => assert_eq!(tool.definition().name, name),
                (Err(failure), Some(part)) => assert!(failure.to_string().contains(part), "{failure}"),
                (outcome, _) => panic!("{name} {input}: {:?}", outcome.err()),
            }
        }
        check("sounding", &json!({"depth": 3}), None);
        check("sounding", &json!({"depth": 3, "more": null}), None);
        check("anchor", &json!({}), None);
        check("sounding", &json!({}), Some("depth"));
        check("sounding", &json!({"depth": "deep"}), Some("/depth"));
        check("Sounding", &json!({"depth": 3}), Some("did you mean `sounding`?"));
        check("kite", &json!({}), Some("there is no tool `kite`"));
    }

    #[test]
    fn two_tools_do_not_share_a_name_and_schemas_are_schemas() {
        let mut catalog = catalog();
        let twice = catalog.add(fixed("anchor", json!({"type": "object"})));
        assert!(matches!(twice, Err(CatalogError::Duplicate { .. })));
        let no_schema = catalog.add(fixed("kite", json!({"type": 7})));
        assert!(matches!(no_schema, Err(CatalogError::Schema { .. })));
        assert_eq!(catalog.len(), 2);
    }

    #[test]
    fn a_key_is_not_shown() {
        let config = ToolConfig { key: Some(Secret::from("s3cr3t")), ..ToolConfig::default() };
        assert!(!format!("{config:?}").contains("s3cr3t"));
    }
}
