//! A message as it crossed the wire: where it travelled, its headers and its body; on its own, or with what another
//! message does not have marked.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::record::FrameExcerpt;
use crate::text;

/// Cap on a message: a whole exchange should be whole.
const MESSAGE: usize = 64 * 1024;
/// Digits of the shortest number in hex that is an id.
const MADE_UP: usize = 8;

/// Headers and body.
pub(super) fn shown(frame: &FrameExcerpt) -> Markup {
    html! {
        (headers(frame, |_, _| false))
        pre tabindex="0" role="group" aria-label="Message" { code { (text::body_block(&frame.body, MESSAGE)) } }
    }
}

/// The same, with each line and each header marked that `other` does not have; ids that a run made up are all alike.
pub(super) fn marked(frame: &FrameExcerpt, other: Option<&FrameExcerpt>, label: &str) -> Markup {
    let own = text::body_block(&frame.body, MESSAGE);
    let theirs = other.map(|other| text::body_block(&other.body, MESSAGE)).unwrap_or_default();
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for line in theirs.lines() {
        *left.entry(likeness(line)).or_default() += 1;
    }
    let mut is_new = |line: &str| match left.get_mut(&likeness(line)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => other.is_some(),
    };
    let lines: Vec<(bool, &str)> = own.lines().map(|line| (is_new(line), line)).collect();
    let is_foreign = |name: &str, value: &str| {
        let is_same = |(own, text): (&String, &String)| {
            own.eq_ignore_ascii_case(name) && likeness(text) == likeness(value)
        };
        other.is_some_and(|other| !other.headers.iter().any(is_same))
    };
    html! {
        (headers(frame, is_foreign))
        pre tabindex="0" role="group" aria-label=(label) { code {
            @for (n, (is_new, line)) in lines.iter().enumerate() {
                @if n > 0 { "\n" }
                @let text = line.trim_start();
                (line[..line.len() - text.len()])
                @if *is_new { mark { (text) } } @else { (text) }
            }
        } }
    }
}

fn headers(frame: &FrameExcerpt, is_marked: impl Fn(&str, &str) -> bool) -> Markup {
    html! {
        @if !frame.headers.is_empty() {
            dl.headers { @for (name, value) in &frame.headers {
                @let (name, value) = (text::line(name, text::LINE), text::line(value, text::LINE));
                div {
                    @if is_marked(&name, &value) { dt { mark { (name) } } dd { mark { (value) } } }
                    @else { dt { (name) } dd { (value) } }
                }
            } }
        }
    }
}

/// A line without what its place in the text gives it (white space before it, a comma behind it), and with a sign in
/// place of each id that a run made up: a number in hex, eight digits or more.
fn likeness(line: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in line.trim().trim_end_matches(',').chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            digits.push(c);
            continue;
        }
        out.push_str(if digits.len() >= MADE_UP { "#" } else { &digits });
        digits.clear();
        out.push(c);
    }
    out
}
