//! How a mutant sees messages whose JSON travels as text: the envelope of an MCP answer, a JSON artifact, YAML.

use serde_json::Value;

use super::mutant::Wrap;
use crate::management::yaml::{Writing, write};
use crate::transcript::{Kind, Message};

/// Where the text of an MCP answer is.
const TEXT: &str = "/result/content/0/text";

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing.
    Plain,
    /// The text of an answer is the member `envelope`.
    Envelope,
    /// The body is the document of an artifact.
    Document,
    /// The body is what the YAML of a definition says.
    Yaml,
}

/// Turns text into the JSON that it holds.
pub(super) fn open(mut message: Message) -> (Message, Form) {
    let parsed = |text: Option<&str>| {
        text.and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object)
    };
    match message.kind {
        Kind::Response => match parsed(message.body.pointer(TEXT).and_then(Value::as_str)) {
            Some(envelope) => {
                message.body["envelope"] = envelope;
                (message, Form::Envelope)
            }
            None => (message, Form::Plain),
        },
        Kind::Artifact => match parsed(message.body.as_str()) {
            Some(document) => (Message { body: document, ..message }, Form::Document),
            None => (message, Form::Plain),
        },
        Kind::RegistryRequest => {
            let read = message.body.as_str().and_then(|text| serde_yaml_ng::from_str::<Value>(text).ok());
            match read.filter(Value::is_object) {
                Some(definition) => (Message { body: definition, ..message }, Form::Yaml),
                None => (message, Form::Plain),
            }
        }
        _ => (message, Form::Plain),
    }
}

/// Turns it back.
pub(super) fn close(mut message: Message, form: Form, wrap: Option<&Wrap>) -> Message {
    let text = |json: &Value| {
        let (before, after) = wrap.map_or(("", ""), |wrap| (&wrap.before, &wrap.after));
        Value::from(format!("{before}{json}{after}"))
    };
    match form {
        Form::Envelope => {
            // A fault that took the envelope away wrote a text of its own.
            let envelope = message.body.as_object_mut().and_then(|body| body.shift_remove("envelope"));
            if let (Some(envelope), Some(place)) = (envelope, message.body.pointer_mut(TEXT)) {
                *place = text(&envelope);
            }
        }
        Form::Document if message.body.is_object() => message.body = text(&message.body),
        Form::Yaml if message.body.is_object() => {
            message.body = Value::from(write(&message.body, Writing::Block));
        }
        Form::Document | Form::Yaml | Form::Plain => {}
    }
    message
}
