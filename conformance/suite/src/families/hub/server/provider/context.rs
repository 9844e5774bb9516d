//! What handles a request: the account that it is about, and new ids.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::enclosed::Enclosed;
use super::events::Events;
use super::mailbox::Mailbox;
use super::request::ProviderRequest;
use super::uploads::Uploads;

/// What one customer has.
pub(super) struct Account {
    /// Whose it is.
    pub(super) address: String,
    pub(super) events: Events,
    pub(super) mailbox: Mailbox,
}

/// What a handler works with.
pub(super) struct RequestContext<'a> {
    pub(super) request: &'a ProviderRequest<'a>,
    /// The mail in the request, if there is one.
    pub(super) enclosed: Option<&'a Enclosed>,
    pub(super) account: &'a mut Account,
    pub(super) ids: &'a mut IdGenerator,
    pub(super) uploads: &'a mut Uploads,
    pub(super) now: Timestamp,
}

/// Ids that were never given before, not by an earlier run either.
pub(super) struct IdGenerator {
    salt: String,
    count: u64,
}

impl IdGenerator {
    /// For one run.
    pub(super) fn new(salt: String) -> Self {
        Self { salt, count: 0 }
    }

    fn next(&mut self) -> [u8; 32] {
        self.count += 1;
        Sha256::digest(format!("{}/{}", self.salt, self.count)).into()
    }

    /// As mails have them.
    pub(super) fn message_id(&mut self) -> String {
        hex_id(&self.next())
    }

    /// As events have them.
    pub(super) fn event_id(&mut self) -> String {
        base32_id(&self.next())
    }

    /// Grows with each change.
    pub(super) fn history(&mut self) -> u64 {
        self.count += 1;
        100_000 + self.count
    }
}

/// An id as mails have them, of a digest.
pub(super) fn hex_id(digest: &[u8; 32]) -> String {
    let number = digest[..7].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    // Ids of these years begin like this.
    format!("19{number:014x}")
}

/// An id as events have them, of a digest.
pub(super) fn base32_id(digest: &[u8; 32]) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    digest[..26].iter().map(|byte| char::from(DIGITS[usize::from(byte % 32)])).collect()
}
