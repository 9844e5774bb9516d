//! `index.html`: the whole record as one page that needs nothing else, from a disk or from a server.
//!
//! `findings` shows what is wrong (`compare` its two sides, `sequence` who sent what), `newer` what is but does not count, `chaos` what replicas went through, `rules` the table of everything, `parts` the small pieces of both.
//! The templates escape every value; the only text that is not escaped is our own style and script.
//! The page's content security policy admits these two by their hashes, so that even a fault in the escaping
//! could not run anything.
//! Deliberately absent: fonts, images and requests; colour or script as the only way to anything.

mod chaos;
mod compare;
mod findings;
mod newer;
mod parts;
mod rules;

pub(crate) use findings::{about as finding_text, evidence as finding_evidence};
use maud::{DOCTYPE, Markup, PreEscaped, html};
pub(crate) use parts::prose;
use sha2::{Digest as _, Sha256};

use crate::record::{Outcome, RunRecord, Verdict};
use crate::{text, view};

const STYLE: &str = concat!(
    include_str!("../../templates/common.css"),
    include_str!("../../templates/report.css"),
    include_str!("../../templates/sequence.css")
);
const SCRIPT: &str =
    concat!(include_str!("../../templates/common.js"), include_str!("../../templates/report.js"));

/// The record as one self-contained page.
pub fn html(record: &RunRecord) -> String {
    let title = format!("{}: {}", view::target(record), view::verdict(record));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) " · Callmark" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the findings" }
                (header(record))
                (contents(record))
                main #main tabindex="-1" {
                    (findings::sections(record))
                    (chaos::section(&record.chaos))
                    (newer::section(record))
                    (rules::section(record))
                }
                (footer(record))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut page = page.into_string();
    page.push('\n');
    page
}

/// Class and sign of a verdict.
fn standing(verdict: Verdict) -> (&'static str, &'static str) {
    let outcome = match verdict {
        Verdict::Conformant => Outcome::Passed,
        Verdict::Nonconformant => Outcome::Failed,
        Verdict::Incomplete => Outcome::CouldNotRun,
    };
    (outcome.name(), view::symbol(outcome))
}

fn header(record: &RunRecord) -> Markup {
    let (class, symbol) = standing(record.verdict);
    html! {
        header.top {
            p.brand { "Callmark conformance report" }
            h1 {
                span.target { bdi { (view::target(record)) } }
                " "
                span class={ "verdict " (class) } { span.symbol aria-hidden="true" { (symbol) } " " (view::verdict(record)) }
            }
            p.sentence { (view::sentence(record)) "." }
            @for sentence in chaos::sentences(&record.chaos) { p.sentence { (prose(&sentence)) "." } }
            (revisions(record))
            (bar(record))
        }
    }
}

/// What became of each revision, where the run was about several.
fn revisions(record: &RunRecord) -> Markup {
    let all = view::revisions(record);
    html! {
        @if !all.is_empty() {
            ul.revisions aria-label="Revisions" {
                @for own in &all {
                    @let (class, symbol) = standing(own.verdict);
                    li {
                        code { (own.name) } " "
                        strong class={ "badge " (class) } { span.symbol aria-hidden="true" { (symbol) } " " (own.verdict.name()) }
                        @if let Some(breaks) = own.breaks() { ", " (breaks) }
                    }
                }
            }
        }
    }
}

/// Outcomes in proportion. The list below it says the same in words.
fn bar(record: &RunRecord) -> Markup {
    let total: u64 = Outcome::ALL.into_iter().map(|outcome| u64::from(record.summary.count(outcome))).sum();
    let counts = Outcome::ALL.map(|outcome| (outcome, u64::from(record.summary.count(outcome))));
    let shown: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    let mut edge = 0;
    html! {
        @if total > 0 {
            svg.bar viewBox={ "0 0 " (total) " 1" } preserveAspectRatio="none" role="img" aria-label=(view::totals(record)) {
                @for (outcome, count) in &shown {
                    rect class=(outcome.name()) x=(edge) y="0" width=(count) height="1" {}
                    @let () = edge += count;
                }
            }
        }
        ul.counts {
            @for (outcome, count) in &shown {
                li {
                    span class={ "swatch " (outcome.name()) } aria-hidden="true" {}
                    strong { (count) } " " (view::label(*outcome))
                }
            }
            li { strong { (record.summary.scenarios) } @if record.summary.scenarios == 1 { " scenario" } @else { " scenarios" } }
        }
    }
}

fn contents(record: &RunRecord) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                @for section in findings::SECTIONS {
                    @let count = record.summary.count(section.outcome);
                    @if count > 0 {
                        li { a href={ "#" (section.outcome.name()) } { (section.title) " " span.n { (count) } } }
                    }
                }
                @for (anchor, title) in chaos::contents(&record.chaos) { li { a href={ "#" (anchor) } { (title) } } }
                @if !view::newer_rules(record).is_empty() {
                    li { a href={ "#" (newer::ANCHOR) } { (text::capitalised(&view::newer_title(record))) " " span.n { (view::remarks(record).len()) } } }
                }
                li { a href="#rules" { "All rules " span.n { (record.rules.len()) } } }
            }
            ul.profiles aria-label="Profiles" {
                @for profile in view::profiles(record) {
                    li { a href={ "#" (parts::profile_anchor(profile.name)) } { (text::line(profile.name, 80)) } }
                }
            }
        }
    }
}

fn footer(record: &RunRecord) -> Markup {
    let suite = &record.suite;
    html! {
        footer {
            dl {
                div { dt { "Callmark" } dd { (text::line(&suite.version, 80)) } }
                @if let Some(edition) = view::edition(record) { div { dt { "Edition" } dd { (edition) } } }
                div { dt { "Features" } dd { code { (text::line(&suite.features_sha256, 80)) } } }
                div { dt { "Seed" } dd { (suite.seed) } }
                div { dt { "Record" } dd { code { (text::line(&record.schema, 80)) } } }
            }
            p { "Times, logs and the full transcript lie beside this file: " code { "timings.json" } ", " code { "transcript.jsonl" } "." }
        }
    }
}

/// Nothing is loaded and nothing runs but the style and the script of this very file.
fn policy() -> String {
    content_policy(STYLE, Some(SCRIPT))
}

/// The same of a page that asks whoever serves it for news.
pub(crate) fn content_policy_of_live(style: &str, script: &str) -> String {
    format!("{}; connect-src 'self'", content_policy(style, Some(script)))
}

/// The policy of a page that has this style and this script in itself, and loads nothing.
pub(crate) fn content_policy(style: &str, script: Option<&str>) -> String {
    let script = script.map_or_else(|| "'none'".to_owned(), |script| format!("'{}'", hash(script)));
    let style = hash(style);
    format!(
        "default-src 'none'; style-src '{style}'; script-src {script}; base-uri 'none'; form-action 'none'"
    )
}

/// `sha256-` and the digest in base64, as content security policies name an inline block.
fn hash(source: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("sha256-");
    for chunk in Sha256::digest(source.as_bytes()).chunks(3) {
        let bits =
            chunk.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            let sextet = bits >> (18 - 6 * n) & 63;
            out.push(if n <= chunk.len() { char::from(ALPHABET[sextet]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_hash_has_the_form_that_browsers_compare() {
        let empty = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(super::hash(""), empty);
    }
}
