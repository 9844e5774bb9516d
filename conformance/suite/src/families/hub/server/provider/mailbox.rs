//! The mails of an account: labels, threads, drafts.

use jiff::Timestamp;

use super::index::Index;
use super::mime_message::MimeMessage;
use super::response::{ProviderResponse, refuse};

/// Mails of one account; the oldest that arrived or were sent go first.
const MAX_MAILS: usize = 2_000;
/// Bytes of them.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Labels that every mailbox has.
pub(super) const SYSTEM_LABELS: [&str; 13] = [
    "INBOX",
    "SENT",
    "DRAFT",
    "UNREAD",
    "STARRED",
    "IMPORTANT",
    "SPAM",
    "TRASH",
    "CATEGORY_PERSONAL",
    "CATEGORY_SOCIAL",
    "CATEGORY_PROMOTIONS",
    "CATEGORY_UPDATES",
    "CATEGORY_FORUMS",
];
/// A label that somebody made: id and name.
pub(super) const OWN_LABEL: (&str, &str) = ("Label_1", "Field notes");

/// A mail.
pub(super) struct Mail {
    pub(super) id: String,
    pub(super) thread_id: String,
    pub(super) labels: Vec<String>,
    /// When it arrived.
    pub(super) at: Timestamp,
    pub(super) history: u64,
    pub(super) raw: Vec<u8>,
    pub(super) mime_message: MimeMessage,
    pub(super) index: Index,
}

/// A mail that was not sent yet.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) message_id: String,
    /// The thread that was asked for.
    pub(super) thread_id: Option<String>,
}

/// The mails of an account, in the order in which they came.
#[derive(Default)]
pub(super) struct Mailbox {
    mails: Vec<Mail>,
    pub(super) drafts: Vec<Draft>,
    bytes: usize,
    seeds: usize,
}

impl Mail {
    /// Whether it has a label.
    pub(super) fn has(&self, label: &str) -> bool {
        self.labels.iter().any(|each| each == label)
    }

    /// Changes its labels.
    pub(super) fn relabel(&mut self, added: &[String], removed: &[String], history: u64) {
        self.labels.retain(|label| !removed.contains(label));
        for label in added {
            if !self.has(label) {
                self.labels.push(label.clone());
            }
        }
        self.history = history;
    }
}

impl Mailbox {
    /// Adds a mail: to a thread, to that of a mail which it answers, or to a new one.
    pub(super) fn arrive(
        &mut self,
        id: String,
        thread_id: Option<String>,
        labels: &[&str],
        at: Timestamp,
        raw: Vec<u8>,
        history: u64,
    ) -> &Mail {
        let mime_message = MimeMessage::read(&raw).unwrap_or_default();
        let thread_id = thread_id.or_else(|| self.thread_of(&mime_message)).unwrap_or_else(|| id.clone());
        self.bytes += raw.len();
        while (self.mails.len() >= MAX_MAILS || self.bytes > MAX_BYTES) && self.mails.len() > self.seeds {
            self.bytes -= self.mails.remove(self.seeds).raw.len();
        }
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let index = Index::of(&mime_message);
        self.mails.push(Mail { id, thread_id, labels, at, history, raw, mime_message, index });
        &self.mails[self.mails.len() - 1]
    }

    /// What is there now stays.
    pub(super) fn keep(&mut self) {
        self.seeds = self.mails.len();
    }

    /// The newest first.
    pub(super) fn newest_first(&self) -> Vec<&Mail> {
        let mut mails: Vec<&Mail> = self.mails.iter().rev().collect();
        mails.sort_by_key(|mail| std::cmp::Reverse(mail.at));
        mails
    }

    /// The mails of a thread, the oldest first; an error where there are none.
    pub(super) fn thread(&self, id: &str) -> Result<Vec<&Mail>, ProviderResponse> {
        let mut mails: Vec<&Mail> = self.mails.iter().filter(|mail| mail.thread_id == id).collect();
        mails.sort_by_key(|mail| mail.at);
        if mails.is_empty() { Err(missing(id)) } else { Ok(mails) }
    }

    /// Finds a mail.
    pub(super) fn find(&self, id: &str) -> Result<&Mail, ProviderResponse> {
        self.mails.iter().find(|mail| mail.id == id).ok_or_else(|| missing(id))
    }

    /// Finds a mail, to change it.
    pub(super) fn find_mut(&mut self, id: &str) -> Result<&mut Mail, ProviderResponse> {
        self.mails.iter_mut().find(|mail| mail.id == id).ok_or_else(|| missing(id))
    }

    /// Takes a mail away.
    pub(super) fn remove(&mut self, id: &str) {
        let Some(at) = self.mails.iter().position(|mail| mail.id == id) else { return };
        if at >= self.seeds {
            self.bytes -= self.mails.remove(at).raw.len();
        }
    }

    /// Mails and threads.
    pub(super) fn counts(&self) -> (usize, usize) {
        let threads: std::collections::BTreeSet<&str> =
            self.mails.iter().map(|mail| mail.thread_id.as_str()).collect();
        (self.mails.len(), threads.len())
    }

    /// The thread of the mail that a letter answers.
    pub(super) fn thread_of(&self, mime_message: &MimeMessage) -> Option<String> {
        mime_message.ancestors().find_map(|ancestor| {
            let known = |mail: &&Mail| mail.mime_message.message_id.as_deref() == Some(ancestor);
            self.mails.iter().find(known).map(|mail| mail.thread_id.clone())
        })
    }
}

/// Ids that no mail can have are wrong, others are unknown.
fn missing(id: &str) -> ProviderResponse {
    if (12..=16).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        refuse(404, "notFound", "Requested entity was not found.")
    } else {
        refuse(400, "invalidArgument", "Invalid id value")
    }
}
