//! The calendar and mail provider behind a Hub under test, played by the suite: what Google Calendar v3, Gmail v1
//! and their OAuth 2 token endpoint answer, as far as a Hub of the nine tools asks.
//!
//! `request` takes one apart, `enclosed` the mail in it, `uploads` one in two requests and `batch` several in one, `state` decides whose it is and what becomes of it,
//! `token` knows who may what, `correlation` whose scenario it belongs to. `context` is what the handlers work with.
//! `calendar` with `events`, `times` and `free_busy` is the calendar; `mail` with
//! `mailbox`, `mime_message`, `index`, `resource`, `outgoing` and `search` is the mailbox; `seed` is what is in both at first.
//! `response` has the form of answers and errors.
//!
//! What a Hub asks is written into the transcripts of the scenarios that it concerns, after it has passed the wire.
//! Tokens never are: they are the Hub's secrets.
//!
//! Deliberately absent: recurrence (an event with a rule happens once), shared calendars (every calendar id is the
//! account's own), push channels, history, uploads in more than two pieces, and the delivery of mail from one account to
//! another.

mod batch;
mod calendar;
mod context;
mod correlation;
mod enclosed;
mod events;
mod free_busy;
mod index;
mod mail;
mod mailbox;
mod mime_message;
mod outgoing;
mod request;
mod resource;
mod response;
mod search;
mod seed;
mod state;
#[cfg(test)]
mod tests;
mod times;
mod token;
mod uploads;

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, HOST};
use axum::http::request::Parts;
use axum::http::{Request, Response};
use bytes::Bytes;
use flate2::read::GzDecoder;
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::task::JoinSet;

use self::request::ProviderRequest;
use self::response::ProviderResponse;
use self::state::ProviderState;
use crate::families::hub::manifest::{Customer, FixturesTable};
use crate::net::http_connections;
use crate::net::http_connections::Closed;
use crate::net::inbound::Played;
use crate::net::wire::Wire;
use crate::transcript::{Transcript, lock};

pub use self::correlation::Failing;
pub use self::response::ProviderFault;
pub use self::seed::{
    AttachedFile, DOMAIN, FILES, REPLIES, REPLIES_FROM, SECOND, SUBJECT, SUBJECT_OF_BOTH, Subjects,
    TEXT_BESIDE_A_FILE, TEXT_IN_HTML, TEXTS,
};
pub use self::state::Delivered;
pub(in crate::families::hub::server) use self::state::{ACCOUNT, UNPLAYED};

/// A host of the provider in the world.
pub(in crate::families::hub::server) const WORLD_HOST: &str = "www.googleapis.com";
/// Bytes of a body that are read, so that one that is too large is refused with a reason.
const MAX_READ: usize = 64 * 1024 * 1024;

/// The provider, listening.
pub struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<ProviderState>>,
    /// Ends with the provider.
    serving: tokio::sync::Mutex<JoinSet<()>>,
}

impl Provider {
    /// Listens on a fixed address, else on a free port of this machine.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Option<&str>, wire: Arc<dyn Wire>) -> Result<Arc<Self>, String> {
        let address = listen.unwrap_or("127.0.0.1:0");
        let failed = |error: std::io::Error| format!("the provider cannot listen on `{address}`: {error}");
        let listener = http_connections::listen(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let state = Arc::new(Mutex::new(ProviderState::new(Timestamp::now())));
        let router = Router { state: Arc::clone(&state), wire, port: address.port() };
        let mut serving = JoinSet::new();
        serving.spawn(http_connections::serve(listener, move |request| {
            let router = router.clone();
            async move { router.answer(request).await }
        }));
        Ok(Arc::new(Self { address, state, serving: tokio::sync::Mutex::new(serving) }))
    }

    /// A provider that does not listen, for a run that is judged again.
    pub(in crate::families::hub) fn offline() -> Arc<Self> {
        Arc::new(Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            state: Arc::new(Mutex::new(ProviderState::new(Timestamp::now()))),
            serving: tokio::sync::Mutex::default(),
        })
    }

    /// The hosts that it has in the world, for a Hub that has compiled them in.
    pub(in crate::families::hub) fn played(&self) -> Played {
        Played::at(self.address, |host| {
            host == "googleapis.com" || host.ends_with(".googleapis.com") || host == "accounts.google.com"
        })
    }

    /// The base of all addresses: calendar below `/calendar/v3`, mail below `/gmail/v1`, tokens at `/token`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Tokens that are seen from now on for the first time belong to this customer; to none in particular if `None`.
    pub fn learn(&self, customer: Option<Customer>) {
        lock(&self.state).tokens.learn(customer);
    }

    /// The tokens of requests with this word in their query or their body are this customer's, until `None` is expected.
    pub fn expect(&self, sign: Option<(String, Customer)>) {
        lock(&self.state).tokens.expect(sign);
    }

    /// Whether a request had the word that is expected.
    pub fn has_seen_sign(&self) -> bool {
        lock(&self.state).tokens.has_seen_sign()
    }

    /// Whether anything was asked with a token of this customer.
    pub fn knows(&self, customer: Customer) -> bool {
        lock(&self.state).tokens.knows(customer)
    }

    /// Whether anything was asked at all, by whomever.
    pub fn was_asked(&self) -> bool {
        lock(&self.state).was_asked
    }

    /// A request for a description of an interface, without which a client can ask for nothing. This provider has none.
    pub fn discovery(&self) -> Option<String> {
        lock(&self.state).unplayed.iter().find(|request| request.contains("discovery")).cloned()
    }

    /// Subjects of what [`Self::fixtures`] names, for a Hub that has ids of its own.
    pub fn subjects(&self) -> Subjects {
        seed::subjects()
    }

    /// From now on the requests that concern a mark are written into a transcript.
    ///
    /// A request concerns a mark when its address, its body or a mail in it has the mark as a word of its own, in
    /// whatever case, or when it names an event, message, thread or draft that was made by such a request.
    pub fn follow(&self, mark: &str, scenario: &str, transcript: &Arc<Transcript>) {
        lock(&self.state).correlation.follow(mark, scenario, transcript);
    }

    /// Ends what [`Self::follow`] and [`Self::fail`] began.
    pub fn forget(&self, mark: &str) {
        lock(&self.state).correlation.forget(mark);
    }

    /// Requests that concern a mark fail in this way and have no effect.
    pub fn fail(&self, mark: &str, failing: Failing, fault: ProviderFault) {
        lock(&self.state).correlation.fail(mark, failing, fault);
    }

    /// The access tokens of `refreshable` expire, and can be refreshed.
    pub fn expire(&self) {
        lock(&self.state).tokens.expire();
    }

    /// How many access tokens a customer was granted so far.
    pub fn grants(&self, customer: Customer) -> u64 {
        lock(&self.state).tokens.grants(customer)
    }

    /// Whether a request failed as [`Self::fail`] wanted it.
    pub fn has_failed(&self) -> bool {
        lock(&self.state).has_failed
    }

    /// Id of an event that is in a customer's calendar from the beginning; requests that name it concern the mark.
    pub fn lend_event(&self, mark: &str, customer: Customer) -> String {
        lock(&self.state).lend_event(mark, customer)
    }

    /// How many events of a customer have this word in their texts.
    pub fn events_with(&self, customer: Customer, word: &str) -> usize {
        lock(&self.state).events_with(customer, word)
    }

    /// Puts a fresh unread message into the mailbox of the customer `connected`, with the mark as its subject.
    pub fn deliver(&self, mark: &str, text: &str) -> Delivered {
        lock(&self.state).deliver(mark, text, Timestamp::now())
    }

    /// Ids of a seeded message with these words in its subject, the newest, and of its thread.
    pub fn seeded(&self, subject: &str) -> Option<[String; 2]> {
        seed::seeded(subject)
    }

    /// What is in the mailbox and the calendar of the customer `connected` from the beginning.
    pub fn fixtures(&self) -> FixturesTable {
        seed::fixtures()
    }

    /// Stops listening, and returns when the address is free again.
    pub async fn close(&self) {
        self.serving.lock().await.shutdown().await;
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Answers requests, one at a time.
#[derive(Clone)]
struct Router {
    state: Arc<Mutex<ProviderState>>,
    wire: Arc<dyn Wire>,
    port: u16,
}

impl Router {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Closed> {
        let (mut parts, body) = request.into_parts();
        // What is larger than anything that a client sends by mistake, or does not come, gets no answer.
        let mut body = http_connections::body(body, MAX_READ).await.ok_or(Closed)?;
        if let Some(inflated) = inflated(&parts, &body) {
            parts.headers.remove(CONTENT_ENCODING);
            body = inflated;
        }
        let origin = self.origin(&parts);
        if !batch::is_batch(&parts) {
            return self.reply(&parts, &body).response(&origin);
        }
        let requests = match batch::read(&parts, &body) {
            Ok(requests) => requests,
            Err(refused) => return refused.response(&origin),
        };
        let answers: Vec<_> = requests
            .into_iter()
            .map(|batched| {
                let answer = batched
                    .request
                    .as_ref()
                    .map_or_else(|| response::failure(400), |(parts, body)| self.reply(parts, body));
                (batched, answer)
            })
            .collect();
        batch::response(&answers)
    }

    /// By what the client calls the provider. Where it does not ask this port, TLS stands before it.
    fn origin(&self, request: &Parts) -> String {
        let host = request.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let is_direct = host.rsplit_once(':').is_some_and(|(_, port)| port.parse() == Ok(self.port));
        format!("{}://{host}", if is_direct { "http" } else { "https" })
    }

    fn reply(&self, parts: &Parts, body: &[u8]) -> ProviderResponse {
        let mut request = ProviderRequest::read(parts, body);
        let (reply, notes) = {
            let mut state = lock(&self.state);
            state.uploads.complete(&mut request);
            state.answer(&request, Timestamp::now())
        };
        for note in notes {
            for message in self.wire.incoming(note.message) {
                note.transcript.record(message);
            }
        }
        reply
    }
}

/// The body of a request that was compressed, as some of Google's own clients do; none where there is nothing to unpack.
fn inflated(parts: &Parts, body: &[u8]) -> Option<Bytes> {
    let coding = parts.headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    if !coding.trim().eq_ignore_ascii_case("gzip") {
        return None;
    }
    let mut inflated = Vec::new();
    // One byte more than may be looked at, so that what is too large is seen to be.
    let limit = u64::try_from(request::MAX_BODY).unwrap_or(u64::MAX).saturating_add(1);
    GzDecoder::new(body).take(limit).read_to_end(&mut inflated).ok()?;
    Some(inflated.into())
}
