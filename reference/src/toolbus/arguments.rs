//! What a call may carry: the arguments of its tool, and the semantic arguments that every tool takes
//! (contract, Request).
//!
//! One table per tool is both the schema that `tools/list` shows and the check that a call passes, so that they
//! cannot differ. Neighbour: `shape` reads `output` further.
//! An argument that no table names is an error, and so is `null` for one that is left out.

use serde_json::{Map, Value, json};

use super::envelope::Trace;
use super::failure::{Failure, kind_of, nearest, shown_name};
use super::shape::Output;
use super::state::{KEY_BYTES, SESSION, Scope};

/// The arguments of a call.
pub(crate) type Arguments = Map<String, Value>;

/// The longest id, in bytes.
pub(crate) const ID_BYTES: usize = 512;

/// What values an argument takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Any JSON value.
    Any,
    /// A string.
    Text,
    /// A string of at least one and at most so many bytes.
    Name(usize),
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to the one given.
    UpTo(u64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A description of the shape to bring the result into.
    Output,
}

/// One argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// Its value is never shown, whatever the argument is called.
    pub(crate) secret: bool,
    /// The end of the name of the header that repeats it over HTTP (MCP 2026-07-28, Tools, `x-mcp-header`).
    pub(crate) header: Option<&'static str>,
    pub(crate) description: &'static str,
}

impl Argument {
    pub(crate) const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, required: false, secret: false, header: None, description }
    }

    pub(crate) const fn required(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { required: true, ..Self::optional(name, kind, description) }
    }

    pub(crate) const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    pub(crate) const fn in_header(self, name: &'static str) -> Self {
        Self { header: Some(name), ..self }
    }
}

/// The arguments that every tool takes.
const SEMANTIC: [Argument; 8] = [
    Argument::optional("trace_id", Kind::Name(ID_BYTES), "Correlates calls; made up when left out."),
    Argument::optional(
        "span_id",
        Kind::Name(ID_BYTES),
        "Names this call within its trace; made up when left out.",
    ),
    Argument::optional("parent_span_id", Kind::Name(ID_BYTES), "The call that this one serves."),
    Argument::optional("output", Kind::Output, "Shapes the result: path, then pick, omit and map."),
    Argument::optional(
        "store_as",
        Kind::Name(KEY_BYTES),
        "Also stores the shaped result in `mcp_state` under this key.",
    ),
    Argument::optional(
        "store_scope",
        Kind::OneOf(&Scope::NAMES),
        "Where `store_as` stores; `session` when left out.",
    ),
    Argument::optional(
        SESSION,
        Kind::Name(ID_BYTES),
        "The session whose values the scope `session` has, as `session_open` named it; the session of MCP when left \
         out.",
    ),
    Argument::optional(
        "response_mode",
        Kind::OneOf(&["ai", "compact"]),
        "Form of the answer; both are the JSON envelope today.",
    ),
];

/// What a call asks for beside its tool's own work.
#[derive(Debug)]
pub(crate) struct Semantic {
    pub(crate) output: Option<Output>,
    pub(crate) store: Option<(String, Scope)>,
}

impl Semantic {
    /// Reads the semantic arguments of arguments that passed [`check`].
    pub(crate) fn read(arguments: &Arguments) -> Result<Self, Failure> {
        let output = arguments.get("output").map(|output| Output::parse(output, "output")).transpose()?;
        let scope = text(arguments, "store_scope").and_then(Scope::parse).unwrap_or(Scope::Session);
        let store = text(arguments, "store_as").map(|key| (key.to_owned(), scope));
        Ok(Self { output, store })
    }
}

/// The ids of a call: those given, as far as they are valid, and new ones for the others.
///
/// Works on arguments that were not checked, since a call that is refused has a trace as well.
pub(crate) fn trace(arguments: &Arguments, new_id: impl Fn(usize) -> String) -> Trace {
    let given =
        |name| text(arguments, name).filter(|id| (1..=ID_BYTES).contains(&id.len())).map(str::to_owned);
    Trace {
        trace_id: given("trace_id").unwrap_or_else(|| new_id(2)),
        span_id: given("span_id").unwrap_or_else(|| new_id(1)),
        parent_span_id: given("parent_span_id"),
    }
}

/// Whether the arguments are what a tool with this table takes.
pub(crate) fn check(table: &[Argument], arguments: &Arguments) -> Result<(), Failure> {
    let known = || table.iter().chain(&SEMANTIC);
    for (name, value) in arguments {
        let Some(argument) = known().find(|argument| argument.name == name) else {
            return Err(unknown(name, known().map(|argument| argument.name)));
        };
        argument.kind.check(value).map_err(|expected| {
            Failure::argument(argument.name, format!("`{}` must be {expected}", argument.name))
                .with("found", json!(kind_of(value)))
        })?;
    }
    match table.iter().find(|argument| argument.required && !arguments.contains_key(argument.name)) {
        None => Ok(()),
        Some(missing) => Err(Failure::argument(missing.name, format!("`{}` is required", missing.name))
            .hint(format!("`{}`: {}", missing.name, missing.description))),
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let shown = shown_name(name);
    let failure = Failure::argument(&shown, format!("`{shown}` is not an argument of this tool"));
    match nearest(name, known.clone()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.with("known", known.collect()),
    }
}

impl Kind {
    /// What it should have been, when it is not.
    fn check(self, value: &Value) -> Result<(), String> {
        let (fits, expected) = match self {
            Self::Any => (true, String::new()),
            // Its members are named one by one when it is read.
            Self::Output => (value.is_object(), "an object".to_owned()),
            Self::Text => (value.is_string(), "a string".to_owned()),
            Self::Name(most) => (
                value.as_str().is_some_and(|text| (1..=most).contains(&text.len())),
                format!("a string of 1 to {most} bytes"),
            ),
            Self::Flag => (value.is_boolean(), "a boolean".to_owned()),
            Self::UpTo(most) => {
                (value.as_u64().is_some_and(|n| n <= most), format!("a whole number from 0 to {most}"))
            }
            Self::OneOf(words) => (
                value.as_str().is_some_and(|text| words.contains(&text)),
                format!(
                    "one of {}",
                    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
                ),
            ),
        };
        if fits { Ok(()) } else { Err(expected) }
    }

    fn schema(self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::Name(most) => json!({"type": "string", "minLength": 1, "maxLength": most}),
            Self::Flag => json!({"type": "boolean"}),
            Self::UpTo(most) => json!({"type": "integer", "minimum": 0, "maximum": most}),
            Self::OneOf(words) => json!({"type": "string", "enum": words}),
            Self::Output => output_schema(),
        }
    }
}

fn output_schema() -> Value {
    let keys = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "Keys by dots, items by `[i]`: `rows[0].id`."},
            "pick": keys,
            "omit": keys,
            "map": {"type": "object", "description": "An `output` for each item of an array."},
        },
        "additionalProperties": false,
    })
}

/// The input schema of a tool with this table.
pub(crate) fn schema(table: &[Argument]) -> Map<String, Value> {
    let properties: Map<String, Value> = table
        .iter()
        .chain(&SEMANTIC)
        .map(|argument| {
            let mut schema = argument.kind.schema();
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".to_owned(), json!(argument.description));
                schema.extend(argument.header.map(|name| ("x-mcp-header".to_owned(), json!(name))));
            }
            (argument.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> =
        table.iter().filter(|argument| argument.required).map(|argument| argument.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

pub(crate) fn text<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Argument, Kind, Semantic, check, schema};

    const TABLE: [Argument; 3] = [
        Argument::required("item", Kind::Text, "what"),
        Argument::optional("count", Kind::UpTo(9), "how many"),
        Argument::optional("dry", Kind::Flag, "whether"),
    ];

    /// The argument that the failure names.
    fn refused(arguments: &Value) -> Option<String> {
        let arguments = arguments.as_object().expect("an object");
        let failure = check(&TABLE, arguments).and_then(|()| Semantic::read(arguments).map(|_| ())).err()?;
        Some(failure.data["argument"].as_str().expect("a name").to_owned())
    }

    #[test]
    fn arguments_are_checked_against_one_table() {
        fn accept(arguments: &Value) {
            assert_eq!(refused(arguments), None, "{arguments}");
        }
        fn refuse(arguments: &Value, name: &str) {
            assert_eq!(refused(arguments).as_deref(), Some(name), "{arguments}");
        }
        accept(&json!({"item": "a"}));
        accept(&json!({"item": "", "count": 9, "dry": false, "trace_id": "t", "span_id": "s"}));
        accept(&json!({"item": "a", "output": {}, "store_as": "k", "store_scope": "persistent"}));
        accept(&json!({"item": "a", "response_mode": "compact"}));
        refuse(&json!({}), "item");
        refuse(&json!({"item": 5}), "item");
        refuse(&json!({"item": null}), "item");
        refuse(&json!({"item": "a", "count": 10}), "count");
        refuse(&json!({"item": "a", "count": 1.5}), "count");
        refuse(&json!({"item": "a", "count": -1}), "count");
        refuse(&json!({"item": "a", "colour": 1}), "colour");
        refuse(&json!({"item": "a", "trace_id": 5}), "trace_id");
        refuse(&json!({"item": "a", "span_id": ""}), "span_id");
        refuse(&json!({"item": "a", "parent_span_id": "x".repeat(513)}), "parent_span_id");
        refuse(&json!({"item": "a", "output": "x"}), "output");
        refuse(&json!({"item": "a", "store_as": 7}), "store_as");
        refuse(&json!({"item": "a", "store_scope": "forever"}), "store_scope");
        refuse(&json!({"item": "a", "response_mode": "xml"}), "response_mode");
    }

    #[test]
    fn the_schema_says_what_the_check_does() {
        let schema = schema(&TABLE);
        assert_eq!(schema["required"], json!(["item"]));
        assert_eq!(schema["additionalProperties"], json!(false));
        let properties = schema["properties"].as_object().expect("an object");
        assert_eq!(properties.len(), 11);
        assert_eq!(properties["count"]["maximum"], json!(9));
        assert_eq!(properties["response_mode"]["enum"], json!(["ai", "compact"]));
    }
}
