//! What a client sends that is no request.

use std::collections::BTreeMap;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::{McpClient, Server};
use crate::families::toolbus::modern;
use crate::net::wire::SCENARIO;
use crate::transcript::{Kind, Message};

impl Server {
    /// Sends a notification, or a text that is no message at all, and writes it down. That the server reads no more shows
    /// in the next call.
    pub(in crate::families::toolbus) async fn send_aside(
        &self,
        client: &McpClient,
        channel: &str,
        body: Value,
    ) {
        let own = self.connection(client);
        let mut headers = if body.is_object() { self.headers_of(&body, None) } else { BTreeMap::new() };
        headers.insert(SCENARIO.to_owned(), client.scenario.clone());
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Request,
            channel: channel.to_owned(),
            headers,
            body,
        };
        client.transcript.record_copy(&message);
        for message in self.wire.outgoing(message) {
            let headers = modern::sent_headers(&message.headers);
            let _ = match message.body {
                Value::String(text) => own.link.send_text(text).await,
                body => own.link.send(body, headers).await,
            };
        }
    }
}
