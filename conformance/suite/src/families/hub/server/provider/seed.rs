//! What is in every account at first: the same for all, but for the ids, which differ from customer to customer
//! and are the same in every run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, offset};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::context::{Account, base32_id, hex_id};
use super::events::{Event, Events, Identity};
use super::mailbox::Mailbox;
use crate::families::hub::contract::PEOPLE;
use crate::families::hub::manifest::{Customer, FixturesTable};

/// Subject of the message that `Provider::fixtures` names.
pub const SUBJECT: &str = "First thoughts on the harvest";
/// What stands in it, at its beginning and at its end.
pub const TEXTS: [&str; 2] = ["the first field is ready on Monday", "Shall we begin there?"];
/// Where its addressee and all other customers have their addresses.
pub const DOMAIN: &str = "@garden.example";
/// What is attached to the message with attachments.
pub const FILES: [AttachedFile; 2] = [
    AttachedFile {
        name: "plan.ods",
        size: 2_048,
        media_type: "application/vnd.oasis.opendocument.spreadsheet",
        begins_with: b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
    },
    AttachedFile {
        name: "rows 4-7.csv",
        size: 97,
        media_type: "text/csv",
        begins_with: b"row,plant\r\n4,beet\r\n",
    },
];
/// Subject of the message whose text comes as plain text and as HTML.
pub const SUBJECT_OF_BOTH: &str = "Numbers of the last harvest";

/// The second of those to whom that message went.
pub const SECOND: &str = "cleo@fern.example";
/// What stands in the message with an attachment.
pub const TEXT_BESIDE_A_FILE: &str = "The plan is attached";
/// What stands in the message that comes as HTML alone.
pub const TEXT_IN_HTML: &str = "mosses";
/// Who wrote the replies of the thread with replies.
pub const REPLIES_FROM: &str = "bo@orchid.example";
/// How the messages of that thread begin, and when they were sent; the first is no reply.
pub const REPLIES: [(&str, &str); 3] = [
    ("Hi Bo, can you", "2026-02-20T09:00:00Z"),
    ("Fine with me", "2026-02-21T10:15:00Z"),
    ("It is done", "2026-02-23T16:40:00Z"),
];

/// A file that is attached to a message.
#[derive(Clone, Copy, Debug)]
pub struct AttachedFile {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub size: u32,
    /// Its media type.
    pub media_type: &'static str,
    begins_with: &'static [u8],
}

/// Subjects of the seeded mails; each stands in one mail, or in one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subjects {
    /// Of the message without attachments.
    pub message: &'static str,
    /// Of the message with some.
    pub message_with_attachment: &'static str,
    /// Of the thread with replies.
    pub thread: &'static str,
    /// Of the thread without.
    pub thread_without_replies: &'static str,
    /// Of the second thread with replies.
    pub other_thread: &'static str,
}

/// Where those who write are.
const ZONE: Offset = offset(5);

/// What stands in the subject of three mails.
const WORD: &str = "harvest";
/// When the seeded events were made.
const MADE: &str = "2026-02-01T08:00:00Z";

/// A mail that is there at first.
struct Seed {
    name: &'static str,
    /// The seed that it answers.
    answers: Option<&'static str>,
    /// Nobody stands for the owner.
    from: Option<&'static str>,
    to: Option<&'static str>,
    at: &'static str,
    labels: &'static [&'static str],
    subject: &'static str,
    text: &'static str,
    kind: Body,
    /// To whom it goes beside its owner.
    also: Option<&'static str>,
}

enum Body {
    Plain,
    Html,
    Both,
    WithFiles,
}

const ANA: &str = "Ana Orchid <ana@orchid.example>";
const BO: &str = "Bo Orchid <bo@orchid.example>";
const CLEO: &str = "Cleo Reed <cleo@fern.example>";
/// The same, as people write whose address book has family names first.
const REED: &str = "\"Reed, Cleo\" <cleo@fern.example>";
/// Who writes what comes in during a run, so that what is there at first stays the newest of its senders.
const DORA: &str = "Dora Elm <dora@elm.example>";
const INBOX: &[&str] = &["INBOX", "CATEGORY_PERSONAL"];
const UNREAD: &[&str] = &["UNREAD", "INBOX", "CATEGORY_PERSONAL"];
const SENT: &[&str] = &["SENT"];

const fn from(
    name: &'static str,
    who: &'static str,
    at: &'static str,
    subject: &'static str,
    text: &'static str,
) -> Seed {
    Seed {
        name,
        answers: None,
        from: Some(who),
        to: None,
        at,
        labels: INBOX,
        subject,
        text,
        kind: Body::Plain,
        also: None,
    }
}

const fn sent(
    name: &'static str,
    to: &'static str,
    at: &'static str,
    subject: &'static str,
    text: &'static str,
) -> Seed {
    Seed { to: Some(to), from: None, labels: SENT, ..from(name, to, at, subject, text) }
}

const SEEDS: [Seed; 11] = [
    from(
        "plain",
        ANA,
        "2026-02-10T08:30:00Z",
        SUBJECT,
        "Hello,\r\n\r\nthe first field is ready on Monday, and the second one follows before the end of the week.\r\n\r\n\
         Shall we begin there?\r\n\r\nAna",
    ),
    Seed {
        kind: Body::Both,
        also: Some(REED),
        ..from(
            "both",
            ANA,
            "2026-02-12T14:05:00Z",
            SUBJECT_OF_BOTH,
            "Twelve crates, two of them small. More next week.",
        )
    },
    Seed {
        kind: Body::WithFiles,
        labels: UNREAD,
        ..from(
            "file",
            ANA,
            "2026-02-14T09:20:00Z",
            "The plan for the harvest",
            "The plan is attached. Please look at the second page.",
        )
    },
    sent(
        "heating",
        BO,
        "2026-02-20T09:00:00Z",
        "Heating of the greenhouse",
        "Hi Bo, can you look at the heating this week?",
    ),
    Seed {
        answers: Some("heating"),
        ..from(
            "heating-1",
            BO,
            "2026-02-21T10:15:00Z",
            "Re: Heating of the greenhouse",
            "Fine with me, I come on Thursday.",
        )
    },
    Seed {
        answers: Some("heating-1"),
        labels: UNREAD,
        ..from(
            "heating-2",
            BO,
            "2026-02-23T16:40:00Z",
            "Re: Heating of the greenhouse",
            "It is done. One valve was stuck.",
        )
    },
    sent("seeds", CLEO, "2026-02-24T07:45:00Z", "Delivery of seeds", "Hi Cleo, when do the seeds arrive?"),
    Seed {
        answers: Some("seeds"),
        ..from("seeds-1", CLEO, "2026-02-25T11:30:00Z", "Re: Delivery of seeds", "On Friday, before noon.")
    },
    sent(
        "watering",
        BO,
        "2026-02-26T18:00:00Z",
        "Who waters in March",
        "Hi Bo, please tell me which days suit you.",
    ),
    Seed {
        labels: UNREAD,
        ..from("lunch", CLEO, "2026-03-01T12:10:00Z", "Lunch on Friday", "The usual place at one o'clock?")
    },
    Seed {
        kind: Body::Html,
        labels: &["UNREAD", "INBOX", "CATEGORY_PROMOTIONS"],
        ..from(
            "moss",
            "Moss Weekly <news@moss.example>",
            "2026-03-03T06:00:00Z",
            "Moss weekly, no. 9",
            "Three mosses for a wet spring.",
        )
    },
];

/// An account with everything in it.
pub(super) fn account(customer: Customer) -> Account {
    let address = format!("{}{DOMAIN}", customer.name().replace('_', "-"));
    Account { events: events(customer, &address), mailbox: mailbox(customer, &address), address }
}

/// What of it a manifest would name.
pub(super) fn fixtures() -> FixturesTable {
    let mail = |name: &str| Some(mail_id(Customer::Connected, name));
    FixturesTable {
        event_id: Some(spare_event(Customer::Connected)),
        message_id: mail("plain"),
        message_with_attachment_id: mail("file"),
        thread_id: mail("heating"),
        thread_without_replies_id: mail("watering"),
        other_thread_id: mail("seeds"),
        sender: Some(PEOPLE[0].to_owned()),
        subject_word: Some(WORD.to_owned()),
        people: Some(PEOPLE.map(str::to_owned)),
    }
}

/// The subjects of what [`fixtures`] names.
pub(super) fn subjects() -> Subjects {
    let subject = |name: &str| {
        let seed = SEEDS.iter().find(|seed| seed.name == name);
        seed.map_or("", |seed| seed.subject)
    };
    Subjects {
        message: subject("plain"),
        message_with_attachment: subject("file"),
        thread: subject("heating"),
        thread_without_replies: subject("watering"),
        other_thread: subject("seeds"),
    }
}

/// A fresh mail to somebody, with a mark as its subject.
pub(super) fn mime_message(mark: &str, text: &str, (id, to): (&str, &str), at: Timestamp) -> Vec<u8> {
    // A mark is a line at most.
    let mark: String = mark.chars().filter(|character| !character.is_control()).collect();
    let head = head(DORA, to, &mark, id, at);
    let text = text.replace('\n', "\r\n");
    format!("{head}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n").into_bytes()
}

/// The event of a customer that takes up no time, and may be changed and deleted.
pub(super) fn spare_event(customer: Customer) -> String {
    event_id(customer, "spare")
}

/// Ids of the newest seeded message of `connected` with these words in its subject, and of its thread.
pub(super) fn seeded(subject: &str) -> Option<[String; 2]> {
    let seed = SEEDS.iter().rev().find(|seed| seed.subject.contains(subject))?;
    let first =
        std::iter::successors(Some(seed), |seed| SEEDS.iter().find(|other| seed.answers == Some(other.name)));
    let first = first.last().unwrap_or(seed);
    Some([seed, first].map(|seed| mail_id(Customer::Connected, seed.name)))
}

fn mail_id(customer: Customer, name: &str) -> String {
    hex_id(&Sha256::digest(format!("mail/{}/{name}", customer.name())).into())
}

fn event_id(customer: Customer, name: &str) -> String {
    base32_id(&Sha256::digest(format!("event/{}/{name}", customer.name())).into())
}

fn events(customer: Customer, address: &str) -> Events {
    let made: Timestamp = MADE.parse().unwrap_or_default();
    let mut events = Events::default();
    let madrid = |text: &str| json!({"dateTime": text, "timeZone": super::times::HOME});
    let seeds: [(&str, Value); 3] = [
        (
            "walk",
            json!({"summary": "Walk through the rows", "start": madrid("2031-03-04T09:00:00+01:00"), "end": madrid("2031-03-04T10:00:00+01:00")}),
        ),
        (
            "dentist",
            json!({"summary": "Dentist", "start": madrid("2031-03-05T11:00:00+01:00"), "end": madrid("2031-03-05T11:45:00+01:00")}),
        ),
        // Takes up no time, and may be changed and deleted.
        (
            "spare",
            json!({"summary": "Call the nursery", "transparency": "transparent", "start": madrid("2031-03-12T09:00:00+01:00"), "end": madrid("2031-03-12T09:30:00+01:00")}),
        ),
    ];
    for (name, given) in &seeds {
        let identity = Identity::seed(event_id(customer, name), address, made);
        let event = given.as_object().and_then(|given| Event::compose(given, identity, made).ok());
        if let Some(event) = event {
            events.put(event);
        }
    }
    events
}

fn mailbox(customer: Customer, address: &str) -> Mailbox {
    let mut mailbox = Mailbox::default();
    for (history, seed) in (1_000..).zip(&SEEDS) {
        let at: Timestamp = seed.at.parse().unwrap_or_default();
        let raw = raw(seed, customer, address, at);
        mailbox.arrive(mail_id(customer, seed.name), None, seed.labels, at, raw, history);
    }
    mailbox.keep();
    mailbox
}

fn raw(seed: &Seed, customer: Customer, address: &str, at: Timestamp) -> Vec<u8> {
    let id = |name: &str| mail_id(customer, name);
    let to = seed.to.unwrap_or(address);
    let to = seed.also.map_or_else(|| to.to_owned(), |also| format!("{to}, {also}"));
    let mut text = head(seed.from.unwrap_or(address), &to, seed.subject, &id(seed.name), at);
    if let Some(answered) = seed.answers {
        let parent = format!("<CA{}@mail.orchid.example>", id(answered));
        text.extend(["In-Reply-To: ", &parent, "\r\nReferences: ", &parent, "\r\n"]);
    }
    let plain = format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{}\r\n", seed.text);
    let html = format!("Content-Type: text/html; charset=utf-8\r\n\r\n<p>{}</p>\r\n", seed.text);
    text.push_str(&match seed.kind {
        Body::Plain => plain,
        Body::Html => html,
        Body::Both => multipart("alternative", &[plain, html]),
        Body::WithFiles => {
            let [first, second] = FILES.each_ref().map(attached);
            multipart("mixed", &[multipart("alternative", &[plain, html]), first, second])
        }
    });
    text.into_bytes()
}

fn head(from: &str, to: &str, subject: &str, id: &str, at: Timestamp) -> String {
    format!(
        "From: {from}\r\nTo: {to}\r\nSubject: {subject}\r\nDate: {}\r\nMessage-ID: <CA{id}@mail.orchid.example>\r\nMIME-Version: 1.0\r\n",
        // As its sender's clock has it.
        at.to_zoned(TimeZone::fixed(ZONE)).strftime("%a, %d %b %Y %H:%M:%S %z")
    )
}

fn multipart(kind: &str, parts: &[String]) -> String {
    // One stands within another.
    let boundary = format!("b1_{kind}");
    let begin = format!("--{boundary}\r\n");
    let inner: String = parts.iter().flat_map(|part| [&begin, part]).map(String::as_str).collect();
    format!("Content-Type: multipart/{kind}; boundary=\"{boundary}\"\r\n\r\n{inner}--{boundary}--\r\n")
}

fn attached(file: &AttachedFile) -> String {
    let AttachedFile { name, size, media_type, begins_with } = file;
    let mut content = begins_with.to_vec();
    content.resize(usize::try_from(*size).unwrap_or_default(), b'.');
    let encoded = STANDARD.encode(content);
    let mut lines = String::new();
    for (at, character) in encoded.chars().enumerate() {
        if at > 0 && at % 76 == 0 {
            lines.push_str("\r\n");
        }
        lines.push(character);
    }
    format!(
        "Content-Type: {media_type}; name=\"{name}\"\r\nContent-Disposition: attachment; filename=\"{name}\"\r\nContent-Transfer-Encoding: base64\r\n\r\n{lines}\r\n"
    )
}
