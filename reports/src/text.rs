//! The door through which foreign text enters a report: shortened, and with nothing in it that acts.
//!
//! A target can send a megabyte, terminal escapes, or marks that turn the reading direction.
//! What comes out of here is short and shows such characters as `\u{202e}`.
//! Deliberately absent: escaping for HTML, XML and Markdown, which each renderer does last.

use std::fmt::Write as _;

use serde_json::Value;

/// Cap on anything that is shown as a line.
pub(crate) const LINE: usize = 600;
/// Cap on a body, and on an expected or actual value.
pub(crate) const BODY: usize = 4096;

/// The text on one line, at most about `max` bytes of it; line breaks and tabs are shown as `\n` and `\t`.
pub(crate) fn line(text: &str, max: usize) -> String {
    visible(text, max, Breaks::Shown)
}

/// The text with its line breaks, at most about `max` bytes of it.
pub(crate) fn block(text: &str, max: usize) -> String {
    visible(text, max, Breaks::Kept)
}

/// A JSON value on one line, strings in quotes.
pub(crate) fn value_line(value: &Value, max: usize) -> String {
    line(&value.to_string(), max)
}

/// A JSON value as people read it: structures indented, a scalar on its line, strings in quotes.
pub(crate) fn value_block(value: &Value, max: usize) -> String {
    block(&format!("{value:#}"), max)
}

/// A message body: like [`value_block`], but a body that is text is shown as that text.
pub(crate) fn body_block(body: &Value, max: usize) -> String {
    match body {
        Value::String(text) => block(text, max),
        other => value_block(other, max),
    }
}

/// An expectation that is written in words, which needs no quotes.
///
/// A string is taken for words when it has a blank in it: `expected` holds words or JSON, and does not say which.
pub(crate) fn words(expected: &Value) -> Option<&str> {
    expected.as_str().filter(|text| text.contains(' '))
}

/// One text cut in two halves that alternate: plain, code, plain, … at its backticks.
///
/// Yields `(is_code, part)`. Where the backticks have no pairs, all is plain.
pub(crate) fn spans(text: &str) -> Vec<(bool, &str)> {
    if text.matches('`').count() % 2 == 1 {
        return vec![(false, text)];
    }
    let parts = text.split('`').enumerate().map(|(n, part)| (n % 2 == 1, part));
    parts.filter(|(_, part)| !part.is_empty()).collect()
}

/// JSON text with every character that acts written as an escape. Such characters can stand in strings only,
/// except for line breaks, which stay.
pub(crate) fn escape_acting(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && acts(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// `1 rule`, `2 rules`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The words as a sentence begins.
pub(crate) fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Breaks {
    Kept,
    Shown,
}

fn visible(text: &str, max: usize, breaks: Breaks) -> String {
    let cut = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut shown = String::with_capacity(cut);
    for c in text[..cut].chars() {
        match c {
            '\n' | '\t' if breaks == Breaks::Kept => shown.push(c),
            '\n' | '\t' | '\r' => shown.extend(c.escape_default()),
            _ if acts(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    if cut < text.len() {
        shown.push_str("… (");
        shown.push_str(&text.len().to_string());
        shown.push_str(" bytes in all)");
    }
    shown
}

/// Characters that do something instead of showing something, or that XML 1.0 forbids.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{061c}' | '\u{180e}'   // soft hyphen, Arabic letter mark, vowel separator
            | '\u{200b}'..='\u{200f}'              // zero width, direction marks
            | '\u{2028}'..='\u{202e}'              // separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}'              // joiners, isolates
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' // byte order mark, annotations
            | '\u{fffe}' | '\u{ffff}'              // no characters at all
            | '\u{e0000}'..='\u{e007f}') // tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_and_not_done() {
        assert_eq!(line("a\u{202e}b\u{1b}[31m\nc\0", 100), r"a\u{202e}b\u{1b}[31m\nc\u{0}");
        assert_eq!(block("a\r\n\tb\u{feff}", 100), "a\\r\n\tb\\u{feff}");
        assert_eq!(line("Grüße, 世界, مرحبا 🎉", 100), "Grüße, 世界, مرحبا 🎉");
    }

    #[test]
    fn escaped_json_reads_back() {
        let value = serde_json::json!({"a\u{202e}": ["b\u{2066}c\u{1b}", "é\u{e0001}\u{200f}\n"]});
        let escaped = escape_acting(&format!("{value:#}"));
        assert!(!escaped.chars().any(|c| c != '\n' && acts(c)), "{escaped}");
        assert_eq!(serde_json::from_str::<Value>(&escaped).ok(), Some(value));
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(line("ééé", 3), "é… (6 bytes in all)");
        assert_eq!(line("ééé", 6), "ééé");
    }

    #[test]
    fn backticks_make_code_only_in_pairs() {
        assert_eq!(spans("a `b` c"), [(false, "a "), (true, "b"), (false, " c")]);
        assert_eq!(spans("a `b c"), [(false, "a `b c")]);
        assert_eq!(spans("`b`"), [(true, "b")]);
    }
}
