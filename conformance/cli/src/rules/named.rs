//! What the words of `explain` name: a rule, also loosely written, or a scenario.

use callmark_suite::engine::run::Library;
use callmark_suite::spec::catalog::Case;
use callmark_suite::spec::registry::Rule;

use crate::exit::Failure;

/// What is to be explained.
pub(super) enum Named<'a> {
    Rule(&'a Rule),
    /// Several where a line of a feature is run for several revisions, or several have one title.
    Scenarios(Vec<&'a Case>),
}

/// Finds it.
///
/// # Errors
/// There is no such rule or scenario, or several rules may be meant.
pub(super) fn find<'a>(library: &'a Library, words: &[String]) -> Result<Named<'a>, Failure> {
    let text = words.join(" ");
    let text = text.trim();
    if let Some(rule) = library.registry.rule(text) {
        return Ok(Named::Rule(rule));
    }
    let scenarios = scenarios(library, text);
    if !scenarios.is_empty() {
        return Ok(Named::Scenarios(scenarios));
    }
    let wanted = parts(text);
    let rules: Vec<&Rule> = library
        .registry
        .rules()
        .iter()
        .filter(|rule| !wanted.is_empty() && parts(&rule.id) == wanted)
        .collect();
    match rules.as_slice() {
        [rule] => Ok(Named::Rule(rule)),
        [] => Err(unknown(library, text)),
        several => {
            let ids: Vec<&str> = several.iter().map(|rule| rule.id.as_str()).collect();
            Err(Failure::usage(format!("`{text}` may be several rules"))
                .hint(format!("name one of them: {}", ids.join(", "))))
        }
    }
}

/// Scenarios with this id or title, or in this line of a feature, which may be that of a step.
fn scenarios<'a>(library: &'a Library, text: &str) -> Vec<&'a Case> {
    let place = place(text);
    let is_there = |case: &Case, file: &str, line: u32| {
        let steps = &case.scenario().steps;
        let is_line =
            case.at.line == line || steps.iter().any(|step| u32::try_from(step.position.line) == Ok(line));
        is_line && (case.at.file == file || case.at.file.ends_with(&format!("/{file}")))
    };
    let is_meant = |case: &&Case| {
        let is_named =
            case.id == text || case.name == text || text.strip_prefix("Scenario: ") == Some(&*case.name);
        is_named || place.is_some_and(|(file, line)| is_there(case, file.trim_start_matches("./"), line))
    };
    library.catalogue.cases().iter().filter(is_meant).collect()
}

/// `FILE:LINE`, or as a finding has it `FILE:LINE:COLUMN`.
fn place(text: &str) -> Option<(&str, u32)> {
    let (before, last) = text.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let with_column = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    Some(with_column.unwrap_or((before, last)))
}

fn unknown(library: &Library, text: &str) -> Failure {
    if text.contains('/') || text.contains(':') {
        let failure = Failure::usage(format!("there is no scenario `{text}`"));
        let ids = library.catalogue.cases().iter().map(|case| case.id.as_str());
        return match callmark_suite::spec::registry::nearest(text, ids) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure
                .hint("`callmark certify --list` lists the ids of scenarios; FILE:LINE is the line of one"),
        };
    }
    let failure = Failure::usage(format!("there is no rule `{text}`"));
    match library.registry.nearest(text).or_else(|| library.registry.nearest(&text.to_uppercase())) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure
            .hint("`callmark rules` lists all of them, `callmark rules --search WORD` those about something"),
    }
}

/// An id without what people leave out: `HUB-05`, `hub-5`, `hub5` and `Hub 5` are one.
fn parts(id: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut last = None;
    for char in id.chars() {
        let kind = (char.is_ascii_alphabetic(), char.is_ascii_digit());
        match parts.last_mut() {
            Some(part) if last == Some(kind) => part.push(char),
            _ if kind == (false, false) => {}
            _ => parts.push(char.to_string()),
        }
        last = Some(kind).filter(|kind| *kind != (false, false));
    }
    let short = |part: &String| match part.trim_start_matches('0') {
        "" => part.chars().take(1).collect(),
        short => short.to_lowercase(),
    };
    parts.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_people_write_loosely_are_one() {
        let check = |written: &[&str], expect: &[&str]| {
            for id in written {
                assert_eq!(parts(id), expect, "{id}");
            }
        };
        check(&["HUB-05", "hub5", "hub 5", "Hub-005"], &["hub", "5"]);
        check(&["TDG-1-25", "tdg 1 25", "tdg.1.25"], &["tdg", "1", "25"]);
        check(&["UTP-4.1-35", "utp4.1-35", "utp 4 1 35"], &["utp", "4", "1", "35"]);
        check(&["HUB-00"], &["hub", "0"]);
    }

    #[test]
    fn no_two_rules_are_one_when_written_loosely() {
        let library = Library::load().expect("a library");
        let mut seen = std::collections::BTreeMap::new();
        for rule in library.registry.rules() {
            assert_eq!(seen.insert(parts(&rule.id), &rule.id), None, "{}", rule.id);
        }
    }
}
