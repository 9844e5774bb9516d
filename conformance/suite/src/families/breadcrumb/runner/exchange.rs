//! What a scene does beyond making its calls: odd messages, what is stored beforehand, and what is looked for afterwards.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Answer;
use super::call::{Call, filled};
use super::judge::request as judge;
use super::judge::routing::Audience;
use super::scene::Scene;
use super::session::RunnerSession;
use crate::families::breadcrumb::crumb::{CONFIG, INVOCATION};
use crate::transcript::Frame;

/// How long an answer may come twice.
const TWICE: Duration = Duration::from_secs(1);
/// Between two changes of a breadcrumb whose calls were answered: longer than changes are usually taken for one.
const LATER: Duration = Duration::from_millis(1_200);
/// How often calls that wait are made, where they seem to be executed in turn.
const TRIES: u32 = 3;
/// Seconds that a timer is asked to wait; less behind a mutating wire, where many runs are made.
const SECONDS: u64 = 1;
const FEWER_SECONDS: f64 = 0.4;

impl RunnerSession {
    /// Seconds that a timer is asked to wait.
    pub fn seconds(&self) -> Value {
        if self.is_patient() { json!(SECONDS) } else { json!(FEWER_SECONDS) }
    }

    /// Steps of a workflow that does one thing.
    pub fn steps(&self, word: &str) -> Value {
        let has = |tool: &&str| self.table.catalog.contains(*tool);
        let usual = ["echo", "calculator", "random", "breadcrumb-search", "timer"].into_iter().find(has);
        let (tool, input) = match (usual, self.table.extra.iter().next()) {
            (None, Some((tool, extra))) => (tool.as_str(), extra.input.clone()),
            (usual, _) => {
                let words = [
                    ("message", Value::from(word)),
                    ("expression", json!("6 * 7")),
                    ("seconds", self.seconds()),
                    ("tag", Value::from(word)),
                    ("limit", json!(10)),
                ];
                let tool = usual.unwrap_or("echo");
                (tool, filled(&self.table.inputs.template(tool, None), &words))
            }
        };
        json!([{"id": "one", "tool": tool, "input": input}])
    }

    /// Whether a harmless call was answered with its own tool's work.
    pub fn is_served(frames: &[Frame], call: &Call) -> bool {
        Answer::any(frames, call).iter().any(|answer| Self::is_own_work(call, answer))
    }

    /// Who sees what of a call of the scenario with this mark: those in the session in which it is made.
    pub fn audience(&self, unique: &str, call: &Call) -> Audience<'_> {
        Audience {
            user: &self.runner.user_view,
            agent: &self.runner.agent_view,
            session: self.session_tag_of(unique, std::slice::from_ref(call)),
            has_agent: self.store_access.contents().is_none(),
        }
    }

    /// The tag of the conversation in which these calls are made.
    pub(super) fn session_tag_of(&self, unique: &str, calls: &[Call]) -> String {
        if calls.iter().any(|call| call.is_in_another_session) {
            return self.session_tag(&format!("{unique}-another"));
        }
        self.session_tag(unique)
    }

    /// How long is waited for an answer to come once more.
    pub fn window(&self) -> Duration {
        if self.is_patient() { TWICE } else { self.timeouts.settle_window * 2 }
    }
}

impl Scene {
    /// A harmless call, of a tool that the target has.
    pub fn harmless(&self) -> Call {
        self.session.sentinel(&self.unique, &format!("word{}", self.calls.len() + 1))
    }

    /// Makes the calls that were prepared, each in a message of its own.
    pub async fn make_each(&mut self) -> Result<(), String> {
        let all = std::mem::take(&mut self.calls);
        let mut made = Vec::new();
        for call in all {
            self.calls = vec![call];
            self.make().await?;
            self.wait().await;
            made.append(&mut self.calls);
        }
        self.calls = made;
        Ok(())
    }

    /// Makes the calls that were prepared, those of each session in a message of their own, the second message while the
    /// first is still worked on.
    pub async fn make_in_sessions(&mut self) -> Result<(), String> {
        self.mark_as_sent();
        let (there, here): (Vec<Call>, Vec<Call>) =
            self.calls.iter().cloned().partition(|call| call.is_in_another_session);
        for calls in [here, there] {
            self.ask(&calls).await?;
        }
        // One after the other they take the sum of their times.
        let deadline = self.calls.iter().map(|call| self.session.deadline(call)).sum();
        self.wait_for(deadline).await;
        Ok(())
    }

    /// Makes calls between two signs of life. Odd ones may be left unanswered, failing ones are waited for.
    pub async fn make_between(&mut self, is_answered: bool) -> Result<(), String> {
        self.call_sentinel().await?;
        self.make().await?;
        if is_answered {
            self.wait().await;
        }
        self.prove_alive().await
    }

    /// Makes calls that wait, again where a busy machine may have held them up.
    pub async fn make_side_by_side(&mut self) -> Result<(), String> {
        for attempt in 1..=TRIES {
            if attempt > 1 {
                for call in &mut self.calls {
                    call.request_id = call.request_id.take().map(|id| format!("{id}-{attempt}"));
                }
            }
            self.make().await?;
            // In turn they take the sum of their times.
            let deadline = self.calls.iter().map(|call| self.session.deadline(call)).sum();
            self.wait_for(deadline).await;
            if judge::side_by_side(&self.frames(), &self.calls, &self.sentinels, self.slack()).is_ok() {
                return Ok(());
            }
            // What a call takes just now that does not wait.
            self.prove_alive().await?;
        }
        Ok(())
    }

    /// What an answer takes beside the work.
    pub fn slack(&self) -> Duration {
        self.session.timeouts.settle_window / 2
    }

    /// Stores the requests in a breadcrumb of another schema, between two signs of life.
    pub async fn put_under(&mut self, schema: &str) -> Result<(), String> {
        self.call_sentinel().await?;
        let mut body = self.invocation(&self.calls.iter().map(Call::request).collect());
        body["schema_name"] = Value::from(schema);
        self.put(body).await?;
        self.mark_as_sent();
        self.prove_alive().await
    }

    /// Stores an invocation with these `tool_requests`, or without, between two signs of life.
    pub async fn say(&mut self, requests: Option<Value>) -> Result<(), String> {
        self.call_sentinel().await?;
        let mut context = json!({"message": "That is all."});
        if let Some(requests) = requests {
            context["tool_requests"] = requests;
        }
        let tags = json!(["agent:response", self.session_tag()]);
        let title = self.session.named("Response");
        self.put(json!({"schema_name": INVOCATION, "title": title, "tags": tags, "context": context}))
            .await?;
        self.prove_alive().await
    }

    /// Makes the calls, and when they are answered changes the title of what they stand in, at once and some time later;
    /// waits each time for what may come of that.
    pub async fn make_and_change(&mut self) -> Result<(), String> {
        let ids = self.make().await?;
        self.wait().await;
        let window = self.session.window();
        for (state, pause) in [("put right", window.max(LATER)), ("put away", window)] {
            for id in &ids {
                let session = &self.session;
                let title = session.named(&format!("Response of {}, {state}", self.unique));
                let changes = json!({"title": title});
                session.store_access.change(&session.router, &self.scenario_channel, id, changes)?;
            }
            self.wait_settle_window(pause).await?;
        }
        Ok(())
    }

    /// Makes a call of the first one's tool whose result goes to the user, and waits until it is there.
    pub async fn show_another(&mut self) -> Result<(), String> {
        let tool = self.calls.first().map_or("echo", Call::tool).to_owned();
        let mut call = self.usual_call(&tool);
        call.return_to_llm = Some(false);
        self.calls.push(call);
        let last = self.calls.len() - 1;
        self.ask(&self.calls[last..]).await?;
        let deadline = self.session.deadline(&self.calls[last]);
        let audience = self.session.audience(&self.unique, &self.calls[last]);
        self.scenario_channel
            .transcript
            .wait(deadline, |frames| audience.shows(frames, &self.calls[last]).then_some(()))
            .await;
        self.prove_alive().await
    }

    /// Keeps a breadcrumb for the tools; its id.
    pub async fn keep_memo(&self) -> Result<String, String> {
        let (tags, title) = (json!(["memo", self.tag()]), self.memo_title());
        self.store(
            &json!({"schema_name": "memo.v1", "title": title, "tags": tags, "context": {"text": "ok"}}),
        )
        .await
    }

    /// Keeps a configuration without any key; its id.
    pub async fn keep_plain_config(&self, tool: &str) -> Result<String, String> {
        let words = [("tool", Value::from(tool)), ("model", json!("m-quartz")), ("custom", json!(17))];
        let template = without_keys(&self.session.tools.config.template());
        let title = self.session.named(&format!("Configuration of {tool} {}", self.unique));
        let tags = json!(["tool:config", "workspace:tools"]);
        let body = json!({"schema_name": CONFIG, "title": title, "tags": tags, "context": filled(&template, &words)});
        self.store(&body).await
    }

    fn mark_as_sent(&mut self) {
        let now = std::time::Instant::now();
        self.calls.iter_mut().for_each(|call| call.sent_at = Some(now));
    }
}

/// A template without members for keys.
fn without_keys(template: &Value) -> Value {
    let is_key =
        |value: &Value| value.as_str().is_some_and(|text| ["{secret_id}", "{api_key}"].contains(&text));
    match template {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(_, member)| !is_key(member))
                .map(|(name, member)| (name.clone(), without_keys(member)))
                .collect(),
        ),
        other => other.clone(),
    }
}
