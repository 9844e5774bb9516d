//! Ids and dates: random hexadecimal, RFC 3339 timestamps, the civil calendar.
//!
//! Neighbours: `trace` takes its span ids from here, cards and Inbox records their ids and `created_at`.
//! Nothing here is cryptographic: the ids only have to be distinct.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

const SECONDS_A_DAY: i64 = 86_400;

/// `words` times sixteen random lower-case hexadecimal digits.
pub(crate) fn random_hex(words: usize) -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut text = String::with_capacity(words * 16);
    for _ in 0..words {
        // Every `RandomState` is keyed from the operating system's entropy, so its hash of a counter is a random word.
        let word = RandomState::new().hash_one(COUNTER.fetch_add(1, Ordering::Relaxed));
        let _ = write!(text, "{word:016x}");
    }
    text
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// 128 bits of a digest of some texts, as hexadecimal digits: what stands for names of any form.
pub(crate) fn digest_of(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // The length in front keeps ("ab", "c") apart from ("a", "bc").
        digest.update(part.len().to_le_bytes());
        digest.update(part.as_bytes());
    }
    hex(&digest.finalize()[..16])
}

/// A new id: the prefix, an underscore, 128 random bits.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", random_hex(2))
}

/// Now, as RFC 3339 in UTC with milliseconds.
pub(crate) fn timestamp() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
    let date = civil_date(seconds.div_euclid(SECONDS_A_DAY));
    let second = seconds.rem_euclid(SECONDS_A_DAY);
    format!(
        "{date}T{:02}:{:02}:{:02}.{:03}+00:00",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since_epoch.subsec_millis()
    )
}

/// Days between 1970-01-01 and a civil date, after Howard Hinnant's `days_from_civil`.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The civil date, `YYYY-MM-DD`, that many days after 1970-01-01.
pub(crate) fn civil_date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970-01-01 of a date written `YYYY-MM-DD`; nothing when there is no such day.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    // Formatting the day again detects days such as 30 February.
    (civil_date(days) == text).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::{civil_date, parse_date, random_hex, timestamp};

    #[test]
    fn dates_go_both_ways() {
        fn check(text: &str, days: Option<i64>) {
            assert_eq!(parse_date(text), days, "{text}");
            if let Some(days) = days {
                assert_eq!(civil_date(days), text);
            }
        }
        check("1970-01-01", Some(0));
        check("1969-12-31", Some(-1));
        check("2000-02-29", Some(11_016));
        check("2031-04-02", Some(22_371));
        check("2031-02-29", None);
        check("2031-4-2", None);
        check("tomorrow", None);
        check("", None);
    }

    #[test]
    fn ids_are_distinct_and_timestamps_have_one_form() {
        assert_eq!(random_hex(2).len(), 32);
        assert_ne!(random_hex(1), random_hex(1));
        assert_eq!(timestamp().len(), "2031-04-02T10:11:12.000+00:00".len());
    }
}
