//! Evidence as plain text, for the formats that can hold nothing better.
//!
//! Neighbours: [`mod@crate::junit`] puts this into its elements. The terminal has its own, shorter form.

use std::fmt::Write as _;

use crate::record::{Evidence, FrameExcerpt, RuleEntry, ScenarioEntry};
use crate::{text, view};

/// More messages than this are counted instead of shown.
pub(crate) const FRAMES: usize = 12;

/// All that is known about one scenario's outcome.
pub(crate) fn scenario(rule: &RuleEntry, scenario: &ScenarioEntry) -> String {
    let mut out = summary(rule, scenario);
    if let Some(evidence) = &scenario.evidence {
        push_frames(&mut out, &evidence.frames);
    }
    out
}

/// The same without the messages, for formats that are read scenario by scenario.
pub(crate) fn summary(rule: &RuleEntry, scenario: &ScenarioEntry) -> String {
    let mut out = rule_lines(rule);
    push(&mut out, "scenario", &format!("{} ({}:{})", scenario.name, scenario.file, scenario.line));
    if let Some(reason) = &scenario.reason {
        push(&mut out, "reason", reason);
    }
    if let Some(evidence) = &scenario.evidence {
        push_evidence(&mut out, evidence);
    }
    out
}

/// What is asked for, by whom and how strongly.
pub(crate) fn rule_lines(rule: &RuleEntry) -> String {
    let mut out = String::new();
    push(&mut out, "rule", &format!("{} {} ({})", view::level(rule.level), rule.id, rule.profile));
    push(&mut out, "statement", &rule.statement);
    push(&mut out, "source", &rule.source);
    out
}

fn push_evidence(out: &mut String, evidence: &Evidence) {
    push(out, "found", &evidence.message);
    push(out, "step", &evidence.step);
    push(out, "at", &evidence.location);
    if let Some(pointer) = &evidence.pointer {
        push(out, "pointer", pointer);
    }
    if let Some(expected) = &evidence.expected {
        let words = text::words(expected).map(|words| text::block(words, text::BODY));
        push_block(out, "expected", &words.unwrap_or_else(|| text::value_block(expected, text::BODY)));
    }
    match &evidence.actual {
        Some(actual) => push_block(out, "actual", &text::value_block(actual, text::BODY)),
        None => push(out, "actual", "absent"),
    }
    push(out, "hint", &evidence.hint);
    if let Some(scenario) = &evidence.scenario {
        push(out, "seen in", scenario);
    }
    push(out, "rerun", &evidence.rerun);
    if let Some(reproduce) = &evidence.reproduce {
        push(out, "by hand", reproduce);
    }
}

fn push_frames(out: &mut String, frames: &[FrameExcerpt]) {
    for frame in frames.iter().take(FRAMES) {
        push_frame(out, frame);
    }
    if frames.len() > FRAMES {
        let _ = writeln!(out, "… and {}", text::count(frames.len() - FRAMES, "more message"));
    }
}

fn push_frame(out: &mut String, frame: &FrameExcerpt) {
    let channel = text::line(&frame.channel, text::LINE);
    let _ = writeln!(out, "message {}: {}: {channel}", frame.n, view::route(frame));
    for (name, value) in &frame.headers {
        let _ = writeln!(out, "  {}: {}", text::line(name, text::LINE), text::line(value, text::LINE));
    }
    indented(out, &text::body_block(&frame.body, text::BODY));
}

fn push(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{:<11}{}", format!("{key}:"), text::line(value, text::BODY));
}

fn push_block(out: &mut String, key: &str, shown: &str) {
    if shown.contains('\n') {
        let _ = writeln!(out, "{key}:");
        indented(out, shown);
    } else {
        let _ = writeln!(out, "{:<11}{shown}", format!("{key}:"));
    }
}

fn indented(out: &mut String, shown: &str) {
    for line in shown.lines() {
        let _ = writeln!(out, "  {line}");
    }
}
