//! A day of the calendar: all that an entry's expiry needs to know of time.

use std::fmt;

/// A day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// The day of a moment, in seconds since the beginning of 1970.
    pub fn of_unix_seconds(seconds: u64) -> Self {
        let mut days = seconds / 86_400;
        let mut year = 1970;
        let mut month = 1;
        // Counting costs nothing at this scale, and reads better than the closed formula.
        while days >= days_of_year(year) {
            days -= days_of_year(year);
            year += 1;
        }
        while days >= days_of_month(year, month) {
            days -= days_of_month(year, month);
            month += 1;
        }
        Self { year, month, day: u8::try_from(days + 1).unwrap_or(u8::MAX) }
    }

    /// A day by its parts, which the caller has from a calendar.
    pub(super) fn of_parts(year: u16, month: u8, day: u8) -> Self {
        Self { year, month, day }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn days_of_year(year: u16) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u16, month: u8) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_day() {
        let check = |seconds, expect: &str| assert_eq!(Date::of_unix_seconds(seconds).to_string(), expect);
        check(0, "1970-01-01");
        check(951_782_400, "2000-02-29");
        check(951_868_800, "2000-03-01");
        check(1_735_689_599, "2024-12-31");
        check(1_735_689_600, "2025-01-01");
    }

    #[test]
    fn days_are_ordered_as_they_come() {
        assert!(Date::of_parts(2026, 12, 31) < Date::of_parts(2027, 1, 1));
        assert!(Date::of_parts(2027, 1, 31) < Date::of_parts(2027, 2, 1));
    }
}
