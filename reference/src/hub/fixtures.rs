//! The customers of a new database: one for each thing that can become of a call.
//!
//! Their tokens are `access-<name>` and `refresh-<name>`; what a token is good for is the provider's affair
//! ([`super::provider`] decides by these names).

use std::time::Duration;

use jiff::Timestamp;

use super::config::Allowance;
use super::record::{CustomerRecord, Grant, WorkingHours};

/// Calendar and mailbox are connected, for reading and writing.
pub const CONNECTED: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001";
/// Nothing is connected.
pub const NOT_CONNECTED: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0002";
/// The token has expired, and the provider gives no other.
pub const EXPIRED: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0003";
/// The token has expired, and the provider gives another.
pub const REFRESHABLE: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0004";
/// The customer allowed no writing.
pub const READ_ONLY: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0005";
/// Three calls an hour.
pub const LIMITED: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0006";
/// The provider fails for this customer.
pub const UPSTREAM_DOWN: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0007";
/// A second one that is connected, in another time zone.
pub const OTHER: &str = "0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0008";

/// In every mailbox of the stand-in: a message without attachments, the first of [`THREAD_ID`].
pub const MESSAGE_ID: &str = "msg-harvest-1";
/// A message with an attachment.
pub const MESSAGE_WITH_ATTACHMENT_ID: &str = "msg-harvest-2";
/// A thread with replies.
pub const THREAD_ID: &str = "thread-harvest";
/// A thread of one message.
pub const THREAD_WITHOUT_REPLIES_ID: &str = "thread-quiet";
/// A second thread with replies.
pub const OTHER_THREAD_ID: &str = "thread-seeds";
/// In every calendar of the stand-in: an event.
pub const EVENT_ID: &str = "ev-seeded";
/// Who sent three messages or more.
pub const SENDER: &str = "ana@orchid.example";
/// A word in the subject of three messages or more.
pub const SUBJECT_WORD: &str = "harvest";

/// A customer of a new database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixture {
    /// What the tokens end with.
    pub name: &'static str,
    /// The `customer_id` of requests.
    pub id: &'static str,
    /// What becomes of a call.
    pub shows: &'static str,
}

/// All of them.
pub const ALL: [Fixture; 8] = [
    Fixture { name: "connected", id: CONNECTED, shows: "calls succeed" },
    Fixture { name: "not_connected", id: NOT_CONNECTED, shows: "INTEGRATION_NOT_CONNECTED" },
    Fixture { name: "expired", id: EXPIRED, shows: "INTEGRATION_EXPIRED" },
    Fixture { name: "refreshable", id: REFRESHABLE, shows: "the token is renewed, calls succeed" },
    Fixture { name: "read_only", id: READ_ONLY, shows: "INTEGRATION_PERMISSION_DENIED for writes" },
    Fixture { name: "limited", id: LIMITED, shows: "RATE_LIMITED from the fourth call in an hour" },
    Fixture { name: "upstream_down", id: UPSTREAM_DOWN, shows: "EXTERNAL_API_ERROR" },
    Fixture { name: "other", id: OTHER, shows: "calls succeed, in America/New_York" },
];

const READING: [&str; 2] = ["calendar.readonly", "gmail.readonly"];
const EVERYTHING: [&str; 5] =
    ["calendar.readonly", "calendar.events", "gmail.readonly", "gmail.send", "gmail.modify"];

/// The mailbox of the customer with this name.
pub(super) fn mailbox(name: &str) -> String {
    format!("{}@orchid.example", name.replace('_', "."))
}

pub(super) fn records() -> Vec<CustomerRecord> {
    ALL.iter().map(record).collect()
}

fn record(fixture: &Fixture) -> CustomerRecord {
    let name = fixture.name;
    let abroad = name == "other";
    let working_days: &[&str] = if abroad {
        &["monday", "tuesday", "wednesday", "thursday"]
    } else {
        &["monday", "tuesday", "wednesday", "thursday", "friday"]
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    CustomerRecord {
        id: fixture.id.to_owned(),
        time_zone: if abroad { "America/New_York" } else { "Europe/Madrid" }.to_owned(),
        working_hours: WorkingHours {
            start: if abroad { "08:30" } else { "09:00" }.to_owned(),
            end: if abroad { "16:30" } else { "17:00" }.to_owned(),
            days: words(working_days),
        },
        allowance: (name == "limited").then_some(Allowance { calls: 3, per: Duration::from_secs(3600) }),
        grant: (name != "not_connected").then(|| Grant {
            email: mailbox(name),
            scopes: words(if name == "read_only" { &READING } else { &EVERYTHING }),
            access_token: format!("access-{name}"),
            refresh_token: format!("refresh-{name}"),
            expires_at: expiry(name),
            generation: 0,
        }),
    }
}

/// Long ago, or in 2099.
fn expiry(name: &str) -> Timestamp {
    let seconds = if matches!(name, "expired" | "refreshable") { 1_700_000_000 } else { 4_070_908_800 };
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}
