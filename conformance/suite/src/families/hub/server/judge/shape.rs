//! Forms of members, as steps name them.

use std::str::FromStr;

use cucumber::Parameter;
use jiff::Timestamp;
use serde_json::Value;

/// The form that a member must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Parameter)]
#[param(
    name = "shape",
    regex = "true|false|absent|a string|a non-empty string|strings|a boolean|a number|a number of 0 or more|an integer|an integer of 0 or more|an object|an object or absent|an array|an absolute URL|a date-time with zone|a date or date-time|a time of day|weekdays in lower case"
)]
pub enum Shape {
    /// Boolean true.
    True,
    /// Boolean false.
    False,
    /// Not there, or null.
    Absent,
    /// Any string.
    Text,
    /// A string with something in it.
    FullText,
    /// An array of strings.
    Texts,
    /// A boolean.
    Boolean,
    /// A number.
    Number,
    /// A number that is not negative.
    Amount,
    /// An integer.
    Integer,
    /// An integer that is not negative.
    Count,
    /// An object.
    Object,
    /// An object, or nothing.
    ObjectOrAbsent,
    /// An array.
    Array,
    /// A URL with scheme and host.
    Url,
    /// ISO 8601 with offset or `Z`.
    Moment,
    /// ISO 8601, with or without zone and time.
    Date,
    /// `HH:MM`.
    TimeOfDay,
    /// Names of weekdays in lower case.
    Weekdays,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| format!("`{text}` is no form of a member"))
    }
}

impl Shape {
    const ALL: [Self; 19] = [
        Self::True,
        Self::False,
        Self::Absent,
        Self::Text,
        Self::FullText,
        Self::Texts,
        Self::Boolean,
        Self::Number,
        Self::Amount,
        Self::Integer,
        Self::Count,
        Self::Object,
        Self::ObjectOrAbsent,
        Self::Array,
        Self::Url,
        Self::Moment,
        Self::Date,
        Self::TimeOfDay,
        Self::Weekdays,
    ];

    /// The name in steps.
    pub fn name(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Absent => "absent",
            Self::Text => "a string",
            Self::FullText => "a non-empty string",
            Self::Texts => "strings",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Amount => "a number of 0 or more",
            Self::Integer => "an integer",
            Self::Count => "an integer of 0 or more",
            Self::Object => "an object",
            Self::ObjectOrAbsent => "an object or absent",
            Self::Array => "an array",
            Self::Url => "an absolute URL",
            Self::Moment => "a date-time with zone",
            Self::Date => "a date or date-time",
            Self::TimeOfDay => "a time of day",
            Self::Weekdays => "weekdays in lower case",
        }
    }

    /// What it looks like, for a finding.
    pub fn example(self) -> &'static str {
        match self {
            Self::Url => "an absolute URL, for example `https://hub.test/integrations/google`",
            Self::Moment => {
                "an ISO 8601 date-time with offset or `Z`, for example `2031-03-05T11:00:00+01:00`"
            }
            Self::Date => "ISO 8601, for example `2031-04-01T00:00:00Z`",
            Self::TimeOfDay => "`HH:MM`, for example `08:30`",
            Self::Weekdays => "an array of names such as `monday`",
            Self::Texts => "an array of strings",
            other => other.name(),
        }
    }

    /// Whether a member has the form. JSON null counts as absent.
    pub fn holds(self, value: Option<&Value>) -> bool {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return matches!(self, Self::Absent | Self::ObjectOrAbsent);
        };
        let text = value.as_str();
        match self {
            Self::True => *value == Value::Bool(true),
            Self::False => *value == Value::Bool(false),
            Self::Absent => false,
            Self::Text => text.is_some(),
            Self::FullText => text.is_some_and(|text| !text.trim().is_empty()),
            Self::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Boolean => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Amount => value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Integer => is_integer(value),
            Self::Count => is_integer(value) && value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Object | Self::ObjectOrAbsent => value.is_object(),
            Self::Array => value.is_array(),
            Self::Url => text.is_some_and(is_url),
            Self::Moment => text.is_some_and(|text| moment(text).is_some()),
            Self::Date => text.is_some_and(is_date),
            Self::TimeOfDay => text.is_some_and(is_time_of_day),
            Self::Weekdays => value.as_array().is_some_and(|days| days.iter().all(is_weekday)),
        }
    }
}

/// JSON knows one kind of number: `1.0` is the integer 1.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn is_url(text: &str) -> bool {
    // An app may have a scheme of its own.
    !text.contains(char::is_whitespace) && url::Url::parse(text).is_ok_and(|url| url.has_host())
}

/// The moment that an ISO 8601 date-time with offset or `Z` names.
pub fn moment(text: &str) -> Option<Timestamp> {
    // ISO 8601 has a basic form without hyphens and colons as well.
    let has_date_and_time = [8, 10].iter().any(|at| matches!(text.get(*at..*at + 1), Some("T" | "t")));
    has_date_and_time.then(|| text.parse().ok()).flatten()
}

fn is_date(text: &str) -> bool {
    let is_plain = || text.parse::<jiff::civil::DateTime>().is_ok() && !text.contains(' ');
    moment(text).is_some() || is_plain()
}

fn is_time_of_day(text: &str) -> bool {
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(hours, minutes)| {
        digits(hours) && digits(minutes) && minutes < "60" && (hours < "24" || text == "24:00")
    })
}

fn is_weekday(day: &Value) -> bool {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    day.as_str().is_some_and(|day| names.contains(&day))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_is_known_by_its_name() {
        for shape in Shape::ALL {
            assert_eq!(shape.name().parse(), Ok(shape));
        }
    }

    #[test]
    fn moments_need_a_zone() {
        let check = |text: &str, expect: bool| assert_eq!(moment(text).is_some(), expect, "{text}");
        check("2031-03-05T11:00:00+01:00", true);
        check("2031-03-05T11:00:00.250Z", true);
        check("2031-03-05T11:00Z", true);
        check("20310305T110000Z", true);
        check("20310305T110000+0100", true);
        check("2031-03-05T11:00:00", false);
        check("2031-03-05", false);
        check("Wed, 05 Mar 2031 11:00:00 +0100", false);
        check("1931252400", false);
    }

    #[test]
    fn members_have_their_form_or_not() {
        let check = |shape: Shape, value: Value, expect: bool| {
            assert_eq!(shape.holds(Some(&value)), expect, "{shape:?} {value}");
        };
        check(Shape::True, json!(true), true);
        check(Shape::True, json!("true"), false);
        check(Shape::Absent, json!(null), true);
        check(Shape::Count, json!(3.0), true);
        check(Shape::Count, json!(-1), false);
        check(Shape::Count, json!("3"), false);
        check(Shape::Amount, json!(81.25), true);
        check(Shape::Url, json!("/integrations/google"), false);
        check(Shape::Url, json!("https://hub.test/integrations/google"), true);
        check(Shape::TimeOfDay, json!("9:00"), false);
        check(Shape::TimeOfDay, json!("24:30"), false);
        check(Shape::Url, json!("https://hub.test/set up"), false);
        check(Shape::Url, json!("orchard://setup/google"), true);
        check(Shape::Weekdays, json!([]), true);
        check(Shape::Weekdays, json!(["Monday"]), false);
        assert!(Shape::Absent.holds(None));
        assert!(!Shape::Text.holds(None));
    }
}
