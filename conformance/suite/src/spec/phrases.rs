//! What the lines of features say, as a reader sees them: an outline's line is one line, however many rows it has.
//!
//! Neighbours: `engine::lint` compares them with the step definitions. Deliberately absent: which definition a line has;
//! a definition with a closed vocabulary stands for several phrases.

use std::collections::BTreeMap;

use gherkin::{Feature, GherkinEnv};

use crate::spec::catalog::CatalogueError;
use crate::spec::library;

/// The phrases of features, each with the number of lines that it stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrases(BTreeMap<String, usize>);

impl Phrases {
    /// Those of every feature that travels inside the binary.
    ///
    /// # Errors
    /// A feature that cannot be read.
    pub fn load() -> Result<Self, CatalogueError> {
        let mut phrases = Self::default();
        for (path, text) in library::feature_files() {
            phrases.read(&path, text)?;
        }
        Ok(phrases)
    }

    fn read(&mut self, path: &str, text: &str) -> Result<(), CatalogueError> {
        let feature = Feature::parse(text, GherkinEnv::default())
            .map_err(|error| CatalogueError::new(path, error.to_string()))?;
        let backgrounds = feature.rules.iter().filter_map(|rule| rule.background.as_ref());
        let backgrounds = feature.background.iter().chain(backgrounds).flat_map(|own| &own.steps);
        let scenarios = feature.rules.iter().flat_map(|rule| &rule.scenarios);
        let steps = feature.scenarios.iter().chain(scenarios).flat_map(|scenario| &scenario.steps);
        for step in backgrounds.chain(steps) {
            *self.0.entry(fold(&step.value)).or_default() += 1;
        }
        Ok(())
    }

    /// Lines with a step.
    pub fn lines(&self) -> usize {
        self.0.values().sum()
    }

    /// Different phrases.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The phrases that stand on one line only, in the order of the alphabet.
    pub fn used_once(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, lines)| **lines == 1).map(|(phrase, _)| phrase.as_str())
    }
}

/// A step's text with an ellipsis for each quoted text, placeholder of an outline, and number.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begins_word = !folded.ends_with(char::is_alphanumeric);
        let length = match first {
            '"' => rest[1..].find('"').map(|end| end + 2),
            '<' => rest.find('>').map(|end| end + 1),
            digit if digit.is_ascii_digit() && begins_word => {
                let number = rest.trim_start_matches(|own: char| own.is_ascii_digit() || own == '.');
                let is_word = number.starts_with(char::is_alphanumeric);
                (!is_word).then_some(rest.len() - number.len())
            }
            _ => None,
        };
        folded.push(if length.is_some() { '…' } else { first });
        rest = &rest[length.unwrap_or(first.len_utf8())..];
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_line_to_line_is_folded() {
        let folded = [
            (r#"the command's "a b" is "c""#, "the command's … is …"),
            ("a call of <tool>", "a call of …"),
            ("12 calls with 0.5 seconds", "… calls with … seconds"),
            ("is not answered 2xx, as l0 does", "is not answered 2xx, as l0 does"),
            (r#"half a " or a <"#, r#"half a " or a <"#),
        ];
        for (text, expect) in folded {
            assert_eq!(fold(text), expect);
        }
    }

    #[test]
    fn a_line_of_an_outline_counts_once() {
        let text = "Feature: F\n  Rule: R\n    Scenario Outline: S\n      Given a <v>\n      And b\n      Examples:\n        | v |\n        | 1 |\n        | 2 |\n    Scenario: T\n      Given b\n";
        let mut phrases = Phrases::default();
        phrases.read("f.feature", text).expect("a feature");
        assert_eq!((phrases.lines(), phrases.count()), (3, 2));
        assert_eq!(phrases.used_once().collect::<Vec<_>>(), ["a …"]);
    }
}
