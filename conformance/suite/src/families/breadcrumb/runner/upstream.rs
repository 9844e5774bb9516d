//! The providers of language models that the suite plays (`docs/breadcrumbs.md`, "Language models").
//!
//! A request belongs to the scenario whose mark stands in it; what the model says hangs on that mark, so an echo of the
//! request is no answer. Nothing is judged here, and no key is asked for.

mod reply;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::families::breadcrumb::router::ScenarioRouter;
use crate::net::http_connections;
use crate::net::http_connections::Accepting;
use crate::net::inbound::Played;
use crate::transcript::{Kind, lock};
pub use reply::Dialect;

/// Bytes of a request body.
const MAX_BODY: usize = 1024 * 1024;
/// Time for a request body to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Headers of a request that are kept; the others are the client's own.
const KEPT: [&str; 6] = ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "content-type"];
/// The hosts of two providers in the world, and below what the suite plays them.
const HOSTS: [(&str, &str); 2] = [("openrouter.ai", "/openrouter"), ("api.venice.ai", "/venice")];
/// The model of a request that names none.
pub const SOME_MODEL: &str = "m-suite";

/// The id of the secret that holds a key of the run.
pub(in crate::families::breadcrumb) fn secret_id(key: usize) -> String {
    format!("5ec0e700-41d2-4c7e-9b36-00000000000{key}")
}

/// What the model says in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    /// Its text.
    pub text: String,
    /// Tokens of the question.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
}

impl Speech {
    /// What it says in the scenario with this mark.
    pub fn of(unique: &str) -> Self {
        let word = crate::engine::digest::hash(&["speech", unique]);
        let number = u64::from_str_radix(&word[..4], 16).unwrap_or_default();
        Self {
            text: format!("Jet black, “{}”.\nNothing else: 100 % of it.", &word[..10]),
            prompt_tokens: 20 + number % 61,
            completion_tokens: 11 + number % 17,
        }
    }

    /// What it said, as it was written down; nothing where it refused.
    pub(super) fn read(reply: &Value) -> Option<Self> {
        let tokens = |name: &str| reply.get(name).and_then(Value::as_u64);
        let text =
            reply.get("text")?.as_str().filter(|_| reply.get("status").is_some_and(|own| own == 200))?;
        Some(Self {
            text: text.to_owned(),
            prompt_tokens: tokens("prompt_tokens")?,
            completion_tokens: tokens("completion_tokens")?,
        })
    }

    /// The word of it that no other scenario has.
    pub fn word(&self) -> &str {
        self.text.split(['“', '”']).nth(1).unwrap_or(&self.text)
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.prompt_tokens + self.completion_tokens
    }
}

/// What a provider does in place of the reply that is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamFault {
    /// It answers with this status.
    Status(u16),
    /// It answers with status 200, and an error in the body.
    Error,
    /// It answers with status 200, and a page of HTML.
    Page,
    /// It answers with status 200, and nothing in the body.
    Empty,
    /// It closes the connection within the body.
    BreaksOff,
    /// It replies, and calls the model by a longer name than the request did.
    LongName,
}

impl UpstreamFault {
    /// As the record of a reply names it.
    fn name(self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Error => "error",
            Self::Page => "page",
            Self::Empty => "empty",
            Self::BreaksOff => "breaks off",
            Self::LongName => "long name",
        }
    }
}

/// The providers of a run. They end when this is dropped.
pub struct Upstream {
    address: SocketAddr,
    mock_llm: Arc<MockLlm>,
    // Ends with the providers.
    _serving: JoinSet<()>,
}

/// What every request needs.
struct MockLlm {
    router: Arc<ScenarioRouter>,
    /// What scenarios ask for in place of a reply, by mark.
    troubles: Mutex<HashMap<String, UpstreamFault>>,
    models: Mutex<BTreeSet<String>>,
}

impl Upstream {
    /// Listens at `listen`, or on a free port.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(listen: Option<&str>, router: &Arc<ScenarioRouter>) -> Result<Self, String> {
        let address = listen.unwrap_or("127.0.0.1:0");
        let failed = |error: std::io::Error| format!("`{address}`: {error}");
        let listener = http_connections::listen(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let models = Mutex::new(BTreeSet::from([SOME_MODEL.to_owned()]));
        let mock_llm = Arc::new(MockLlm { router: Arc::clone(router), troubles: Mutex::default(), models });
        let router = Router::new().fallback(handle).with_state(Arc::clone(&mock_llm));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // Serving ends with the task; an error of one connection is that connection's own.
            let _ = axum::serve(Accepting(listener), router).await;
        });
        Ok(Self { address, mock_llm, _serving: serving })
    }

    /// Providers that do not listen, for a run that is judged again.
    pub(in crate::families::breadcrumb) fn offline(router: &Arc<ScenarioRouter>) -> Self {
        let mock_llm =
            MockLlm { router: Arc::clone(router), troubles: Mutex::default(), models: Mutex::default() };
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            mock_llm: Arc::new(mock_llm),
            _serving: JoinSet::new(),
        }
    }

    /// The hosts that two of them have in the world, for a runner that has compiled them in.
    pub(in crate::families::breadcrumb) fn played(&self) -> Played {
        Played::at(self.address, |host| HOSTS.iter().any(|(own, _)| *own == host))
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a runner is given of them at this base URL: names of variables without their prefix, and values.
    pub fn addresses(base: &str) -> [(&'static str, String); 3] {
        let url = |path: &str| format!("{base}/{path}");
        [
            ("openrouter_url", url("openrouter/api/v1")),
            ("venice_url", url("venice/api/v1")),
            ("ollama_url", url("ollama")),
        ]
    }

    /// From now on the models of a scenario fail like this.
    pub fn fail(&self, unique: &str, trouble: UpstreamFault) {
        lock(&self.mock_llm.troubles).insert(unique.to_owned(), trouble);
        if trouble == UpstreamFault::LongName {
            let mut models = lock(&self.mock_llm.models);
            let own = models.iter().filter(|model| model.contains(unique));
            let longer: Vec<String> = own.map(|model| longer(model)).collect();
            models.extend(longer);
        }
    }

    /// A model that there is.
    pub fn has(&self, model: &str) {
        lock(&self.mock_llm.models).insert(model.to_owned());
    }
}

async fn handle(State(mock_llm): State<Arc<MockLlm>>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    below_its_own(&mut parts);
    let read = tokio::time::timeout(BODY_DEADLINE, to_bytes(body, MAX_BODY)).await;
    let Ok(Ok(body)) = read else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let path = parts.uri.path().trim_end_matches('/').to_owned();
    let models = || lock(&mock_llm.models).clone();
    match Dialect::of(&path) {
        Some(dialect) => mock_llm.answer(dialect, &parts, &body),
        None if path.ends_with("/models") => in_json(&reply::models(&models())),
        None if path.ends_with("/api/tags") => in_json(&reply::tags(&models())),
        None if path.ends_with("/api/version") => in_json(&json!({"version": "0.9.0"})),
        None if path.ends_with("/api/show") => {
            in_json(&json!({"details": {"family": "suite"}, "model_info": {}}))
        }
        None if path == "/ollama" => "Ollama is running".into_response(),
        None => {
            mock_llm.router.note_unplayed(parts.method.as_str(), &path);
            (StatusCode::NOT_FOUND, "the suite's providers have no such path").into_response()
        }
    }
}

/// A request that names the host which a provider has in the world is one below the provider's own path.
fn below_its_own(parts: &mut Parts) {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let below = HOSTS.iter().find(|(own, _)| *own == host).map(|(_, below)| below);
    if let Some(uri) = below.and_then(|below| format!("{below}{}", parts.uri).parse().ok()) {
        parts.uri = uri;
    }
}

impl MockLlm {
    fn answer(&self, dialect: Dialect, parts: &Parts, body: &Bytes) -> Response {
        let request = serde_json::from_slice::<Value>(body)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body).into_owned()));
        let headers: BTreeMap<String, String> = parts
            .headers
            .iter()
            .filter(|(name, _)| KEPT.contains(&name.as_str()))
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let channel = format!("{} {}", parts.method, parts.uri);
        let scenario_channel = self.router.whose(&in_order_of_marks(&channel, &request));
        let arrived = self.router.record_incoming_of(
            &scenario_channel,
            Kind::Upstream,
            &channel,
            headers,
            request.clone(),
        );
        let request = arrived.into_iter().next().unwrap_or(request);
        let speech = Speech::of(&scenario_channel.unique);
        let model = request.get("model").and_then(Value::as_str).unwrap_or(SOME_MODEL);
        let reply = json!({
            "status": 200, "text": speech.text, "model": model,
            "prompt_tokens": speech.prompt_tokens, "completion_tokens": speech.completion_tokens,
        });
        let said = match lock(&self.troubles).get(&scenario_channel.unique) {
            Some(UpstreamFault::Status(status)) => json!({"status": status, "text": reply::TROUBLE}),
            Some(UpstreamFault::LongName) => {
                let mut renamed = reply;
                renamed["model"] = Value::from(longer(model));
                renamed
            }
            Some(trouble) => {
                let mut spoilt = reply;
                spoilt["trouble"] = Value::from(trouble.name());
                spoilt
            }
            None => reply,
        };
        let sent =
            self.router.send(&scenario_channel, Kind::UpstreamReply, "upstream", BTreeMap::new(), said);
        let Some(said) = sent.first() else { return StatusCode::BAD_GATEWAY.into_response() };
        let is_streamed = request.get("stream").and_then(Value::as_bool).unwrap_or(dialect.streams());
        dialect.render(said, is_streamed)
    }
}

/// A request as text, what the call says to the model first: key and model may be those of another scenario's
/// configuration, which is what has to be seen then.
fn in_order_of_marks(channel: &str, request: &Value) -> String {
    let said = request.as_object().into_iter().flatten().filter(|(name, _)| *name != "model");
    let said: Vec<String> = said.map(|(_, member)| member.to_string()).collect();
    format!("{} {channel} {request}", said.join(" "))
}

/// The name of the version of a model that serves those who ask for the model.
fn longer(model: &str) -> String {
    format!("{model}-2025-11-04")
}

fn in_json(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
