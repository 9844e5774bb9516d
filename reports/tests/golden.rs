//! Golden tests of everything that is rendered: what people read is looked at, not described.

mod baseline;
mod diff;
mod support;

use callmark_reports::certificate::Statement;
use callmark_reports::chaos::{ChaosFinding, ChaosKind, ChaosReport, Disturbance, Fault, Party};
use callmark_reports::record::{Edition, Outcome, Partial, RunRecord, Verdict};
use callmark_reports::{Format, Style, badge, badge_json, html, human, json, junit, markdown, sarif};

const PLAIN: Style = Style { color: false, width: 100 };

/// All renderings that are text which people can compare.
fn golden(name: &str, record: &RunRecord) {
    insta::assert_snapshot!(format!("{name}.txt"), human(record, PLAIN));
    insta::assert_snapshot!(format!("{name}.xml"), junit(record));
    insta::assert_snapshot!(format!("{name}.md"), markdown(record));
    insta::assert_snapshot!(format!("{name}.html"), readable(&html(record)));
    insta::assert_snapshot!(format!("{name}.sarif"), sarif(record));
    insta::assert_snapshot!(format!("{name}.badge"), badge(record) + &badge_json(record));
}

fn rendered(format: Format, record: &RunRecord) -> String {
    let mut out = Vec::new();
    format.write(record, &support::features(), &mut out).expect("writing to memory does not fail");
    String::from_utf8(out).expect("reports are UTF-8")
}

/// The page with a line per element and without our own style, script and their hashes.
fn readable(page: &str) -> String {
    let page = without(page, "<style>", "</style>");
    let page = without(&page, "<script>", "</script>");
    let page = without(&page, "Content-Security-Policy\" content=\"", "\"");
    page.replace("><", ">\n<")
}

fn without(page: &str, from: &str, to: &str) -> String {
    let (head, rest) = page.split_once(from).expect("the page has the opening mark");
    let (_, tail) = rest.split_once(to).expect("the page has the closing mark");
    format!("{head}{from}…{to}{tail}")
}

#[test]
fn a_conformant_run() {
    golden("conformant", &support::conformant());
    insta::assert_snapshot!("conformant.json", json(&support::conformant()));
}

#[test]
fn what_replicas_lost_is_in_what_people_read() {
    let finding = ChaosFinding {
        kind: ChaosKind::Lost,
        message: "call `a|b` was never answered".to_owned(),
        hint: "keep it where all replicas find it".to_owned(),
        frames: Vec::new(),
    };
    let chaos = ChaosReport {
        profile: "utp.tool-service".to_owned(),
        seed: 7,
        replicas: 3,
        broker_nodes: 0,
        disturbances: vec![Disturbance { party: Party::Replica(2), fault: Fault::Kill, lasts_ms: 250 }],
        calls: 14,
        findings: vec![finding],
        hindered: None,
    };
    let record = RunRecord { chaos: vec![chaos], ..support::conformant() };
    let sentence = "14 calls under 1 disturbance of 3 replicas (seed 7): lost: 1, done twice: 0";
    for text in [human(&record, PLAIN), markdown(&record).replace('\\', ""), html(&record)] {
        assert!(text.contains(sentence), "{text}");
        assert!(text.contains("was never answered") && text.contains("keep it where all replicas"), "{text}");
    }
    // Where nobody asked for it, nothing of it is there.
    assert!(!json(&support::conformant()).contains("chaos"));
}

#[test]
fn a_part_of_a_run() {
    let record = support::failures();
    insta::assert_snapshot!("failures.txt", human(&record, PLAIN));
    assert!(junit(&record).contains(r#"name="partial" value="failures""#));
    assert!(badge_json(&record).contains("incomplete (earlier failures only)"));
    let refused = Statement::certifiable(&record).expect_err("a part of a run");
    assert_eq!(
        refused.to_string(),
        "the run is a part (earlier failures only), and only a whole run is certified"
    );
    let stopped = RunRecord {
        partial: Some(Partial::Stopped),
        verdict: Verdict::of_part(&support::every_outcome().rules),
        ..support::every_outcome()
    };
    assert_eq!(stopped.verdict, Verdict::Nonconformant);
    assert!(human(&stopped, PLAIN).contains("nonconformant (stopped at the first failure)"));
}

#[test]
fn a_shard_of_a_run() {
    golden("shard", &support::shard());
    insta::assert_snapshot!("shard.json", json(&support::shard()));
    let verdict = Verdict::of_part(&support::every_outcome().rules);
    assert_eq!(verdict, Verdict::Nonconformant, "what is broken in a shard is broken");
    assert!(Statement::certifiable(&support::conformant()).is_ok());
    let refused = Statement::certifiable(&support::shard()).expect_err("a part of a run");
    assert_eq!(refused.to_string(), "the record is shard 2/5 of a run, and only a whole run is certified");
}

#[test]
fn a_run_that_pins_an_edition() {
    let record = support::pinned();
    golden("pinned", &record);
    insta::assert_snapshot!("pinned.json", json(&record));
    assert_eq!(Verdict::of(&record.rules), record.verdict, "what is newer does not count");
    assert!(Statement::certifiable(&record).is_ok());
}

#[test]
fn a_run_with_every_outcome() {
    golden("every_outcome", &support::every_outcome());
    insta::assert_snapshot!("every_outcome.json", json(&support::every_outcome()));
    let narrow = Style { color: true, width: 60 };
    insta::assert_snapshot!("every_outcome_colour.txt", human(&support::every_outcome(), narrow));
    insta::assert_snapshot!("every_outcome.ndjson", rendered(Format::Messages, &support::every_outcome()));
}

#[test]
fn a_run_in_several_revisions() {
    let record = support::revisions();
    golden("revisions", &record);
    // The first lines say in which of them the target is not conformant.
    let sentence = "rule is broken, in utp@v1r4 only";
    let (summary, terminal, page) = (markdown(&record), human(&record, PLAIN), html(&record));
    assert!(summary.lines().take(3).any(|line| line.contains(sentence)), "{summary}");
    assert!(terminal.lines().next().is_some_and(|line| line.contains(sentence)), "{terminal}");
    let head = page.split("<nav").next().unwrap_or_default();
    assert!(head.contains(sentence) && head.contains("breaks R4-08"), "{head}");
    // Where the same is broken in both, nothing is said of one alone.
    let mut both = record;
    both.rules[0].outcome = Outcome::Failed;
    assert!(!markdown(&both).contains(" only"), "{}", markdown(&both));
}

#[test]
fn a_run_that_could_not_judge() {
    golden("incomplete", &support::incomplete());
}

#[test]
fn a_run_against_a_hostile_target() {
    golden("hostile", &support::hostile());
}

#[test]
fn what_is_written_reads_back() {
    for record in [
        support::conformant(),
        support::every_outcome(),
        support::incomplete(),
        support::hostile(),
        support::shard(),
        support::pinned(),
    ] {
        let back: RunRecord = serde_json::from_str(&json(&record)).expect("our own JSON is a record");
        assert_eq!(back, record);
    }
}

#[test]
fn what_is_written_fits_its_schema() {
    let mut hostile = support::hostile();
    // Its second rule has an id and a profile that no registry gives, which the schema refuses.
    hostile.rules.truncate(1);
    let sound = [support::conformant(), support::every_outcome(), support::incomplete(), support::pinned()];
    for record in sound.into_iter().chain([hostile]) {
        let value = serde_json::from_str(&json(&record)).expect("our own JSON is JSON");
        let violations = callmark_schemas::violations(callmark_schemas::SchemaName::Run, &value);
        assert!(violations.is_empty(), "{violations:?}");
    }
}

#[test]
fn every_format_gives_the_same_bytes_twice() {
    for format in Format::ALL {
        let record = support::every_outcome();
        assert_eq!(rendered(format, &record), rendered(format, &record));
    }
}

#[test]
fn each_failure_has_a_diagram_and_each_id_of_the_page_is_its_own() {
    for record in [support::failures(), support::every_outcome(), support::pinned(), support::hostile()] {
        let page = html(&record);
        let mut ids: Vec<&str> =
            page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
        let labelled = page.split("aria-labelledby=\"").skip(1).filter_map(|rest| rest.split('"').next());
        assert!(labelled.flat_map(|own| own.split(' ')).all(|own| ids.binary_search(&own).is_ok()));
    }
    let failures = support::failures();
    let shown = failures.rules.iter().filter(|rule| rule.outcome == Outcome::Failed);
    assert!(html(&failures).matches("role=\"img\"").count() >= shown.count());
}

#[test]
fn nothing_of_a_hostile_target_acts() {
    acts_nowhere(&support::hostile());
    let name = "2026.1\u{202e}<img onclick=\"y\">]]>".to_owned();
    let edition = Edition { name, pinned: true, newer: 1, rules: support::hostile().rules };
    acts_nowhere(&RunRecord { edition: Some(edition), ..support::hostile() });
}

fn acts_nowhere(record: &RunRecord) {
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202e}' | '\u{2066}' | '\u{fffe}')
    };
    for format in Format::ALL {
        assert_eq!(
            rendered(format, record).find(acts),
            None,
            "{}: a control or direction mark",
            format.name()
        );
    }
    assert_eq!(human(record, PLAIN).find(acts), None, "a control or direction mark is left");
    let page = html(record);
    assert_eq!(page.matches("<script").count(), 1, "the page has one script, ours");
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!page.contains("onclick=\"y"));
    assert!(!junit(record).contains("]]>"));
    let summary = markdown(record);
    assert!(!summary.lines().any(|line| line.starts_with("# heading") && !in_fence(&summary, line)));
}

/// Whether the line stands in a fenced block.
fn in_fence(markdown: &str, line: &str) -> bool {
    let before = markdown.lines().take_while(|other| *other != line);
    let mut open: Option<&str> = None;
    for line in before {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match open {
            None if ticks.len() >= 3 => open = Some(ticks),
            Some(fence) if line == fence => open = None,
            _ => {}
        }
    }
    open.is_some()
}

#[test]
fn a_megabyte_from_the_target_stays_out_of_the_reports() {
    let record = support::hostile();
    for (report, cap) in [
        (html(&record), 150_000),
        (junit(&record), 80_000),
        (markdown(&record), 40_000),
        (human(&record, PLAIN), 40_000),
        (sarif(&record), 40_000),
        (rendered(Format::Messages, &record), 40_000),
        (badge(&record), 2000),
    ] {
        assert!(report.len() < cap, "{} bytes", report.len());
    }
}

/// The error and failure counts on the root of the JUnit file.
fn red(record: &RunRecord) -> (bool, bool) {
    let xml = junit(record);
    let root = xml.lines().nth(1).expect("the second line is the root");
    (!root.contains("failures=\"0\""), !root.contains("errors=\"0\""))
}

#[test]
fn junit_is_green_exactly_when_the_target_conforms() {
    assert_eq!(red(&support::conformant()), (false, false));
    assert_eq!(red(&support::every_outcome()), (true, true));
    assert_eq!(red(&support::incomplete()), (false, true));
    let mut known = support::conformant();
    known.rules[0].outcome = Outcome::KnownFailing;
    known.rules[0].scenarios[0].outcome = Outcome::Failed;
    assert_eq!(red(&known), (false, false), "the baseline covers the scenario too");
    let mut strict = support::conformant();
    strict.rules[0].outcome = Outcome::Failed;
    strict.rules[0].scenarios[0].outcome = Outcome::Warned;
    assert_eq!(red(&strict), (true, false), "a strict run fails on a warning");
    let mut bare = support::conformant();
    bare.rules[0].outcome = Outcome::Failed;
    assert_eq!(red(&bare), (true, false), "a failure that no scenario accounts for");
}

#[test]
fn many_failures_do_not_bury_the_verdict() {
    let mut record = support::every_outcome();
    let failed = record.rules[1].clone();
    record.rules.extend(std::iter::repeat_n(failed, 29));
    let shown = human(&record, PLAIN);
    assert_eq!(shown.matches("error[").count(), 20);
    assert!(shown.contains("… and 10 more failed"));
    assert!(shown.lines().rev().take(4).any(|line| line.starts_with("nonconformant: ")));
}
