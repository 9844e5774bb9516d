//! Messages of a run without faults, and which call a message belongs to.

use serde_json::Value;

use crate::engine::codec::Codec;
use crate::net::wire::{CALL, SCENARIO};
use crate::transcript::{Kind, Message};

/// A call: its project and its id as the suite knows it.
pub(super) type Scope = (String, String);

/// A message of a run without faults.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) message: Message,
    /// The same with its JSON laid open, where the codec does that.
    pub(super) open: Option<Message>,
    pub(super) scope: Scope,
}

impl Passed {
    pub(super) fn new(message: Message, codec: &dyn Codec) -> Self {
        let (open, scope) = (codec.open(message.clone()).ok(), scope(&message));
        Self { message, open, scope }
    }

    pub(super) fn kind(&self) -> Kind {
        self.message.kind
    }
}

/// The header with the id of a call, as it is sent and as it is received.
const CALL_HEADERS: [&str; 2] = ["CG-Tool-Call-Id", "cg-tool-call-id"];

/// What a message is known by.
pub(super) fn scope(message: &Message) -> Scope {
    if let Some(scenario) = message.headers.get(SCENARIO) {
        return (scenario.clone(), message.headers.get(CALL).cloned().unwrap_or_default());
    }
    let tokens: Vec<&str> = message.channel.split(['.', ' ', '/']).collect();
    let project = tokens.iter().find(|token| token.starts_with("prj_")).copied().unwrap_or_default();
    let pointers = [
        "/tool_call_id",
        "/payload/tool_call_id",
        "/card/tool_call_id",
        "/card/metadata/tool_call_id",
        "/cards/0/tool_call_id",
        "/correlation_id",
    ];
    let named = CALL_HEADERS.iter().find_map(|name| message.headers.get(*name).map(String::as_str));
    let pointed =
        || pointers.iter().find_map(|pointer| message.body.pointer(pointer).and_then(Value::as_str));
    let call = named.or_else(pointed);
    (project.to_owned(), call.unwrap_or_default().to_owned())
}
