//! How a message of a UTP scenario is sent by hand: the card that it points to is saved first.

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::judge::seen;
use super::manifest::PlatformKind;
use crate::engine::by_hand::{ByHand, body_text, quoted};
use crate::transcript::Frame;

/// The NATS command line client; broker and credentials come from the environment.
const NATS: &str = "nats --server \"${CALLMARK_NATS_URL:-nats://127.0.0.1:4222}\"";

/// How messages of a project are sent by hand. `cards` are those that the suite put into the store.
pub fn by_hand(project: &str, cards: Vec<Value>) -> ByHand {
    let project = project.to_owned();
    ByHand::new(move |frames, frame| {
        line(platform(frames), &project, card_of(frames, cards.iter(), frame), frame)
    })
}

/// How the target reached the platform.
fn platform(frames: &[Frame]) -> PlatformKind {
    let is_http =
        |frame: &Frame| frame.direction == Direction::FromTarget && frame.channel.contains(" /projects/");
    if frames.iter().any(is_http) { PlatformKind::Http } else { PlatformKind::Nats }
}

/// The command lines that save a card, if there is one, and then send the message.
fn line(platform: PlatformKind, project: &str, card: Option<&Value>, frame: &Frame) -> String {
    let saving = card.and_then(|card| save(platform, project, card));
    let sending = send(frame);
    saving.map_or(sending.clone(), |saving| format!("{saving} && {sending}"))
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

fn save(platform: PlatformKind, project: &str, card: &Value) -> Option<String> {
    let body = quoted(&json!({"card": card}).to_string());
    Some(match platform {
        PlatformKind::Nats => format!("{NATS} req {} {body}", quoted(&format!("l0.v1.{project}.cards.save"))),
        PlatformKind::Http => {
            let path = format!("/projects/{project}/cards/{}", card.get("card_id")?.as_str()?);
            format!(
                "curl -sS -X PUT \"${{CALLMARK_PLATFORM_URL}}\"{} -H 'content-type: application/json' --data-raw {body}",
                quoted(&path)
            )
        }
    })
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

    use super::*;
    use crate::transcript::Kind;

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
            line(PlatformKind::Nats, "prj", found, &command),
            format!(
                r#"{NATS} req 'l0.v1.prj.cards.save' '{{"card":{{"card_id":"card_1","content":{{"arguments":{{"k":"it'\''s"}}}}}}}}' && {NATS} pub -H 'traceparent:00-1-2-01' 'cg.v1r3.prj.public.cmd.tool.a.call' '{{"tool_call_card_id":"card_1"}}'"#
            )
        );
        let line = line(PlatformKind::Http, "prj", found, &command);
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
            line(PlatformKind::Http, "prj", None, &report),
            "curl -sS -X POST \"http://${CALLMARK_LISTEN}\"'/projects/prj/channels/public/reports' \
             -H 'traceparent: 00-1-2-01' -H 'content-type: application/json' --data-raw '{\"payload\":{}}'"
        );
    }
}
