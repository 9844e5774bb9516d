//! What the suite made at a Hub, so that it can be deleted when the run is over.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::HubSession;
use crate::engine::session::{CleanedUp, with_prefix};
use crate::families::hub::server::client::Request;
use crate::families::hub::server::reply::Reply;
use crate::net::http_client::Caller;
use crate::transcript::lock;

/// Events and mails of a run.
#[derive(Default)]
pub(super) struct Made {
    /// By the id of an event, the request with which it was made.
    events: Mutex<BTreeMap<String, Request>>,
    mails: AtomicUsize,
}

impl Made {
    /// Takes note of what an exchange made or deleted.
    pub(super) fn note(&self, request: &Request, reply: &Reply<'_>) {
        if !reply.is_executed() {
            return;
        }
        let made = |name: &str| reply.body().pointer(&format!("/result/{name}")).and_then(Value::as_str);
        match request.tool.as_str() {
            "calendar_create_event" => {
                if let Some(id) = made("event_id") {
                    lock(&self.events).insert(id.to_owned(), request.clone());
                }
            }
            "calendar_delete_event" => {
                if let Some(id) = request.body.pointer("/inputs/event_id").and_then(Value::as_str) {
                    lock(&self.events).remove(id);
                }
            }
            "email_send" => drop(self.mails.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
    }
}

impl HubSession {
    /// Takes note of what an exchange made or deleted.
    pub(in crate::families::hub::server) fn note_made(&self, request: &Request, reply: &Reply<'_>) {
        self.made.note(request, reply);
    }

    /// Deletes the events that are left, and says what cannot be deleted.
    pub(super) async fn delete_made(&self) -> CleanedUp {
        let agent = Caller { scenario: "clean-up".to_owned(), transcript: std::sync::Arc::default() };
        let events = std::mem::take(&mut *lock(&self.made.events));
        let (mut deleted, mut left) = (0, Vec::new());
        for (id, made) in events {
            let mut request = Request { tool: "calendar_delete_event".to_owned(), ..made };
            request.body["tool"] = Value::from(request.tool.clone());
            request.body["inputs"] = json!({"event_id": id, "send_notifications": false});
            let call = self.exchange(&agent, &request).await;
            let is_deleted = agent
                .transcript
                .with(|frames| Reply::of(frames, call).is_some_and(|reply| reply.is_executed()));
            if is_deleted {
                deleted += 1;
            } else {
                left.push(format!(
                    "event `{id}` of the {} customer: the Hub does not delete it",
                    request.customer
                ));
            }
        }
        let mails = self.made.mails.load(Ordering::Relaxed);
        if mails > 0 {
            let subjects = with_prefix("subjects", &self.prefix);
            left.push(format!("{mails} mails{subjects}: the contract has no tool that deletes a mail"));
        }
        let deleted = if deleted > 0 { vec![format!("{deleted} events")] } else { Vec::new() };
        CleanedUp { deleted, left }
    }
}
