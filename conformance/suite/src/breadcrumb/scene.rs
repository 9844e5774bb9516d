//! One scenario with a tool runner: its session, its calls and what they brought.
//!
//! What a scene does is store and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::Answer;
use super::call::{Call, filled};
use super::crumb::{INVOCATION, REQUEST};
use super::props::Props;
use super::room::Booth;
use super::session::RunnerSession;
use crate::manifest::Dispatch;
use crate::transcript::Frame;

/// The state of one scenario.
pub struct Scene {
    /// The run's session.
    pub session: Arc<RunnerSession>,
    /// Its messages.
    pub booth: Arc<Booth>,
    /// Stands in every id of the scenario.
    pub unique: String,
    /// The calls that are being prepared or were made, in order.
    pub calls: Vec<Call>,
    /// The harmless call that showed that the runner is alive.
    pub sentinel: Option<Call>,
    /// Frames that were there when the calls were made.
    pub before: usize,
    /// What it has beside its calls.
    pub props: Props,
}

impl Scene {
    /// A scene with a runner and nothing else in it.
    pub fn new(session: &Arc<RunnerSession>, scenario: &str) -> Self {
        let unique = session.unique(scenario);
        Self {
            booth: session.room.enter(&unique),
            session: Arc::clone(session),
            unique,
            calls: Vec::new(),
            sentinel: None,
            before: 0,
            props: Props::default(),
        }
    }

    /// The session of the conversation, as tags name it.
    pub fn session_id(&self) -> String {
        format!("sess-{}", self.unique)
    }

    /// A `requestId` that no other call of any run has, with a telling beginning.
    pub fn request_id(&self, prefix: &str) -> String {
        format!("{prefix}-{}{}", self.calls.len() + 1, self.unique)
    }

    /// A call of a tool with an input that it takes.
    pub fn usual_call(&self, tool: &str) -> Call {
        let word = format!("word-{}", self.unique);
        let words = [
            ("message", Value::from(word.clone())),
            ("expression", json!("6 * 7")),
            ("seconds", json!(1)),
            ("limit", json!(10)),
            ("tag", Value::from(format!("tag-{}", self.unique))),
            ("schema_name", json!("memo.v1")),
            ("title", Value::from(format!("Pump log {}", self.unique))),
            ("tags", json!(["memo", format!("tag-{}", self.unique)])),
            ("context", json!({"text": word})),
        ];
        let input = filled(&self.session.table.inputs.template(tool, None), &words);
        Call::new(tool, input, self.request_id(tool))
    }

    /// Everything that was sent and received.
    pub fn frames(&self) -> Vec<Frame> {
        self.booth.transcript.frames()
    }

    /// An invocation with these requests (Universal Tool Invocation L5-26), as it is stored.
    pub fn invocation(&self, requests: &Value) -> Value {
        json!({
            "schema_name": INVOCATION, "title": "Response",
            "tags": ["agent:response", format!("session:{}", self.session_id())],
            "context": {"message": "One moment.", "tool_requests": requests},
        })
    }

    /// Stores a breadcrumb for the target.
    ///
    /// # Errors
    /// Why it does not get there.
    pub async fn put(&self, body: Value) -> Result<(), String> {
        self.session.door.put(&self.session.room, &self.booth, body).await.map(|_| ())
    }

    /// Makes the calls that were prepared, in one message.
    pub async fn make(&mut self) -> Result<(), String> {
        self.before = self.booth.transcript.seen();
        let now = Instant::now();
        self.calls.iter_mut().for_each(|call| call.asked = Some(now));
        let calls = self.calls.clone();
        self.ask(&calls).await
    }

    /// Asks for calls, in one message where the runner takes invocations.
    async fn ask(&self, calls: &[Call]) -> Result<(), String> {
        let runner = &self.session.runner;
        if runner.dispatch == Dispatch::Agent {
            return self.put(self.invocation(&calls.iter().map(Call::request).collect())).await;
        }
        for call in calls {
            let mut tags = runner.request_tags.clone();
            tags.push(format!("session:{}", self.session_id()));
            let title = format!("Tool Request: {}", call.tool());
            let body =
                json!({"schema_name": REQUEST, "title": title, "tags": tags, "context": call.single()});
            self.put(body).await?;
        }
        Ok(())
    }

    /// Waits until all calls are answered, or until the deadline of the slowest has passed.
    pub async fn wait(&self) {
        let deadline = self.calls.iter().map(|call| self.session.deadline(call)).max().unwrap_or_default();
        let calls = self.calls.clone();
        self.booth
            .transcript
            .wait(deadline, |frames| {
                calls.iter().all(|call| Answer::of(frames, call).is_some()).then_some(())
            })
            .await;
    }

    /// Makes a harmless call on the same path, waits for its answer, and then for what may still come.
    ///
    /// # Errors
    /// Why it does not get there.
    pub async fn prove_alive(&mut self) -> Result<(), String> {
        let mut sentinel = self.session.sentinel(&self.unique, "alive");
        let asked = Instant::now();
        sentinel.asked = Some(asked);
        self.ask(std::slice::from_ref(&sentinel)).await?;
        let own = sentinel.clone();
        let deadline = self.session.deadline(&sentinel);
        self.booth.transcript.wait(deadline, |frames| Answer::of(frames, &own).map(|_| ())).await;
        self.sentinel = Some(sentinel);
        tokio::time::sleep(self.session.pace.quiet_after(asked.elapsed())).await;
        Ok(())
    }

    /// Waits for what may still come, and shows that the runner is alive.
    pub async fn quiet(&mut self, at_least: Duration) -> Result<(), String> {
        let began = Instant::now();
        self.prove_alive().await?;
        tokio::time::sleep(at_least.saturating_sub(began.elapsed())).await;
        Ok(())
    }
}
