//! Moments as the contract writes them: ISO 8601 with an offset, which is kept as it came.

use std::fmt;

use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// A moment, and the offset in which it is written; without one it is written with `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) timestamp: Timestamp,
    offset: Option<Offset>,
}

impl Moment {
    /// Reads a date-time with an offset or `Z`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let timestamp: Timestamp = text.parse().ok()?;
        let zulu = text.ends_with(['Z', 'z']);
        let offset = if zulu { None } else { Pieces::parse(text).ok()?.to_numeric_offset() };
        Some(Self { timestamp, offset })
    }

    pub(super) fn utc(timestamp: Timestamp) -> Self {
        Self { timestamp, offset: None }
    }

    /// The moment as clocks in the zone show it.
    pub(super) fn in_zone(timestamp: Timestamp, zone: &TimeZone) -> Self {
        Self { timestamp, offset: Some(zone.to_offset(timestamp)) }
    }

    /// What the provider takes for milliseconds since 1970 in decimal digits.
    pub(super) fn from_milliseconds(text: &str) -> Option<Self> {
        Timestamp::from_millisecond(text.parse().ok()?).ok().map(Self::utc)
    }

    /// Reads the `Date` header of a mail.
    pub(super) fn from_mail_date(text: &str) -> Option<Self> {
        jiff::fmt::rfc2822::parse(text).ok().map(|date| Self::utc(date.timestamp()))
    }
}

impl From<&Zoned> for Moment {
    fn from(zoned: &Zoned) -> Self {
        Self { timestamp: zoned.timestamp(), offset: Some(zoned.offset()) }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            None => self.timestamp.fmt(formatter),
            Some(offset) => self.timestamp.display_with_offset(offset).fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn moments_keep_their_offset() {
        fn check(text: &str, expect: Option<&str>) {
            assert_eq!(Moment::parse(text).map(|moment| moment.to_string()).as_deref(), expect, "{text}");
        }
        check("2031-03-05T15:00:00+01:00", Some("2031-03-05T15:00:00+01:00"));
        check("2031-03-05T15:00:00-05:00", Some("2031-03-05T15:00:00-05:00"));
        check("2031-03-05T15:00:00Z", Some("2031-03-05T15:00:00Z"));
        check("2031-03-05T15:00:00.25Z", Some("2031-03-05T15:00:00.25Z"));
        check("2031-03-05T15:00+01:00", Some("2031-03-05T15:00:00+01:00"));
        check("2031-03-05T15:00:00", None);
        check("2031-03-05", None);
        check("15:00", None);
        check("tomorrow", None);
    }
}
