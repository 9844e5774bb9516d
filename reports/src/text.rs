//! The only way by which foreign text enters a report: shortened, and with nothing in it that acts.
//!
//! A target can send a megabyte, terminal escapes, or marks that turn the reading direction.
//! What comes out of here is short and shows such characters as `\u{202e}`.
//! Deliberately absent: escaping for HTML, XML and Markdown, which each renderer does last.

use std::borrow::Cow;
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

/// Text for a terminal or for the log of a CI job, with nothing in it that either obeys. Lines stay lines; the colours of
/// our own reports stay where the stream shows colours.
pub fn inert(text: &str, is_colored: bool) -> Cow<'_, str> {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !acts(c);
    if text.chars().all(harmless)
        && !is_command(text)
        && !text.contains(MARKERS[0])
        && !text.contains(MARKERS[1])
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let color = if is_colored { color(rest) } else { 0 };
        if color > 0 {
            shown.push_str(&rest[..color]);
            rest = &rest[color..];
            continue;
        }
        match c {
            '\r' => shown.push_str("\\r"),
            c if harmless(c) => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(unobeyed(&shown))
}

/// Length of a sequence that sets colours, where a text begins with one.
fn color(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let parameters = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if rest[parameters..].starts_with('m') { text.len() - rest.len() + parameters + 1 } else { 0 }
}

/// What a runner obeys wherever in a line it stands.
const MARKERS: [&str; 2] = ["##[", "##vso["];
/// What a runner obeys at the beginning of a line, after blanks as well.
const COMMAND: &str = "::";

fn is_command(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(COMMAND))
}

/// The text without what the runner of a CI job takes for a command: the first character of such is shown as an escape.
fn unobeyed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        if words.starts_with(COMMAND) {
            out.push_str(&line[..line.len() - words.len()]);
            out.push_str("\\u{3a}");
            out.push_str(&words[1..]);
        } else {
            out.push_str(line);
        }
    }
    for marker in MARKERS {
        if out.contains(marker) {
            out = out.replace(marker, &format!("\\u{{23}}{}", &marker[1..]));
        }
    }
    out
}

/// JSON text with every character that acts written as an escape. Such characters can stand in strings only,
/// except for line breaks, which stay.
pub(crate) fn escape_acting(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        // What a runner obeys can stand in strings only, too.
        let is_obeyed = c == '#' && MARKERS.iter().any(|marker| rest.starts_with(marker));
        rest = &rest[c.len_utf8()..];
        if is_obeyed || (c != '\n' && acts(c)) {
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
    if is_command(&shown) || MARKERS.iter().any(|marker| shown.contains(marker)) {
        shown = unobeyed(&shown);
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
    fn no_line_is_a_command_of_a_runner_or_a_terminal() {
        let check = |text: &str, expect: &str| assert_eq!(inert(text, false), expect, "{text:?}");
        check("::error::x\n \t::warning::y\n a ::b\n", "\\u{3a}:error::x\n \t\\u{3a}:warning::y\n a ::b\n");
        check("a ##[error]b ##vso[c]", "a \\u{23}#[error]b \\u{23}#vso[c]");
        check("a\r\u{1b}[0K\u{9b}2J\u{202e}\u{1b}]0;t\u{7}", r"a\r\u{1b}[0K\u{9b}2J\u{202e}\u{1b}]0;t\u{7}");
        check("\u{a0}::x\n\u{feff}::y", "\u{a0}\\u{3a}:x\n\\u{feff}::y");
        let red = "\u{1b}[31mred\u{1b}[0m\u{1b}[2J";
        assert_eq!(inert(red, true), "\u{1b}[31mred\u{1b}[0m\\u{1b}[2J");
        assert_eq!(block("a\n::b", 100), "a\n\\u{3a}:b");
        assert_eq!(escape_acting("[\"##[a\"]"), "[\"\\u0023#[a\"]");
        assert!(matches!(inert("plain\n\ttext\n", false), Cow::Borrowed(_)));
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
