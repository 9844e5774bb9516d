//! Editions: which scenarios count for whoever pins one, whatever the suite has learnt to check since.
//!
//! An edition lists its scenarios by profile, with a digest of what each asserts ([`digest`]). A scenario counts where its
//! digest stands in the list, so it may move, be renumbered and get another title; what asserts something else is new.
//! `freeze` writes the file of an edition, `faults` sees to it that it stays so, `compare` says what two of them have not
//! in common.
//! Deliberately absent: what a run makes of it (`engine::run::counting`).

mod compare;
mod digest;
mod faults;
mod freeze;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::spec::library;
use crate::spec::registry::nearest;
use crate::spec::revision;

pub use self::compare::{EditionChange, EditionChangeKind, EditionDiff};
pub use self::digest::digest;
pub use self::faults::faults;
pub use self::freeze::{FreezeError, Scenarios, freeze, scenarios};

/// A set of scenarios that counts, under a name such as `2026.1`.
#[derive(Clone, Debug)]
pub struct Edition {
    file: EditionFile,
    /// What counts now: the list of the file, with its errata.
    effective: Scenarios,
}

/// What the file of an edition says.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct EditionFile {
    edition: String,
    released: bool,
    #[serde(default)]
    added: BTreeMap<String, String>,
    scenarios: Scenarios,
    #[serde(default)]
    erratum: Vec<Erratum>,
}

/// A check of a frozen edition that was wrong, and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Erratum {
    /// Id that the scenario had when the edition was frozen; without a revision it is meant in all of them.
    pub scenario: String,
    /// The day on which it was recorded, as `2026-01-31`.
    pub date: String,
    /// The digest that stood for it.
    pub old: String,
    /// The digest that stands for it now; absent where it no longer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// What was wrong with the check.
    pub reason: String,
}

impl Edition {
    /// Reads the text of `features/editions/<name>.toml`.
    ///
    /// # Errors
    /// All faults at once, a sentence each.
    pub fn parse(name: &str, text: &str) -> Result<Self, EditionError> {
        let path = format!("features/editions/{name}.toml");
        let fault = |fault: String| EditionError { faults: vec![format!("`{path}`: {fault}")] };
        let file: EditionFile = toml::from_str(text).map_err(|error| fault(error.message().to_owned()))?;
        if file.edition != name {
            return Err(fault(format!("it is edition `{}`, so the file has another name", file.edition)));
        }
        if order(name).is_none() {
            return Err(fault("an edition is called by its year and a number, as `2026.1`".to_owned()));
        }
        let (effective, faults) = with_errata(&file);
        if faults.is_empty() {
            return Ok(Self { file, effective });
        }
        Err(EditionError { faults: faults.into_iter().map(|own| format!("`{path}`: {own}")).collect() })
    }

    /// For example `2026.1`.
    pub fn name(&self) -> &str {
        &self.file.edition
    }

    /// Whether it was released, so that only an erratum changes it.
    pub fn is_released(&self) -> bool {
        self.file.released
    }

    /// Why scenarios of a rule were added, by rule.
    pub fn added(&self) -> &BTreeMap<String, String> {
        &self.file.added
    }

    /// Its errata, in the order in which they were recorded.
    pub fn errata(&self) -> &[Erratum] {
        &self.file.erratum
    }

    /// The scenarios that count now, with their digests, by profile and by the id that they had when it was frozen.
    pub fn scenarios(&self) -> &Scenarios {
        &self.effective
    }

    /// The scenarios as they were frozen.
    pub fn frozen(&self) -> &Scenarios {
        &self.file.scenarios
    }

    /// How many scenarios count.
    pub fn len(&self) -> usize {
        self.effective.values().map(BTreeMap::len).sum()
    }

    /// Whether none counts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rules those speak for. A rule that holds in several profiles counts once.
    pub fn rules(&self) -> usize {
        let ids = self.effective.values().flat_map(BTreeMap::keys);
        ids.filter_map(|id| rule_of(id)).collect::<BTreeSet<_>>().len()
    }

    /// Whether a scenario of a profile counts that asserts this.
    pub fn counts(&self, profile: &str, digest: &str) -> bool {
        self.effective.get(profile).is_some_and(|own| own.values().any(|known| known == digest))
    }
}

/// The rule in the id of a scenario, `<feature>/<rule>/<number>`.
pub(super) fn rule_of(id: &str) -> Option<&str> {
    id.rsplit('/').nth(1)
}

/// The year and the number in the name of an edition.
fn order(name: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        is_plain.then(|| text.parse().ok()).flatten()
    };
    let (year, rest) = name.split_once('.').filter(|(year, _)| year.len() == 4)?;
    Some((number(year)?, number(rest)?))
}

/// What counts with the errata of a file, and what is wrong with these.
fn with_errata(file: &EditionFile) -> (Scenarios, Vec<String>) {
    let mut scenarios = file.scenarios.clone();
    let mut faults = Vec::new();
    for erratum in &file.erratum {
        let id = &erratum.scenario;
        if erratum.reason.trim().is_empty() {
            faults.push(format!("the erratum of `{id}` gives no reason"));
        }
        if !is_date(&erratum.date) {
            faults.push(format!(
                "the erratum of `{id}` has `{}` as its date, not one as `2026-01-31`",
                erratum.date
            ));
        }
        let mut is_known = false;
        for own in scenarios.values_mut() {
            let is_meant = |known: &String| known == id || revision::split(known).0 == id;
            let ids: Vec<String> = own
                .iter()
                .filter(|(known, digest)| is_meant(known) && **digest == erratum.old)
                .map(|(known, _)| known.clone())
                .collect();
            is_known |= !ids.is_empty();
            for known in ids {
                match &erratum.new {
                    Some(new) => own.insert(known, new.clone()),
                    None => own.remove(&known),
                };
            }
        }
        if !is_known {
            faults.push(format!(
                "there is an erratum of `{id}`, and no such scenario has the digest `{}`",
                erratum.old
            ));
        }
    }
    (scenarios, faults)
}

/// Whether a text has the form of a day.
fn is_date(text: &str) -> bool {
    let form = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    form.eq(*b"0000-00-00")
}

/// All editions, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Editions(Vec<Edition>);

impl Editions {
    /// Reads those that travel inside the binary.
    ///
    /// # Errors
    /// All faults of all files at once.
    pub fn load() -> Result<Self, EditionError> {
        Self::from_files(library::edition_files())
    }

    /// Reads editions from `(name, text)` pairs.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, EditionError> {
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for (name, text) in files {
            match Edition::parse(name, text) {
                Ok(edition) => all.push(edition),
                Err(error) => faults.extend(error.faults),
            }
        }
        all.sort_by_key(|edition| order(edition.name()));
        if faults.is_empty() { Ok(Self(all)) } else { Err(EditionError { faults }) }
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Edition> {
        self.0.iter()
    }

    /// The newest one.
    pub fn newest(&self) -> Option<&Edition> {
        self.0.last()
    }

    /// The one before this one.
    pub fn before(&self, name: &str) -> Option<&Edition> {
        self.0.iter().rfind(|own| order(own.name()) < order(name))
    }

    /// The one of this name.
    ///
    /// # Errors
    /// There is none; the error lists those that there are.
    pub fn named(&self, name: &str) -> Result<&Edition, UnknownEdition> {
        let own = self.0.iter().find(|edition| edition.name() == name);
        own.ok_or_else(|| UnknownEdition::new(name, self.0.iter().map(Edition::name)))
    }
}

/// The names of all editions that travel inside the binary, the oldest first; their files are not read.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = library::edition_files().into_iter().map(|(name, _)| name).collect();
    names.sort_by_key(|name| order(name));
    names
}

/// An edition that there is not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no edition `{name}`; {advice}")]
pub struct UnknownEdition {
    name: String,
    advice: String,
}

impl UnknownEdition {
    /// Of a name that is none of these.
    pub fn new<'a>(name: &str, there_are: impl Iterator<Item = &'a str>) -> Self {
        let all: Vec<&str> = there_are.collect();
        let advice = match nearest(name, all.iter().copied()) {
            _ if all.is_empty() => "this suite has none".to_owned(),
            Some(meant) if all.len() > 1 => format!("did you mean `{meant}`? There are: {}", all.join(", ")),
            _ => format!("there are: {}", all.join(", ")),
        };
        Self { name: name.to_owned(), advice }
    }
}

/// Editions that cannot be read. They travel inside the binary, so this is a bug of ours.
#[derive(Debug, Error)]
#[error("the editions have {} faults: {}", faults.len(), faults.join("; "))]
pub struct EditionError {
    /// One sentence a fault.
    pub faults: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "edition = \"2026.1\"\nreleased = true\n\
        [scenarios.\"utp.pmo\"]\n\"utp/pmo/a/A-1/1\" = \"aa\"\n\"utp/pmo/a/A-1/2\" = \"ab\"\n\
        [scenarios.\"utp.pmo@v1r4\"]\n\"utp/pmo/a/A-1/1@v1r4\" = \"aa\"\n\"utp/pmo/a/A-2/1@v1r4\" = \"ac\"\n";

    fn erratum(scenario: &str, old: &str, new: &str) -> String {
        let new = if new.is_empty() { String::new() } else { format!("new = \"{new}\"\n") };
        format!(
            "[[erratum]]\nscenario = \"{scenario}\"\ndate = \"2026-12-01\"\nold = \"{old}\"\n{new}reason = \"it took 0 for nothing\"\n"
        )
    }

    fn faults(name: &str, text: &str) -> Vec<String> {
        Edition::parse(name, text).err().map(|error| error.faults).unwrap_or_default()
    }

    #[test]
    fn what_is_listed_counts_in_its_profile() {
        let edition = Edition::parse("2026.1", TEXT).expect("an edition");
        assert_eq!((edition.len(), edition.rules(), edition.is_released()), (4, 2, true));
        assert!(edition.counts("utp.pmo", "ab") && edition.counts("utp.pmo@v1r4", "aa"));
        assert!(!edition.counts("utp.pmo@v1r4", "ab") && !edition.counts("utp.worker", "aa"));
    }

    #[test]
    fn an_erratum_has_another_form_count_in_every_revision_that_it_does_not_name() {
        let check = |errata: &[String], counting: [bool; 4]| {
            let edition =
                Edition::parse("2026.1", &format!("{TEXT}{}", errata.concat())).expect("an edition");
            let own = [("utp.pmo", "aa"), ("utp.pmo", "ax"), ("utp.pmo@v1r4", "aa"), ("utp.pmo@v1r4", "ax")];
            assert_eq!(own.map(|(profile, digest)| edition.counts(profile, digest)), counting, "{errata:?}");
            assert_eq!(edition.frozen()["utp.pmo"]["utp/pmo/a/A-1/1"], "aa");
        };
        check(&[erratum("utp/pmo/a/A-1/1", "aa", "ax")], [false, true, false, true]);
        check(&[erratum("utp/pmo/a/A-1/1@v1r4", "aa", "ax")], [true, false, false, true]);
        check(&[erratum("utp/pmo/a/A-1/1", "aa", "")], [false; 4]);
        let twice = [erratum("utp/pmo/a/A-1/1", "aa", "aw"), erratum("utp/pmo/a/A-1/1", "aw", "ax")];
        check(&twice, [false, true, false, true]);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_reported_at_once() {
        let sound = erratum("utp/pmo/a/A-1/1", "aa", "ax");
        let check = |name: &str, text: &str, expect: &[&str]| {
            let faults = faults(name, text);
            assert_eq!(faults.len(), expect.len(), "{faults:?}");
            assert!(faults.iter().zip(expect).all(|(fault, expect)| fault.contains(expect)), "{faults:?}");
        };
        check("2026.2", TEXT, &["it is edition `2026.1`"]);
        check("next", &TEXT.replace("2026.1", "next"), &["by its year and a number"]);
        check("2026.01", &TEXT.replace("2026.1", "2026.01"), &["by its year and a number"]);
        check(
            "2026.1",
            &format!("{TEXT}{}", erratum("utp/pmo/a/A-1/3", "aa", "ax")),
            &["no such scenario has"],
        );
        check("2026.1", &format!("{TEXT}{sound}{sound}"), &["no such scenario has the digest `aa`"]);
        let bare = sound.replace("it took 0 for nothing", " ").replace("2026-12-01", "December");
        check("2026.1", &format!("{TEXT}{bare}"), &["gives no reason", "`December` as its date"]);
        check("2026.1", &TEXT.replace("released", "frozen"), &["unknown field `frozen`"]);
    }

    #[test]
    fn editions_follow_each_other_by_year_and_number() {
        let texts = ["2026.10", "2026.9", "2025.11"].map(|name| (name, TEXT.replace("2026.1", name)));
        let files = texts.iter().map(|(name, text)| (*name, text.as_str()));
        let editions = Editions::from_files(files).expect("editions");
        let names: Vec<&str> = editions.iter().map(Edition::name).collect();
        assert_eq!(names, ["2025.11", "2026.9", "2026.10"]);
        assert_eq!(editions.newest().map(Edition::name), Some("2026.10"));
        assert_eq!(editions.before("2026.10").map(Edition::name), Some("2026.9"));
        assert!(editions.before("2025.11").is_none());
        let unknown = editions.named("2026.8").map(Edition::name).map_err(|error| error.to_string());
        let expect =
            "there is no edition `2026.8`; did you mean `2026.9`? There are: 2025.11, 2026.9, 2026.10";
        assert_eq!(unknown, Err(expect.to_owned()));
    }
}
