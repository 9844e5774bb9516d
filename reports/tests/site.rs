//! The site, made from two rules, one feature, two messages and one exchange.

use callmark_reports::matrix::{Matrix, MutantResult};
use callmark_reports::record::{Direction, FrameExcerpt, Level, Outcome, RunRecord};
use callmark_reports::site::{
    AnnotatedFrame, Change, Chapter, Comparison, Document, Entry, Example, Exchange, Group, MessageShape,
    MutantText, Page, Recording, Role, RuleText, ScenarioText, Site, StepText, pages,
};
use serde_json::{Value, json};

const HOSTILE: &str = "\"></p><script>alert(1)</script>\u{202e}`<b>";

fn step(keyword: &str, text: &str) -> StepText {
    StepText { keyword: keyword.into(), text: text.into(), table: Vec::new(), document: None }
}

fn entry(id: &str, line: u32, rules: &[&str]) -> Entry {
    Entry { id: id.into(), line, rules: rules.iter().map(|rule| (*rule).to_owned()).collect() }
}

fn rule(id: &str, level: Level, statement: &str) -> RuleText {
    RuleText {
        id: id.into(),
        level,
        profiles: vec!["utp.tool-service".into()],
        statement: statement.into(),
        source: "UTP Tool Protocol §4.2".into(),
        since: None,
        until: None,
        replaces: Vec::new(),
        excluded: None,
        judged_in: "every exchange of a run".to_owned(),
        mutants: Vec::new(),
    }
}

fn chapter() -> Chapter {
    let outline = ScenarioText {
        title: "It carries \"<member>\"".into(),
        level: None,
        capabilities: Vec::new(),
        steps: vec![
            step("Given", "a Tool Service"),
            step("When", "the worker sends the command"),
            step("Then", "the callback carries \"<member>\""),
        ],
        entry: None,
        examples: vec![Example {
            title: "also counted".into(),
            capabilities: vec!["probe.count".into()],
            header: vec!["rule".into(), "member".into()],
            rows: vec![
                (
                    vec!["UTP-4.2-10".into(), "status".into()],
                    entry("utp/tool-service/callback/UTP-4.2-10/1", 14, &["UTP-4.2-10"]),
                ),
                (
                    vec!["UTP-4.2-11".into(), "after_execution".into()],
                    entry("utp/tool-service/callback/UTP-4.2-11/1", 15, &["UTP-4.2-11"]),
                ),
            ],
        }],
    };
    let plain = ScenarioText {
        title: "The <status> & its kin".into(),
        level: Some(Level::Should),
        capabilities: vec!["probe.fail".into()],
        steps: vec![
            StepText {
                table: vec![vec!["a".into(), "<b>".into()]],
                document: Some("{\n  \"k\": \"</pre>\"\n}".into()),
                ..step("Given", "a Tool Service with")
            },
            step("And", "a command"),
        ],
        entry: Some(entry("utp/tool-service/callback/UTP-4.2-10/2", 20, &["UTP-4.2-10", "UTP-4.2-11"])),
        examples: Vec::new(),
    };
    Chapter {
        file: "features/utp/tool-service/callback.feature".into(),
        profile: "utp.tool-service".into(),
        title: "The callback routes".into(),
        description: "The callback is the payload of the report.".into(),
        groups: vec![
            Group { title: Some("It carries what is needed".into()), scenarios: vec![outline] },
            Group { title: Some("Its `status` is known".into()), scenarios: vec![plain] },
        ],
    }
}

fn messages() -> Vec<MessageShape> {
    let callback = json!({
        "$id": "https://callmark.dev/schemas/utp/callback.schema.json",
        "title": "Tool callback",
        "description": "What is reported. Nothing else.",
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {"description": "How it ended.", "enum": ["success", "failed"]},
            "turn_epoch": {"type": ["number", "string"], "minLength": 1, "default": 1},
            "steps": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"id": {"$ref": "#/$defs/id"}}}},
            "result": {"not": {}, "description": "Belongs into the card."}
        },
        "additionalProperties": false,
        "if": {"properties": {"status": {"const": "failed"}}, "required": ["status"]},
        "then": {"required": ["error"], "properties": {"steps": {"maxItems": 2}}},
        "$defs": {"id": {"description": "An id.", "type": "string", "pattern": "^<[a-z]+>$"}},
        "examples": [{"status": "success"}]
    });
    let report = json!({
        "title": "Report",
        "type": "object",
        "properties": {
            "payload": {"$ref": "https://callmark.dev/schemas/utp/callback.schema.json"},
            "id": {"$ref": "https://callmark.dev/schemas/utp/callback.schema.json#/$defs/id"}
        }
    });
    vec![
        MessageShape { path: "utp/callback".into(), schema: callback },
        MessageShape { path: "utp/report".into(), schema: report },
    ]
}

fn site() -> Site {
    let status = RuleText {
        mutants: vec![MutantText {
            id: "callback-without-status".into(),
            profile: "utp.tool-service".into(),
            does: "reports a callback without `status`".into(),
            collateral: vec!["UTP-4.2-11".into()],
        }],
        ..rule("UTP-4.2-10", Level::Must, "The callback carries `status`.")
    };
    Site {
        version: "0.1.0".into(),
        features_sha256: "0123456789abcdef".into(),
        documents: vec![Document {
            id: "utp".into(),
            title: "UTP Tool Protocol".into(),
            prefix: "UTP-".into(),
            about: "Calls as messages.".into(),
        }],
        roles: vec![Role {
            id: "utp.tool-service".into(),
            title: "Tool Service".into(),
            about: "Takes commands.".into(),
            peers: "worker".into(),
        }],
        rules: vec![
            status,
            rule("UTP-4.2-11", Level::Should, "The callback carries `after_execution`."),
            RuleText {
                excluded: Some("nobody can see it".into()),
                ..rule("UTP-4.3-01", Level::May, "It may be late.")
            },
        ],
        chapters: vec![chapter()],
        messages: messages(),
        exchanges: vec![Exchange {
            document: "utp".into(),
            title: "One call".into(),
            about: "A command is answered.".into(),
            recordings: vec![recording("", "")],
        }],
        changes: Vec::new(),
        run: None,
        matrix: None,
    }
}

/// A command as it crossed the wire, with its identity in the payload or in a header.
fn command(version: &str) -> FrameExcerpt {
    let (headers, body) = match version {
        "v1r3" => (
            vec![("traceparent", "00-0123456789abcdef-01")],
            json!({"agent_id": "ag", "tool_call_id": "call_00001111aaaa", "tool_name": "</code>"}),
        ),
        _ => (
            vec![("traceparent", "00-fedcba9876543210-01"), ("CG-Agent-Id", "ag")],
            json!({"tool_call_id": "call_22223333bbbb", "tool_name": "</code>"}),
        ),
    };
    FrameExcerpt {
        n: 1,
        direction: Direction::ToTarget,
        party: "worker".into(),
        channel: format!("cg.{version}.prj.public.cmd.tool.x"),
        headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body,
    }
}

/// The exchange, with what stands behind the id of its scenario in a later revision.
fn recording(revision: &str, suffix: &str) -> Recording {
    let version = if suffix.is_empty() { "v1r3" } else { revision };
    Recording {
        revision: revision.into(),
        scenario: format!("utp/tool-service/callback/UTP-4.2-10/2{suffix}"),
        messages: vec![AnnotatedFrame {
            frame: command(version),
            route: "worker → Tool Service".into(),
            note: "The `command` arrives.".into(),
        }],
    }
}

/// The site with a later revision: a rule that came, one that took the place of another, one that went.
fn revised() -> Site {
    let mut site = site();
    site.documents.push(Document {
        id: "utp-next".into(),
        title: "UTP next".into(),
        prefix: "NEXT-".into(),
        about: "What changed.".into(),
    });
    let later = |id: &str, replaces: &[&str]| RuleText {
        since: Some("next".into()),
        replaces: replaces.iter().map(|id| (*id).to_owned()).collect(),
        ..rule(id, Level::Must, "It is said in a header.")
    };
    site.rules[1].until = Some("v1r3".into());
    site.rules[2].until = Some("v1r3".into());
    site.rules.extend([later("NEXT-1", &[]), later("NEXT-2", &["UTP-4.2-11"])]);
    site.exchanges[0].recordings = vec![recording("v1r3", ""), recording("next", "@next")];
    site.changes = vec![Change {
        id: "utp-next".into(),
        title: "UTP: from v1r3 to next".into(),
        about: "The `agent_id` moved.".into(),
        from: "v1r3".into(),
        to: "next".into(),
        documents: vec!["utp".into(), "utp-next".into()],
        comparisons: vec![
            Comparison {
                title: "The command".into(),
                about: "Its agent is a header.".into(),
                before: Some(command("v1r3")),
                after: Some(command("next")),
            },
            Comparison {
                title: "The greeting".into(),
                about: "It is new.".into(),
                before: None,
                after: Some(command("next")),
            },
        ],
    }];
    site
}

/// A run of a target that fails one rule and says something nasty.
fn run() -> RunRecord {
    let scenario = |id: &str, outcome: &str, evidence: Value| {
        json!({"id": id, "name": "n", "file": "features/utp/tool-service/callback.feature", "line": 14,
               "outcome": outcome, "evidence": evidence})
    };
    let evidence = json!({"step": "Then", "location": "f:1:1", "message": format!("the status is {HOSTILE}"),
                          "hint": "h", "frames": [], "rerun": "r"});
    let entry = |id: &str, outcome: &str, scenarios: Value| {
        json!({"id": id, "level": "must", "profile": "utp.tool-service", "statement": "s", "source": "s",
               "outcome": outcome, "scenarios": scenarios})
    };
    let record = json!({
        "schema": "callmark.run/1",
        "suite": {"version": "0.1.0", "features_sha256": "fedcba9876543210", "seed": 1},
        "target": {"name": format!("acme {HOSTILE}"), "version": "1"},
        "verdict": "nonconformant",
        "summary": {"passed": 1, "failed": 1, "warned": 0, "not-applicable": 0, "not-observed": 0,
                    "could-not-run": 0, "known-failing": 0, "noted": 0, "excluded": 0, "scenarios": 3},
        "rules": [
            entry("UTP-4.2-10", "failed", json!([
                scenario("utp/tool-service/callback/UTP-4.2-10/1", "passed", Value::Null),
                scenario("utp/tool-service/callback/UTP-4.2-10/2", "failed", evidence)
            ])),
            entry("UTP-4.2-11", "passed", json!([
                scenario("utp/tool-service/callback/UTP-4.2-11/1", "passed", Value::Null),
                scenario("utp/tool-service/callback/UTP-4.2-10/2", "passed", Value::Null)
            ])),
        ]
    });
    serde_json::from_value(record).expect("a record")
}

/// A page with a line an element.
fn readable(pages: &[Page], path: &str) -> String {
    let page = pages.iter().find(|page| page.path == path).expect(path);
    page.content.replace("><", ">\n<")
}

#[test]
fn the_pages() {
    let pages = pages(&site());
    let paths: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    insta::assert_snapshot!("site_paths", paths.join("\n"));
    for path in ["index.html", "first.html", "rules.html", "messages.html", "document-utp.html"] {
        insta::assert_snapshot!(format!("site_{path}"), readable(&pages, path));
    }
    insta::assert_snapshot!("site_role.html", readable(&pages, "utp.tool-service.html"));
    insta::assert_snapshot!("site_rule.html", readable(&pages, "rules/UTP-4.2-10.html"));
    insta::assert_snapshot!("site_excluded.html", readable(&pages, "rules/UTP-4.3-01.html"));
    insta::assert_snapshot!("site_message.html", readable(&pages, "messages/utp.callback.html"));
    insta::assert_snapshot!("site_reference.html", readable(&pages, "messages/utp.report.html"));
}

#[test]
fn the_pages_with_a_run() {
    let pages = pages(&Site { run: Some(run()), ..site() });
    insta::assert_snapshot!("site_run_index.html", readable(&pages, "index.html"));
    insta::assert_snapshot!("site_run_role.html", readable(&pages, "utp.tool-service.html"));
    insta::assert_snapshot!("site_run_rule.html", readable(&pages, "rules/UTP-4.2-10.html"));
    for page in pages.iter().filter(|page| page.path.strip_suffix(".html").is_some()) {
        assert!(!page.content.contains("<script>"), "{}: a target's text is not escaped", page.path);
        assert!(!page.content.contains('\u{202e}'), "{}: a target's text acts", page.path);
    }
}

#[test]
fn a_rule_has_the_outcome_of_its_own_scenarios() {
    let pages = pages(&Site { run: Some(run()), ..site() });
    // Both rules share a scenario, which broke only one of them.
    assert!(readable(&pages, "rules/UTP-4.2-10.html").contains("failed"));
    assert!(!readable(&pages, "rules/UTP-4.2-11.html").contains("badge failed"));
}

#[test]
fn the_pages_with_a_later_revision() {
    let pages = pages(&revised());
    for path in ["changes.html", "changes-utp-next.html", "first.html", "document-utp.html"] {
        insta::assert_snapshot!(format!("site_revised_{path}"), readable(&pages, path));
    }
    insta::assert_snapshot!("site_revised_rule.html", readable(&pages, "rules/UTP-4.2-11.html"));
    insta::assert_snapshot!("site_revised_later.html", readable(&pages, "rules/NEXT-2.html"));
}

#[test]
fn what_only_one_revision_has_is_marked() {
    let pages = pages(&revised());
    let page = &pages.iter().find(|page| page.path == "changes-utp-next.html").expect("a page").content;
    let marked: Vec<&str> =
        page.split("<mark>").skip(1).filter_map(|rest| rest.split("</mark>").next()).collect();
    // The legend, the member on the left, the header on the right; neither ids of a run, nor what has no other side.
    assert_eq!(marked, ["marked", "&quot;agent_id&quot;: &quot;ag&quot;,", "CG-Agent-Id", "ag"]);
    assert!(page.contains("Nothing in v1r3 to compare with"), "{page}");
}

#[test]
fn the_same_site_gives_the_same_bytes() {
    assert_eq!(pages(&site()), pages(&site()));
}

#[test]
fn the_pages_with_a_matrix() {
    let mutant = MutantResult {
        id: "callback-without-status".into(),
        rule: "UTP-4.2-10".into(),
        profile: "utp.tool-service".into(),
        does: format!("reports a callback without `status` {HOSTILE}"),
        killed: true,
        outcome: Outcome::Failed,
        declared_collateral: vec!["UTP-4.2-11".into()],
        collateral: vec!["UTP-4.2-11".into(), "UTP-4.3-01".into()],
        undeclared_collateral: vec!["UTP-4.3-01".into()],
        by_jobs: Vec::new(),
    };
    let survivor = MutantResult {
        id: "says-anything".into(),
        killed: false,
        outcome: Outcome::Passed,
        declared_collateral: vec!["*".into()],
        collateral: Vec::new(),
        undeclared_collateral: Vec::new(),
        ..mutant.clone()
    };
    let matrix = Matrix::of(vec![mutant, survivor]);
    let pages = pages(&Site { matrix: Some(matrix), ..site() });
    let page = readable(&pages, "mutants.html");
    insta::assert_snapshot!("site_mutants.html", page);
    assert!(!page.contains("<script>") && !page.contains('\u{202e}'), "text of a mutant acts");
    assert!(readable(&pages, "rules/UTP-4.2-10.html").contains("../mutants.html"));
}
