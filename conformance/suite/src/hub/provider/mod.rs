//! The calendar and mail provider behind a Hub under test, played by the suite: what Google Calendar v3, Gmail v1
//! and their OAuth 2 token endpoint answer, as far as a Hub of the nine tools asks.
//!
//! `ask` takes a request apart, `state` decides whose it is and what becomes of it, `token` knows who may what,
//! `marks` whose scenario it belongs to. `calendar` with `events`, `times` and `busy` is the calendar; `mail` with
//! `mailbox`, `letter`, `resource`, `outgoing` and `search` is the mailbox; `seed` is what is in both at first.
//! `reply` has the form of answers and errors.
//!
//! What a Hub asks is written into the transcripts of the scenarios that it concerns, after it has passed the wire.
//! Tokens never are: they are the Hub's secrets.
//!
//! Deliberately absent: recurrence (an event with a rule happens once), shared calendars (every calendar id is the
//! account's own), batch requests, push channels, history, resumable uploads, and the
//! delivery of mail from one account to another. The server is wiremock's: it reads a body whole before it is seen
//! here, so that the limit of `ask::MAX_BODY` bounds the work and what is kept, not what is read.

mod ask;
mod busy;
mod calendar;
mod events;
mod letter;
mod mail;
mod mailbox;
mod marks;
mod outgoing;
mod reply;
mod resource;
mod search;
mod seed;
mod state;
#[cfg(test)]
mod tests;
mod times;
mod token;

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use reqwest::header::CONTENT_ENCODING;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use self::ask::Ask;
use self::state::State;
use crate::manifest::{Customer, FixturesTable};
use crate::transcript::{Transcript, lock};
use crate::wire::Wire;

/// Bytes of requests that wiremock may keep for its own purposes before it is made to forget them.
const KEPT: usize = 32 * 1024 * 1024;
/// What one request takes up there beside its body: its headers hold the buffer that they were read into.
const OVERHEAD: usize = 10 * 1024;
/// How long the end of the server is waited for.
const END: Duration = Duration::from_secs(2);

/// Subject of the message that `Provider::fixtures` names.
pub const SUBJECT: &str = "First thoughts on the harvest";
/// What stands in it.
pub const TEXT: &str = "the first field is ready on Monday";
/// What is attached to the message with an attachment.
pub const FILE: &str = "plan.ods";
/// Its size in bytes.
pub const FILE_SIZE: u64 = 2_048;

/// A message that was put into the mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// Its id.
    pub message_id: String,
    /// The thread that it began.
    pub thread_id: String,
}

/// Subjects of the seeded mails; each stands in one mail, or in one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subjects {
    /// Of the message without attachments.
    pub message: &'static str,
    /// Of the message with one.
    pub message_with_attachment: &'static str,
    /// Of the thread with replies.
    pub thread: &'static str,
    /// Of the thread without.
    pub thread_without_replies: &'static str,
    /// Of the second thread with replies.
    pub other_thread: &'static str,
}

/// The provider, listening.
pub struct Provider {
    url: String,
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    server: Mutex<Option<Arc<MockServer>>>,
    /// Makes wiremock forget; ends with the provider.
    keeper: Mutex<JoinSet<()>>,
}

impl Provider {
    /// Listens on a fixed address, else on a free port of this machine.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Option<&str>, wire: Arc<dyn Wire>) -> Result<Arc<Self>, String> {
        let listen = listen.unwrap_or("127.0.0.1:0");
        let failed = |error: std::io::Error| format!("the provider cannot listen on `{listen}`: {error}");
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let server =
            Arc::new(MockServer::builder().listener(listener).disable_request_recording().start().await);
        let state = Arc::new(Mutex::new(State::new(Timestamp::now())));
        let desk = Desk { state: Arc::clone(&state), wire, weight: Arc::default(), full: Arc::default() };
        server.register(desk.mock()).await;
        let mut keeper = JoinSet::new();
        keeper.spawn(forget_when_full(Arc::downgrade(&server), desk));
        Ok(Arc::new(Self {
            url: server.uri(),
            address,
            state,
            server: Mutex::new(Some(server)),
            keeper: Mutex::new(keeper),
        }))
    }

    /// A provider that does not listen, for a run that is judged again.
    pub(super) fn unheard() -> Arc<Self> {
        Arc::new(Self {
            url: String::new(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            state: Arc::new(Mutex::new(State::new(Timestamp::now()))),
            server: Mutex::default(),
            keeper: Mutex::default(),
        })
    }

    /// The base of all addresses: calendar below `/calendar/v3`, mail below `/gmail/v1`, tokens at `/token`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Tokens that are seen from now on for the first time belong to this customer; to none in particular if `None`.
    pub fn learn(&self, customer: Option<Customer>) {
        lock(&self.state).tokens.learn(customer);
    }

    /// Whether anything was asked with a token of this customer.
    pub fn knows(&self, customer: Customer) -> bool {
        lock(&self.state).tokens.knows(customer)
    }

    /// Whether anything was asked at all, by whomever.
    pub fn was_asked(&self) -> bool {
        lock(&self.state).was_asked
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
        lock(&self.state).marks.follow(mark, scenario, transcript);
    }

    /// Ends what [`Self::follow`] and [`Self::fail`] began.
    pub fn forget(&self, mark: &str) {
        lock(&self.state).marks.forget(mark);
    }

    /// Requests that concern a mark are answered with this status and have no effect.
    pub fn fail(&self, mark: &str, status: u16) {
        lock(&self.state).marks.fail(mark, status);
    }

    /// Puts a fresh unread message into the mailbox of the customer `connected`, with the mark in its subject.
    pub fn deliver(&self, mark: &str) -> Delivered {
        lock(&self.state).deliver(mark, Timestamp::now())
    }

    /// What is in the mailbox and the calendar of the customer `connected` from the beginning.
    pub fn fixtures(&self) -> FixturesTable {
        seed::fixtures()
    }

    /// Stops listening, and returns when the address is free again.
    pub async fn close(&self) {
        lock(&self.keeper).abort_all();
        let Some(server) = lock(&self.server).take() else { return };
        drop(server);
        let ended = async { while TcpStream::connect(self.address).await.is_ok() {} };
        // A server that does not end in time ends with the process.
        let _ = tokio::time::timeout(END, ended).await;
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Provider").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Answers for wiremock.
#[derive(Clone)]
struct Desk {
    state: Arc<Mutex<State>>,
    wire: Arc<dyn Wire>,
    weight: Arc<AtomicUsize>,
    full: Arc<Notify>,
}

impl Desk {
    fn mock(&self) -> Mock {
        Mock::given(any()).respond_with(self.clone())
    }
}

impl Respond for Desk {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let more = request.body.len() + OVERHEAD;
        if self.weight.fetch_add(more, Ordering::Relaxed) + more > KEPT {
            self.full.notify_one();
        }
        let inflated = inflated(request);
        let ask = Ask::read(inflated.as_ref().unwrap_or(request));
        let (reply, notes) = lock(&self.state).answer(&ask, Timestamp::now());
        for note in notes {
            for message in self.wire.incoming(note.message) {
                note.transcript.record(message);
            }
        }
        reply.template()
    }
}

/// A request whose body was compressed, as some of Google's own clients do; none where there is nothing to unpack.
fn inflated(request: &Request) -> Option<Request> {
    let coding = request.headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    if !coding.trim().eq_ignore_ascii_case("gzip") {
        return None;
    }
    let mut body = Vec::new();
    // One byte more than may be looked at, so that what is too large is seen to be.
    let limit = u64::try_from(ask::MAX_BODY).unwrap_or(u64::MAX).saturating_add(1);
    GzDecoder::new(request.body.as_slice()).take(limit).read_to_end(&mut body).ok()?;
    let mut inflated = request.clone();
    inflated.headers.remove(CONTENT_ENCODING);
    inflated.body = body;
    Some(inflated)
}

/// Wiremock keeps the requests that a mock matched even when recording is off; the way out is a new mock.
///
/// Both steps queue for the same fair lock, the second right behind the first, so that no request comes between.
async fn forget_when_full(server: std::sync::Weak<MockServer>, desk: Desk) {
    loop {
        desk.full.notified().await;
        let Some(server) = server.upgrade() else { return };
        desk.weight.store(0, Ordering::Relaxed);
        futures::join!(server.reset(), server.register(desk.mock()));
    }
}
