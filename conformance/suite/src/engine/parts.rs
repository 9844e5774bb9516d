//! Parts of strings, and what stands in their place: all of them replaced in one pass.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::engine::escapes::Unescaped;

/// How often a text may have been written into another.
const DEPTH: usize = 5;

/// Parts of strings with their names. Where several begin at one place, the longest is meant.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    automaton: Option<AhoCorasick>,
    from: Vec<String>,
    names: Vec<String>,
}

impl Parts {
    /// Parts that are empty have no name.
    pub(crate) fn new(parts: impl IntoIterator<Item = (String, String)>) -> Self {
        let (parts, names): (Vec<String>, Vec<String>) =
            parts.into_iter().filter(|(part, _)| !part.is_empty()).unzip();
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&parts).ok();
        Self { automaton, from: parts, names }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Whether one of them stands in a text.
    pub(crate) fn stand_in(&self, text: &[u8]) -> bool {
        match &self.automaton {
            Some(automaton) => automaton.is_match(text),
            // Too many to be looked for at once.
            None => !self.is_empty(),
        }
    }

    /// The name of a text that is one part as a whole.
    pub(crate) fn name(&self, text: &str) -> Option<&str> {
        let found = self.automaton.as_ref()?.find(text).filter(|found| found.range() == (0..text.len()))?;
        self.names.get(found.pattern().as_usize()).map(String::as_str)
    }

    /// The first place from `until` on at which no part is cut in two.
    pub(crate) fn after(&self, text: &[u8], until: usize) -> usize {
        let Some(automaton) = &self.automaton else { return until };
        let begin_before = automaton.find_iter(text).take_while(|found| found.start() < until);
        begin_before.last().map_or(until, |found| found.end().max(until))
    }

    /// The names of the parts that stand in a text.
    pub(crate) fn names_in(&self, text: &str) -> Vec<String> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let found = automaton.find_iter(text);
        found.filter_map(|found| self.names.get(found.pattern().as_usize()).cloned()).collect()
    }

    /// The text with the names in place of parts whose characters are escaped in it, as within JSON strings.
    pub(crate) fn replace_escaped(&self, mut text: String) -> String {
        let Some(automaton) = &self.automaton else { return text };
        let mut unescaped = Unescaped::of(&text);
        for _ in 0..DEPTH {
            let Some(view) = unescaped else { break };
            if !automaton.is_match(&view.text) {
                unescaped = view.again();
                continue;
            }
            let (mut clean, mut from) = (String::with_capacity(text.len()), 0);
            for found in automaton.find_iter(&view.text) {
                let place = view.place(found.range());
                clean.push_str(&text[from..place.start]);
                clean.push_str(self.names.get(found.pattern().as_usize()).map_or("***", String::as_str));
                from = place.end;
            }
            clean.push_str(&text[from..]);
            text = clean;
            unescaped = Unescaped::of(&text);
        }
        text
    }

    /// The text with the names in place of the parts.
    pub(crate) fn replace(&self, text: String) -> String {
        match &self.automaton {
            Some(automaton) if automaton.is_match(&text) => automaton.replace_all(&text, &self.names),
            Some(_) => text,
            // Too many for one automaton: one after the other takes longer, and leaves nothing out.
            None => {
                let pairs = self.from.iter().zip(&self.names);
                pairs.fold(text, |text, (part, name)| text.replace(part, name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_behind_escapes() {
        let pairs = [("a/b-c", "<1>"), ("/b-", "<2>")];
        let parts = Parts::new(pairs.map(|(from, to)| (from.to_owned(), to.to_owned())));
        for (text, expect) in [
            (r"x a\/b-c y", "x <1> y"),
            (r"x a\/b\u002dc y a\/b-c", "x <1> y <1>"),
            (r"\/b\u002D.", "<2>."),
            (r"a\nb", r"a\nb"),
        ] {
            assert_eq!(parts.replace_escaped(text.to_owned()), expect, "{text}");
        }
    }

    #[test]
    fn the_longest_part_is_replaced() {
        let pairs = [("abc", "<1>"), ("abcdef", "<2>"), ("", "<3>")];
        let parts = Parts::new(pairs.map(|(from, to)| (from.to_owned(), to.to_owned())));
        assert_eq!(parts.replace("xabcdefabcx".to_owned()), "x<2><1>x");
        assert_eq!((parts.name("abcdef"), parts.name("abcd")), (Some("<2>"), None));
        assert_eq!(Parts::default().replace("abc".to_owned()), "abc");
    }
}
