//! Who is in the room with the agent: the scenarios, and the parties that the suite plays for it.
//!
//! An agent has one Hub, so scenarios take turns. A request belongs to the scenario that it names by any of its ids:
//! the one whose turn it is first, then an earlier one whose request comes late. One that names none belongs to the
//! turn, and between turns to nobody who is judged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::asked::frame as request_frame;
use super::judge::request::Route;
use super::judge::traffic;
use super::manifest::ModelKind;
use super::mock;
use super::mock::script::Script;
use super::model;
use super::model::Conversation;
use crate::net::http_server::{HttpReply, ReceivedRequest};
use crate::net::wire::{CALL, SCENARIO, STATUS, TOOL, Wire};
use crate::transcript::{Frame, Kind, Message, Transcript, lock};

/// Path below which web pages are.
pub(super) const PAGES: &str = "/page/";
/// Path of the search.
pub(super) const SEARCH: &str = "/search";
/// Path below which the provider is that must see nothing.
pub(super) const PROVIDER: &str = "/provider";

/// What the web gives instead of a page, or of what was searched for.
#[derive(Clone, Copy, Debug)]
pub(super) enum WebFault {
    /// 404, and a page that says so.
    NotFound,
    /// 403, and a page that says so.
    Forbidden,
    /// 500, and a page that says so.
    Failed,
    /// 503, and an error in JSON.
    Unavailable,
    /// 200, and nothing.
    Empty,
}

impl WebFault {
    /// All of them.
    pub(super) const ALL: [Self; 5] =
        [Self::NotFound, Self::Forbidden, Self::Failed, Self::Unavailable, Self::Empty];

    /// What an address or a query ends with that is answered so.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::NotFound => "-gone",
            Self::Forbidden => "-forbidden",
            Self::Failed => "-failed",
            Self::Unavailable => "-unavailable",
            Self::Empty => "-empty",
        }
    }

    fn reply(self, is_search: bool) -> HttpReply {
        match self {
            Self::NotFound => HttpReply::text(404, HTML, &document("Not found", "There is nothing here.")),
            Self::Forbidden => {
                HttpReply::text(403, HTML, &document("Forbidden", "This is not for everybody."))
            }
            Self::Failed => HttpReply::text(500, HTML, &document("Error", "Something went wrong.")),
            Self::Unavailable => HttpReply::json(503, &json!({"error": "this is not available"})),
            Self::Empty if is_search => {
                HttpReply::json(200, &json!({"query": "", "number_of_results": 0, "results": []}))
            }
            Self::Empty => HttpReply::text(200, HTML, ""),
        }
    }
}

/// One scenario as the parties see it.
pub(super) struct ScenarioChannel {
    /// Stands in every id of the scenario.
    pub unique: String,
    /// Stands in every result that the Hub and the web give to it.
    pub mark: String,
    /// Its messages.
    pub transcript: Arc<Transcript>,
    /// What the Hub answers it.
    pub script: Mutex<Script>,
    /// The call that is being made.
    pub now: Mutex<Now>,
}

/// The call that is being made.
#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    /// Its number, from 1.
    pub call: u32,
    /// Its tool.
    pub tool: String,
    /// What the model is to ask for, and what it was sent.
    pub conversation: Option<Conversation>,
}

impl ScenarioChannel {
    pub(super) fn new(unique: String, mark: String) -> Self {
        Self::of(unique, mark, Arc::default())
    }

    /// As [`ScenarioChannel::new`], with what the scenario writes down.
    pub(super) fn of(unique: String, mark: String, transcript: Arc<Transcript>) -> Self {
        Self { unique, mark, transcript, script: Mutex::default(), now: Mutex::default() }
    }

    /// What the web gives to this request instead of what it asks for.
    fn fault(&self, request: &ReceivedRequest) -> Option<WebFault> {
        let text = text(request).to_lowercase();
        WebFault::ALL.into_iter().find(|fault| text.contains(&format!("{}{}", self.unique, fault.suffix())))
    }

    /// Headers of a message of the call that is being made.
    pub(super) fn headers(&self) -> BTreeMap<String, String> {
        let now = lock(&self.now);
        BTreeMap::from([
            (SCENARIO.to_owned(), self.unique.clone()),
            (CALL.to_owned(), now.call.to_string()),
            (TOOL.to_owned(), now.tool.clone()),
        ])
    }
}

/// The scenarios of a run and the wire that all messages cross.
pub(super) struct ScenarioRouter {
    wire: Arc<dyn Wire>,
    model: ModelKind,
    /// What comes between turns.
    pub unattributed: Arc<ScenarioChannel>,
    scenario_channels: Mutex<Booths>,
    unexpected_traffic: Mutex<Vec<Frame>>,
}

/// Requests that nobody should have sent, of which so many are kept for the look at the end.
const MAX_ASTRAY: usize = 64;

#[derive(Default)]
struct Booths {
    all: Vec<Arc<ScenarioChannel>>,
    turn: Option<Arc<ScenarioChannel>>,
}

impl ScenarioRouter {
    pub(super) fn new(wire: Arc<dyn Wire>, model: ModelKind, unattributed: ScenarioChannel) -> Self {
        let unattributed = Arc::new(unattributed);
        let scenario_channels = Booths { all: vec![Arc::clone(&unattributed)], turn: None };
        Self {
            wire,
            model,
            unattributed,
            scenario_channels: Mutex::new(scenario_channels),
            unexpected_traffic: Mutex::default(),
        }
    }

    /// What was sent, at whatever time, to a party that should not have been asked.
    pub(super) fn unexpected_traffic(&self) -> Vec<Frame> {
        lock(&self.unexpected_traffic).clone()
    }

    fn keep_if_astray(&self, message: &Message) {
        let frame = Frame {
            n: 0,
            at_us: 0,
            direction: message.direction,
            kind: message.kind,
            channel: message.channel.clone(),
            headers: BTreeMap::new(),
            body: message.body.clone(),
        };
        let mut unexpected_traffic = lock(&self.unexpected_traffic);
        if traffic::is_astray(&frame) && unexpected_traffic.len() < MAX_ASTRAY {
            unexpected_traffic.push(frame);
        }
    }

    /// A scenario comes in, and has its turn.
    pub(super) fn enter(&self, scenario_channel: Arc<ScenarioChannel>) {
        let mut scenario_channels = lock(&self.scenario_channels);
        scenario_channels.turn = Some(Arc::clone(&scenario_channel));
        scenario_channels.all.push(scenario_channel);
    }

    /// The turn of a scenario is over. What still comes for it is still written down.
    pub(super) fn rest(&self, scenario_channel: &Arc<ScenarioChannel>) {
        let mut scenario_channels = lock(&self.scenario_channels);
        if scenario_channels.turn.as_ref().is_some_and(|turn| Arc::ptr_eq(turn, scenario_channel)) {
            scenario_channels.turn = None;
        }
    }

    /// The scenario that a text belongs to.
    fn whose(&self, text: &str) -> Arc<ScenarioChannel> {
        // Ids may be spelt in capitals.
        let text = text.to_lowercase();
        let scenario_channels = lock(&self.scenario_channels);
        let turn = scenario_channels.turn.iter();
        let known = turn
            .chain(scenario_channels.all.iter().rev())
            .find(|scenario_channel| text.contains(&scenario_channel.unique));
        Arc::clone(known.or(scenario_channels.turn.as_ref()).unwrap_or(&self.unattributed))
    }

    /// Writes down what the agent sent.
    pub(super) fn record_incoming(
        &self,
        scenario_channel: &ScenarioChannel,
        kind: Kind,
        channel: String,
        body: Value,
        more: &[(&str, &str)],
    ) -> bool {
        let mut headers = scenario_channel.headers();
        headers.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let message = Message { direction: Direction::FromTarget, kind, channel, headers, body };
        let arrived = self.wire.incoming(message);
        let any = !arrived.is_empty();
        for message in arrived {
            self.keep_if_astray(&message);
            scenario_channel.transcript.record(message);
        }
        any
    }

    /// Writes down what the suite says, and gives what becomes of it on the way.
    pub(super) fn send(
        &self,
        scenario_channel: &ScenarioChannel,
        kind: Kind,
        channel: String,
        body: Value,
        status: Option<u16>,
    ) -> Option<Message> {
        let mut headers = scenario_channel.headers();
        headers.extend(status.map(|status| (STATUS.to_owned(), status.to_string())));
        let message = Message { direction: Direction::ToTarget, kind, channel, headers, body };
        scenario_channel.transcript.record(message.clone());
        self.wire.outgoing(message).pop()
    }

    /// The Hub, the web and the provider.
    pub(super) fn serve(&self, request: &ReceivedRequest) -> HttpReply {
        let path = request.bare_path().to_owned();
        let scenario_channel = self.whose(&text(request));
        let kind = match path.as_str() {
            path if path.starts_with(PAGES) || path.starts_with(SEARCH) => Kind::Web,
            path if path.starts_with(PROVIDER) => Kind::Provider,
            _ => Kind::HubRequest,
        };
        let headers: Vec<(&str, &str)> = request
            .headers
            .iter()
            .filter(|(name, _)| ![SCENARIO, CALL, TOOL, STATUS].contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.record_incoming(&scenario_channel, kind, request.channel(), request.body.clone(), &headers);
        match kind {
            Kind::HubRequest => self.hub(&scenario_channel, request),
            Kind::Provider => HttpReply::json(200, &json!({})),
            _ => {
                let is_search = path.starts_with(SEARCH);
                let mark = &scenario_channel.mark;
                match scenario_channel.fault(request) {
                    Some(fault) => fault.reply(is_search),
                    None if is_search => HttpReply::json(200, &found(mark)),
                    None => HttpReply::text(200, HTML, &page(mark)),
                }
            }
        }
    }

    fn hub(&self, scenario_channel: &ScenarioChannel, request: &ReceivedRequest) -> HttpReply {
        let tool = lock(&scenario_channel.now).tool.clone();
        let reply = mock::answer(request, &mut lock(&scenario_channel.script), &scenario_channel.mark, &tool);
        if matches!(Route::of(&request_frame(request)), Route::Beside | Route::Other) {
            return reply;
        }
        let (status, body) = match &reply {
            HttpReply::Response { status, body, .. } => (*status, read(body)),
            HttpReply::Hang => (0, Value::from("no answer")),
            HttpReply::Close => (0, Value::from("the connection is closed")),
        };
        let Some(sent) =
            self.send(scenario_channel, Kind::HubResponse, request.channel(), body.clone(), Some(status))
        else {
            return HttpReply::Close;
        };
        let sent_status = sent.headers.get(STATUS).and_then(|status| status.parse().ok()).unwrap_or(status);
        match reply {
            HttpReply::Response { content_type, .. } if (sent_status, &sent.body) != (status, &body) => {
                let text = sent.body.as_str().map_or_else(|| sent.body.to_string(), str::to_owned);
                HttpReply::Response { status: sent_status, content_type, body: text.into_bytes() }
            }
            reply => reply,
        }
    }

    /// The language model.
    pub(super) fn think(&self, request: &ReceivedRequest) -> HttpReply {
        let scenario_channel = self.whose(&text(request));
        self.record_incoming(&scenario_channel, Kind::Model, request.channel(), request.body.clone(), &[]);
        let mut now = lock(&scenario_channel.now);
        model::answer(self.model, &request.body, now.conversation.as_mut())
    }
}

/// All that may name a scenario.
fn text(request: &ReceivedRequest) -> String {
    format!("{} {}", request.path, request.body)
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body).into_owned()))
}

const HTML: &str = "text/html; charset=utf-8";

fn page(mark: &str) -> String {
    let body = format!("<h1>Seed catalogue</h1><p>Two kinds of seed are left: {mark}.</p>");
    document(&format!("Seed catalogue {mark}"), &body)
}

fn document(title: &str, body: &str) -> String {
    format!("<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>")
}

/// Results in the form of a common metasearch engine.
fn found(mark: &str) -> Value {
    let result = json!({"title": format!("Seed catalogue {mark}"), "url": "https://seeds.example/catalogue",
                        "content": format!("Two kinds of seed are left: {mark}."),
                        "snippet": format!("Two kinds of seed are left: {mark}.")});
    json!({"query": "", "number_of_results": 1, "results": [result]})
}
