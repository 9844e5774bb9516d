//! A difference, written down: for a terminal, for a pull request, for machines.
//!
//! Neighbours: the parent compares. What came from targets was shortened and made visible there.

use std::fmt::Write as _;

use super::{Change, ChangeKind, Diff, ScenarioChange, Side};
use crate::markdown::escape::{Place, code, prose};
use crate::record::Outcome;
use crate::{pretty_json, text, view};

/// More changes of one kind than this are counted.
const CHANGES: usize = 50;
/// More scenarios of one rule than this are counted.
const SCENARIOS: usize = 4;

/// The difference as pretty JSON with a newline at its end.
pub fn diff_json(diff: &Diff) -> String {
    pretty_json(diff).expect("a difference is plain data with string keys")
}

/// The difference for a terminal, without colour.
pub fn diff_human(diff: &Diff) -> String {
    let mut out = String::new();
    for (title, side) in [("old", &diff.old), ("new", &diff.new)] {
        let _ = writeln!(out, "{title}  {}: {} (callmark {})", side.target, verdict(side), side.suite);
    }
    for remark in remarks(diff) {
        let _ = writeln!(out, "     {remark}");
    }
    for kind in ChangeKind::ALL {
        let changes: Vec<_> = diff.changes.iter().filter(|change| change.kind == kind).collect();
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{} ({})", title(kind), changes.len());
        for change in changes.iter().take(CHANGES) {
            let level = view::level(change.level);
            let _ = writeln!(out, "  {} ({}, {level}): {}", change.rule, change.profile, outcomes(change));
            if let Some(why) = &change.why {
                let _ = writeln!(out, "      {why}");
            }
            for scenario in change.scenarios.iter().take(SCENARIOS) {
                let _ = writeln!(out, "    - {}: {}", scenario.id, scenario_outcomes(scenario));
            }
            rest(&mut out, change.scenarios.len(), SCENARIOS, "    - ", "scenario");
        }
        rest(&mut out, changes.len(), CHANGES, "  ", "rule");
    }
    let _ = writeln!(out, "\n{}", sentence(diff));
    out
}

/// The difference for a pull request.
pub fn diff_markdown(diff: &Diff) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", text::capitalised(&sentence(diff)));
    out.push_str("| run | target | verdict | Callmark |\n|---|---|---|---|\n");
    for (title, side) in [("old", &diff.old), ("new", &diff.new)] {
        let (target, suite) = (prose(&side.target, Place::Cell), code(&side.suite, Place::Cell));
        let _ = writeln!(out, "| {title} | {target} | {} | {suite} |", verdict(side));
    }
    for remark in remarks(diff) {
        let _ = writeln!(out, "\n{}.", text::capitalised(remark));
    }
    for kind in ChangeKind::ALL {
        let changes: Vec<_> = diff.changes.iter().filter(|change| change.kind == kind).collect();
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {} ({})\n", title(kind), changes.len());
        out.push_str("| rule | profile | level | before and after | why |\n|---|---|---|---|---|\n");
        for change in changes.iter().take(CHANGES) {
            let why = change.why.as_deref().map(|why| prose(why, Place::Cell)).unwrap_or_default();
            let scenarios = match change.scenarios.len() {
                0 => String::new(),
                n => format!(" ({})", text::count(n, "scenario")),
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {}{scenarios} | {why} |",
                code(&change.rule, Place::Cell),
                code(&change.profile, Place::Cell),
                view::level(change.level),
                outcomes(change)
            );
        }
        rest(&mut out, changes.len(), CHANGES, "\n", "rule");
    }
    out
}

/// What a reader should know before any of the changes.
fn remarks(diff: &Diff) -> Vec<&'static str> {
    let mut remarks = Vec::new();
    if diff.old.features_sha256 != diff.new.features_sha256 {
        remarks.push("the features differ, so a rule may have changed and not the target");
    }
    remarks
}

fn sentence(diff: &Diff) -> String {
    let counted = |kind: ChangeKind| {
        let count = usize::try_from(diff.count(kind)).unwrap_or(usize::MAX);
        let noun = match kind {
            ChangeKind::Regression => text::count(count, "regression"),
            ChangeKind::Fix if count == 1 => "1 fix".to_owned(),
            ChangeKind::Fix => format!("{count} fixes"),
            ChangeKind::New => format!("{count} new"),
            ChangeKind::Gone => format!("{count} gone"),
            ChangeKind::Other => text::count(count, "other change"),
            ChangeKind::Evidence => format!("{count} with changed evidence"),
        };
        (count > 0).then_some(noun)
    };
    let parts: Vec<_> = ChangeKind::ALL.into_iter().filter_map(counted).collect();
    if parts.is_empty() { "no changes".to_owned() } else { parts.join(", ") }
}

fn title(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Regression => "Regressions",
        ChangeKind::Fix => "Fixes",
        ChangeKind::New => "New",
        ChangeKind::Gone => "Gone",
        ChangeKind::Other => "Other changes",
        ChangeKind::Evidence => "Changed evidence",
    }
}

fn outcomes(change: &Change) -> String {
    between(change.old, change.new)
}

fn scenario_outcomes(change: &ScenarioChange) -> String {
    let outcomes = between(change.old, change.new);
    match &change.why {
        Some(why) => format!("{outcomes}: {why}"),
        None => outcomes,
    }
}

fn between(old: Option<Outcome>, new: Option<Outcome>) -> String {
    match (old, new) {
        (Some(old), Some(new)) if old == new => format!("still {}", view::label(new)),
        (Some(old), Some(new)) => format!("{} → {}", view::label(old), view::label(new)),
        (None, Some(new)) => format!("now {}", view::label(new)),
        (Some(old), None) => format!("was {}", view::label(old)),
        (None, None) => String::new(),
    }
}

fn verdict(side: &Side) -> &'static str {
    side.verdict.name()
}

fn rest(out: &mut String, len: usize, cap: usize, indent: &str, noun: &str) {
    if len > cap {
        let _ = writeln!(out, "{indent}… and {}", text::count(len - cap, &format!("more {noun}")));
    }
}
