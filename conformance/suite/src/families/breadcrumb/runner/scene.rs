//! One scenario with a tool runner: its session, its calls and what they brought.
//!
//! What a scene does is store and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::call::{Call, filled, product};
use super::fixtures::{Fixtures, MEMO_TITLE};
use super::judge::routing;
use super::session::RunnerSession;
use crate::families::breadcrumb::crumb::{INVOCATION, REQUEST};
use crate::families::breadcrumb::manifest::Dispatch;
use crate::families::breadcrumb::router::ScenarioChannel;
use crate::transcript;
use crate::transcript::{Frame, Transcript};

/// Tools that store something beside their answer.
const STORING: [&str; 3] = ["breadcrumb-create", "breadcrumb-update", "workflow"];
/// How far a record of a call may come ahead of its answer.
const RECORD_AHEAD: Duration = Duration::from_secs(1);

/// The state of one scenario.
pub struct Scene {
    /// The run's session.
    pub session: Arc<RunnerSession>,
    /// Its messages.
    pub scenario_channel: Arc<ScenarioChannel>,
    /// Stands in every id of the scenario.
    pub unique: String,
    /// The calls that are being prepared or were made, in order.
    pub calls: Vec<Call>,
    /// Harmless calls that show that the runner is alive, the latest last.
    pub sentinels: Vec<Call>,
    /// Frames that were there when the calls were made.
    pub before: usize,
    /// What it has beside its calls.
    pub fixtures: Fixtures,
}

impl Scene {
    /// A scene with a runner and nothing else in it.
    pub fn new(session: &Arc<RunnerSession>, scenario: &str, transcript: Arc<Transcript>) -> Self {
        let unique = session.unique(scenario);
        Self {
            scenario_channel: session.router.enter_with(&unique, transcript),
            session: Arc::clone(session),
            unique,
            calls: Vec::new(),
            sentinels: Vec::new(),
            before: 0,
            fixtures: Fixtures::default(),
        }
    }

    /// The tag of the conversation.
    pub fn session_tag(&self) -> String {
        self.session.session_tag(&self.unique)
    }

    /// A tag that no other scenario has.
    pub fn tag(&self) -> String {
        self.session.tag(&self.unique)
    }

    /// The title of what is stored for the scenario.
    pub fn memo_title(&self) -> String {
        self.session.named(&format!("{MEMO_TITLE}{}", self.unique))
    }

    /// A `requestId` that no other call of any run has, with a readable beginning.
    pub fn request_id(&self, tool: &str) -> String {
        self.session.named(&format!("{tool}-{}{}", self.calls.len() + 1, self.unique))
    }

    /// A call of a tool with an input that it takes.
    pub fn usual_call(&self, tool: &str) -> Call {
        let word = match self.calls.len() {
            0 => format!("word-{}", self.unique),
            earlier => format!("word-{}-{}", earlier + 1, self.unique),
        };
        let (expression, product) = product(self.calls.len());
        let sign = match tool {
            "echo" | "workflow" => Some(Value::from(word.clone())),
            "calculator" => Some(product),
            _ => None,
        };
        let words = [
            ("message", Value::from(word.clone())),
            ("expression", Value::from(expression)),
            ("seconds", self.session.seconds()),
            ("id", Value::from("")),
            ("version", json!(1)),
            ("steps", self.session.steps(&word)),
            ("limit", json!(10)),
            ("tag", Value::from(self.tag())),
            ("schema_name", json!("memo.v1")),
            ("title", Value::from(self.memo_title())),
            ("tags", json!(["memo", self.tag()])),
            ("context", json!({"text": word})),
        ];
        if let Some(extra) = self.session.table.extra.get(tool) {
            return Call::new(tool, extra.input.clone(), self.request_id(tool));
        }
        let input = filled(&self.session.table.inputs.template(tool, None), &words);
        let sign = sign.filter(|sign| {
            tool != "workflow" || sign.as_str().is_some_and(|word| input.to_string().contains(word))
        });
        Call { sign, ..Call::new(tool, input, self.request_id(tool)) }
    }

    /// Everything that was sent and received.
    pub fn frames(&self) -> Vec<Frame> {
        self.scenario_channel.transcript.frames()
    }

    /// An invocation with these requests (Universal Tool Invocation L5-26), as it is stored.
    pub fn invocation(&self, requests: &Value) -> Value {
        let mut context = json!({"message": "One moment.", "tool_requests": requests});
        if let Some(context) = context.as_object_mut().filter(|_| self.fixtures.is_wordless) {
            context.shift_remove("message");
        }
        json!({
            "schema_name": INVOCATION, "title": self.session.named("Response"),
            "tags": ["agent:response", self.session_tag()], "context": context,
        })
    }

    /// Stores a breadcrumb for the target; its id.
    ///
    /// # Errors
    /// Why it does not get there.
    pub async fn put(&self, body: Value) -> Result<Vec<String>, String> {
        let _turn = self.session.outbound.turn().await;
        self.put_in_turn(body).await
    }

    /// Stores a breadcrumb that makes calls, which are open until they are answered.
    async fn put_calls(&self, body: Value, calls: &[Call]) -> Result<Vec<String>, String> {
        let turn = self.session.outbound.turn().await;
        let ids = calls.iter().map(|call| call.id().to_owned()).collect();
        let within = calls.iter().map(|call| self.session.deadline(call)).max().unwrap_or_default();
        self.session.router.open_calls.hold(ids, turn, within);
        self.put_in_turn(body).await
    }

    async fn put_in_turn(&self, body: Value) -> Result<Vec<String>, String> {
        self.session.store_access.put(&self.session.router, &self.scenario_channel, body).await
    }

    /// Makes the calls that were prepared, in one message; the ids of the breadcrumbs that ask for them.
    pub async fn make(&mut self) -> Result<Vec<String>, String> {
        self.before = self.scenario_channel.transcript.seen();
        let now = Instant::now();
        self.calls.iter_mut().for_each(|call| call.sent_at = Some(now));
        let calls = self.calls.clone();
        self.ask(&calls).await
    }

    /// Asks for calls, in one message where the runner takes invocations.
    pub(in crate::families::breadcrumb) async fn ask(&self, calls: &[Call]) -> Result<Vec<String>, String> {
        let runner = &self.session.runner;
        if runner.dispatch == Dispatch::Agent {
            let mut invocation = self.invocation(&calls.iter().map(Call::request).collect());
            invocation["tags"] = json!(["agent:response", self.session.session_tag_of(&self.unique, calls)]);
            return self.put_calls(invocation, calls).await;
        }
        let mut ids = Vec::new();
        for call in calls {
            let mut tags = runner.request_tags.clone();
            tags.push(self.session.session_tag_of(&self.unique, std::slice::from_ref(call)));
            let title = self.session.named(&format!("Tool Request: {}", call.tool()));
            let body = json!({"schema_name": REQUEST, "title": title, "tags": tags, "context": call.single(runner.routes())});
            ids.append(&mut self.put_calls(body, std::slice::from_ref(call)).await?);
        }
        Ok(ids)
    }

    /// Waits until all calls are answered, or until the deadline of the slowest has passed.
    pub async fn wait(&self) {
        self.wait_for(self.calls.iter().map(|call| self.session.deadline(call)).max().unwrap_or_default())
            .await;
    }

    /// Waits until all calls are answered, or until a deadline has passed.
    pub async fn wait_for(&self, deadline: Duration) {
        self.scenario_channel
            .transcript
            .wait(deadline, |frames| {
                self.calls.iter().all(|call| self.is_settled(frames, call)).then_some(())
            })
            .await;
        // What looks like an answer may be a record that comes ahead of it.
        let is_strange = |frames: &[Frame], call: &Call| {
            Answer::of(frames, call).is_some_and(|answer| !answer.has_schema())
        };
        self.scenario_channel
            .transcript
            .linger(self.session.timeouts.settle_window.max(RECORD_AHEAD), |frames| {
                (!self.calls.iter().any(|call| is_strange(frames, call))).then_some(())
            })
            .await;
        // A store may report an answer ahead of what the tool has stored.
        if self.session.store_access.is_external()
            && self.calls.iter().any(|call| STORING.contains(&call.tool()))
        {
            transcript::sleep_unless_replaying(self.session.window()).await;
        }
    }

    /// Whether a call has had its answer: at the agent, or at the user where that is where it goes.
    fn is_settled(&self, frames: &[Frame], call: &Call) -> bool {
        if call.return_to_llm == Some(false) && self.session.runner.routes() {
            let audience = self.session.audience(&self.unique, call);
            return audience.shows(frames, call)
                || (call.sign.is_none() && audience.is_reported(frames, call));
        }
        // Where another session has a call of that id, its answer looks the same.
        Answer::of(frames, call).is_some()
            && (!answer::is_shared(frames, call) || routing::reaches_agent(frames, call).is_ok())
    }

    /// Makes a harmless call on the same path, waits for its answer, and then for what may still come.
    ///
    /// # Errors
    /// Why it does not get there.
    pub async fn prove_alive(&mut self) -> Result<(), String> {
        let took = self.call_sentinel().await?;
        transcript::sleep_unless_replaying(self.session.timeouts.settle_window_after(took)).await;
        Ok(())
    }

    /// Makes a harmless call, waits for its answer, and returns how long that took.
    ///
    /// # Errors
    /// Why it does not get there.
    pub async fn call_sentinel(&mut self) -> Result<Duration, String> {
        let mut sentinel = self.session.sentinel(&self.unique, &format!("alive{}", self.sentinels.len() + 1));
        let sent_at = Instant::now();
        sentinel.sent_at = Some(sent_at);
        self.ask(std::slice::from_ref(&sentinel)).await?;
        let deadline = self.session.deadline(&sentinel);
        self.scenario_channel
            .transcript
            .wait(deadline, |frames| RunnerSession::is_served(frames, &sentinel).then_some(()))
            .await;
        self.sentinels.push(sentinel);
        Ok(sent_at.elapsed())
    }

    /// Waits for what may still come, and shows that the runner is alive.
    pub async fn wait_settle_window(&mut self, at_least: Duration) -> Result<(), String> {
        let began = Instant::now();
        self.prove_alive().await?;
        transcript::sleep_unless_replaying(at_least.saturating_sub(began.elapsed())).await;
        Ok(())
    }
}
