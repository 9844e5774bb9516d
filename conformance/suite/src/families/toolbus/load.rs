//! Calls of an MCP server under load: its echo probe, over one session, with another value each time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use super::answer;
use super::answer::Answer;
use super::call::Probe;
use super::revision::Era;
use super::scene::Scene;
use super::session::{RootKind, ToolbusSession};
use crate::engine::load::{Caller, Exchanged};
use crate::transcript::Transcript;

/// Makes calls of the echo probe.
pub(super) struct ToolbusCaller {
    session: Arc<ToolbusSession>,
}

impl ToolbusCaller {
    /// Calls by this session.
    pub(super) fn new(session: Arc<ToolbusSession>) -> Self {
        Self { session }
    }

    async fn make(&self, number: u64, deadline: Instant) -> Exchanged {
        let transcript = Arc::<Transcript>::default();
        let failed = |why: String| Exchanged {
            answered: Some(Instant::now()),
            failure: Some(why),
            messages: Box::new(Vec::new),
        };
        let server = match self.session.server(RootKind::First, 0).await {
            Ok(server) => server,
            Err(why) => return failed(why),
        };
        let name = format!("load, call {number}");
        let scene =
            Scene::new(&self.session, Arc::clone(&server), RootKind::First, &name, Arc::clone(&transcript));
        let value = json!({"load": scene.unique});
        let Some(call) = scene.prepare(Probe::Echo, value.clone()) else {
            return failed("the manifest has no echo probe".to_owned());
        };
        let params = json!({"name": call.tool, "arguments": call.arguments});
        let body = json!({"jsonrpc": "2.0", "method": "tools/call", "params": params});
        let left = || deadline.saturating_duration_since(Instant::now());
        let id = server.ask(&scene.client, &call.tool, body, None, left()).await;
        let found =
            transcript.linger(left(), |frames| answer::frame(frames, id).map(|frame| frame.at_us)).await;
        let Some(at_us) = found else {
            server.forget(id);
            return Exchanged { answered: None, failure: None, messages: Box::new(move || transcript.all()) };
        };
        let failure = match transcript.peek(|frames| answer::of(frames, id)) {
            Answer::Success(result) if result.to_string().contains(&scene.unique) => None,
            Answer::Success(_) => Some("the result is not that of the call".to_owned()),
            Answer::ToolError(_) => Some("the result has `isError`".to_owned()),
            Answer::Error(error) => Some(format!("the error {}", error["code"])),
            Answer::Other(status, _) => Some(format!("HTTP {status} and no JSON-RPC result")),
            Answer::Closed(why) => Some(why),
            Answer::Missing => Some("nothing".to_owned()),
        };
        let answered = Some(transcript.began() + Duration::from_micros(at_us));
        Exchanged { answered, failure, messages: Box::new(move || transcript.all()) }
    }
}

impl Caller for ToolbusCaller {
    fn profile(&self) -> &'static str {
        match self.session.era {
            Era::Legacy => "toolbus.server",
            Era::Modern => "toolbus.server@2026-07-28",
        }
    }

    fn call(&self, number: u64, deadline: Instant) -> BoxFuture<'_, Exchanged> {
        self.make(number, deadline).boxed()
    }

    /// A request has one answer.
    fn linger(&self) -> Duration {
        Duration::ZERO
    }
}
