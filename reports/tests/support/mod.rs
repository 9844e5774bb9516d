//! Records that the golden tests render: one that conforms, a shard, one with every outcome, one that could not run, one that attacks.

use std::collections::BTreeMap;

use callmark_reports::FeatureText;
use callmark_reports::record::{
    Direction, Edition, Evidence, FrameExcerpt, Level, Outcome, Partial, RUN_SCHEMA, RuleEntry, RunRecord,
    ScenarioEntry, Shard, SuiteInfo, Summary, TargetInfo, Verdict,
};
use serde_json::{Value, json};

/// A feature that holds the scenarios of `utp.tool-service` where the records say that they stand.
const FEATURE: &str = "\
@role:utp.tool-service
Feature: The callback
  What a Tool Service reports.

  Rule: The callback carries `status`

    # As far as the documents say.


    @UTP-4.2-10
    @cap:probe.echo
    Scenario: The callback of a successful run carries `status`
      Given a Tool Service
      When the worker sends the command
      Then the callback carries \"status\"
      And nothing else

    Scenario Outline: The callback of a <kind> run carries `status`
      Given a Tool Service
        | tool   |
        | <kind> |
      When the worker sends the command
      Then the callback carries \"status\"




      Examples:
        | rule       | kind      |
        | UTP-4.2-10 | cancelled |
        | UTP-4.2-10 | failed    |
";

/// The features that the records name, as far as there are any.
pub(crate) fn features() -> Vec<FeatureText<'static>> {
    vec![FeatureText { path: "features/utp/tool-service/callback.feature".into(), text: FEATURE }]
}

/// Every rule holds.
pub(crate) fn conformant() -> RunRecord {
    let rules = vec![
        rule("UTP-4.1-35", Level::Must, "utp.tool-service", Outcome::Passed),
        rule("UTP-4.2-10", Level::Must, "utp.tool-service", Outcome::Passed),
        rule("HUB-05", Level::Must, "hub.server", Outcome::Passed),
        rule("UTP-4.2-10", Level::Must, "utp.pmo", Outcome::Passed),
    ];
    record(Verdict::Conformant, rules)
}

/// An older edition is pinned, and what is newer says something else: of a rule that holds, and of two more.
pub(crate) fn pinned() -> RunRecord {
    let mut failed = rule("HUB-05", Level::Must, "hub.server", Outcome::Failed);
    failed.scenarios[0].id = "hub/server/status/HUB-05/9".into();
    failed.scenarios[0].name = "The status of a customer with `|` in its name".into();
    failed.scenarios[0].evidence = Some(evidence());
    let passed = rule("UTP-4.2-11", Level::Must, "utp.tool-service", Outcome::Passed);
    let unseen = rule("UTP-4.9-01", Level::Must, "utp.worker", Outcome::NotObserved);
    let rules = vec![failed, passed, unseen];
    RunRecord {
        edition: Some(Edition { name: "2026.1".into(), pinned: true, newer: 3, rules }),
        ..conformant()
    }
}

/// Every outcome once, and a rule that fails in two scenarios.
pub(crate) fn every_outcome() -> RunRecord {
    let mut failed = rule("UTP-4.2-10", Level::Must, "utp.tool-service", Outcome::Failed);
    failed.scenarios[0].evidence = Some(evidence());
    failed.scenarios.push(ScenarioEntry {
        id: "utp/tool-service/callback/UTP-4.2-10/2".into(),
        name: "The callback of a failed run carries `status`".into(),
        line: 31,
        evidence: Some(Evidence { actual: Some(json!("ok")), ..evidence() }),
        ..failed.scenarios[0].clone()
    });
    failed.scenarios.push(ScenarioEntry {
        id: "utp/tool-service/callback/UTP-4.2-10/3".into(),
        outcome: Outcome::Passed,
        evidence: None,
        ..failed.scenarios[0].clone()
    });
    let mut warned = rule("UTP-5-07", Level::Should, "utp.tool-service", Outcome::Warned);
    warned.scenarios[0].evidence = Some(Evidence {
        message: "the error's `code` is empty".into(),
        actual: Some(json!("")),
        ..evidence()
    });
    let mut unreachable = rule("HUB-05", Level::Must, "hub.server", Outcome::CouldNotRun);
    unreachable.reason = Some("reachability: `http://127.0.0.1:8080` refused the connection".into());
    let mut same_cause = rule("HUB-06", Level::Must, "hub.server", Outcome::CouldNotRun);
    same_cause.reason.clone_from(&unreachable.reason);
    let mut unseen = rule("UTP-6-02", Level::Must, "utp.schema", Outcome::NotObserved);
    unseen.scenarios[0].reason = Some("the capture holds no wakeup".into());
    let mut known = rule("UTP-4.2-14", Level::Must, "utp.tool-service", Outcome::KnownFailing);
    known.scenarios[0].evidence = Some(Evidence { message: "the callback came twice".into(), ..evidence() });
    let mut noted = rule("UTP-7-01", Level::May, "utp.tool-service", Outcome::Noted);
    noted.scenarios[0].reason = Some("the target sends `metrics`".into());
    let mut absent = rule("UTP-8-03", Level::Must, "utp.tool-service", Outcome::NotApplicable);
    absent.reason = Some("the target does not declare the probe `ctl`".into());
    let mut excluded = rule("UTP-9-01", Level::Must, "utp.worker", Outcome::Excluded);
    excluded.reason = Some("nothing outside the process can see it".into());
    excluded.scenarios.clear();
    let passed = rule("UTP-4.1-35", Level::Must, "utp.tool-service", Outcome::Passed);
    record(
        Verdict::Nonconformant,
        vec![passed, failed, warned, known, noted, absent, unseen, unreachable, same_cause, excluded],
    )
}

/// A target of two revisions that breaks one rule in the later one only.
pub(crate) fn revisions() -> RunRecord {
    const LATER: &str = "utp.tool-service@v1r4";
    let mut failed = rule("R4-08", Level::Must, LATER, Outcome::Failed);
    failed.scenarios[0].evidence = Some(evidence());
    let rules = vec![
        rule("UTP-4.1-35", Level::Must, "utp.tool-service", Outcome::Passed),
        rule("UTP-4.1-35", Level::Must, LATER, Outcome::Passed),
        failed,
        rule("HUB-05", Level::Must, "hub.server", Outcome::Passed),
    ];
    record(Verdict::Nonconformant, rules)
}

/// Nothing is broken, and nothing could be judged.
pub(crate) fn incomplete() -> RunRecord {
    let reason = "reachability: no broker at `nats://127.0.0.1:4222`";
    let rules = (1..=30).map(|n| {
        let mut rule =
            rule(&format!("UTP-4.1-{n:02}"), Level::Must, "utp.tool-service", Outcome::CouldNotRun);
        rule.reason = Some(reason.into());
        rule
    });
    record(Verdict::Incomplete, rules.collect())
}

/// A target that attacks its reader in every text that it can influence.
pub(crate) fn hostile() -> RunRecord {
    let attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)> ]]> a|b `c` \u{202e}evil\u{2066} \
                  \u{1b}[31mred\u{1b}[0m \0\u{8}\u{fffe} \r\n# heading\n| cell | <!-- & @everyone https://evil.example ```\n~~~\nend";
    let mut failed = rule("UTP-4.2-10", Level::Must, "utp.tool-service", Outcome::Failed);
    failed.statement = attack.into();
    failed.source = attack.into();
    failed.scenarios[0].name = attack.into();
    failed.scenarios[0].file = attack.into();
    failed.scenarios[0].evidence = Some(Evidence {
        step: attack.into(),
        location: attack.into(),
        message: attack.into(),
        expected: Some(json!({ attack: attack })),
        actual: Some(Value::String("A".repeat(1_000_000))),
        pointer: Some(attack.into()),
        hint: attack.into(),
        scenario: Some(attack.into()),
        frames: vec![
            FrameExcerpt {
                n: 1,
                direction: Direction::FromTarget,
                party: attack.into(),
                channel: attack.into(),
                headers: BTreeMap::from([(attack.into(), attack.into())]),
                body: json!(attack),
            },
            FrameExcerpt {
                n: 2,
                direction: Direction::Observed,
                party: "bus".into(),
                channel: "x".repeat(100_000),
                headers: BTreeMap::new(),
                body: json!({"é".repeat(500_000): [attack]}),
            },
        ],
        rerun: attack.into(),
        reproduce: Some(attack.into()),
    });
    let mut odd = rule("a\"b<c> `|` \\| d", Level::Should, "x\" onclick=\"y", Outcome::CouldNotRun);
    odd.reason = Some(attack.into());
    let mut record = record(Verdict::Nonconformant, vec![failed, odd]);
    record.target = TargetInfo { name: attack.into(), version: attack.into() };
    record
}

/// A shard in which nothing failed.
pub(crate) fn shard() -> RunRecord {
    let rules = conformant().rules;
    RunRecord { shard: Some(Shard { index: 2, of: 5 }), verdict: Verdict::of_part(&rules), ..conformant() }
}

/// What an earlier run did not pass, run again: nothing failed.
pub(crate) fn failures() -> RunRecord {
    let rules = conformant().rules;
    RunRecord { partial: Some(Partial::Failures), verdict: Verdict::of_part(&rules), ..conformant() }
}

fn record(verdict: Verdict, rules: Vec<RuleEntry>) -> RunRecord {
    RunRecord {
        edition: None,
        shard: None,
        partial: None,
        chaos: Vec::new(),
        schema: RUN_SCHEMA.into(),
        suite: SuiteInfo {
            version: "0.1.0".into(),
            features_sha256: "5d41402abc4b2a76b9719d911017c592ae8f5b6d5f9f8c3c1f3d0c6a7b2e9f10".into(),
            seed: 1,
        },
        target: TargetInfo { name: "acme-tides".into(), version: "1.4.0".into() },
        verdict,
        summary: Summary::of(&rules),
        rules,
    }
}

fn rule(id: &str, level: Level, profile: &str, outcome: Outcome) -> RuleEntry {
    let feature = profile.replacen('.', "/", 1);
    RuleEntry {
        id: id.into(),
        level,
        profile: profile.into(),
        statement: "The callback carries `status`.".into(),
        source: "UTP Tool Protocol §4.2".into(),
        outcome,
        reason: None,
        scenarios: vec![ScenarioEntry {
            id: format!("{feature}/callback/{id}/1"),
            name: "The callback of a successful run carries `status`".into(),
            file: format!("features/{feature}/callback.feature"),
            line: 12,
            outcome,
            reason: None,
            evidence: None,
        }],
    }
}

fn evidence() -> Evidence {
    Evidence {
        step: "Then the callback carries \"status\"".into(),
        location: "features/utp/tool-service/callback.feature:15:5".into(),
        message: "the callback carries no `status`".into(),
        expected: Some(json!({"status": "success", "tool_call_id": "call-1"})),
        actual: None,
        pointer: Some("/payload/status".into()),
        hint: "set `status` to `success` or `failed` when the callback is built".into(),
        scenario: None,
        frames: vec![
            FrameExcerpt {
                n: 1,
                direction: Direction::ToTarget,
                party: "worker".into(),
                channel: "cg.v1r3.prj.ch.cmd.tool.probe.echo".into(),
                headers: BTreeMap::from([(
                    "traceparent".into(),
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
                )]),
                body: json!({"tool_call_id": "call-1", "turn_epoch": 6}),
            },
            FrameExcerpt {
                n: 4,
                direction: Direction::FromTarget,
                party: "report".into(),
                channel: "l0.v1.prj.ch.report".into(),
                headers: BTreeMap::new(),
                body: json!({"message_type": "tool_result", "payload": {"tool_call_id": "call-1"}}),
            },
        ],
        rerun: "callmark certify --target callmark.toml --rule UTP-4.2-10".into(),
        reproduce: Some(
            "nats pub cg.v1r3.prj.ch.cmd.tool.probe.echo '{\"tool_call_id\":\"call-1\",\"turn_epoch\":6}'"
                .into(),
        ),
    }
}
