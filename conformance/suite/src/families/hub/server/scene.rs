//! One scenario with a Hub: its exchanges, and what they refer to.
//!
//! What a scene does is send and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::client::Request;
use super::provider::{Provider, ProviderFault};
use super::reply::Reply;
use super::session::{HubSession, RECOVERY, RETRY};
use crate::engine::judge::CheckFailure;
use crate::families::hub::contract;
use crate::families::hub::contract::Subjects;
use crate::families::hub::manifest::Customer;
use crate::net::http_client::Caller;
use crate::transcript::{self, Frame, Transcript};

/// Requests until a limit is hit, where the manifest does not say how many there may be.
pub(super) const UNTIL_LIMITED: u32 = 25;
/// Tries of what should be executed.
const MAX_TRIES: u32 = 40;

/// How a mail that is there is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The member in which it says so.
    pub member: &'static str,
    /// What stands in it.
    pub text: String,
}

impl Known {
    /// The search that finds it.
    pub fn query(&self) -> String {
        format!("{}:{}", self.member, self.text)
    }
}

/// The state of one scenario.
pub struct Scene {
    /// The run's session.
    pub session: Arc<HubSession>,
    /// Who asks.
    pub agent: Caller,
    /// Whose credentials are used.
    pub customer: Customer,
    /// Stands in every text of the scenario.
    pub unique: String,
    /// What inputs refer to.
    pub subjects: Subjects,
    /// Whether the event of `subjects` is the one that is meant.
    pub has_event: bool,
    /// Whether the message and the thread of `subjects` are those that are meant.
    pub has_message: bool,
    /// A mail that a search must find.
    pub known: Known,
    /// How what the scenario asks of the provider fails. No wait will change that it is asked too often.
    pub refused_with: Option<ProviderFault>,
    /// The request that is being prepared.
    pub draft: Option<Request>,
    /// Numbers of the exchanges under test, the last one first in mind.
    pub made: Vec<u64>,
    /// Number of the harmless exchange after one that must be refused.
    pub sentinel: Option<u64>,
    /// Of two tries with a token that had expired, whether the Hub refreshed it: behind its answer, or for a request that
    /// only reads.
    pub refreshed: [bool; 2],
}

impl Scene {
    /// A scene with a Hub and nothing else in it.
    pub fn new(
        session: &Arc<HubSession>,
        customer: Customer,
        scenario: &str,
        transcript: Arc<Transcript>,
    ) -> Self {
        let unique = session.unique(scenario);
        if let Some(provider) = &session.provider {
            provider.follow(&unique, &unique, &transcript);
        }
        Self {
            agent: Caller { scenario: unique.clone(), transcript },
            subjects: session.subjects(&format!("Überblick & review {unique}"), scenario),
            session: Arc::clone(session),
            customer,
            has_event: false,
            has_message: false,
            known: match &session.fixtures.sender {
                Some(sender) => Known { member: "from", text: sender.clone() },
                None => Known { member: "subject", text: unique.clone() },
            },
            refused_with: None,
            draft: None,
            made: Vec::new(),
            sentinel: None,
            refreshed: [false; 2],
            unique,
        }
    }

    /// Prepares a full request. What it refers to is made first, where it must be there.
    ///
    /// # Errors
    /// There is nothing that it can refer to.
    pub async fn prepare(&mut self, tool: &str) -> Result<(), CheckFailure> {
        match tool {
            "calendar_update_event" | "calendar_delete_event" if !self.has_event => self.need_event().await?,
            "email_read" => self.need_message().await?,
            "email_check_replies" => self.need_thread().await?,
            _ => {}
        }
        let inputs = contract::full_inputs(tool, &self.subjects);
        self.draft = Some(self.session.request(tool, self.customer, &inputs));
        Ok(())
    }

    /// Has the Hub make an event. A stub may have none to make; it is asked for that of the manifest.
    pub async fn need_event(&mut self) -> Result<(), CheckFailure> {
        self.has_event = true;
        let inputs = contract::full_inputs("calendar_create_event", &self.subjects);
        match self.made_id("calendar_create_event", &inputs, "event_id").await {
            Ok(id) => self.subjects.event_id = id,
            Err(_) if self.session.table.stub => {}
            Err(reason) => {
                return Err(CheckFailure::NotObserved(format!("there is no event to look at: {reason}")));
            }
        }
        Ok(())
    }

    /// Finds a message: that of the manifest, one that a search gives, or one that is sent.
    async fn need_message(&mut self) -> Result<(), CheckFailure> {
        if self.has_message || self.session.fixtures.message_id.is_some() || self.session.table.stub {
            return Ok(());
        }
        let search = json!({"query": self.subjects.query, "max_results": 1, "include_body": false});
        if let Ok(id) = self.made_id("email_search", &search, "messages/0/message_id").await {
            self.subjects.message_id = id;
            return Ok(());
        }
        let mail = contract::full_inputs("email_send", &self.subjects);
        match self.made_id("email_send", &mail, "message_id").await {
            Ok(id) => self.subjects.message_id = id,
            Err(reason) => {
                return Err(CheckFailure::NotObserved(format!("there is no message to read: {reason}")));
            }
        }
        Ok(())
    }

    /// Finds a thread: that of the manifest, or that of a message that is sent.
    async fn need_thread(&mut self) -> Result<(), CheckFailure> {
        if self.has_message || self.session.fixtures.thread_id.is_some() || self.session.table.stub {
            return Ok(());
        }
        let mail = contract::full_inputs("email_send", &self.subjects);
        match self.made_id("email_send", &mail, "thread_id").await {
            Ok(id) => self.subjects.thread_id = id,
            Err(reason) => {
                return Err(CheckFailure::NotObserved(format!("there is no thread to look at: {reason}")));
            }
        }
        Ok(())
    }

    /// Sends a mail that a search finds by the scenario's mark, where the manifest names none that is there.
    pub async fn need_known_mail(&mut self) -> Result<(), CheckFailure> {
        if self.session.fixtures.sender.is_some() {
            return Ok(());
        }
        let mail = contract::full_inputs("email_send", &self.subjects);
        match self.made_id("email_send", &mail, "message_id").await {
            Ok(_) => Ok(()),
            Err(reason) => {
                Err(CheckFailure::NotObserved(format!("there is no mail to search for: {reason}")))
            }
        }
    }

    /// The address from which the manifest's message with an attachment came.
    ///
    /// # Errors
    /// The message does not say so.
    pub async fn sender_of_the_attachment(&mut self) -> Result<String, CheckFailure> {
        let inputs =
            json!({"message_id": self.session.fixtures.message_with_attachment_id, "mark_as_read": false});
        match self.made_id("email_read", &inputs, "from").await {
            Ok(from) => {
                Ok(from.rsplit('<').next().unwrap_or_default().trim_end_matches(['>', ' ']).to_owned())
            }
            Err(reason) => {
                Err(CheckFailure::NotObserved(format!("there is no sender to search for: {reason}")))
            }
        }
    }

    /// Deletes the event.
    ///
    /// # Errors
    /// It could not be deleted.
    pub async fn delete_event(&mut self) -> Result<(), CheckFailure> {
        let inputs = contract::full_inputs("calendar_delete_event", &self.subjects);
        let request = self.session.request("calendar_delete_event", self.customer, &inputs);
        let call = self.session.exchange(&self.agent, &request).await;
        self.agent.transcript.with(|frames| match Reply::of(frames, call) {
            Some(reply) if reply.is_executed() => Ok(()),
            Some(reply) => {
                let is_absent = self.session.lacks(&reply);
                let summary = if is_absent { super::session::absent(reply.tool()) } else { reply.summary() };
                Err(CheckFailure::NotObserved(format!("the event was not deleted: {summary}")))
            }
            None => Err(CheckFailure::NotObserved("the event was not deleted".to_owned())),
        })
    }

    /// Executes a tool before the exchange under test, and takes an id from its result.
    async fn made_id(&mut self, tool: &str, inputs: &Value, pointer: &str) -> Result<String, String> {
        let request = self.session.request(tool, self.customer, inputs);
        let began = Instant::now();
        let call = loop {
            let call = self.session.exchange(&self.agent, &request).await;
            let has_failed = || self.session.provider.as_ref().is_some_and(|provider| provider.has_failed());
            let may_recover = || began.elapsed() < RECOVERY && has_failed();
            if !self.is_external_error(call)
                || !self.agent.transcript.record_external("may recover", may_recover)
            {
                break call;
            }
            transcript::sleep_unless_replaying(RETRY).await;
        };
        let pointer = format!("/{pointer}");
        self.agent.transcript.with(|frames| {
            let reply = Reply::of(frames, call).ok_or("it was not sent")?;
            let id = reply.body().get("result").and_then(|result| result.pointer(&pointer));
            match id.and_then(Value::as_str).filter(|id| !id.is_empty() && reply.is_executed()) {
                Some(id) => Ok(id.to_owned()),
                None if self.session.lacks(&reply) => Err(super::session::absent(tool)),
                None => Err(format!("`{tool}` gives no `{}`: {}", &pointer[1..], reply.summary())),
            }
        })
    }

    fn is_external_error(&self, call: u64) -> bool {
        self.agent.transcript.with(|frames| {
            Reply::of(frames, call).is_some_and(|reply| reply.code() == Some(contract::EXTERNAL_API_ERROR))
        })
    }

    /// Sends a request that is not under test.
    pub async fn exchange(&self, request: &Request) {
        self.session.exchange(&self.agent, request).await;
    }

    /// Sends the request under test. A customer who is soon limited is asked until it is.
    pub async fn send(&mut self, request: &Request) -> u64 {
        if self.customer == Customer::Limited {
            self.send_until_limited(request).await;
            return self.made.last().copied().unwrap_or_default();
        }
        let call = if self.refused_with == Some(ProviderFault::Status(429)) {
            self.session.client.send(&self.agent, request, self.session.timeouts.answer).await
        } else {
            self.session.exchange(&self.agent, request).await
        };
        self.made.push(call);
        call
    }

    /// Sends the request just after the access token of its customer has expired. Where it is not executed, one that only
    /// reads is sent in the same way: it shows whether the Hub refreshes a token that is refused.
    pub async fn send_expired(&mut self, provider: &Provider, request: &Request) {
        let [calendar, mail] = self.session.known();
        let tool = if request.tool.starts_with("calendar_") { calendar } else { mail };
        let reads = self.session.sentinel_of(tool, self.customer);
        let before = self.served(&reads).await;
        if !self.is_executed(before) {
            self.made.push(before);
            return;
        }
        // Twice, since a Hub may happen to refresh all tokens just then.
        for turn in 0..self.refreshed.len() {
            let (call, own) = self.exchange_expired(provider, request).await;
            self.made.push(call);
            if self.is_executed(call) {
                return;
            }
            let (after, other) = self.exchange_expired(provider, &reads).await;
            self.sentinel = Some(after);
            self.refreshed[turn] = own || other && self.is_executed(after);
        }
    }

    /// Makes an exchange with an access token that has just expired, and says whether it was refreshed.
    async fn exchange_expired(&self, provider: &Provider, request: &Request) -> (u64, bool) {
        let granted = || provider.grants(self.customer);
        let before = self.agent.transcript.record_external("granted before", || {
            provider.expire();
            granted()
        });
        let call = self.session.exchange(&self.agent, request).await;
        if !self.is_executed(call) {
            // It may be refreshed behind the answer.
            transcript::sleep_unless_replaying(self.session.timeouts.settle_window).await;
        }
        (call, self.agent.transcript.record_external("granted", granted) > before)
    }

    /// Makes an exchange that should be executed, and once more for as long as the Hub may recover from a failure.
    async fn served(&self, request: &Request) -> u64 {
        let began = Instant::now();
        let mut tries = 0;
        loop {
            let call = self.session.exchange(&self.agent, request).await;
            tries += 1;
            let patience = if self.is_external_error(call) { RECOVERY } else { RETRY * 3 };
            let may_recover = || began.elapsed() < patience;
            if self.is_executed(call)
                || tries > MAX_TRIES
                || !self.agent.transcript.record_external("may recover", may_recover)
            {
                return call;
            }
            transcript::sleep_unless_replaying(RETRY).await;
        }
    }

    fn is_executed(&self, call: u64) -> bool {
        self.agent.transcript.with(|frames| Reply::of(frames, call).is_some_and(|reply| reply.is_executed()))
    }

    /// Sends a request that must be refused, and after it one that shows that the Hub is alive.
    pub async fn send_bad(&mut self, request: &Request) {
        let call = self.session.exchange(&self.agent, request).await;
        self.made.push(call);
        self.send_sentinel(&request.tool).await;
    }

    /// Sends a good request, on the same connection one that must be refused, and one that shows that the Hub is alive.
    pub async fn send_on_one_connection(&mut self, [good, bad]: [&Request; 2]) {
        let (client, deadline) = (&self.session.client, self.session.timeouts.answer);
        let mut call = client.send_on_one_connection(&self.agent, [good, bad], deadline).await;
        // A Hub may close a connection after any answer and not say so.
        let is_lost = |frames: &[Frame]| Reply::of(frames, call).is_none_or(|reply| reply.answer.is_none());
        if self.agent.transcript.with(is_lost) {
            call = self.session.exchange(&self.agent, bad).await;
        }
        self.made.push(call);
        self.send_sentinel(&bad.tool).await;
    }

    /// Sends a valid request: one of the same tool where that needs an id, since such a tool may refuse all of them.
    async fn send_sentinel(&mut self, tool: &str) {
        let by_id = ["calendar_update_event", "calendar_delete_event", "email_read", "email_check_replies"];
        let mut sentinel = self.session.sentinel(self.customer);
        if by_id.contains(&tool) && !self.session.table.stub {
            // The event of the scenario may be gone.
            self.has_event = false;
            let draft = self.draft.take();
            if self.prepare(tool).await.is_ok() {
                sentinel = self.draft.take().unwrap_or(sentinel);
            }
            self.draft = draft;
        }
        self.sentinel = Some(self.session.exchange(&self.agent, &sentinel).await);
    }

    /// Sends a search that finds nothing, and after it one for a mail that is there.
    pub async fn search_both(&mut self, request: &Request) {
        let call = self.session.exchange(&self.agent, request).await;
        self.made.push(call);
        if self.need_known_mail().await.is_ok() {
            let search = json!({"query": self.known.query(), "max_results": 5, "include_body": false});
            let known = self.session.request("email_search", self.customer, &search);
            self.sentinel = Some(self.session.exchange(&self.agent, &known).await);
        }
    }

    /// Sends the request again and again until a limit is hit.
    async fn send_until_limited(&mut self, request: &Request) {
        let declared = self.session.table.rate_limit.map(|limit| limit.calls.saturating_add(2));
        for _ in 0..declared.unwrap_or(UNTIL_LIMITED) {
            let call = self.session.client.send(&self.agent, request, self.session.timeouts.answer).await;
            self.made.push(call);
            let is_over = self.agent.transcript.with(|frames| {
                Reply::of(frames, call).is_none_or(|reply| reply.is_limited() || reply.answer.is_none())
            });
            if is_over {
                return;
            }
        }
    }

    /// Everything that was sent and received.
    pub fn frames(&self) -> Vec<Frame> {
        self.agent.transcript.frames()
    }
}

/// The inputs of an execute request.
pub fn inputs(request: &mut Request) -> Option<&mut Map<String, Value>> {
    request.body.get_mut("inputs")?.as_object_mut()
}
