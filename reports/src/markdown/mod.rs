//! `summary.md`: a CI job's summary or a comment on a pull request.
//!
//! Written for GitHub and GitLab, both of which cut what is longer than a megabyte: everything has a cap.
//! No word of the record can become markup (`escape`): sentences are escaped, values stand in fences that they cannot close.

pub(crate) mod escape;

use std::fmt::Write as _;

use self::escape::{Place, SENTENCE, code, fence, html_text, prose};
use crate::record::{Evidence, Outcome, RuleEntry, RunRecord};
use crate::{text, view};

/// More findings of one outcome than this are counted.
const FINDINGS: usize = 50;
/// More messages of one finding than this are counted.
const FRAMES: usize = 6;
/// Cap on a value or a body.
const VALUE: usize = 1000;

/// The record as Markdown.
pub fn markdown(record: &RunRecord) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "# {}: {}\n",
        text::capitalised(&view::verdict(record)),
        prose(&view::target(record), Place::Line)
    );
    let _ = writeln!(out, "{}.\n", text::capitalised(&view::sentence(record)));
    revisions(&mut out, record);
    counts(&mut out, record);
    findings(&mut out, record, Outcome::Failed, "Failed");
    findings(&mut out, record, Outcome::Warned, "Warnings");
    remarks(&mut out, record);
    chaos(&mut out, record);
    causes(&mut out, record, Outcome::CouldNotRun, "Could not run");
    causes(&mut out, record, Outcome::NotObserved, "Not observed");
    causes(&mut out, record, Outcome::KnownFailing, "Known failing");
    rules(&mut out, record);
    let suite = &record.suite;
    if let Some(edition) = view::edition(record) {
        let _ = writeln!(out, "Edition {}.", prose(&edition, Place::Line));
    }
    let _ = writeln!(
        out,
        "Callmark {}, features {}, seed {}.",
        code(&suite.version, Place::Line),
        code(&suite.features_sha256, Place::Line),
        suite.seed
    );
    out
}

/// What came of disturbing replicas, where somebody asked for it.
fn chaos(out: &mut String, record: &RunRecord) {
    for report in &record.chaos {
        let line = |text: &str| prose(text, Place::Line);
        let _ = writeln!(out, "## {}\n\n{}.\n", line(&report.title()), line(&report.sentence()));
        for finding in &report.findings {
            let _ = writeln!(out, "- {}. {}.", line(&finding.message), line(&finding.hint));
        }
        if !report.findings.is_empty() {
            out.push('\n');
        }
    }
}

/// What became of each revision, where the run was about several.
fn revisions(out: &mut String, record: &RunRecord) {
    let all = view::revisions(record);
    for own in &all {
        let breaks = own.breaks().map(|breaks| format!(", {}", prose(&breaks, Place::Line)));
        let name = code(&own.name, Place::Line);
        let _ = writeln!(out, "- {name}: {}{}", own.verdict.name(), breaks.unwrap_or_default());
    }
    if !all.is_empty() {
        out.push('\n');
    }
}

fn counts(out: &mut String, record: &RunRecord) {
    out.push_str("| outcome | rules |\n|---|---:|\n");
    for outcome in Outcome::ALL {
        let count = record.summary.count(outcome);
        if count > 0 {
            let _ = writeln!(out, "| {} {} | {count} |", view::symbol(outcome), view::label(outcome));
        }
    }
    let _ = writeln!(out, "| scenarios | {} |\n", record.summary.scenarios);
}

fn findings(out: &mut String, record: &RunRecord, outcome: Outcome, title: &str) {
    let rules = view::with_outcome(record, outcome);
    if rules.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    for rule in rules.iter().take(FINDINGS) {
        finding(out, rule);
    }
    more(out, rules.len(), FINDINGS, "rule");
}

/// What checks say that do not count.
fn remarks(out: &mut String, record: &RunRecord) {
    let rules = view::newer_rules(record);
    if rules.is_empty() {
        return;
    }
    let title = text::capitalised(&view::newer_title(record));
    let _ = writeln!(out, "## {}\n", prose(&title, Place::Line));
    let counts = view::counts(|outcome| rules.iter().filter(|rule| rule.outcome == outcome).count());
    let _ = writeln!(out, "Checks that the pinned edition does not have; they do not count: {counts}.\n");
    let remarks = view::remarks(record);
    for rule in remarks.iter().take(FINDINGS) {
        finding(out, rule);
    }
    more(out, remarks.len(), FINDINGS, "rule");
}

fn finding(out: &mut String, rule: &RuleEntry) {
    let _ =
        writeln!(out, "### {}: {}\n", code(&rule.id, Place::Line), prose(view::reason(rule), Place::Line));
    asked(out, rule);
    for (n, scenario) in view::explaining(rule).into_iter().enumerate() {
        match &scenario.evidence {
            Some(found) if n == 0 => evidence(out, found),
            _ => {
                let at = format!("{}:{}", scenario.file, scenario.line);
                let why = view::why(scenario).unwrap_or(&scenario.name);
                let _ = writeln!(out, "- also {}: {}", code(&at, Place::Line), prose(why, Place::Line));
            }
        }
        if n == 9 {
            break;
        }
    }
    more(out, view::explaining(rule).len(), 10, "scenario");
    out.push('\n');
}

fn asked(out: &mut String, rule: &RuleEntry) {
    let (profile, source) = (code(&rule.profile, Place::Line), prose(&rule.source, Place::Line));
    let statement = prose(&rule.statement, Place::Line);
    let _ = writeln!(out, "**{}** in {profile}: {statement} ({source})\n", view::level(rule.level));
}

fn evidence(out: &mut String, evidence: &Evidence) {
    let _ = writeln!(out, "- step: {}", code(&evidence.step, Place::Line));
    let _ = writeln!(out, "- at: {}", code(&evidence.location, Place::Line));
    if let Some(pointer) = &evidence.pointer {
        let _ = writeln!(out, "- pointer: {}", code(pointer, Place::Line));
    }
    if let Some(scenario) = &evidence.scenario {
        let _ = writeln!(out, "- seen in: {}", code(scenario, Place::Line));
    }
    let _ = writeln!(out, "- hint: {}\n", prose(&evidence.hint, Place::Line));
    if let Some(expected) = &evidence.expected {
        let words = text::words(expected).map(|words| text::block(words, VALUE));
        fence(out, "Expected:", &words.unwrap_or_else(|| text::value_block(expected, VALUE)));
    }
    let actual = evidence.actual.as_ref().map(|actual| text::value_block(actual, VALUE));
    fence(out, "Actual:", actual.as_deref().unwrap_or("absent"));
    fence(out, "Run again:", &text::line(&evidence.rerun, VALUE));
    if let Some(reproduce) = &evidence.reproduce {
        fence(out, "By hand:", &text::line(reproduce, VALUE));
    }
    if evidence.frames.is_empty() {
        return;
    }
    let _ = writeln!(out, "<details><summary>{}</summary>\n", text::count(evidence.frames.len(), "message"));
    for frame in evidence.frames.iter().take(FRAMES) {
        let mut body = text::line(&frame.channel, SENTENCE);
        for (name, value) in &frame.headers {
            let _ = write!(body, "\n{}: {}", text::line(name, SENTENCE), text::line(value, SENTENCE));
        }
        let _ = write!(body, "\n\n{}", text::body_block(&frame.body, VALUE));
        fence(out, &format!("{}\\. {}", frame.n, prose(&view::route(frame), Place::Line)), &body);
    }
    more(out, evidence.frames.len(), FRAMES, "message");
    out.push_str("</details>\n\n");
}

fn causes(out: &mut String, record: &RunRecord, outcome: Outcome, title: &str) {
    let causes = view::causes(record, outcome);
    if causes.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    for cause in causes.iter().take(FINDINGS) {
        let _ = writeln!(out, "### {}\n", prose(cause.reason, Place::Line));
        for rule in cause.rules.iter().take(FINDINGS) {
            let statement = prose(&rule.statement, Place::Line);
            let (id, profile) = (code(&rule.id, Place::Line), code(&rule.profile, Place::Line));
            let _ = writeln!(out, "- {id} ({}, {profile}): {statement}", view::level(rule.level));
        }
        more(out, cause.rules.len(), FINDINGS, "rule");
        out.push('\n');
        let scenarios = cause.rules.iter().flat_map(|rule| view::explaining(rule));
        if let Some(found) = scenarios.into_iter().find_map(|scenario| scenario.evidence.as_ref()) {
            evidence(out, found);
        }
    }
    more(out, causes.len(), FINDINGS, "cause");
}

fn rules(out: &mut String, record: &RunRecord) {
    out.push_str("## All rules\n\n");
    for profile in view::profiles(record) {
        let name = html_text(profile.name);
        let _ = writeln!(out, "<details><summary>{name}: {}</summary>\n", profile.counts());
        out.push_str("| rule | level | outcome | statement |\n|---|---|---|---|\n");
        for rule in &profile.rules {
            let statement = prose(&rule.statement, Place::Cell);
            let outcome = format!("{} {}", view::symbol(rule.outcome), view::label(rule.outcome));
            let id = code(&rule.id, Place::Cell);
            let _ = writeln!(out, "| {id} | {} | {outcome} | {statement} |", view::level(rule.level));
        }
        out.push_str("\n</details>\n\n");
    }
}

fn more(out: &mut String, len: usize, cap: usize, noun: &str) {
    if len > cap {
        let _ = writeln!(out, "\n… and {}\n", text::count(len - cap, &format!("more {noun}")));
    }
}
