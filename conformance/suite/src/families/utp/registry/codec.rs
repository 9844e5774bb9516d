//! Definitions are uploaded as YAML.

use serde_json::Value;

use super::yaml::{Writing, write};
use crate::engine::codec::Codec;
use crate::transcript::{Kind, Message};

/// Opens the definition of an upload.
#[derive(Debug)]
pub(super) struct Yaml;

impl Codec for Yaml {
    fn open(&self, message: Message) -> Result<Message, Message> {
        if message.kind != Kind::RegistryRequest {
            return Err(message);
        }
        let read = message.body.as_str().and_then(|text| serde_yaml_ng::from_str::<Value>(text).ok());
        match read.filter(Value::is_object) {
            Some(definition) => Ok(Message { body: definition, ..message }),
            None => Err(message),
        }
    }

    fn close(&self, mut message: Message, _: (&str, &str)) -> Message {
        if message.body.is_object() {
            message.body = Value::from(write(&message.body, Writing::Block));
        }
        message
    }
}
