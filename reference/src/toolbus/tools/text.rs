//! `text_statistics`: counts in a text, an ordinary tool without actions.

use std::collections::HashMap;

use serde_json::json;

use super::tool::{BusTool, Call, Definition, Output};
use crate::toolbus::arguments::{Argument, Kind};
use crate::toolbus::failure::Failure;

const DEFINITION: Definition = Definition {
    name: "text_statistics",
    description: "Counts words, lines and characters, and finds the most frequent word.",
    arguments: &[Argument::required("text", Kind::Text, "The text.")],
    break_glass: None,
};

pub(crate) struct Statistics;

impl BusTool for Statistics {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn run(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let text = call.text("text").unwrap_or_default();
        Ok(json!({
            "words": words(text).count(),
            "lines": text.lines().count(),
            "characters": text.chars().count(),
            "most_frequent": most_frequent(text).map(|(word, count)| json!({"word": word, "count": count})),
        })
        .into())
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The word that comes most often, whatever its case; of several the first in the alphabet.
fn most_frequent(text: &str) -> Option<(String, usize)> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in words(text) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then_with(|| b.cmp(a)))
}

#[cfg(test)]
mod tests {
    use super::{most_frequent, words};

    #[test]
    fn words_are_counted_whatever_their_case() {
        fn check(text: &str, count: usize, frequent: Option<(&str, usize)>) {
            assert_eq!(words(text).count(), count);
            assert_eq!(most_frequent(text), frequent.map(|(word, count)| (word.to_owned(), count)));
        }
        check("The bolt, the nut.", 4, Some(("the", 2)));
        check("b a", 2, Some(("a", 1)));
        check(" ,.\n", 0, None);
    }
}
