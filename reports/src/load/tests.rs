use serde_json::json;

use super::*;
use crate::record::{Direction, Evidence, FrameExcerpt, Level};

pub(crate) fn finding(message: &str) -> RecordingFinding {
    RecordingFinding {
        rule: "UTP-4.2-05".to_owned(),
        profile: "utp.tool-service".to_owned(),
        level: Level::Must,
        statement: "A report says which call it answers.".to_owned(),
        source: "UTP §4.2".to_owned(),
        breaches: 3,
        at: "load, call 17".to_owned(),
        evidence: Evidence {
            step: "Then it says so".to_owned(),
            location: "features/a.feature:3:5".to_owned(),
            message: message.to_owned(),
            expected: None,
            actual: None,
            pointer: None,
            hint: "say so".to_owned(),
            scenario: None,
            frames: vec![FrameExcerpt {
                n: 1,
                direction: Direction::FromTarget,
                party: "worker".to_owned(),
                channel: "l0.v1.prj.public.report".to_owned(),
                headers: [].into(),
                body: json!({"text": message}),
            }],
            rerun: "callmark explain UTP-4.2-05".to_owned(),
            reproduce: None,
        },
    }
}

fn report() -> LoadReport {
    let interval = |number: u64| LoadInterval {
        begins_ms: number * 500,
        sent: 250,
        answers: 250,
        p50_us: 900,
        p99_us: 4_000 + number * 10_000,
        max_us: 200_000,
        ..LoadInterval::default()
    };
    LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        verdict: LoadVerdict::Held,
        target: TargetInfo { name: "tides".to_owned(), version: "1.2".to_owned() },
        profile: "utp.tool-service".to_owned(),
        plan: LoadPlanned { rate: 500.0, duration_ms: 2_000, deadline_ms: 10_000, most_open: 4096 },
        calls: LoadCalls { intended: 1_000, sent: 1_000, succeeded: 1_000, ..LoadCalls::default() },
        latency: LoadLatency {
            p50_us: 900,
            p90_us: 1_500,
            p99_us: 14_000,
            p99_9_us: 199_000,
            max_us: 200_000,
        },
        lateness: LoadLatency { p50_us: 40, p90_us: 90, p99_us: 900, p99_9_us: 1_200, max_us: 2_000 },
        errors: Vec::new(),
        interval_ms: 500,
        intervals: (0..4).map(interval).collect(),
        search: None,
        judged: LoadJudged { exchanges: 1_000, unjudged: 0, findings: Vec::new(), rules: Vec::new() },
    }
}

#[test]
fn each_verdict_is_a_sentence() {
    let check = |change: fn(&mut LoadReport), expect: &str| {
        let mut report = report();
        change(&mut report);
        assert_eq!(report.sentence(), expect);
    };
    check(|_| {}, "500 calls a second held: 1000 calls answered, no rule broken");
    check(
        |own| {
            own.verdict = LoadVerdict::Overloaded;
            own.calls.unanswered = 3;
            own.calls.crowded_out = 9;
        },
        "500 calls a second not held: of 1000 calls 3 never answered, 9 not sent, as too many were open",
    );
    check(
        |own| {
            own.verdict = LoadVerdict::Behind;
            own.calls.left_behind = 200;
        },
        "no verdict: this machine was behind and did not send 200 of 1000 calls of 500 calls a second",
    );
    check(
        |own| {
            own.verdict = LoadVerdict::Violations;
            own.judged.findings.push(finding("it names no call"));
        },
        "1 rule broken under 500 calls a second",
    );
}

#[test]
fn the_text_says_how_long_calls_took() {
    let text = load_human(&report());
    assert!(
        text.contains("latency     p50 900 µs, p90 1.50 ms, p99 14 ms, p99.9 199 ms, max 200 ms"),
        "{text}"
    );
    assert!(text.contains("sent        1000 of 1000 calls"), "{text}");
    assert!(text.contains("answered    500.0 a second"), "{text}");
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let mut written = report();
    written.search = Some(LoadSearch {
        p99_us: 50_000,
        best: Some(512.5),
        trials: vec![LoadTrial { rate: 512.5, p99_us: 40_000, why_not: None }],
    });
    let read: LoadReport = serde_json::from_str(&load_json(&written)).expect("JSON");
    assert_eq!(read, written);
}

#[test]
fn what_a_target_says_is_no_markup_of_the_page() {
    let mut report = report();
    let hostile = "<script>alert(1)</script> `<b>`";
    report.judged.findings.push(finding(hostile));
    report.errors.push(LoadError { what: hostile.to_owned(), count: 2 });
    report.target.name = hostile.to_owned();
    let page = load_html(&report);
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
}

#[test]
fn pictures_have_a_title_and_say_in_words_what_they_show() {
    let page = load_html(&report());
    assert_eq!(page.matches("role=\"img\"").count(), 3);
    assert_eq!(page.matches("<desc ").count(), 3);
    assert!(page.contains("The p99 was 14 ms over all; the longest latency was 200 ms."), "{page}");
    assert!(page.contains("script-src 'none'"), "{page}");
}
