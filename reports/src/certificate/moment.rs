//! The date of a run, as RFC 3339 writes it in UTC.

use std::fmt;
use std::str::FromStr;

use crate::baseline::Date;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// The last second of the year 9999: RFC 3339 has four digits for a year.
const LAST: u64 = 253_402_300_799;

/// A second, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Moment {
    /// By the seconds since the beginning of 1970; none after the year 9999.
    pub fn of_unix_seconds(seconds: u64) -> Option<Self> {
        (seconds <= LAST).then_some(Self(seconds))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, second) = (Date::of_unix_seconds(self.0), self.0 % DAY);
        write!(f, "{date}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// A text that is no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date of the form `2026-01-31T23:59:59Z`")]
pub struct NoMoment;

impl FromStr for Moment {
    type Err = NoMoment;

    /// Only the form that is written.
    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
        let parse = || {
            let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
            let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
            // Days of the years and months before, then read back: what differs is no date.
            let years = year.checked_sub(1970)?;
            let leaps = |year: u64| year / 4 - year / 100 + year / 400;
            let months = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
            let month_days = months.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
            let is_leap = leaps(year) > leaps(year - 1);
            let days = years * 365 + leaps(year - 1) - leaps(1969)
                + month_days
                + u64::from(is_leap && month > 2)
                + day.checked_sub(1)?;
            Self::of_unix_seconds(days * DAY + hour * 3600 + minute * 60 + second)
        };
        parse().filter(|moment| moment.to_string() == text).ok_or(NoMoment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            let moment = Moment::of_unix_seconds(seconds).expect("a moment");
            assert_eq!(moment.to_string(), text);
            assert_eq!(text.parse(), Ok(moment));
        }
        assert_eq!(Moment::of_unix_seconds(LAST + 1), None);
    }

    #[test]
    fn another_form_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-01-31",
            "2026-01-31T23:59:59",
            "2026-01-31T23:59:59+00:00",
            "2026-01-31 23:59:59Z",
            "2026-02-30T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "1969-12-31T00:00:00Z",
            "+026-01-31T23:59:59Z",
            "٢٠٢٦-01-31T23:59:59Z",
        ] {
            assert_eq!(text.parse::<Moment>(), Err(NoMoment), "{text}");
        }
    }
}
