//! What inputs a tool takes: one table per tool is both the schema that the model is shown and the check that
//! a call passes, so that they cannot differ.
//!
//! Names are closed and types exact: what a model made up is refused here, before anything is sent.
//! Reasons name the input and what it should be, never its value.
//! Neighbour: `tool` holds the tables. Whether a day exists in its month is left to the Hub.

use serde_json::{Map, Value, json};

/// What values an input takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// A string that is not empty and has no control characters: ids, titles, the subject of an email.
    Line,
    /// A line, or null for none.
    LineOrNull,
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A date, `YYYY-MM-DD`.
    Date,
    /// A time of day, `HH:MM`.
    Clock,
    /// ISO 8601 with date, time and zone.
    Instant,
    /// An array of lines.
    Lines,
    /// An array of email addresses.
    Addresses,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// An object with these members.
    Object(&'static [Field]),
}

/// One input.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether a call without it is refused.
    pub required: bool,
    /// What it means, for the model.
    pub description: &'static str,
}

impl Field {
    pub(super) const fn required(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, required: true, description }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Self {
        Self { name, kind, required: false, description }
    }
}

/// The members of `inputs`, if it is what a tool with this table takes; else the reason why not.
pub(super) fn check<'a>(fields: &[Field], inputs: &'a Value) -> Result<&'a Map<String, Value>, String> {
    let members = inputs.as_object().ok_or("`inputs` must be an object")?;
    check_members(fields, members, "")?;
    Ok(members)
}

fn check_members(fields: &[Field], members: &Map<String, Value>, path: &str) -> Result<(), String> {
    for (name, value) in members {
        match fields.iter().find(|field| field.name == name) {
            None => return Err(unknown(fields, name, path)),
            Some(field) => check_value(field.kind, value, &format!("{path}{name}"))?,
        }
    }
    match fields.iter().find(|field| field.required && !members.contains_key(field.name)) {
        None => Ok(()),
        Some(field) => Err(format!("`{path}{}` is missing", field.name)),
    }
}

fn check_value(kind: Kind, value: &Value, path: &str) -> Result<(), String> {
    if let (Kind::Object(fields), Value::Object(members)) = (kind, value) {
        return check_members(fields, members, &format!("{path}."));
    }
    let text = |fits: fn(&str) -> bool| value.as_str().is_some_and(fits);
    let texts = |fits: fn(&str) -> bool| {
        value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some_and(fits)))
    };
    let fits = match kind {
        Kind::Text => value.is_string(),
        Kind::Line => text(is_line),
        Kind::LineOrNull => value.is_null() || text(is_line),
        Kind::Flag => value.is_boolean(),
        Kind::Whole(least, most) => value.as_u64().is_some_and(|number| (least..=most).contains(&number)),
        Kind::Date => text(is_date),
        Kind::Clock => text(is_clock),
        Kind::Instant => text(is_instant),
        Kind::Lines => texts(is_line),
        Kind::Addresses => texts(is_address),
        Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Kind::Object(_) => false,
    };
    if fits { Ok(()) } else { Err(format!("`{path}` must be {}", expected(kind))) }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text => "a string".to_owned(),
        Kind::Line => "a string that is not empty and has no control characters".to_owned(),
        Kind::LineOrNull => "null or a string that is not empty".to_owned(),
        Kind::Flag => "a boolean".to_owned(),
        Kind::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Date => "a date as `2031-03-04`".to_owned(),
        Kind::Clock => "a time as `09:30`".to_owned(),
        Kind::Instant => "a date and time with its zone, as `2031-03-05T15:00:00+01:00`".to_owned(),
        Kind::Lines => "an array of strings that are not empty".to_owned(),
        Kind::Addresses => "an array of email addresses".to_owned(),
        Kind::OneOf(words) => {
            format!("one of {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
        }
        Kind::Object(_) => "an object".to_owned(),
    }
}

fn unknown(fields: &[Field], name: &str, path: &str) -> String {
    let shown = format!("`{path}{}` is not an input of this tool", shown(name));
    match nearest(name, fields.iter().map(|field| field.name)) {
        Some(near) => format!("{shown}; did you mean `{near}`?"),
        None if fields.is_empty() => format!("{shown}; it takes none"),
        None => {
            let known: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
            format!("{shown}; known: {}", known.join(", "))
        }
    }
}

/// A name that someone else chose, short and on one line.
pub(super) fn shown(name: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String =
        name.chars().take(MOST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if name.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// The known name that may have been meant.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The distance costs the product of the lengths, and long names are not typing errors of short ones.
    if name.len() > 64 {
        return None;
    }
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

fn is_address(text: &str) -> bool {
    is_line(text) && text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
}

fn is_date(text: &str) -> bool {
    let number = |part: &str| part.parse::<u8>().unwrap_or(0);
    fits_form(text, "0000-00-00")
        && (1..=12).contains(&number(&text[5..7]))
        && (1..=31).contains(&number(&text[8..]))
}

fn is_clock(text: &str) -> bool {
    fits_form(text, "00:00") && &text[..2] < "24" && &text[3..] < "60"
}

/// RFC 3339, and ISO 8601 as far as people write it: seconds and the zone's colon may be left out.
fn is_instant(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else { return false };
    let Some(zone_at) = rest.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = rest.split_at(zone_at);
    let (clock, second) = time.split_at_checked(5).unwrap_or(("", ""));
    is_date(date) && is_clock(clock) && is_second(second) && is_zone(zone)
}

/// What may follow hours and minutes: nothing, or seconds with or without a fraction.
fn is_second(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, part)| (whole, Some(part)));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match fraction {
        None if whole.is_empty() => true,
        // Sixty is a leap second.
        _ => fits_form(whole, ":00") && &whole[1..] <= "60" && fraction.is_none_or(digits),
    }
}

fn is_zone(text: &str) -> bool {
    match text.strip_prefix(['+', '-']) {
        None => text.eq_ignore_ascii_case("z"),
        Some(offset) => is_clock(offset) || fits_form(offset, "0000") || fits_form(offset, "00"),
    }
}

/// Whether the text has the form: a digit where the form has `0`, else the same character.
fn fits_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, place)| match place {
            b'0' => byte.is_ascii_digit(),
            _ => byte == place,
        })
}

/// The JSON Schema of an object with these members.
pub(super) fn schema(fields: &[Field]) -> Value {
    let properties: Map<_, _> = fields
        .iter()
        .map(|field| {
            let mut property = kind_schema(field.kind);
            property["description"] = json!(field.description);
            (field.name.to_owned(), property)
        })
        .collect();
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn kind_schema(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Line => json!({"type": "string", "minLength": 1}),
        Kind::LineOrNull => json!({"type": ["string", "null"]}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Date => json!({"type": "string", "format": "date"}),
        Kind::Clock => json!({"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}),
        Kind::Instant => json!({"type": "string", "format": "date-time"}),
        Kind::Lines => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Kind::Addresses => json!({"type": "array", "items": {"type": "string", "format": "email"}}),
        Kind::OneOf(words) => json!({"type": "string", "enum": words}),
        Kind::Object(fields) => schema(fields),
    }
}
