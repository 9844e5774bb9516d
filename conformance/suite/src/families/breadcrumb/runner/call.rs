//! A call of a tool, as the suite asks for it.

use std::time::Instant;

use serde_json::{Map, Value, json};

/// One request of an invocation (Universal Tool Invocation, field definitions).
#[derive(Clone, Debug)]
pub struct Call {
    /// `tool`; absent where a scenario leaves it out.
    pub tool: Option<String>,
    /// `input`; absent where a scenario leaves it out.
    pub input: Option<Value>,
    /// `requestId`; absent where a scenario leaves it out.
    pub request_id: Option<String>,
    /// `return_to_llm`.
    pub return_to_llm: Option<bool>,
    /// `config_id`.
    pub config_id: Option<String>,
    /// Members that a scenario writes otherwise, or leaves out.
    pub odd: Vec<(String, Option<Value>)>,
    /// What its answer must hold to be one of its own: a word, a number as JSON, or one of a list of these.
    pub sign: Option<Value>,
    /// The title that it asks a breadcrumb to have, if it asks for one.
    pub title: Option<String>,
    /// Whether it is made in another session than that of the scenario.
    pub is_in_another_session: bool,
    /// When it was sent.
    pub sent_at: Option<Instant>,
}

impl Call {
    /// A call whose result returns to the agent.
    pub fn new(tool: &str, input: Value, request_id: String) -> Self {
        Self {
            tool: Some(tool.to_owned()),
            input: Some(input),
            request_id: Some(request_id),
            return_to_llm: Some(true),
            config_id: None,
            odd: Vec::new(),
            sign: None,
            title: None,
            is_in_another_session: false,
            sent_at: None,
        }
    }

    /// The name of the tool, as far as there is one.
    pub fn tool(&self) -> &str {
        self.tool.as_deref().unwrap_or_default()
    }

    /// The id under which it is answered, as far as there is one.
    pub fn id(&self) -> &str {
        self.request_id.as_deref().unwrap_or_default()
    }

    /// As an item of `tool_requests`.
    pub fn request(&self) -> Value {
        let mut request = Map::new();
        let members = [
            ("tool", self.tool.clone().map(Value::from)),
            ("input", self.input.clone()),
            ("requestId", self.request_id.clone().map(Value::from)),
            ("return_to_llm", self.return_to_llm.map(Value::from)),
            ("config_id", self.config_id.clone().map(Value::from)),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                request.insert(name.to_owned(), value);
            }
        }
        for (name, value) in &self.odd {
            match value {
                Some(value) => request.insert(name.clone(), value.clone()),
                None => request.shift_remove(name),
            };
        }
        Value::Object(request)
    }

    /// As the `context` of a `tool.request.v1`; with its flag where the runner obeys that.
    pub fn single(&self, routes: bool) -> Value {
        let mut context = self.request();
        if let Some(context) = context.as_object_mut() {
            if !routes {
                context.shift_remove("return_to_llm");
            }
            context.insert("requestedBy".to_owned(), json!("callmark"));
        }
        context
    }
}

/// A template with values in place of its placeholders: a string that is nothing but one takes the value with its type.
pub fn filled(template: &Value, words: &[(&str, Value)]) -> Value {
    match template {
        Value::String(text) => {
            let alone = words.iter().find(|(name, _)| {
                text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(*name)
            });
            if let Some((_, value)) = alone {
                return value.clone();
            }
            Value::from(words.iter().fold(text.clone(), |text, (name, value)| {
                let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.replace(&format!("{{{name}}}"), &plain)
            }))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, words)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), filled(member, words))).collect()
        }
        plain => plain.clone(),
    }
}

/// A product that stands nowhere by chance, as an expression and as its value.
pub fn product(number: usize) -> (String, Value) {
    let number = number as u64;
    let (one, other) = (211 + 2 * number, 367 + 6 * number);
    (format!("{one} * {other}"), json!(one * other))
}
