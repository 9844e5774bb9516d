//! `badge.svg` and `badge.json`: the verdict for a README, as an image and as what shields.io draws one from.
//!
//! Only our own words and numbers stand in a badge: nothing that a target says, and of a manifest the edition that it pins. The image has one sentence
//! more, which shows on hovering and is read aloud: what each profile left out, by id.
//! Deliberately absent: the target's name (the page around the badge names it), and links.

use std::fmt::Write as _;

use serde_json::json;

use crate::coverage::Coverage;
use crate::record::{Outcome, RunRecord, Verdict};
use crate::{text, view};

/// What stands left of the verdict.
const LABEL: &str = "callmark";
/// Height of the letters, in tenths of a pixel.
const LETTERS: u32 = 110;
/// Room beside a text, in tenths of a pixel.
const MARGIN: u32 = 60;

/// The badge as an image that needs nothing else.
pub fn badge(record: &RunRecord) -> String {
    let message = message(record);
    let title = escaped(&title(record, &message));
    let (left, right) = (width(LABEL), width(&message));
    let (label_at, message_at) = (MARGIN + left / 2, 3 * MARGIN + left + right / 2);
    let (edge, whole) = (2 * MARGIN + left, 4 * MARGIN + left + right);
    let mut out = String::new();
    // Tenths of a pixel all over, so that no number needs a fraction. Writing to a string cannot fail.
    let _ = write!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="20" viewBox="0 0 {whole} 200" role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="round"><rect width="{whole}" height="200" rx="30"/></clipPath>
<g clip-path="url(#round)">
<rect width="{edge}" height="200" fill="#444c56"/>
<rect x="{edge}" width="{rest}" height="200" fill="#{color}"/>
</g>
<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="{LETTERS}" text-anchor="middle">
<text x="{label_at}" y="140" textLength="{left}">{LABEL}</text>
<text x="{message_at}" y="140" textLength="{right}">{shown}</text>
</g>
</svg>
"##,
        shown = escaped(&message),
        w = whole.div_ceil(10),
        rest = whole - edge,
        color = color(record),
    );
    out
}

/// The badge for the `endpoint` of shields.io.
pub fn badge_json(record: &RunRecord) -> String {
    let badge =
        json!({"schemaVersion": 1, "label": LABEL, "message": message(record), "color": color(record)});
    format!("{badge:#}\n")
}

/// The verdict, and the number that says how much there is to it.
fn message(record: &RunRecord) -> String {
    let number = |outcome| usize::try_from(record.summary.count(outcome)).unwrap_or(usize::MAX);
    let detail = match record.verdict {
        Verdict::Incomplete if record.is_part() => return view::verdict(record),
        Verdict::Conformant => match number(Outcome::KnownFailing) {
            0 => judged(&Coverage::of(record)),
            known => format!("{known} known failing"),
        },
        Verdict::Nonconformant => format!("{} failed", number(Outcome::Failed)),
        Verdict::Incomplete => {
            let unjudged = number(Outcome::CouldNotRun).saturating_add(number(Outcome::NotObserved));
            format!("{unjudged} not judged")
        }
    };
    // Whose verdict may be another with the newest checks says so.
    let pinned = record.edition.as_ref().filter(|edition| edition.pinned);
    let pinned =
        pinned.map(|edition| format!(", edition {}", text::line(&edition.name, 20))).unwrap_or_default();
    format!("{}, {detail}{pinned}", view::verdict(record))
}

/// How much of all profiles together was judged.
fn judged(coverage: &[Coverage]) -> String {
    let sum = |of: fn(&Coverage) -> usize| coverage.iter().map(of).sum::<usize>();
    format!("{} of {} judged", sum(|own| own.judged), text::count(sum(|own| own.rules), "rule"))
}

/// The message, and what each profile left out.
fn title(record: &RunRecord, message: &str) -> String {
    let left_out = Coverage::of(record).into_iter().filter(|own| !own.not_applicable.is_empty());
    let left_out = left_out.map(|own| format!("; {}: {}", own.sentence(), own.left_out()));
    let edition = view::edition(record).map(|edition| format!("; edition {edition}")).unwrap_or_default();
    format!("{LABEL}: {message}{edition}{}", left_out.collect::<String>())
}

/// For an attribute and for text of XML. Profiles and rules are ours, unless somebody wrote the record by hand.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Dark enough for white letters.
fn color(record: &RunRecord) -> &'static str {
    match record.verdict {
        // What is known to be broken is not as good as what holds.
        Verdict::Conformant if record.summary.known_failing > 0 => "7a4526",
        Verdict::Conformant => "17693a",
        Verdict::Nonconformant => "b3221b",
        Verdict::Incomplete => "7d3c98",
    }
}

/// About how wide Verdana sets our own words, in tenths of a pixel.
///
/// The image says how long its texts are, so other fonts are stretched to that.
fn width(text: &str) -> u32 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' => 30,
        'f' | 't' | ' ' | ',' => 39,
        'r' => 47,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 60,
        '.' => 36,
        'm' => 107,
        'w' => 90,
        _ => 69,
    };
    text.chars().map(letter).sum()
}
