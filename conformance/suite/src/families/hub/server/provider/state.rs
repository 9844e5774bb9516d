//! What the provider holds, and what becomes of a request: whose it is, whether it may, who is notified.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::record::Direction;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::{Account, IdGenerator, RequestContext};
use super::correlation::Correlation;
use super::enclosed::{Enclosed, enclosed};
use super::request::{MAX_BODY, ProviderRequest};
use super::response::{Done, Handled, ProviderResponse, failure, fault, unplayed};
use super::token::{Tokens, scope};
use super::uploads::Uploads;
use super::{calendar, mail, seed};
use crate::families::hub::manifest::Customer;
use crate::net::wire::SCENARIO;
use crate::transcript::{Kind, Message, Transcript};

/// Member of a frame that says whose calendar or mailbox was reached.
pub(in crate::families::hub::server) const ACCOUNT: &str = "account";

/// Requests for what is not played that are remembered.
const MAX_UNPLAYED: usize = 16;

/// Member of a frame with the request that this provider has nothing for, and Google's may.
pub(in crate::families::hub::server) const UNPLAYED: &str = "unplayed";

/// A message that was put into the mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// Its id.
    pub message_id: String,
    /// The thread that it began.
    pub thread_id: String,
}

/// Everything behind one lock.
pub(super) struct ProviderState {
    pub(super) tokens: Tokens,
    pub(super) correlation: Correlation,
    pub(super) was_asked: bool,
    /// Whether a request was answered with an error that a scenario wanted.
    pub(super) has_failed: bool,
    pub(super) uploads: Uploads,
    /// Requests for what is not played.
    pub(super) unplayed: BTreeSet<String>,
    accounts: BTreeMap<Customer, Account>,
    ids: IdGenerator,
}

/// A frame for a scenario that follows.
pub(super) struct Note {
    pub(super) transcript: Arc<Transcript>,
    pub(super) message: Message,
}

/// What a path is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Area {
    Token,
    Identity,
    Calendar,
    Mail,
    Nothing,
}

impl ProviderState {
    /// Everything as it is at first.
    pub(super) fn new(now: Timestamp) -> Self {
        let salt = format!("{:x}", now.as_nanosecond().unsigned_abs());
        Self {
            tokens: Tokens::new(salt.clone()),
            correlation: Correlation::default(),
            was_asked: false,
            has_failed: false,
            uploads: Uploads::default(),
            unplayed: BTreeSet::new(),
            accounts: Customer::ALL.into_iter().map(|customer| (customer, seed::account(customer))).collect(),
            ids: IdGenerator::new(salt),
        }
    }

    /// Answers a request; and what is to be written down.
    pub(super) fn answer(
        &mut self,
        request: &ProviderRequest<'_>,
        now: Timestamp,
    ) -> (ProviderResponse, Vec<Note>) {
        self.was_asked = true;
        if request.body.len() > MAX_BODY {
            return (failure(413), Vec::new());
        }
        if request.is_encoded {
            return (failure(415), Vec::new());
        }
        self.tokens.look_at(request);
        let area = area(request);
        if area == Area::Token {
            return (self.tokens.grant(request), Vec::new());
        }
        let enclosed = if area == Area::Mail { enclosed(request) } else { None };
        let mime_message = enclosed.as_ref().and_then(|enclosed| enclosed.mime_message.as_ref());
        let correlation = self.correlation.concerned(request, mime_message);
        let failing = self.correlation.failure(&correlation, request);
        self.has_failed |= failing.is_some();
        let admitted = self.admit(request, area);
        let account = admitted.as_ref().ok().copied();
        let outcome = admitted.and_then(|customer| match failing {
            Some(failing) => Err(fault(failing)),
            None => self.carry_out(request, enclosed.as_ref(), customer, area, now),
        });
        let (reply, mut frames) = match outcome {
            Ok(done) => {
                for mark in &correlation {
                    self.correlation.remember(mark, done.made.iter().cloned());
                }
                let read = || vec![json!({"effect": "read", "request": request.json})];
                let frames = if done.effects.is_empty() { read() } else { done.effects };
                (done.reply, frames)
            }
            Err(reply) => {
                let mut frame = json!({"effect": "read", "request": request.json, "refused": reply.shown()});
                if reply.is_unplayed {
                    frame[UNPLAYED] = Value::from(self.note_unplayed(request));
                }
                (reply, vec![frame])
            }
        };
        if let Some(account) = account {
            for frame in &mut frames {
                frame[ACCOUNT] = json!(account.name());
            }
        }
        let notes = self
            .correlation
            .followers(&correlation)
            .flat_map(|follower| {
                frames.iter().map(|body| Note {
                    transcript: Arc::clone(&follower.transcript),
                    message: frame(request, &follower.scenario, body.clone()),
                })
            })
            .collect();
        (reply, notes)
    }

    /// Notes a request for what is not played: its method and its path.
    fn note_unplayed(&mut self, request: &ProviderRequest<'_>) -> String {
        // Ids differ from run to run.
        let is_id = |step: &String| step.len() >= 8 && step.bytes().any(|byte| byte.is_ascii_digit());
        let steps: Vec<&str> =
            request.segments.iter().map(|step| if is_id(step) { "{id}" } else { step }).collect();
        let shown = format!("{} /{}", request.method, steps.join("/"));
        if self.unplayed.len() < MAX_UNPLAYED {
            self.unplayed.insert(shown.clone());
        }
        shown
    }

    /// How many events of a customer have this word in their texts.
    pub(super) fn events_with(&self, customer: Customer, word: &str) -> usize {
        let word = word.to_lowercase();
        let events = self.accounts.get(&customer).map(|account| account.events.iter());
        events.into_iter().flatten().filter(|event| event.mentions(&word)).count()
    }

    /// Lets requests that name the customer's seeded event belong to a mark, and gives its id.
    pub(super) fn lend_event(&mut self, mark: &str, customer: Customer) -> String {
        let id = seed::spare_event(customer);
        self.correlation.remember(mark, [id.clone()]);
        id
    }

    /// A message from outside.
    pub(super) fn deliver(&mut self, mark: &str, text: &str, now: Timestamp) -> Delivered {
        let id = self.ids.message_id();
        let history = self.ids.history();
        let Some(account) = self.accounts.get_mut(&Customer::Connected) else {
            return Delivered { message_id: id.clone(), thread_id: id };
        };
        let raw = seed::mime_message(mark, text, (&id, &account.address), now);
        let arrived = account.mailbox.arrive(id, None, &["UNREAD", "INBOX"], now, raw, history);
        let made = arrived.mime_message.message_id.clone().unwrap_or_default();
        let delivered = Delivered { message_id: arrived.id.clone(), thread_id: arrived.thread_id.clone() };
        self.correlation.remember(mark, [delivered.message_id.clone(), made]);
        delivered
    }

    /// Whose request it is, unless it is refused before it is looked at.
    fn admit(&mut self, request: &ProviderRequest<'_>, area: Area) -> Result<Customer, ProviderResponse> {
        if area == Area::Nothing {
            return Err(unplayed());
        }
        let token = request.token.as_deref().ok_or_else(|| failure(401))?;
        let customer = self.tokens.customer(token)?;
        let writes = request.method != "GET" && request.segments.last().is_none_or(|last| last != "freeBusy");
        match customer {
            _ if area == Area::Identity => Ok(customer),
            Customer::UpstreamDown => Err(failure(503)),
            Customer::ReadOnly if writes => Err(failure(403)),
            _ => Ok(customer),
        }
    }

    fn carry_out(
        &mut self,
        request: &ProviderRequest<'_>,
        enclosed: Option<&Enclosed>,
        customer: Customer,
        area: Area,
        now: Timestamp,
    ) -> Handled {
        let account = self.accounts.get_mut(&customer).ok_or_else(|| failure(404))?;
        let (ids, uploads) = (&mut self.ids, &mut self.uploads);
        let mut context = RequestContext { request, enclosed, account, ids, uploads, now };
        match area {
            Area::Calendar => calendar::answer(&mut context),
            Area::Mail => mail::answer(&mut context),
            Area::Identity => Ok(Done::read(json!({
                "sub": format!("1000{}", customer as u8), "id": format!("1000{}", customer as u8),
                "email": context.account.address, "email_verified": true, "verified_email": true,
                "scope": scope(customer), "expires_in": "3500", "aud": "callmark", "access_type": "offline",
            }))),
            Area::Token | Area::Nothing => Err(failure(404)),
        }
    }
}

fn area(request: &ProviderRequest<'_>) -> Area {
    match request.path().as_slice() {
        ["token"] | ["oauth2", "token"] | ["oauth2", "v3" | "v4", "token"] | ["o", "oauth2", "token"] => {
            Area::Token
        }
        ["oauth2", "v1" | "v2" | "v3", "userinfo" | "tokeninfo"]
        | ["tokeninfo" | "userinfo"]
        | ["v1", "userinfo"] => Area::Identity,
        ["calendar", "v3", ..] => Area::Calendar,
        ["gmail", "v1", "users", _, ..] | ["upload", "gmail", "v1", "users", _, ..] => Area::Mail,
        _ => Area::Nothing,
    }
}

fn frame(request: &ProviderRequest<'_>, scenario: &str, body: Value) -> Message {
    Message {
        direction: Direction::FromTarget,
        kind: Kind::Provider,
        channel: request.channel.clone(),
        headers: BTreeMap::from([(SCENARIO.to_owned(), scenario.to_owned())]),
        body,
    }
}
