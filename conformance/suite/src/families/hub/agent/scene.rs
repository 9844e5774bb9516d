//! One scenario with an agent: its ids, its calls, and the I/O around them.
//!
//! What a scene does is drive and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::call::{Call, Choice};
use super::driver::{DriverResponse, Unanswered};
use super::judge::Made;
use super::judge::{CHAT, DRIVEN_BY, LOST};
use super::mock::script::{Script, ScriptAnswer};
use super::model::Conversation;
use super::observed::task_text;
use super::router::{PAGES, ScenarioChannel};
use super::session::AgentSession;
use crate::engine::by_hand::{ByHand, body_text, quoted};
use crate::net::wire::STATUS;
use crate::transcript;
use crate::transcript::{Frame, Kind, Transcript, lock};

/// Deadlines of an answer to a call that fails: agents may try again, and wait a little before it.
const PATIENCE: u32 = 4;
/// A process that exits is gone by then.
const TO_END: Duration = Duration::from_millis(250);

/// The state of one scenario.
pub(super) struct Scene {
    pub session: Arc<AgentSession>,
    pub scenario_channel: Arc<ScenarioChannel>,
    pub customer_id: String,
    pub call: Option<Call>,
    /// The calls that were made, in order.
    pub made: Vec<Made>,
    /// Which of them is under test.
    pub subject: usize,
    turn: Option<OwnedSemaphorePermit>,
    patience: u32,
    /// Whether an input of the call is another than usual.
    pub(super) is_varied: bool,
}

impl Scene {
    /// Waits for its turn and comes in.
    pub(super) async fn enter(
        session: &Arc<AgentSession>,
        scenario: &str,
        transcript: Arc<Transcript>,
    ) -> Self {
        let unique = session.unique(scenario);
        let scenario_channel =
            Arc::new(ScenarioChannel::of(unique.clone(), session.mark(scenario), transcript));
        let turn = session.turn(&scenario_channel).await;
        Self {
            session: Arc::clone(session),
            customer_id: session.customer(&unique),
            scenario_channel,
            call: None,
            made: Vec::new(),
            subject: 0,
            turn,
            patience: 1,
            is_varied: false,
        }
    }

    /// Messages so far.
    pub(super) fn frames(&self) -> Vec<Frame> {
        self.scenario_channel.transcript.frames()
    }

    /// Where the page of the scenario is.
    pub(super) fn page(&self) -> String {
        format!("{}{PAGES}{}", self.session.hub_url(), self.scenario_channel.unique)
    }

    /// A call of the manifest's tool; nothing where it names none.
    pub(super) fn prepare(&self, choice: Choice) -> Option<Call> {
        self.session.usual_call(choice, &self.scenario_channel.unique, &self.page())
    }

    /// The call with a text that no other call of the scenario has: an agent need not send the same mail twice.
    pub(super) fn unlike_others(&self, mut call: Call) -> Call {
        let number = self.made.len() + 1;
        let named = ["subject", "title", "query"].into_iter().find(|name| call.inputs[*name].is_string());
        if let Some(name) = named {
            let text = call.inputs[name].as_str().unwrap_or_default();
            call.inputs[name] = Value::from(format!("{text} ({number})"));
        }
        call
    }

    /// From now on the Hub answers calls of `tool`, or everything, like this.
    pub(super) fn hub_answers(&mut self, tool: Option<&str>, answer: ScriptAnswer) {
        *lock(&self.scenario_channel.script) = Script::of(tool, answer);
        self.patience = PATIENCE;
    }

    /// From now on the Hub answers as it should.
    pub(super) fn hub_recovers(&mut self) {
        *lock(&self.scenario_channel.script) = Script::default();
    }

    /// Makes a call, for another customer than the scenario's if one is named, and waits for its outcome.
    pub(super) async fn make(&mut self, call: Call, customer_id: Option<&str>) {
        let number = u32::try_from(self.made.len()).unwrap_or(u32::MAX).saturating_add(1);
        let customer_id = customer_id.unwrap_or(&self.customer_id).to_owned();
        let made = Made { call, customer_id, number };
        let deadline = self.session.timeouts.answer * self.patience;
        // What does not come is for the judgement to report.
        let _ = drive(&self.session, &self.scenario_channel, &made, deadline).await;
        self.made.push(made);
    }

    /// Lets others have their turn.
    pub(super) fn rest(&mut self) {
        self.session.router.rest(&self.scenario_channel);
        self.turn = None;
    }

    /// Waits for what must not come. Others have their turns meanwhile.
    pub(super) async fn listen(&mut self) {
        self.rest();
        transcript::sleep_unless_replaying(self.session.timeouts.settle_window).await;
    }

    /// As [`Scene::listen`], for what may come much later.
    pub(super) async fn listen_long(&mut self) {
        self.rest();
        transcript::sleep_unless_replaying(self.session.timeouts.late).await;
    }

    /// Time in which an agent ends that means to. Nobody else has a turn meanwhile.
    pub(super) async fn pause(&self) {
        transcript::sleep_unless_replaying(self.session.timeouts.settle_window.max(TO_END)).await;
    }

    /// Waits whether the agent ends: one that did not take the call may be about to.
    pub(super) async fn ended(&self) -> Option<String> {
        let looks = async {
            let began = Instant::now();
            loop {
                let ended = self.session.ended();
                if ended.is_some() || began.elapsed() > TO_END {
                    return ended;
                }
                tokio::time::sleep(TO_END / 10).await;
            }
        };
        self.scenario_channel.transcript.record_external_async("ended", looks).await
    }

    /// How a call is made by hand.
    pub(super) fn by_hand(&self) -> Option<ByHand> {
        self.made.get(self.subject)?;
        let (before, after) =
            self.scenario_channel.transcript.record_external("by hand", || self.session.driver.by_hand());
        Some(ByHand::new(move |_, frame| format!("{before}{}{after}", quoted(&body_text(&frame.body)))))
    }
}

/// What is sent to the agent.
fn body(session: &AgentSession, scenario_channel: &ScenarioChannel, made: &Made) -> Value {
    let Made { call: Call { tool, inputs, user_id }, customer_id, .. } = made;
    let conversation_id = session.named(&format!("conv-{}", scenario_channel.unique));
    if !session.driver.is_chat() {
        return json!({"tool": tool, "inputs": inputs, "customer_id": customer_id, "user_id": user_id,
                      "conversation_id": conversation_id});
    }
    let mut body = json!({"message": task_text(tool, inputs), "conversation_id": conversation_id});
    if session.table.customer_id.is_none() {
        body["customer_id"] = Value::from(customer_id.clone());
        body["user_id"] = Value::from(user_id.clone());
    }
    body
}

/// Carries one call to the agent and writes down what comes of it.
///
/// # Errors
/// Why nothing came; that is written down too.
pub(super) async fn drive(
    session: &AgentSession,
    scenario_channel: &ScenarioChannel,
    made: &Made,
    deadline: Duration,
) -> Result<DriverResponse, Unanswered> {
    // Before it is written down, so that what is measured from there has no waiting in it.
    let _turn = session.outbound.turn().await;
    let (driver, router) = (&session.driver, &session.router);
    {
        let Call { tool, inputs, .. } = &made.call;
        let mut now = lock(&scenario_channel.now);
        now.call = made.number;
        now.tool.clone_from(tool);
        let id = session.named(&format!("call_{}_{}", scenario_channel.unique, made.number));
        now.conversation = driver.is_chat().then(|| Conversation::new(id, tool.clone(), inputs.clone()));
    }
    let body = body(session, scenario_channel, made);
    let Some(sent) = router.send(scenario_channel, Kind::Drive, driver.channel(), body, None) else {
        return Err(Unanswered::Failed("the call was lost".to_owned()));
    };
    let answer = driver.drive(&sent.body, deadline).await;
    if answer.is_err() {
        scenario_channel.transcript.note_silence();
    }
    let status = answer.as_ref().ok().and_then(|answer| answer.status).map(|status| status.to_string());
    let brought =
        lock(&scenario_channel.now).conversation.take().and_then(|conversation| conversation.outcome);
    let (status, body) = match (&answer, driver.is_chat(), brought) {
        (answer, true, Some(outcome)) => {
            let reply = answer.as_ref().map_or(Value::Null, |answer| answer.body.clone());
            (status, json!({"outcome": outcome, "reply": reply}))
        }
        (Ok(answer), true, None) => {
            let why = "the model was not sent what came of the tool call";
            (Some(LOST.to_owned()), json!({"lost": why, "reply": answer.body}))
        }
        (Ok(answer), false, _) => (status, answer.body.clone()),
        (Err(why), ..) => (Some(LOST.to_owned()), Value::from(why.to_string())),
    };
    let mut headers = Vec::new();
    headers.extend(status.as_deref().map(|status| (STATUS, status)));
    headers.extend(driver.is_chat().then_some((DRIVEN_BY, CHAT)));
    router.record_incoming(scenario_channel, Kind::Outcome, driver.channel(), body, &headers);
    answer
}
