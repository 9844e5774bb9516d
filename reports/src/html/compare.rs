//! Expected beside actual, with the lines marked that only one of them has.
//!
//! A sign stands before each such line, so that the colour only repeats it.
//! Deliberately absent: differences within a line, and comparison of what is too long to be read anyway.

use maud::{Markup, html};
use serde_json::Value;

use super::parts;
use crate::record::Evidence;
use crate::text;

/// Longer values are shown without marks.
const LINES: usize = 80;

/// The two sides.
pub(super) fn compare(found: &Evidence) -> Markup {
    let words = found.expected.as_ref().and_then(text::words);
    let expected = found.expected.as_ref().filter(|_| words.is_none()).map(shown);
    let actual = found.actual.as_ref().map(shown);
    let (expected_lines, actual_lines) = (lines(expected.as_deref()), lines(actual.as_deref()));
    let common = common(&expected_lines, &actual_lines);
    html! {
        div.compare {
            @if found.expected.is_some() {
                div {
                    p.label { "Expected" }
                    @match words {
                        Some(words) => p.words { (parts::prose(words)) },
                        None => (side(&expected_lines, common.as_ref().map(|(expected, _)| &expected[..]), Side::Expected)),
                    }
                }
            }
            div {
                p.label { "Actual" }
                @match actual {
                    Some(_) => (side(&actual_lines, common.as_ref().map(|(_, actual)| &actual[..]), Side::Actual)),
                    None => p.words { "Nothing came." },
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Expected,
    Actual,
}

fn shown(value: &Value) -> String {
    text::value_block(value, text::BODY)
}

fn lines(block: Option<&str>) -> Vec<&str> {
    block.map(|block| block.lines().collect()).unwrap_or_default()
}

fn side(lines: &[&str], common: Option<&[bool]>, side: Side) -> Markup {
    html! {
        pre {
            code {
                @for (n, line) in lines.iter().enumerate() {
                    @if n > 0 { "\n" }
                    @if common.is_none_or(|common| common[n]) { (line) }
                    @else if side == Side::Expected { del { (line) } }
                    @else { ins { (line) } }
                }
            }
        }
    }
}

/// For each line of either side whether the other has it too, in order. Nothing where there is nothing to compare.
fn common(expected: &[&str], actual: &[&str]) -> Option<(Vec<bool>, Vec<bool>)> {
    if expected.is_empty() || actual.is_empty() || expected.len().max(actual.len()) > LINES {
        return None;
    }
    let width = actual.len() + 1;
    // The length of the longest common rest, from each pair of lines on.
    let mut longest = vec![0_u32; (expected.len() + 1) * width];
    for (row, own) in expected.iter().enumerate().rev() {
        for (column, other) in actual.iter().enumerate().rev() {
            let at = row * width + column;
            longest[at] = if own == other {
                longest[at + width + 1] + 1
            } else {
                longest[at + width].max(longest[at + 1])
            };
        }
    }
    let (mut left, mut right) = (vec![false; expected.len()], vec![false; actual.len()]);
    let (mut row, mut column) = (0, 0);
    while row < expected.len() && column < actual.len() {
        let at = row * width + column;
        if expected[row] == actual[column] {
            (left[row], right[column]) = (true, true);
            (row, column) = (row + 1, column + 1);
        } else if longest[at + width] >= longest[at + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    // Two values that have nothing but their brackets in common differ as a whole.
    let alike =
        expected.iter().zip(&left).any(|(line, common)| *common && line.contains(char::is_alphanumeric));
    alike.then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_side_only_are_found() {
        let check = |expected: &str, actual: &str, expect: Option<(&str, &str)>| {
            let marks =
                |common: &[bool]| common.iter().map(|own| if *own { '=' } else { '!' }).collect::<String>();
            let (expected, actual) = (lines(Some(expected)), lines(Some(actual)));
            let found = common(&expected, &actual).map(|(left, right)| (marks(&left), marks(&right)));
            assert_eq!(found, expect.map(|(left, right)| (left.to_owned(), right.to_owned())));
        };
        check("{\na\nb\n}", "{\nb\nc\n}", Some(("=!==", "==!=")));
        check("a", "a", Some(("=", "=")));
        check("{\na\n}", "{\nb\n}", None);
        check("a", "", None);
        check(&"a\n".repeat(81), "a", None);
    }
}
