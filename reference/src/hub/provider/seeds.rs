//! What every account has from the start: weekly appointments, one event, and mails from three people.

use std::collections::BTreeMap;

use jiff::civil::{Time, Weekday, time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use mail_builder::MessageBuilder;
use mail_builder::headers::date::Date;
use serde_json::{Value, json};

use super::letters::StoredMessage;
use crate::hub::fixtures;

/// The time zone of every account.
const ZONE: &str = "Europe/Madrid";

/// An appointment of every week.
pub(super) type Weekly = (Weekday, Time, Time);

/// The appointments of someone who has a calendar here.
pub(super) fn weekly(calendar: &str) -> Option<&'static [Weekly]> {
    const OWN: &[Weekly] = &[
        (Weekday::Tuesday, time(10, 0, 0, 0), time(11, 0, 0, 0)),
        (Weekday::Thursday, time(15, 0, 0, 0), time(15, 30, 0, 0)),
    ];
    const ANA: &[Weekly] = &[
        (Weekday::Monday, time(9, 0, 0, 0), time(10, 0, 0, 0)),
        (Weekday::Wednesday, time(9, 0, 0, 0), time(15, 0, 0, 0)),
    ];
    const BO: &[Weekly] = &[
        (Weekday::Tuesday, time(9, 0, 0, 0), time(12, 0, 0, 0)),
        (Weekday::Friday, time(11, 0, 0, 0), time(12, 0, 0, 0)),
    ];
    match calendar {
        "primary" => Some(OWN),
        "ana@orchid.example" => Some(ANA),
        "bo@orchid.example" => Some(BO),
        "cleo@orchid.example" => Some(&[]),
        _ => None,
    }
}

/// Those of the weeks between the two moments.
pub(super) fn periods(weekly: &[Weekly], from: Timestamp, to: Timestamp) -> Vec<(Timestamp, Timestamp)> {
    let zone = TimeZone::get(ZONE).unwrap_or(TimeZone::UTC);
    let (first, last) = (zone.to_datetime(from).date(), zone.to_datetime(to).date());
    let mut periods = Vec::new();
    for date in first.series(1.day()).take_while(|&date| date <= last) {
        for (_, start, end) in weekly.iter().filter(|(weekday, _, _)| *weekday == date.weekday()) {
            let moment = |time: &Time| zone.to_timestamp(date.to_datetime(*time));
            if let (Ok(start), Ok(end)) = (moment(start), moment(end)) {
                periods.push((start, end));
            }
        }
    }
    periods
}

/// An event without anything that its maker sets.
pub(super) fn blank_event(id: &str, organizer: &str) -> Value {
    json!({
        "kind": "calendar#event",
        "id": id,
        "status": "confirmed",
        "htmlLink": format!("https://calendar.example/event?eid={id}"),
        "organizer": {"email": organizer, "self": true},
    })
}

pub(super) fn events(email: &str) -> BTreeMap<String, Value> {
    let mut event = blank_event(fixtures::EVENT_ID, email);
    event["summary"] = "Seed review".into();
    event["description"] = "Two open points".into();
    event["location"] = "Room 4".into();
    event["start"] = json!({"dateTime": "2031-03-05T11:00:00+01:00"});
    event["end"] = json!({"dateTime": "2031-03-05T11:45:00+01:00"});
    event["attendees"] = json!([{"email": fixtures::SENDER, "responseStatus": "accepted"}]);
    BTreeMap::from([(fixtures::EVENT_ID.to_owned(), event)])
}

/// A mail of a new account.
struct Seed {
    id: &'static str,
    thread: &'static str,
    /// The sender; `None` for the mailbox's owner.
    from: Option<(&'static str, &'static str)>,
    date: &'static str,
    subject: &'static str,
    text: &'static str,
    attachment: Option<(&'static str, &'static str, usize)>,
}

const ANA: Option<(&str, &str)> = Some(("Ana Orchid", fixtures::SENDER));
const BO: Option<(&str, &str)> = Some(("Bo Larch", "bo@orchid.example"));
const CLEO: Option<(&str, &str)> = Some(("Cleo Ash", "cleo@orchid.example"));
const ODS: (&str, &str, usize) = ("plan.ods", "application/vnd.oasis.opendocument.spreadsheet", 2048);

/// Oldest first in each thread.
const SEEDS: [Seed; 8] = [
    seed(
        fixtures::MESSAGE_ID,
        fixtures::THREAD_ID,
        ANA,
        "2026-03-02T08:00:00Z",
        "Harvest plan",
        "Hi, shall we talk about the harvest? Two points are open.",
    ),
    Seed {
        attachment: Some(ODS),
        ..seed(
            fixtures::MESSAGE_WITH_ATTACHMENT_ID,
            "thread-sheet",
            ANA,
            "2026-03-03T09:30:00Z",
            "Harvest numbers",
            "The numbers are in the sheet.",
        )
    },
    seed(
        "msg-harvest-3",
        "thread-dates",
        ANA,
        "2026-03-04T07:15:00Z",
        "Harvest dates",
        "We could begin on the 9th.",
    ),
    seed(
        "msg-harvest-1-own",
        fixtures::THREAD_ID,
        None,
        "2026-03-02T12:00:00Z",
        "Re: Harvest plan",
        "Yes, tomorrow at ten.",
    ),
    seed(
        "msg-harvest-1-bo",
        fixtures::THREAD_ID,
        BO,
        "2026-03-03T10:15:00Z",
        "Re: Harvest plan",
        "Fine with me.",
    ),
    seed(
        "msg-seeds-1",
        fixtures::OTHER_THREAD_ID,
        ANA,
        "2026-02-10T08:00:00Z",
        "Seeds",
        "Which seeds do we order?",
    ),
    seed("msg-seeds-2", fixtures::OTHER_THREAD_ID, BO, "2026-02-11T14:22:00Z", "Re: Seeds", "The red ones."),
    seed(
        "msg-quiet-1",
        fixtures::THREAD_WITHOUT_REPLIES_ID,
        CLEO,
        "2026-02-20T16:40:00Z",
        "Quiet week",
        "Nothing to report.",
    ),
];

const fn seed(
    id: &'static str,
    thread: &'static str,
    from: Option<(&'static str, &'static str)>,
    date: &'static str,
    subject: &'static str,
    text: &'static str,
) -> Seed {
    Seed { id, thread, from, date, subject, text, attachment: None }
}

pub(super) fn messages(email: &str) -> Vec<StoredMessage> {
    SEEDS.iter().filter_map(|seed| message(seed, email)).collect()
}

fn message(seed: &Seed, email: &str) -> Option<StoredMessage> {
    let date: Timestamp = seed.date.parse().ok()?;
    let (name, address) = seed.from.unwrap_or(("", email));
    let to = if seed.from.is_some() { email } else { fixtures::SENDER };
    let mut builder = MessageBuilder::new()
        .message_id(format!("{}@orchid.example", seed.id))
        .date(Date::new(date.as_second()))
        .from((name, address))
        .to(to)
        .subject(seed.subject)
        .text_body(seed.text);
    if let Some((filename, mime_type, size)) = seed.attachment {
        builder = builder.attachment(mime_type, filename, vec![b'0'; size]);
    }
    let raw = builder.write_to_vec().ok()?;
    let labels: &[&str] = if seed.from.is_some() { &["INBOX", "UNREAD"] } else { &["SENT"] };
    StoredMessage::from_raw(seed.id, seed.thread, labels, date.as_millisecond(), &raw)
}
