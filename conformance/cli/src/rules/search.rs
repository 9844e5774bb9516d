//! `rules --search`: rules by words that stand in their ids, their statements or their scenarios, or mean the same.

use std::collections::BTreeSet;

use callmark_suite::engine::run::Library;
use callmark_suite::spec::registry::{Rule, nearest};

/// Words that stand for each other. A word belongs to a group whose word it begins with, or that begins with it.
const SYNONYMS: &[&[&str]] = &[
    &["idempoten", "duplicate", "redeliver", "repeat", "twice", "retry", "retries"],
    &["timeout", "deadline", "expire", "late"],
    &["error", "fail", "exception", "fault"],
    &["cancel", "stop", "abort", "terminat"],
    &["secret", "token", "credential", "authori", "authenti", "permission", "scope"],
    &["argument", "parameter", "input"],
    &["result", "output", "answer", "response", "reply"],
    &["callback", "report"],
    &["subject", "topic", "channel"],
    &["schema", "validat"],
    &["resume", "wakeup", "wake", "suspend"],
    &["file", "artifact", "artefact"],
    &["mail", "email"],
    &["calendar", "appointment", "meeting"],
    &["zone", "timestamp"],
    &["page", "pagination", "limit", "cursor"],
    &["id", "identifier", "identity"],
    &["log", "trace", "tracing"],
    &["model", "llm"],
    &["concurren", "parallel", "simultaneous"],
];
/// Shortest word that the beginning of another one is compared with.
const SHORTEST: usize = 4;

/// Rules that have all of the words, those first that have them in id or statement.
pub(super) fn search<'a>(library: &Library, rules: &[&'a Rule], words: &[String]) -> Vec<&'a Rule> {
    let wanted: Vec<String> = words.iter().flat_map(|text| lower_case(text)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let has_all = |text: &[String]| wanted.iter().all(|word| text.iter().any(|own| is_meant(word, own)));
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for rule in rules.iter().copied() {
        let own = words_of(rule);
        if has_all(&own) {
            first.push(rule);
        } else if has_all(&own.into_iter().chain(words_of_scenarios(library, rule)).collect::<Vec<_>>()) {
            others.push(rule);
        }
    }
    first.extend(others);
    first
}

/// The word of the rules that is spelled most like one that none has.
pub(super) fn advice(library: &Library, rules: &[&Rule], words: &[String]) -> Option<String> {
    let all: BTreeSet<String> = rules
        .iter()
        .flat_map(|rule| words_of(rule).into_iter().chain(words_of_scenarios(library, rule)))
        .collect();
    let unknown = words
        .iter()
        .flat_map(|text| lower_case(text))
        .find(|word| !all.iter().any(|own| is_meant(word, own)))?;
    let alike = all.iter().map(String::as_str).filter(|own| own.len() >= SHORTEST);
    nearest(&unknown, alike).map(str::to_owned)
}

fn words_of(rule: &Rule) -> Vec<String> {
    // The id as a whole as well, since somebody may paste it.
    let id = std::iter::once(rule.id.to_lowercase());
    id.chain(lower_case(&rule.id)).chain(lower_case(&rule.statement)).collect()
}

fn words_of_scenarios(library: &Library, rule: &Rule) -> Vec<String> {
    let own = library.catalogue.cases().iter().filter(|case| case.rules.contains(&rule.id));
    own.flat_map(|case| lower_case(&case.name)).collect()
}

fn lower_case(text: &str) -> Vec<String> {
    let words = text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whether a word of a text is the one that is wanted, a form of it, or a synonym.
fn is_meant(wanted: &str, own: &str) -> bool {
    if own == wanted || (wanted.len() >= SHORTEST && own.starts_with(stem(wanted))) {
        return true;
    }
    let is_in = |group: &&&[&str], word: &str| group.iter().any(|known| is_form(known, word));
    SYNONYMS.iter().filter(|group| is_in(group, wanted)).any(|group| is_in(&group, own))
}

/// Whether a word is a form of a group's word: `retries` of `retry`, but `other` none of `o`.
fn is_form(known: &str, word: &str) -> bool {
    word == known || (known.len() >= SHORTEST && word.starts_with(known)) || stem(word) == known
}

/// A word without the ending of its plural.
fn stem(word: &str) -> &str {
    let short = word.strip_suffix("es").or_else(|| word.strip_suffix('s')).unwrap_or(word);
    if short.len() >= SHORTEST { short } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_its_forms_and_synonyms() {
        let check = |wanted: &str, own: &str, expect: bool| {
            assert_eq!(is_meant(wanted, own), expect, "{wanted} in {own}");
        };
        check("idempotent", "idempotency", true);
        check("idempotency", "idempotent", true);
        check("duplicates", "idempotently", true);
        check("callback", "callbacks", true);
        check("callbacks", "callback", true);
        check("call", "callback", true);
        check("back", "callback", false);
        check("timeout", "deadline", true);
        check("id", "identifier", true);
        check("id", "idempotent", false);
        check("an", "answer", false);
    }
}
