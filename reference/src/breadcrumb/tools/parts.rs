//! What the tools are made of.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::breadcrumb::tool::ToolDefinition;

/// A definition of these parts.
pub(super) fn definition(
    name: &str,
    category: &str,
    description: &str,
    input_schema: Value,
    output_schema: Value,
) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        category: category.to_owned(),
        input_schema,
        output_schema,
    }
}

/// A text of the input; empty where there is none, which the schema has ruled out where it matters.
pub(super) fn text<'a>(input: &'a Map<String, Value>, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What a tool without anything to wait for gives.
pub(super) fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}
