//! Writes the file of an edition: what the suite checks now, a line a scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use thiserror::Error;

use super::{Edition, Editions, UnknownEdition, digest, order, rule_of};
use crate::spec::catalog::Catalogue;
use crate::spec::registry::Registry;

/// Scenarios with the digests of what they assert, by profile and id.
pub type Scenarios = BTreeMap<String, BTreeMap<String, String>>;

/// An edition that cannot be frozen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// It is frozen for good.
    #[error("edition `{0}` is released, so only an erratum changes it")]
    Released(String),
    /// It would not come after those that there are.
    #[error("edition `{name}` is older than `{newest}`")]
    Older {
        /// That was asked for.
        name: String,
        /// The newest one that there is.
        newest: String,
    },
    /// It has no name of an edition.
    #[error("`{0}` is not the name of an edition, which is a year and a number, as `2026.1`")]
    Name(String),
    /// It does not say why its rules have further checks.
    #[error("edition `{name}` does not say why it has further scenarios of {}", rules.join(", "))]
    Unexplained {
        /// Of the edition.
        name: String,
        /// Ids.
        rules: Vec<String>,
    },
}

/// What all scenarios assert.
pub fn scenarios(registry: &Registry, catalogue: &Catalogue) -> Scenarios {
    let mut all = Scenarios::new();
    for case in catalogue.cases() {
        let own = all.entry(case.profile.clone()).or_default();
        own.insert(case.id.clone(), digest(registry, catalogue, case));
    }
    all
}

/// The text of the file of an edition that has these scenarios. What an earlier one of this name says of additions is
/// kept.
///
/// # Errors
/// The edition is released, or older than others, or is to be released and does not say why its checks were added.
pub fn freeze(
    editions: &Editions,
    name: &str,
    is_released: bool,
    scenarios: &Scenarios,
) -> Result<String, FreezeError> {
    if order(name).is_none() {
        return Err(FreezeError::Name(name.to_owned()));
    }
    let earlier: Result<&Edition, UnknownEdition> = editions.named(name);
    if earlier.as_ref().is_ok_and(|own| own.is_released()) {
        return Err(FreezeError::Released(name.to_owned()));
    }
    if let Some(newest) = editions.newest().filter(|newest| order(newest.name()) > order(name)) {
        return Err(FreezeError::Older { name: name.to_owned(), newest: newest.name().to_owned() });
    }
    let added = earlier.map(|own| own.added().clone()).unwrap_or_default();
    let unexplained = editions.before(name).map(|before| unexplained(before, scenarios, &added));
    let unexplained = unexplained.unwrap_or_default();
    if is_released && !unexplained.is_empty() {
        return Err(FreezeError::Unexplained { name: name.to_owned(), rules: unexplained });
    }
    Ok(text(name, is_released, &added, scenarios))
}

/// The rules that have further scenarios than an edition, and nothing that says why.
pub(super) fn unexplained(
    before: &Edition,
    scenarios: &Scenarios,
    added: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for (profile, own) in scenarios {
        let further = own.iter().filter(|(_, digest)| !before.counts(profile, digest));
        let named = further.filter_map(|(id, _)| rule_of(id));
        rules.extend(named.filter(|rule| !added.contains_key(*rule)).map(str::to_owned));
    }
    rules.sort_unstable();
    rules.dedup();
    rules
}

fn text(name: &str, is_released: bool, added: &BTreeMap<String, String>, scenarios: &Scenarios) -> String {
    let mut out = String::from(
        "# The scenarios that count for whoever pins this edition, with a digest of what each asserts.\n\
         # `callmark editions freeze` writes this file; once it is released, only errata are added, at its end\n\
         # (docs/extend-the-suite.md, \"A change of a check\").\n\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(out, "edition = {}\nreleased = {is_released}", quoted(name));
    if !added.is_empty() {
        out.push_str("\n# Why rules have further scenarios than in the edition before.\n[added]\n");
        for (rule, why) in added {
            let _ = writeln!(out, "{} = {}", quoted(rule), quoted(why));
        }
    }
    for (profile, own) in scenarios {
        let _ = writeln!(out, "\n[scenarios.{}]", quoted(profile));
        for (id, digest) in own {
            let _ = writeln!(out, "{} = {}", quoted(id), quoted(digest));
        }
    }
    out
}

/// A text as TOML writes it, on one line.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.replace(char::is_control, " ")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenarios(digests: &[(&str, &str)]) -> Scenarios {
        let own = digests.iter().map(|(id, digest)| ((*id).to_owned(), (*digest).to_owned()));
        Scenarios::from([("hub.server".to_owned(), own.collect())])
    }

    fn editions(texts: &[(&str, String)]) -> Editions {
        Editions::from_files(texts.iter().map(|(name, text)| (*name, text.as_str()))).expect("editions")
    }

    #[test]
    fn what_is_frozen_is_read_again() {
        let all = scenarios(&[("hub/a/HUB-1/1", "aa"), ("hub/a/HUB-1/10", "ab"), ("hub/a/HUB-1/2", "ac")]);
        let text = freeze(&Editions::default(), "2026.1", false, &all).expect("a text");
        let edition = Edition::parse("2026.1", &text).expect("an edition");
        assert_eq!((edition.scenarios(), edition.is_released()), (&all, false));
        assert_eq!(text.lines().filter(|line| line.starts_with("\"hub/")).count(), 3, "a line a scenario");
        assert_eq!(quoted("a \"b\"\n"), "'a \"b\" '");
    }

    #[test]
    fn what_is_released_is_not_frozen_again() {
        let all = scenarios(&[("hub/a/HUB-1/1", "aa")]);
        let frozen = |is_released| freeze(&Editions::default(), "2026.1", is_released, &all).expect("a text");
        let check = |name: &str, before: bool, expect: &str| {
            let editions = editions(&[("2026.1", frozen(before))]);
            let said =
                freeze(&editions, name, true, &all).map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(said, expect);
        };
        check("2026.1", false, "");
        check("2026.1", true, "edition `2026.1` is released, so only an erratum changes it");
        check("2025.4", true, "edition `2025.4` is older than `2026.1`");
        check("2026.2", true, "");
        check(
            "2026",
            true,
            "`2026` is not the name of an edition, which is a year and a number, as `2026.1`",
        );
    }

    #[test]
    fn what_is_released_says_why_it_has_more() {
        let first = freeze(&Editions::default(), "2026.1", true, &scenarios(&[("hub/a/HUB-1/1", "aa")]));
        let first = first.expect("a text");
        let more = scenarios(&[("hub/a/HUB-1/1", "aa"), ("hub/a/HUB-2/1", "ab")]);
        let next = freeze(&editions(&[("2026.1", first.clone())]), "2026.2", false, &more).expect("a text");
        let release = |next: &str| {
            let editions = editions(&[("2026.1", first.clone()), ("2026.2", next.to_owned())]);
            freeze(&editions, "2026.2", true, &more)
        };
        let said = release(&next).map_err(|error| error.to_string());
        assert_eq!(
            said,
            Err("edition `2026.2` does not say why it has further scenarios of HUB-2".to_owned())
        );
        let note = "[added]\n\"HUB-2\" = \"a Hub answered twice\"\n";
        let explained = next.replace("released = false\n", &format!("released = false\n\n{note}"));
        let text = release(&explained).expect("a text");
        assert!(text.contains("released = true") && text.contains("a Hub answered twice"), "{text}");
    }
}
