//! Where sessions are run: each has a task of its own, so that they go side by side and the messages of one go one
//! after another.
//!
//! Answers find their session by `request_id`; each id is taken from the list with its first answer, so that a second
//! one, or one to another agent's request, finds none. Everything here is bounded: sessions, what waits for one,
//! and how long it is remembered when nothing happens in it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::config::{AgentConfig, AgentError, Deadlines};
use super::conversation::{Act, Conversation, Response};
use super::ids::IdGenerator;
use super::knowledge::{CATALOG, CONFIG, Knowledge, Known};
use super::model::{HttpModel, ModelClient};
use super::offer::functions;
use super::utterance::Utterance;
use crate::breadcrumb::client::{Breadcrumb, ListQuery, StoreClient};
use crate::log::Log;
use crate::sync::locked;

pub(super) const USER_MESSAGE: &str = "user.message.v1";
pub(super) const TOOL_RESPONSE: &str = "tool.response.v1";

/// How many sessions there may be at once.
const SESSIONS: usize = 1024;
/// How much may wait for a session.
const QUEUE: usize = 64;
/// How long a session is remembered in which nothing happens.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How many ids of users' messages are remembered.
const REMEMBERED: usize = 4096;
/// How many catalogues and configurations are read from the store.
const LISTED: u32 = 100;
/// How long sessions may take to end.
const END_DEADLINE: Duration = Duration::from_secs(5);

/// Where utterances go; the conversation is the same over every transport.
pub(super) trait OutputSink: Send + Sync {
    /// Sends it; the text of an error is for the log.
    fn send<'a>(&'a self, utterance: &'a Utterance) -> BoxFuture<'a, Result<(), String>>;
}

/// All sessions of an agent.
pub(super) struct SessionManager {
    shared: Arc<ManagerContext>,
    tasks: Mutex<JoinSet<()>>,
}

struct ManagerContext {
    model: Box<dyn ModelClient>,
    output: Arc<dyn OutputSink>,
    /// Where tools and configurations are looked up before each turn.
    store: Option<StoreClient>,
    knowledge: Mutex<Knowledge>,
    sessions: Mutex<Sessions>,
    ids: IdGenerator,
    deadlines: Deadlines,
    log: Log,
}

#[derive(Default)]
struct Sessions {
    running: HashMap<String, mpsc::Sender<Incoming>>,
    /// Which session waits for the answer to a request.
    open: HashMap<String, String>,
    seen: HashSet<String>,
    seen_order: VecDeque<String>,
}

/// Something for one session, and a channel to report that all that follows from it at once is done.
struct Incoming {
    input: Input,
    done: oneshot::Sender<()>,
}

enum Input {
    Message(String),
    Response(Response),
}

/// What a breadcrumb started.
pub(super) struct Started {
    /// In which session.
    pub(super) session: String,
    /// Ends, by value or by error, when the agent has spoken or has nothing more to do.
    pub(super) done: oneshot::Receiver<()>,
}

impl SessionManager {
    pub(super) fn new(
        config: AgentConfig,
        store: Option<StoreClient>,
        output: Arc<dyn OutputSink>,
    ) -> Result<Self, AgentError> {
        let model =
            HttpModel::new(&config.model_url, config.model, config.model_key, config.deadlines.model)?;
        Ok(Self::with_model(Box::new(model), store, output, config.deadlines, config.log))
    }

    pub(super) fn with_model(
        model: Box<dyn ModelClient>,
        store: Option<StoreClient>,
        output: Arc<dyn OutputSink>,
        deadlines: Deadlines,
        log: Log,
    ) -> Self {
        let shared = ManagerContext {
            model,
            output,
            store,
            knowledge: Mutex::default(),
            sessions: Mutex::default(),
            ids: IdGenerator::random(),
            deadlines,
            log,
        };
        Self { shared: Arc::new(shared), tasks: Mutex::default() }
    }

    /// Receives a breadcrumb; `None` where nothing follows from it.
    pub(super) fn receive(&self, breadcrumb: &Breadcrumb) -> Option<Started> {
        match breadcrumb.schema_name.as_deref()? {
            USER_MESSAGE => self.receive_message(breadcrumb),
            TOOL_RESPONSE => self.receive_response(breadcrumb),
            CATALOG | CONFIG => {
                locked(&self.shared.knowledge).receive(breadcrumb);
                None
            }
            _ => None,
        }
    }

    /// Reads tools and configurations from the store, where there is one.
    pub(super) async fn refresh(&self) {
        self.shared.refresh().await;
    }

    /// Ends all sessions; what the model is asked just now is waited for a little.
    pub(super) async fn shutdown(&self) {
        locked(&self.shared.sessions).running.clear();
        let mut tasks = std::mem::take(&mut *locked(&self.tasks));
        let ended = async { while tasks.join_next().await.is_some() {} };
        // Those that have not ended by then end with `tasks`.
        let _ = tokio::time::timeout(END_DEADLINE, ended).await;
    }

    fn receive_message(&self, breadcrumb: &Breadcrumb) -> Option<Started> {
        let session = breadcrumb.tags.iter().find_map(|tag| tag.strip_prefix("session:"));
        let text = ["message", "content"].iter().find_map(|name| {
            breadcrumb.context.get(*name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
        });
        let (Some(session), Some(text)) = (session.filter(|id| !id.is_empty()), text) else {
            (self.shared.log)("a message without session or text was passed over");
            return None;
        };
        let mut sessions = locked(&self.shared.sessions);
        if !sessions.is_new(&breadcrumb.id) {
            return None;
        }
        if !sessions.running.contains_key(session) {
            if sessions.running.len() >= SESSIONS {
                (self.shared.log)("a message was passed over: there are too many sessions");
                return None;
            }
            let (sender, receiver) = mpsc::channel(QUEUE);
            sessions.running.insert(session.to_owned(), sender);
            let mut tasks = locked(&self.tasks);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(run(Arc::clone(&self.shared), session.to_owned(), receiver));
        }
        self.send(&sessions, session, Input::Message(text.to_owned()))
    }

    fn receive_response(&self, breadcrumb: &Breadcrumb) -> Option<Started> {
        let response = Response::read(breadcrumb)?;
        let mut sessions = locked(&self.shared.sessions);
        let session = sessions.open.remove(&response.request_id)?;
        self.send(&sessions, &session, Input::Response(response))
    }

    fn send(&self, sessions: &Sessions, session: &str, input: Input) -> Option<Started> {
        let (done, finished) = oneshot::channel();
        let sent = sessions.running.get(session)?.try_send(Incoming { input, done });
        if sent.is_err() {
            (self.shared.log)("something was passed over: too much waits for its session");
        }
        sent.ok().map(|()| Started { session: session.to_owned(), done: finished })
    }
}

impl std::fmt::Debug for SessionManager {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SessionManager").finish_non_exhaustive()
    }
}

/// One session, until nothing happens in it any more or the agent is shut down.
async fn run(shared: Arc<ManagerContext>, id: String, mut incoming: mpsc::Receiver<Incoming>) {
    let mut conversation = Conversation::new(id.clone());
    let mut backlog: VecDeque<Incoming> = VecDeque::new();
    let mut late = Instant::now();
    loop {
        let waiting = conversation.is_waiting();
        let first = if conversation.is_idle() { backlog.pop_front() } else { None };
        let next = if let Some(next) = first {
            next
        } else {
            let until = if waiting { late } else { Instant::now() + IDLE };
            match timeout_at(until, incoming.recv()).await {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(_elapsed) if waiting => {
                    let after = shared.deadlines.response;
                    let act = conversation.timed_out(&format!("the tool did not answer within {after:?}"));
                    shared.forget(&id);
                    if shared.follow(&mut conversation, act).await {
                        late = Instant::now() + after;
                    }
                    continue;
                }
                Err(_elapsed) if shared.retire(&id, &incoming) => return,
                Err(_elapsed) => continue,
            }
        };
        let act = match next.input {
            Input::Message(_) if !conversation.is_idle() => {
                if backlog.len() < QUEUE {
                    backlog.push_back(next);
                }
                continue;
            }
            Input::Message(text) => {
                shared.refresh().await;
                conversation.message(&text)
            }
            Input::Response(response) => conversation.answered(response),
        };
        if shared.follow(&mut conversation, act).await {
            late = Instant::now() + shared.deadlines.response;
        }
        // The receiver may be gone.
        let _ = next.done.send(());
    }
}

impl ManagerContext {
    /// Acts until the next input is needed; returns whether anything was sent.
    async fn follow(&self, conversation: &mut Conversation, mut act: Act) -> bool {
        loop {
            act = match act {
                Act::Wait => return false,
                Act::Ask => {
                    let known = self.known();
                    let reply = self.model.ask(conversation.question(&known), functions(&known)).await;
                    if let Err(reason) = &reply {
                        (self.log)(&format!("the model failed: {reason}"));
                    }
                    // Checked against what is known by now, not what the model was sent: tools come and go.
                    conversation.model_replied(reply, &self.known(), &self.ids)
                }
                Act::Send(utterance) => {
                    self.say(conversation, &utterance).await;
                    return true;
                }
            };
        }
    }

    async fn say(&self, conversation: &mut Conversation, utterance: &Utterance) {
        // Before it is sent: the answers may be faster than the store.
        self.expect(utterance);
        match self.output.send(utterance).await {
            Ok(()) => (self.log)(&format!("said, with {} calls", utterance.requests.len())),
            Err(error) => {
                (self.log)(&format!("could not be said: {error}"));
                self.forget(&utterance.session);
                conversation.abandon();
            }
        }
    }

    fn known(&self) -> Arc<Known> {
        locked(&self.knowledge).known()
    }

    fn expect(&self, utterance: &Utterance) {
        let mut sessions = locked(&self.sessions);
        for id in utterance.awaited() {
            sessions.open.insert(id.to_owned(), utterance.session.clone());
        }
    }

    /// No answer is expected in this session any more.
    fn forget(&self, session: &str) {
        locked(&self.sessions).open.retain(|_, waiting| waiting != session);
    }

    /// Takes a session from the list, unless something came for it meanwhile.
    fn retire(&self, session: &str, incoming: &mpsc::Receiver<Incoming>) -> bool {
        let mut sessions = locked(&self.sessions);
        let unused = incoming.is_empty();
        if unused {
            sessions.running.remove(session);
        }
        unused
    }

    async fn refresh(&self) {
        let Some(store) = &self.store else { return };
        for schema in [CATALOG, CONFIG] {
            let query = ListQuery {
                schema_name: Some(schema.to_owned()),
                limit: Some(LISTED),
                ..ListQuery::default()
            };
            match store.list(&query).await {
                Ok(breadcrumbs) => {
                    let mut knowledge = locked(&self.knowledge);
                    for breadcrumb in &breadcrumbs {
                        knowledge.receive(breadcrumb);
                    }
                }
                Err(error) => (self.log)(&format!("`{schema}` cannot be read: {error}")),
            }
        }
    }
}

impl Sessions {
    fn is_new(&mut self, id: &str) -> bool {
        if !self.seen.insert(id.to_owned()) {
            return false;
        }
        self.seen_order.push_back(id.to_owned());
        if self.seen_order.len() > REMEMBERED
            && let Some(oldest) = self.seen_order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}
