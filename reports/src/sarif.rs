//! `results.sarif`: SARIF 2.1.0, for code scanning and editors that show findings at the line of a feature.
//!
//! A result is a claim about the target, so only broken rules are results: failures are errors, warnings are
//! warnings, what the baseline knows is a suppressed result with the baseline's reason.
//! A check that could not run, or saw nothing, claims nothing: it is a notification of the tool, and the
//! invocation did not succeed. As results, such checks would open alerts on code that nobody has judged.
//! Deliberately absent: times and machines, and absolute paths: features lie below `%SRCROOT%`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::markdown::escape::{Place, code, prose};
use crate::record::{Level, Outcome, RuleEntry, RunRecord, ScenarioEntry};
use crate::{text, view};

/// Where the features can be read by people.
const SOURCES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
/// The base of all relative addresses.
const ROOT: &str = "%SRCROOT%";
/// More ids than this are counted where a sentence lists them.
const IDS: usize = 12;
/// Cap on an expected or actual value.
const VALUE: usize = 1000;

/// The record as SARIF.
pub fn sarif(record: &RunRecord) -> String {
    let rules = Rules::of(record);
    let results: Vec<Value> = record.rules.iter().flat_map(|rule| rules.results(rule)).collect();
    let mut log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "Callmark",
                "version": shown(&record.suite.version),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.descriptors(),
                "notifications": descriptors(record),
            }},
            // Two targets of one repository do not close each other's alerts.
            "automationDetails": {"id": format!("callmark/{}/", segment(&view::target(record)))},
            "invocations": [{
                "executionSuccessful": record.summary.could_not_run == 0,
                "toolExecutionNotifications": notifications(record),
            }],
            "originalUriBaseIds": {ROOT: {
                "description": {"text": "The directory in which the features of Callmark lie."},
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "target": view::target(record),
                "verdict": view::verdict(record),
                "featuresSha256": shown(&record.suite.features_sha256),
                "seed": record.suite.seed,
            },
        }],
    });
    if let Some(edition) = view::edition(record) {
        log["runs"][0]["properties"]["edition"] = edition.into();
    }
    text::escape_acting(&format!("{log:#}\n"))
}

/// Every judged rule once, whatever number of profiles it holds for.
struct Rules<'a> {
    entries: Vec<&'a RuleEntry>,
    index: BTreeMap<&'a str, usize>,
}

impl<'a> Rules<'a> {
    fn of(record: &'a RunRecord) -> Self {
        let mut rules = Self { entries: Vec::new(), index: BTreeMap::new() };
        for entry in record.rules.iter().filter(|entry| entry.outcome != Outcome::Excluded) {
            rules.index.entry(&entry.id).or_insert_with(|| {
                rules.entries.push(entry);
                rules.entries.len() - 1
            });
        }
        rules
    }

    fn descriptors(&self) -> Vec<Value> {
        self.entries.iter().map(|entry| rule(entry)).collect()
    }

    fn results(&self, rule: &RuleEntry) -> Vec<Value> {
        if !matches!(rule.outcome, Outcome::Failed | Outcome::Warned | Outcome::KnownFailing) {
            return Vec::new();
        }
        let broken = |scenario: &&ScenarioEntry| {
            let outcome = view::outcome_of(rule, scenario);
            matches!(outcome, Outcome::Failed | Outcome::Warned | Outcome::KnownFailing)
        };
        let results: Vec<_> =
            rule.scenarios.iter().filter(broken).map(|scenario| self.result(rule, Some(scenario))).collect();
        // A broken rule that no scenario accounts for would be lost.
        if results.is_empty() { vec![self.result(rule, None)] } else { results }
    }

    fn result(&self, rule: &RuleEntry, scenario: Option<&ScenarioEntry>) -> Value {
        let outcome = scenario.map_or(rule.outcome, |scenario| view::outcome_of(rule, scenario));
        let known = scenario.and_then(|scenario| scenario.reason.as_deref()).or(rule.reason.as_deref());
        let suppressions = match outcome {
            Outcome::KnownFailing => vec![json!({
                "kind": "external",
                "status": "accepted",
                "justification": shown(known.unwrap_or("named in the baseline")),
            })],
            // Not absent: that would leave open whether the result is suppressed.
            _ => Vec::new(),
        };
        let level = match outcome {
            Outcome::Warned => "warning",
            Outcome::KnownFailing => level(rule.level),
            _ => "error",
        };
        let mut result = json!({
            "ruleId": shown(&rule.id),
            "ruleIndex": self.index.get(rule.id.as_str()),
            "level": level,
            "message": {"text": message(rule, scenario)},
            "locations": [location(rule, scenario.or_else(|| rule.scenarios.first()))],
            "partialFingerprints": fingerprints(rule, scenario),
            "suppressions": suppressions,
            "properties": {"profile": shown(&rule.profile), "outcome": outcome.name()},
        });
        let found = scenario.and_then(|scenario| scenario.evidence.as_ref());
        if let (Some(found), Some(members)) = (found, result.as_object_mut())
            && let Some((file, line, column)) = view::place(&found.location)
        {
            let step = json!([{
                "physicalLocation": {
                    "artifactLocation": {"uri": address(file), "uriBaseId": ROOT},
                    "region": {"startLine": line, "startColumn": column},
                },
                "message": {"text": literal(&shown(&found.step))},
            }]);
            members.insert("relatedLocations".to_owned(), step);
        }
        result
    }
}

fn rule(entry: &RuleEntry) -> Value {
    let level_word = view::level(entry.level);
    let statement = text::line(&entry.statement, text::LINE);
    let explain = format!("callmark explain {}", shown(&entry.id));
    let source = shown(&entry.source);
    let scenario = entry.scenarios.first();
    let uri = scenario.map_or_else(
        || format!("{SOURCES}features"),
        |scenario| format!("{SOURCES}{}#L{}", address(&scenario.file), scenario.line.max(1)),
    );
    json!({
        "id": shown(&entry.id),
        "shortDescription": {"text": literal(&statement)},
        "fullDescription": {"text": literal(&format!("{level_word}: {statement} ({source})"))},
        "help": {
            "text": literal(&format!("{level_word}: {statement}\nSource: {source}\nMore: {explain}")),
            "markdown": format!(
                "**{level_word}**: {}\n\nSource: {}\n\nMore: {}",
                prose(&entry.statement, Place::Line),
                prose(&entry.source, Place::Line),
                code(&explain, Place::Line),
            ),
        },
        "helpUri": uri,
        "defaultConfiguration": {"level": level(entry.level)},
        "properties": {
            "tags": [shown(&entry.profile)],
            "precision": "very-high",
            "problem.severity": match entry.level {
                Level::Must => "error",
                Level::Should => "warning",
                Level::May => "recommendation",
            },
        },
    })
}

fn descriptor(id: &str, description: &str, level: &str) -> Value {
    let words = json!({"text": description});
    json!({
        "id": id, "shortDescription": words, "fullDescription": words, "help": words,
        "defaultConfiguration": {"level": level},
    })
}

/// The kinds of notifications, in the order in which these count them.
fn descriptors(record: &RunRecord) -> Vec<Value> {
    let mut all = vec![
        descriptor(
            "could-not-run",
            "A check had no chance to run, so the target is not judged by it.",
            "error",
        ),
        descriptor("not-observed", "A check ran and saw nothing to judge, which is never a pass.", "warning"),
    ];
    if !view::remarks(record).is_empty() {
        let words = "A check that the pinned edition does not have found something, which does not count.";
        all.push(descriptor("new-since-edition", words, "note"));
    }
    all
}

/// A notification for each cause, since a target that cannot be reached leaves hundreds of rules for one reason.
fn notifications(record: &RunRecord) -> Vec<Value> {
    let kinds = [(Outcome::CouldNotRun, "error"), (Outcome::NotObserved, "warning")];
    let notification = |(index, (outcome, level)): (usize, (Outcome, &'static str))| {
        view::causes(record, outcome).into_iter().map(move |cause| {
            let mut ids: Vec<_> = cause.rules.iter().take(IDS).map(|rule| text::line(&rule.id, 80)).collect();
            if cause.rules.len() > IDS {
                ids.push(format!("and {} more", cause.rules.len() - IDS));
            }
            let words = format!(
                "{} ({}): {} [{}]",
                view::label(outcome),
                text::count(cause.rules.len(), "rule"),
                text::line(cause.reason, text::LINE),
                ids.join(", ")
            );
            json!({
                "descriptor": {"id": outcome.name(), "index": index},
                "level": level,
                "message": {"text": literal(&words)},
            })
        })
    };
    kinds.into_iter().enumerate().flat_map(notification).chain(remarks(record, kinds.len())).collect()
}

/// A notification for each rule that checks find broken which do not count.
fn remarks(record: &RunRecord, index: usize) -> impl Iterator<Item = Value> {
    let title = view::newer_title(record);
    view::remarks(record).into_iter().map(move |rule| {
        let (id, why) = (text::line(&rule.id, 80), text::line(view::reason(rule), text::LINE));
        json!({
            "descriptor": {"id": "new-since-edition", "index": index},
            "level": "note",
            "message": {"text": literal(&format!("{id}, {title}: {why}"))},
        })
    })
}

fn message(rule: &RuleEntry, scenario: Option<&ScenarioEntry>) -> String {
    let why = scenario.and_then(view::why).unwrap_or_else(|| view::reason(rule));
    let mut words = text::line(why, text::LINE);
    if let Some(found) = scenario.and_then(|scenario| scenario.evidence.as_ref()) {
        let pointer = found.pointer.as_deref().map(|pointer| format!(" at {}", text::line(pointer, 200)));
        let expected = found.expected.as_ref().map(|expected| {
            let words = text::words(expected).map(|words| text::line(words, VALUE));
            format!("\nExpected: {}", words.unwrap_or_else(|| text::value_line(expected, VALUE)))
        });
        let actual = found.actual.as_ref().map(|actual| text::value_line(actual, VALUE));
        words.push_str(&pointer.unwrap_or_default());
        words.push_str(&expected.unwrap_or_default());
        words.push_str("\nActual: ");
        words.push_str(actual.as_deref().unwrap_or("absent"));
        for (title, value) in [("Hint", &found.hint), ("Run again", &found.rerun)] {
            // Writing to a string cannot fail.
            let _ = write!(words, "\n{title}: {}", text::line(value, text::LINE));
        }
    }
    literal(&words)
}

fn location(rule: &RuleEntry, scenario: Option<&ScenarioEntry>) -> Value {
    let Some(scenario) = scenario else {
        // A place is demanded, and the profile's features are as near as it gets.
        return json!({
            "physicalLocation": {
                "artifactLocation": {"uri": address(&format!("features/{}", rule.profile.replace('.', "/"))), "uriBaseId": ROOT},
                "region": {"startLine": 1},
            },
        });
    };
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": address(&scenario.file), "uriBaseId": ROOT},
            "region": {"startLine": scenario.line.max(1)},
        },
        "logicalLocations": [{
            "name": shown(&scenario.name),
            "fullyQualifiedName": shown(&scenario.id),
            "kind": "scenario",
        }],
    })
}

/// What stays the same when features move, texts are reworded, or the target says something else.
fn fingerprints(rule: &RuleEntry, scenario: Option<&ScenarioEntry>) -> Value {
    let mut hash = Sha256::new();
    for part in [&rule.id, &rule.profile, scenario.map_or(&rule.id, |scenario| &scenario.id)] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize().iter().take(8).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    // GitHub knows an alert again by the second one; without it, it would hash the feature's line.
    json!({"callmarkScenario/v1": digest, "primaryLocationLineHash": format!("{digest}:1")})
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "error",
        Level::Should => "warning",
        Level::May => "note",
    }
}

/// Text that stands for itself: in a message of SARIF, `{0}` and `[a](b)` mean something.
fn literal(words: &str) -> String {
    let words = words.replace("](", "\\](");
    let mut out = String::with_capacity(words.len());
    for (n, part) in words.split('{').enumerate() {
        let number = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match number.strip_prefix('}').filter(|_| n > 0 && number.len() < part.len()) {
            Some(rest) => {
                let digits = &part[..part.len() - number.len()];
                out.extend(["{{", digits, "}}", rest]);
            }
            None => out.extend([if n > 0 { "{" } else { "" }, part]),
        }
    }
    out
}

fn shown(words: &str) -> String {
    text::line(words, text::LINE)
}

/// A relative address: no scheme, no host, nothing that a browser would take for more than a path.
fn address(path: &str) -> String {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(segment).collect();
    parts.join("/")
}

/// One part of an address.
fn segment(part: &str) -> String {
    let part = text::line(part, 200);
    if part.chars().all(|c| c == '.') {
        return part.replace('.', "%2E");
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    part.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_link_and_no_placeholder() {
        assert_eq!(literal("[a](https://b.example) {0} {12}"), "[a\\](https://b.example) {{0}} {{12}}");
        assert_eq!(literal(r#"{"a": [1]} {} {x}"#), r#"{"a": [1]} {} {x}"#);
    }

    #[test]
    fn an_address_stays_below_its_root() {
        assert_eq!(address("features/utp/a b.feature"), "features/utp/a%20b.feature");
        assert_eq!(address("//evil.example/../x"), "evil.example/%2E%2E/x");
        assert_eq!(address("javascript:alert(1)"), "javascript%3Aalert%281%29");
    }
}
