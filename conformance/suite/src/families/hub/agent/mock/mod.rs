//! The mock Hub: it answers agents by the contract, or as a script says.
//!
//! `script` is what it answers, `results` what is right, `problems` what is wrong with a request.
//! In a run each scenario has a script of its own (`router`); [`MockHub`] serves one script to whoever asks. Beside the
//! contract it answers what the original system's agents ask their Hub for when they start.

pub mod problems;
pub mod results;
pub mod script;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use self::script::{Script, Wanted};
use super::judge::request::{Expected, Route};
use crate::families::hub::agent::asked::frame;
use crate::families::hub::contract::STATUS_BASE;
use crate::net::http_server::{HttpReply, HttpServer, ReceivedRequest};
use crate::transcript::lock;

/// What a mock Hub reports of every request: method and path, and what is wrong with it.
pub type OnRequest = Arc<dyn Fn(&ReceivedRequest, &[String]) + Send + Sync>;

/// A mock Hub for people who write an agent.
pub struct MockHub {
    server: HttpServer,
}

impl MockHub {
    /// Listens and answers as the script says. Problems of a request are reported, and do not change its answer.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(
        listen: Option<&str>,
        script: Script,
        expected: Expected,
        on_request: OnRequest,
    ) -> Result<Self, String> {
        let script = Mutex::new(script);
        let handler = move |request: ReceivedRequest| {
            on_request(&request, &problems::problems(&request, &expected));
            answer(&request, &mut lock(&script), "tok-mock", "")
        };
        Ok(Self { server: HttpServer::start(listen, Arc::new(handler)).await? })
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        self.server.url()
    }
}

/// The answer to a request. It does not depend on whether the request is right, so that one fault breaks one rule: where
/// the request names no tool, the one that the agent was asked to call is `meant`.
pub(super) fn answer(request: &ReceivedRequest, script: &mut Script, mark: &str, meant: &str) -> HttpReply {
    let customer = customer(request);
    match Route::of(&frame(request)) {
        Route::Execute => {
            let tool = request.body.get("tool").and_then(Value::as_str).unwrap_or(meant);
            script.next(Wanted::Tool(tool), customer).to_call(tool, mark)
        }
        Route::Status => script.next(Wanted::Status, customer).to_status(customer.unwrap_or_default()),
        Route::Beside | Route::Other => beside(request),
    }
}

/// The customer that a request names.
fn customer(request: &ReceivedRequest) -> Option<&str> {
    let in_path = || request.bare_path().strip_prefix(STATUS_BASE).map(|rest| rest.trim_end_matches('/'));
    request.body.get("customer_id").and_then(Value::as_str).or_else(in_path)
}

/// What the original system's agents ask for beside the contract; it is answered plausibly and never judged.
fn beside(request: &ReceivedRequest) -> HttpReply {
    let path = request.bare_path().trim_end_matches('/');
    match request.method.as_str() {
        "GET" if path.ends_with("/config") => {
            let agent_id = path.rsplit('/').nth(1).unwrap_or_default();
            HttpReply::json(
                200,
                &json!({"agent_id": agent_id, "name": "Agent under test", "status": "active",
                                     "config": {}, "enabled_tools": crate::families::hub::contract::TOOLS}),
            )
        }
        "GET" if path.ends_with("/validate-key") => HttpReply::json(200, &json!({"valid": true})),
        "POST" if path.ends_with("/usage/batch") => {
            HttpReply::json(200, &json!({"success": true, "accepted": 0}))
        }
        _ => HttpReply::json(404, &json!({"detail": "the mock Hub serves nothing at this path"})),
    }
}
