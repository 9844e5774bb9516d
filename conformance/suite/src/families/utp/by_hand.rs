//! How a message of a UTP scenario is sent by hand: the tool, the agent and the card that it needs are stored first.

use serde_json::{Value, json};

use super::binding::PlatformKind;
use super::call::CHANNEL;
use super::judge::seen;
use super::message::mentions;
use super::revision::Revision;
use super::subject;
use crate::engine::by_hand::{ByHand, body_text, quoted};
use crate::transcript::{Frame, Kind};

/// The NATS command line client; broker and credentials come from the environment.
const NATS: &str = "nats --server \"${CALLMARK_NATS_URL:-nats://127.0.0.1:4222}\"";

/// Base URL of the platform's HTTP binding.
const PLATFORM: &str = "\"${CALLMARK_PLATFORM_URL}\"";

/// A row that the platform holds before the messages that mention one of the words go out.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// Ids and marks of the calls and turns that need the row.
    pub words: Vec<String>,
    /// The row.
    pub row: PreparedRow,
}

/// A row of the platform's.
#[derive(Clone, Debug, PartialEq)]
pub enum PreparedRow {
    /// Of `resource.tools`.
    Tool(Value),
    /// Of the roster.
    Agent(Value),
}

/// How messages of a project are sent by hand. `cards` are those that the suite put into the store.
pub fn by_hand(project: &str, preparations: Vec<Preparation>, cards: Vec<Value>) -> ByHand {
    let project = project.to_owned();
    ByHand::new(move |frames, frame| {
        let start = start_of(frames, frame);
        let needs = |own: &&Preparation| {
            let sent = start.into_iter().chain([frame]);
            sent.into_iter().any(|sent| own.words.iter().any(|word| mentions(&sent.body, word)))
        };
        let mut rows: Vec<&PreparedRow> = Vec::new();
        for preparation in preparations.iter().filter(needs) {
            if !rows.contains(&&preparation.row) {
                rows.push(&preparation.row);
            }
        }
        let card = card_of(frames, cards.iter(), frame);
        line(platform(frames), &project, &rows, card, &start.into_iter().chain([frame]).collect::<Vec<_>>())
    })
}

/// What started the turn that a report is about, where the suite did: without the turn nobody would take the report.
fn start_of<'a>(frames: &'a [Frame], report: &Frame) -> Option<&'a Frame> {
    let revision = Revision::shown(&report.headers);
    let turn = revision.reported(report, "agent_turn_id").filter(|_| report.kind == Kind::Report)?;
    let is_its = |own: &Frame| own.text("/agent_turn_id") == Some(turn);
    let starts = |own: &&Frame| {
        own.kind == Kind::TurnStart
            && own.n < report.n
            && match revision {
                Revision::V1r3 => is_its(own),
                // The answer alone says the turn's id.
                Revision::V1r4 => {
                    let id = own.text("/correlation_id");
                    let answers =
                        |frame: &&Frame| frame.kind == Kind::TurnReply && frame.text("/correlation_id") == id;
                    frames.iter().filter(answers).any(is_its)
                }
            }
    };
    frames.iter().find(starts)
}

/// How the target reaches the platform. A runtime that is asked over HTTP asks over HTTP as well.
fn platform(frames: &[Frame]) -> PlatformKind {
    let is_http = |frame: &Frame| frame.channel.contains(" /projects/");
    if frames.iter().any(is_http) { PlatformKind::Http } else { PlatformKind::Nats }
}

/// The command lines that store what the last message needs, and then send the messages.
fn line(
    platform: PlatformKind,
    project: &str,
    rows: &[&PreparedRow],
    card: Option<&Value>,
    messages: &[&Frame],
) -> String {
    let rows = rows.iter().filter_map(|row| match row {
        PreparedRow::Tool(row) => upload(project, row),
        PreparedRow::Agent(row) => Some(put(
            platform,
            project,
            ["roster.save", "agents"],
            "agent",
            row.get("agent_id")?.as_str()?,
            row,
        )),
    });
    let card = card.and_then(|card| {
        Some(put(platform, project, ["cards.save", "cards"], "card", card.get("card_id")?.as_str()?, card))
    });
    let sent = messages.iter().map(|message| send(message));
    rows.chain(card).chain(sent).collect::<Vec<_>>().join(" && ")
}

/// The card that a message points to: of those that the suite has, else as the target was shown it.
fn card_of<'a>(
    frames: &'a [Frame],
    mut own: impl Iterator<Item = &'a Value>,
    command: &Frame,
) -> Option<&'a Value> {
    let id = command
        .body
        .get("tool_call_card_id")
        .or_else(|| command.body.pointer("/payload/tool_result_card_id"));
    let is_it = |card: &&Value| id.is_some() && card.get("card_id") == id;
    own.find(is_it).or_else(|| {
        let shown = seen::card_shown(frames, command)?;
        shown.body.get("cards")?.as_array()?.iter().find(is_it)
    })
}

/// Registers a tool by its definition, for which there is only HTTP. The built-ins of a PMO cannot be uploaded, and are
/// there without it.
fn upload(project: &str, row: &Value) -> Option<String> {
    let subject = subject::expand(row.get("target_subject")?.as_str()?, project, CHANNEL);
    if !subject::is_tool_command(&subject) {
        return None;
    }
    let mut definition = row.clone();
    definition.as_object_mut()?.remove("project_id");
    // JSON is YAML.
    Some(format!(
        "curl -sS -X POST {PLATFORM}{} -H 'content-type: application/yaml' --data-raw {}",
        quoted(&format!("/projects/{project}/tools")),
        quoted(&definition.to_string())
    ))
}

/// Stores an object under its id: by an operation over NATS, in a collection over HTTP.
fn put(
    platform: PlatformKind,
    project: &str,
    [operation, collection]: [&str; 2],
    member: &str,
    id: &str,
    object: &Value,
) -> String {
    let body = quoted(&json!({member: object}).to_string());
    match platform {
        PlatformKind::Nats => {
            format!("{NATS} req {} {body}", quoted(&format!("l0.v1.{project}.{operation}")))
        }
        PlatformKind::Http => format!(
            "curl -sS -X PUT {PLATFORM}{} -H 'content-type: application/json' --data-raw {body}",
            quoted(&format!("/projects/{project}/{collection}/{id}"))
        ),
    }
}

fn send(frame: &Frame) -> String {
    let body = quoted(&body_text(&frame.body));
    let header = |separator: &str| -> String {
        let one = |(name, value): (&String, &String)| {
            format!(" -H {}", quoted(&format!("{name}:{separator}{value}")))
        };
        frame.headers.iter().map(one).collect()
    };
    if let Some((method, path)) = frame.channel.split_once(' ') {
        return format!(
            "curl -sS -X {method} \"http://${{CALLMARK_LISTEN}}\"{}{} -H 'content-type: application/json' --data-raw {body}",
            quoted(path),
            header(" ")
        );
    }
    // What the parties below `cg.` send is published; operations are asked for.
    let verb = if frame.channel.starts_with("cg.") { "pub" } else { "req" };
    format!("{NATS} {verb}{} {} {body}", header(""), quoted(&frame.channel))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;

    use super::*;

    fn frame(kind: Kind, channel: &str, body: Value) -> Frame {
        let headers = BTreeMap::from([("traceparent".to_owned(), "00-1-2-01".to_owned())]);
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::ToTarget,
            kind,
            channel: channel.to_owned(),
            headers,
            body,
        }
    }

    #[test]
    fn the_card_is_saved_before_the_command_goes_out() {
        let card = json!({"card_id": "card_1", "content": {"arguments": {"k": "it's"}}});
        let command = frame(
            Kind::Command,
            "cg.v1r3.prj.public.cmd.tool.a.call",
            json!({"tool_call_card_id": "card_1"}),
        );
        let found = card_of(&[], [&card].into_iter(), &command);
        assert_eq!(found, Some(&card));
        assert_eq!(
            line(PlatformKind::Nats, "prj", &[], found, &[&command]),
            format!(
                r#"{NATS} req 'l0.v1.prj.cards.save' '{{"card":{{"card_id":"card_1","content":{{"arguments":{{"k":"it'\''s"}}}}}}}}' && {NATS} pub -H 'traceparent:00-1-2-01' 'cg.v1r3.prj.public.cmd.tool.a.call' '{{"tool_call_card_id":"card_1"}}'"#
            )
        );
        let line = line(PlatformKind::Http, "prj", &[], found, &[&command]);
        assert!(
            line.starts_with("curl -sS -X PUT \"${CALLMARK_PLATFORM_URL}\"'/projects/prj/cards/card_1'"),
            "{line}"
        );
    }

    #[test]
    fn a_report_is_sent_as_it_came() {
        let report =
            frame(Kind::Report, "POST /projects/prj/channels/public/reports", json!({"payload": {}}));
        assert_eq!(
            line(PlatformKind::Http, "prj", &[], None, &[&report]),
            "curl -sS -X POST \"http://${CALLMARK_LISTEN}\"'/projects/prj/channels/public/reports' \
             -H 'traceparent: 00-1-2-01' -H 'content-type: application/json' --data-raw '{\"payload\":{}}'"
        );
    }

    #[test]
    fn the_turn_starts_before_a_report_about_it() {
        let body = json!({"agent_turn_id": "turn_1", "instruction": "Look. mark-1"});
        let start = frame(Kind::TurnStart, "runtime.v1.prj.public.turns.start", body);
        let payload = json!({"payload": {"agent_turn_id": "turn_1", "tool_call_id": "call_1"}});
        let report = Frame { n: 2, ..frame(Kind::Report, "runtime.v1.prj.public.report", payload) };
        let check = |frames: &[Frame], expect: &[&str]| {
            let line = by_hand("prj", preparations(), Vec::new()).line(frames, &report);
            let places = expect.iter().map(|part| line.find(part));
            assert!(places.clone().all(|place| place.is_some()) && places.is_sorted(), "{line}");
            assert_eq!(line.contains("turns.start"), frames.len() > 1, "{line}");
        };
        check(
            &[start, report.clone()],
            &["/tools'", "roster.save", "turns.start", "runtime.v1.prj.public.report"],
        );
        check(std::slice::from_ref(&report), &["/tools'", "runtime.v1.prj.public.report"]);
    }

    #[test]
    fn in_v1r4_the_answer_to_a_start_says_which_turn_it_began() {
        let body = json!({"correlation_id": "call_root-1", "instruction": "Look. mark-1"});
        let start = frame(Kind::TurnStart, "runtime.v1r4.prj.public.turns.start", body);
        let began = json!({"agent_turn_id": "turn_1", "correlation_id": "call_root-1"});
        let began = Frame { n: 2, ..frame(Kind::TurnReply, "runtime.v1r4.prj.public.turns.start", began) };
        let check = |turn: &str, expect: bool| {
            let headers = BTreeMap::from([("CG-Turn-Id".to_owned(), turn.to_owned())]);
            let report = frame(Kind::Report, "runtime.v1r4.prj.public.report", json!({"payload": {}}));
            let report = Frame { n: 3, headers, ..report };
            let line = by_hand("prj", Vec::new(), Vec::new())
                .line(&[start.clone(), began.clone(), report.clone()], &report);
            assert_eq!(line.contains("turns.start"), expect, "{line}");
            assert!(line.contains(&format!("CG-Turn-Id:{turn}")), "{line}");
        };
        check("turn_1", true);
        check("turn_2", false);
    }

    fn preparations() -> Vec<Preparation> {
        let tool = |target_subject: &str| {
            let row = json!({"project_id": "prj", "tool_name": "tide", "target_subject": target_subject});
            Preparation { words: vec!["mark-1".to_owned(), "call_1".to_owned()], row: PreparedRow::Tool(row) }
        };
        let other = Preparation { words: vec!["mark-2".to_owned()], ..tool("cg.v1r3.p.c.cmd.tool.other") };
        let agent = PreparedRow::Agent(json!({"agent_id": "ag_1", "worker_target": "pool"}));
        vec![
            tool("cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.lookup"),
            tool("cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.lookup"),
            tool("cg.v1r3.{project_id}.{channel_id}.cmd.sys.pmo.internal.fork_join"),
            Preparation { words: vec!["mark-1".to_owned()], row: agent },
            other,
        ]
    }

    #[test]
    fn a_turn_starts_when_its_tool_and_its_agent_are_registered() {
        let by_hand = by_hand("prj", preparations(), Vec::new());
        let body = json!({"instruction": "Look. mark-1"});
        let turn = frame(Kind::TurnStart, "runtime.v1.prj.public.turns.start", body.clone());
        let line = by_hand.line(std::slice::from_ref(&turn), &turn);
        assert_eq!(
            line,
            format!(
                "curl -sS -X POST {PLATFORM}'/projects/prj/tools' -H 'content-type: application/yaml' \
                 --data-raw '{{\"target_subject\":\"cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.tides.lookup\",\"tool_name\":\"tide\"}}' \
                 && {NATS} req 'l0.v1.prj.roster.save' '{{\"agent\":{{\"agent_id\":\"ag_1\",\"worker_target\":\"pool\"}}}}' \
                 && {NATS} req -H 'traceparent:00-1-2-01' 'runtime.v1.prj.public.turns.start' '{{\"instruction\":\"Look. mark-1\"}}'"
            )
        );
        // Nothing came back over HTTP.
        let turn = frame(Kind::TurnStart, "POST /projects/prj/channels/public/turns", body);
        let line = by_hand.line(std::slice::from_ref(&turn), &turn);
        assert!(line.contains(&format!("curl -sS -X PUT {PLATFORM}'/projects/prj/agents/ag_1'")), "{line}");
        assert!(!line.contains("nats"), "{line}");
    }
}
