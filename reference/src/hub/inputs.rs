//! Reads the inputs of a tool, member by member, and says which one is wrong and what was expected.
//!
//! Only what cannot be guessed is required. `null` stands for absence, and members that are not known are tolerated.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::envelope::Refusal;
use super::moment::Moment;

/// What a reader says of a value that it cannot take; follows the member's name.
type Expected = &'static str;
/// A value, or what was expected in its place.
pub(super) type Reading<T> = Result<T, Expected>;

/// No id of the provider is longer.
const ID_LENGTH: usize = 1024;
/// No address is longer (RFC 5321 §4.5.3.1.3).
const ADDRESS_LENGTH: usize = 254;
/// No list is longer.
const LIST_LENGTH: usize = 500;

/// An object of inputs, with its path in the request.
pub(super) struct Inputs<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(members: &'a Map<String, Value>) -> Self {
        Self { members, path: "inputs".to_owned() }
    }

    pub(super) fn required<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Value) -> Reading<T>,
    ) -> Result<T, Refusal> {
        self.optional(name, read)?.ok_or_else(|| self.refuse(name, "is required"))
    }

    pub(super) fn optional<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Value) -> Reading<T>,
    ) -> Result<Option<T>, Refusal> {
        let value = self.members.get(name).filter(|value| !value.is_null());
        value.map(read).transpose().map_err(|expected| self.refuse(name, expected))
    }

    /// A member that is an object itself.
    pub(super) fn object(&self, name: &str) -> Result<Option<Inputs<'a>>, Refusal> {
        let members = self.optional(name, |value| value.as_object().ok_or("must be an object"))?;
        Ok(members.map(|members| Inputs { members, path: self.path_of(name) }))
    }

    /// The same, where it has to be there.
    pub(super) fn required_object(&self, name: &str) -> Result<Inputs<'a>, Refusal> {
        self.object(name)?.ok_or_else(|| self.refuse(name, "is required"))
    }

    pub(super) fn refuse(&self, name: &str, expected: &str) -> Refusal {
        Refusal::input(&self.path_of(name), expected)
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }
}

pub(super) fn text(value: &Value) -> Reading<String> {
    value.as_str().map(str::to_owned).ok_or("must be a string")
}

/// A text that goes into a header: one line, no control characters.
pub(super) fn line(value: &Value) -> Reading<String> {
    let text = text(value)?;
    if text.chars().any(char::is_control) { Err("must be one line of text") } else { Ok(text) }
}

pub(super) fn flag(value: &Value) -> Reading<bool> {
    value.as_bool().ok_or("must be true or false")
}

pub(super) fn count(value: &Value) -> Reading<u32> {
    let count = value.as_u64().filter(|&count| count > 0).and_then(|count| u32::try_from(count).ok());
    count.ok_or("must be a positive integer")
}

/// An id that the provider gave out. It becomes one segment of a path, so that `.` and `..` would mean another one.
pub(super) fn id(value: &Value) -> Reading<String> {
    let id = text(value)?;
    let right = !id.is_empty()
        && id.len() <= ID_LENGTH
        && !matches!(id.as_str(), "." | "..")
        && !id.chars().any(|character| character.is_control() || character.is_whitespace());
    if right { Ok(id) } else { Err("must be an id") }
}

pub(super) fn date(value: &Value) -> Reading<Date> {
    let text = value.as_str().filter(|text| text.len() == "2031-03-04".len());
    text.and_then(|text| text.parse().ok()).ok_or("must be a date `YYYY-MM-DD`")
}

pub(super) fn moment(value: &Value) -> Reading<Moment> {
    value.as_str().and_then(Moment::parse).ok_or("must be an ISO 8601 date-time with an offset or `Z`")
}

pub(super) fn zone(value: &Value) -> Reading<TimeZone> {
    let name = value.as_str().ok_or("must be an IANA time zone")?;
    TimeZone::get(name).map_err(|_error| "must be an IANA time zone")
}

/// Minutes since midnight of a time `HH:MM`; `24:00` is the end of a day.
pub(super) fn minutes(value: &Value) -> Reading<u16> {
    value.as_str().and_then(minutes_of).ok_or("must be a time `HH:MM`")
}

pub(super) fn minutes_of(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |part: &str| {
        (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse())
    };
    let (hours, minutes): (u16, u16) = (digits(hours)?.ok()?, digits(minutes)?.ok()?);
    let total = hours * 60 + minutes;
    (minutes < 60 && total <= 24 * 60).then_some(total)
}

/// A bare address, `local@domain`, that can stand in a header without being quoted.
pub(super) fn address(value: &Value) -> Reading<String> {
    let text = text(value)?;
    let (local, domain) = text.rsplit_once('@').ok_or("must be a bare e-mail address")?;
    let plain = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>()[]\\,;:@\"".contains(&byte))
    };
    let right = plain(local) && plain(domain) && text.len() <= ADDRESS_LENGTH;
    if right { Ok(text) } else { Err("must be a bare e-mail address") }
}

/// Every element read by the same reader.
pub(super) fn list<T>(value: &Value, read: impl Fn(&Value) -> Reading<T>) -> Reading<Vec<T>> {
    let elements = value.as_array().filter(|elements| elements.len() <= LIST_LENGTH);
    elements.ok_or("must be an array of at most 500 elements")?.iter().map(read).collect()
}

pub(super) fn addresses(value: &Value) -> Reading<Vec<String>> {
    list(value, address).map_err(|_expected| "must be an array of bare e-mail addresses")
}

pub(super) fn ids(value: &Value) -> Reading<Vec<String>> {
    list(value, id).map_err(|_expected| "must be an array of ids")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Reading, address, count, date, id, line, minutes, zone};

    fn check<T>(read: impl Fn(&Value) -> Reading<T>, good: &[Value], bad: &[Value]) {
        for value in good {
            assert!(read(value).is_ok(), "{value} is good");
        }
        for value in bad {
            assert!(read(value).is_err(), "{value} is bad");
        }
    }

    #[test]
    fn readers_take_their_form_and_nothing_else() {
        check(
            date,
            &[json!("2031-03-04"), json!("2028-02-29")],
            &[json!("2031-02-29"), json!("2031-3-4"), json!("2031-03-04T10:00:00Z"), json!(20_310_304)],
        );
        check(zone, &[json!("Europe/Madrid"), json!("UTC")], &[json!("Mars/Olympus"), json!(""), json!(1)]);
        check(
            minutes,
            &[json!("00:00"), json!("09:30"), json!("24:00")],
            &[json!("9:30"), json!("24:01"), json!("10:60"), json!("+1:00"), json!("10:00:00"), json!(9)],
        );
        check(
            address,
            &[json!("ana@orchid.example"), json!("a.b+c@x")],
            &[
                json!("ana"),
                json!("@x"),
                json!("ana@"),
                json!("Ana <ana@x>"),
                json!("a@x,b@y"),
                json!("a@x\r\nBcc: b@y"),
                json!("ána@x"),
                json!(["a@x"]),
            ],
        );
        check(
            id,
            &[json!("ev_9Q2"), json!("a/b"), json!("...")],
            &[json!(""), json!(".."), json!("."), json!("a b")],
        );
        check(count, &[json!(1)], &[json!(0), json!(-1), json!(1.5), json!("1"), json!(5_000_000_000_u64)]);
        check(line, &[json!("Two points"), json!("")], &[json!("a\r\nBcc: b@y"), json!("a\u{0}")]);
    }
}
