//! How a server is met: the handshake of its era with each process, and the list of its tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::connections::Connection;
use super::routes::{ServerRoute, is_unavailable};
use super::{McpClient, Opening, PAGES, Server};
use crate::families::toolbus::answer;
use crate::families::toolbus::link::Headers;
use crate::families::toolbus::modern;
use crate::families::toolbus::revision::{self, Era, MODERN};
use crate::families::toolbus::stdio::initialize;
use crate::families::toolbus::wire_format::LOCATION;
use crate::net::wire::{CALL, STATUS, Wire};
use crate::transcript::{Frame, Kind, lock};

/// For the list of tools, which the suite can do without.
const LIST_DEADLINE: Duration = Duration::from_secs(5);
/// For an answer to a GET.
const REACHED: Duration = Duration::from_secs(1);
/// Ids of the suite's own requests, beside those of scenarios.
const INITIALIZE: i64 = 0;
const LIST: i64 = -1;
const DISCOVER: i64 = -2;

impl Server {
    /// Begins with each connection as its era and the opening ask for.
    ///
    /// # Errors
    /// Why it cannot be spoken with.
    pub(super) async fn begin_all(&mut self, deadline: Duration) -> Result<(), String> {
        for place in 0..self.connections.len() {
            match self.era {
                _ if self.opening == Opening::Unasked => self.listens(place, deadline).await?,
                Era::Legacy => {
                    self.connections.at(place).answer_questions();
                    self.shake_hands(place, deadline).await?;
                }
                Era::Modern => self.discover(place, deadline).await?,
            }
        }
        Ok(())
    }

    async fn shake_hands(&mut self, place: usize, deadline: Duration) -> Result<(), String> {
        let own = self.connections.at(place);
        let answer = self.exchange(own, initialize(), INITIALIZE, deadline).await?;
        if let Some(status) = answer.headers.get(STATUS) {
            let leads =
                |to: &String| format!(" (it redirects to `{to}`: name the address that answers in `url`)");
            let fault = answer.headers.get(LOCATION).map(leads);
            let fault = fault.or_else(|| Some(format!(": {}", answer::fault(&answer)?))).unwrap_or_default();
            return Err(format!("`initialize` is answered by HTTP {status} and no JSON-RPC{fault}"));
        }
        // Whether MCP has it is a rule of its own.
        let version = revision::named(&answer)?;
        own.link.agreed(version);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        own.link.send(initialized, Headers::new()).await?;
        if place > 0 {
            return Ok(());
        }
        version.clone_into(&mut self.revision);
        let list = json!({"jsonrpc": "2.0", "id": LIST, "method": "tools/list", "params": {}});
        // Only names show a wrong manifest earlier than a call would; a server without a list still serves calls.
        if let Ok(answer) = self.exchange(own, list, LIST, deadline.min(LIST_DEADLINE)).await {
            let tools = answer.member("/result/tools").and_then(Value::as_array);
            if let Some(tools) = tools {
                self.listed.extend(tools);
            }
            // The first page of several does not show which names there are not.
            let whole = answer.member("/result/nextCursor").is_none();
            self.tools = tools
                .filter(|_| whole)
                .into_iter()
                .flatten()
                .filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned))
                .collect();
        }
        Ok(())
    }

    /// Waits until it takes connections, where that can be seen without a request.
    async fn listens(&mut self, place: usize, deadline: Duration) -> Result<(), String> {
        if self.era == Era::Modern {
            MODERN.clone_into(&mut self.revision);
        }
        let link = &self.connections.at(place).link;
        if !link.has_headers() {
            return Ok(());
        }
        let began = std::time::Instant::now();
        // Who takes a connection and does not answer a GET is there, too.
        let reached = || tokio::time::timeout(REACHED, link.is_reachable());
        while !reached().await.unwrap_or(true) {
            if began.elapsed() >= deadline {
                return Err(format!("nothing listens within {} s", deadline.as_secs_f64()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Finds out whether it is a server of the modern era, and reads all pages of its list of tools.
    async fn discover(&mut self, place: usize, deadline: Duration) -> Result<(), String> {
        let discover = json!({"jsonrpc": "2.0", "id": DISCOVER, "method": "server/discover"});
        let own = self.connections.at(place);
        let answer = self.exchange(own, modern::with_meta(discover), DISCOVER, deadline).await?;
        modern::is_modern(&answer)?;
        if place > 0 {
            return Ok(());
        }
        MODERN.clone_into(&mut self.revision);
        let mut cursor = Value::Null;
        for _ in 0..PAGES {
            let mut list = json!({"jsonrpc": "2.0", "id": LIST, "method": "tools/list", "params": {}});
            if !cursor.is_null() {
                list["params"]["cursor"] = cursor;
            }
            let list = modern::with_meta(list);
            // Which arguments have headers stands in it, so calls depend on it.
            let Ok(page) = self.exchange(own, list, LIST, deadline).await else { break };
            let tools = page.member("/result/tools").and_then(Value::as_array);
            let Some(tools) = tools else { break };
            let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned));
            self.tools.extend(names);
            self.listed.extend(tools);
            match page.text("/result/nextCursor") {
                Some(next) => cursor = Value::from(next),
                None => return Ok(()),
            }
        }
        // A list of which a part is missing does not show which names there are not.
        self.tools.clear();
        Ok(())
    }

    /// Sends a message of the handshake until it is answered; a server that is just starting may not listen yet.
    async fn exchange(
        &self,
        own: &Connection,
        message: Value,
        id: i64,
        deadline: Duration,
    ) -> Result<Frame, String> {
        let began = std::time::Instant::now();
        let passthrough: Arc<dyn Wire> = Arc::new(crate::net::wire::PassthroughWire);
        let call = id.to_string();
        let turn = Arc::new(self.outbound.turn().await);
        loop {
            // Each try has a transcript of its own, since one keeps only a few copies of the same refusal.
            let client = McpClient::new(String::new(), Arc::default(), 0);
            let route = ServerRoute {
                client: client.clone(),
                tool: String::new(),
                wire: Arc::clone(&passthrough),
                is_large: false,
                replica: None,
                _turn: Arc::clone(&turn),
            };
            lock(&own.routes.open).insert(id, route);
            let headers = modern::sent_headers(&self.headers_of(&message, None));
            if let Err(error) = own.link.send(message.clone(), headers).await {
                own.routes.fail(id, &error);
            }
            let left = deadline.saturating_sub(began.elapsed());
            let answered = |frames: &[Frame]| {
                let ours = |frame: &&Frame| frame.headers.get(CALL) == Some(&call);
                frames.iter().find(ours).cloned()
            };
            let found = client.transcript.wait(left, answered).await;
            let why = || {
                let method = message["method"].as_str().unwrap_or_default();
                let silent = format!("no answer to `{method}` within {} s", deadline.as_secs_f64());
                own.routes.why_closed().unwrap_or(silent)
            };
            let frame = found.ok_or_else(why)?;
            // A server that is just starting does not listen yet, or says so, as what stands before it may.
            let is_over = own.routes.why_closed().is_some() || began.elapsed() >= deadline;
            match frame.kind {
                Kind::Closed if is_over => return Err(frame.body.as_str().unwrap_or_default().to_owned()),
                Kind::Closed => tokio::time::sleep(Duration::from_millis(20)).await,
                _ if is_over || !is_unavailable(&frame) => return Ok(frame),
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}
