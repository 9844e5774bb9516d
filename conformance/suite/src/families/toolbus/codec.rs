//! Where the JSON of the tool bus stands: as text in the content of an answer, and in a JSON artifact.

use serde_json::Value;

use crate::engine::codec::Codec;
use crate::transcript::{Kind, Message};

/// Opens answers and artifacts.
#[derive(Debug)]
pub(super) struct TextJson;

/// Where the text of an answer is.
const TEXT: &str = "/result/content/0/text";
/// The member that holds what it says.
const ENVELOPE: &str = "envelope";

impl Codec for TextJson {
    fn open(&self, mut message: Message) -> Result<Message, Message> {
        let parsed = |text: Option<&str>| {
            text.and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object)
        };
        match message.kind {
            Kind::Response => match parsed(message.body.pointer(TEXT).and_then(Value::as_str)) {
                Some(envelope) => {
                    message.body[ENVELOPE] = envelope;
                    Ok(message)
                }
                None => Err(message),
            },
            Kind::Artifact => match parsed(message.body.as_str()) {
                Some(document) => Ok(Message { body: document, ..message }),
                None => Err(message),
            },
            _ => Err(message),
        }
    }

    fn close(&self, mut message: Message, (before, after): (&str, &str)) -> Message {
        let text = |json: &Value| Value::from(format!("{before}{json}{after}"));
        if message.kind == Kind::Response {
            // A fault that took the envelope away wrote a text of its own.
            let envelope = message.body.as_object_mut().and_then(|body| body.shift_remove(ENVELOPE));
            if let (Some(envelope), Some(place)) = (envelope, message.body.pointer_mut(TEXT)) {
                *place = text(&envelope);
            }
        } else if message.body.is_object() {
            message.body = text(&message.body);
        }
        message
    }
}
