//! Words and code that no Markdown reader takes for markup, and code that cannot leave its fence.
//!
//! Neighbours: every report that holds Markdown: the summary, the help texts of `sarif`, the page of `diff`.

use std::fmt::Write as _;

use crate::text;

/// Cap on a sentence.
pub(crate) const SENTENCE: usize = 300;

/// Where text stands: a cell of a table is split at pipes before anything else is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Line,
    Cell,
}

/// A sentence on one line, in which only paired backticks mean something.
pub(crate) fn prose(words: &str, place: Place) -> String {
    let words = text::line(words, SENTENCE);
    let spans = text::spans(&words).into_iter();
    spans.map(|(is_code, span)| if is_code { code(span, place) } else { escaped(span) }).collect()
}

fn escaped(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Entities, since a table is split at pipes before escapes are read, and `\\|` would split it.
            '\\' => out.push_str("&#92;"),
            '|' => out.push_str("&#124;"),
            // Nobody is to be mentioned; a mention is looked for within one piece of text only.
            '@' => out.push_str("<span>@</span>"),
            // `:` too: addresses become links by themselves.
            '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '+' | '!' | '~' | '$' | ':' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    // Bare names under `www.` become links as well.
    out.replace("www.", "www\\.").replace("WWW.", "WWW\\.")
}

/// Code on one line, in a fence that it cannot close.
pub(crate) fn code(words: &str, place: Place) -> String {
    let words = text::line(words, SENTENCE);
    if place == Place::Cell && words.contains(['|', '\\']) {
        return format!("<code>{}</code>", escaped(&words));
    }
    let ticks = "`".repeat(longest_run(&words) + 1);
    // A blank on both sides keeps ticks at the edges apart; it is not shown.
    let pad = if ticks.len() > 1 || words.trim() != words || words.is_empty() { " " } else { "" };
    format!("{ticks}{pad}{words}{pad}{ticks}")
}

/// A titled block of code.
pub(super) fn fence(out: &mut String, title: &str, content: &str) {
    let ticks = "`".repeat((longest_run(content) + 1).max(3));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{title}\n\n{ticks}text\n{content}\n{ticks}\n");
}

fn longest_run(words: &str) -> usize {
    words.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Words between HTML tags.
pub(super) fn html_text(words: &str) -> String {
    text::line(words, SENTENCE).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
