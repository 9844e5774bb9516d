//! Revisions of a protocol, and for which of them a rule or a scenario holds.
//!
//! A profile is certified once for each revision that its target speaks. The id of the revision that the five documents
//! describe is the bare one, `toolbus.server`; any other revision stands behind an `@`: `toolbus.server@2026-07-28`.
//! Names of revisions sort as the revisions followed each other.

use serde::Deserialize;

/// Between a profile and the revision that it is certified for.
const SEPARATOR: char = '@';

/// A profile's own id, and the revision that stands behind it; nothing for the one that the documents describe.
pub fn split(profile: &str) -> (&str, Option<&str>) {
    match profile.split_once(SEPARATOR) {
        Some((base, revision)) => (base, Some(revision)),
        None => (profile, None),
    }
}

/// The id of a profile that is certified for a revision.
pub fn join(profile: &str, revision: &str) -> String {
    format!("{profile}{SEPARATOR}{revision}")
}

/// The revisions that something holds for. Where both ends are absent it holds for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Period {
    /// The first one; absent: from the one that the documents describe.
    #[serde(default)]
    pub since: Option<String>,
    /// The last one; absent: it still holds.
    #[serde(default)]
    pub until: Option<String>,
}

impl Period {
    /// The period that the tags `@since:` and `@until:` name.
    pub fn of_tags<'a>(tags: impl IntoIterator<Item = &'a String> + Clone) -> Self {
        let named = |prefix: &str| {
            let mut tags = tags.clone().into_iter();
            tags.find_map(|tag| tag.strip_prefix(prefix)).map(str::to_owned)
        };
        Self { since: named("since:"), until: named("until:") }
    }

    /// Whether it holds for a revision; nothing stands for the one that the documents describe.
    pub fn includes(&self, revision: Option<&str>) -> bool {
        let Some(revision) = revision else { return self.since.is_none() };
        self.since.as_deref().is_none_or(|since| since <= revision)
            && self.until.as_deref().is_none_or(|until| revision <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_a_first_and_a_last_revision() {
        let period = |since: Option<&str>, until: Option<&str>| Period {
            since: since.map(str::to_owned),
            until: until.map(str::to_owned),
        };
        let check = |period: &Period, expect: [bool; 3]| {
            let all = [None, Some("2026-07-28"), Some("2027-01-15")];
            assert_eq!(all.map(|revision| period.includes(revision)), expect, "{period:?}");
        };
        check(&Period::default(), [true, true, true]);
        check(&period(Some("2026-07-28"), None), [false, true, true]);
        check(&period(None, Some("2025-11-25")), [true, false, false]);
        check(&period(Some("2026-07-28"), Some("2026-07-28")), [false, true, false]);
    }

    #[test]
    fn a_profile_names_its_revision() {
        assert_eq!(split("toolbus.server"), ("toolbus.server", None));
        assert_eq!(split("toolbus.server@2026-07-28"), ("toolbus.server", Some("2026-07-28")));
    }
}
