//! Calls are put together from messages on a bus.

use serde_json::json;

use super::*;

/// Publishes messages one after the other; answers with the windows and with what belongs to none.
fn check(messages: &[(&str, Value)], expect: &[&[Kind]], unattributed: u64) {
    let table: UtpTable =
        serde_json::from_value(json!({"tool-service": {}, "pmo": {}, "worker": {}})).expect("a table");
    let mut observer = BusObserver::new(&table);
    let mut complete = Vec::new();
    for (subject, body) in messages {
        let (subject, reply) = match subject.split_once(" -> ") {
            Some((subject, reply)) => (subject, Some(reply.to_owned())),
            None => (*subject, None),
        };
        let message = BusMessage {
            subject: subject.to_owned(),
            reply,
            headers: BTreeMap::new(),
            body: body.to_string().into_bytes(),
            at_us: 0,
        };
        observer.take(&Seen { at: At::default(), traffic: Traffic::Bus(message) }, &mut complete);
    }
    let left = observer.finish(&mut complete);
    let kinds: Vec<Vec<Kind>> =
        complete.iter().map(|own| own.frames.iter().map(|frame| frame.kind).collect()).collect();
    assert_eq!(kinds, expect, "{messages:?}");
    assert_eq!(left + observer.unattributed(), unattributed, "{messages:?}");
}

fn command(id: &str) -> (&'static str, Value) {
    let card = format!("card_{id}");
    ("cg.v1r3.prj.public.cmd.tool.x", json!({"tool_call_id": id, "tool_call_card_id": card}))
}

fn report(id: &str) -> (&'static str, Value) {
    let card = format!("result_{id}");
    let payload = json!({"tool_call_id": id, "tool_result_card_id": card});
    ("l0.v1.prj.public.report", json!({"correlation_id": id, "payload": payload}))
}

fn saved(card: &str, kind: &str, call: Option<&str>) -> (&'static str, Value) {
    let metadata = json!({"tool_call_id": call});
    ("l0.v1.prj.cards.save", json!({"card": {"card_id": card, "type": kind, "metadata": metadata}}))
}

#[test]
fn a_call_is_put_together_by_its_ids() {
    let get = ("l0.v1.prj.cards.get -> _INBOX.1", json!({"card_ids": ["card_a"]}));
    let shown = ("_INBOX.1", json!({"cards": [{"card_id": "card_a"}]}));
    let own = [Kind::Command, Kind::CardsGet, Kind::CardsReply, Kind::CardSave, Kind::Report];
    let result = saved("result_a", "tool.result", Some("a"));
    check(&[command("a"), get.clone(), shown.clone(), result, report("a")], &[&own], 0);
    // A card that names no call belongs to the report that points to it.
    let nameless = saved("result_a", "tool.result", None);
    check(&[command("a"), get, shown, nameless, report("a")], &[&own], 0);
}

#[test]
fn a_call_of_v1r4_is_put_together_by_its_headers() {
    let table: UtpTable = serde_json::from_value(json!({"tool-service": {}})).expect("a table");
    let call = BTreeMap::from([("cg-tool-call-id".to_owned(), "a".to_owned())]);
    let message = |subject: &str, headers: &BTreeMap<String, String>, body: Value| BusMessage {
        subject: subject.to_owned(),
        headers: headers.clone(),
        body: body.to_string().into_bytes(),
        ..BusMessage::default()
    };
    let command = ("cg.v1r4.prj.public.cmd.tool.x", json!({"tool_call_card_id": "card_a"}));
    let (save, card) = saved("result_a", "tool.result", Some("a"));
    // A report may say whose it is in the wrong place: that is for its rules.
    for (headers, body) in [
        (call.clone(), json!({"payload": {}})),
        (BTreeMap::new(), json!({"payload": {"tool_call_id": "a"}})),
        (BTreeMap::new(), json!({"correlation_id": "a", "payload": {}})),
    ] {
        let mut observer = BusObserver::new(&table);
        let mut complete = Vec::new();
        for bus in [
            message(command.0, &call, command.1.clone()),
            message(save, &BTreeMap::new(), card.clone()),
            message("l0.v1.prj.public.report", &headers, body),
        ] {
            observer.take(&Seen { at: At::default(), traffic: Traffic::Bus(bus) }, &mut complete);
        }
        let left = observer.finish(&mut complete) + observer.unattributed();
        let found: Vec<(&str, usize)> =
            complete.iter().map(|own| (own.profiles[0], own.frames.len())).collect();
        assert_eq!((found, left), (vec![("utp.tool-service@v1r4", 3)], 0));
    }
}

#[test]
fn calls_side_by_side_are_kept_apart() {
    let of = |id| saved(if id == "a" { "result_a" } else { "result_b" }, "tool.result", Some(id));
    let own: &[Kind] = &[Kind::Command, Kind::CardSave, Kind::Report];
    check(&[command("a"), command("b"), of("b"), of("a"), report("a"), report("b")], &[own, own], 0);
}

#[test]
fn a_worker_is_judged_by_the_card_that_it_saved() {
    let card = saved("card_a", "tool.call", Some("a"));
    check(&[card, command("a")], &[&[Kind::CardSave, Kind::Command]], 1);
    // Saved again, perhaps: nothing says that the worker's cards were seen from the first.
    check(&[command("a"), saved("card_a", "tool.call", Some("a"))], &[], 1);
}

#[test]
fn a_card_that_is_saved_after_its_command_is_judged_where_cards_of_calls_are_seen() {
    let before = || saved("card_b", "tool.call", Some("b"));
    let after = || saved("card_a", "tool.call", Some("a"));
    check(&[before(), command("a"), after()], &[&[Kind::Command, Kind::CardSave]], 1);
    // Once.
    check(&[before(), command("a"), after(), after()], &[&[Kind::Command, Kind::CardSave]], 1);
    // The store had it, as its answer shows.
    let get = ("l0.v1.prj.cards.get -> _INBOX.1", json!({"card_ids": ["card_a"]}));
    let shown = ("_INBOX.1", json!({"cards": [{"card_id": "card_a"}]}));
    check(&[before(), command("a"), get, shown, after()], &[], 3);
    // A result under the card's id is not the card.
    check(&[before(), command("a"), saved("card_a", "tool.result", Some("a"))], &[], 2);
}

#[test]
fn a_command_without_a_card_is_judged_where_cards_of_calls_are_seen() {
    let bare = || ("cg.v1r3.prj.public.cmd.tool.x", json!({"tool_call_id": "b"}));
    check(&[saved("card_a", "tool.call", Some("a")), bare()], &[&[Kind::Command]], 1);
    check(&[saved("card_a", "note", None), bare()], &[], 1);
    check(&[bare()], &[], 1);
}

#[test]
fn what_belongs_to_no_call_is_counted() {
    // It began before the recording, it is not answered, its cards are kept elsewhere, it has no id.
    check(&[report("a")], &[], 1);
    check(&[saved("other", "note", None), command("a")], &[], 1);
    check(&[command("a"), report("a")], &[], 2);
    check(&[("cg.v1r3.prj.public.cmd.tool.x", json!({}))], &[], 1);
    check(&[("cg.v1r3.prj.public.evt.agent.a.task", json!({}))], &[], 1);
}

/// Takes messages; answers with the kinds in the windows that were complete after each of them.
fn steps(messages: &[Step]) -> Vec<Vec<Kind>> {
    let table: UtpTable = serde_json::from_value(json!({"tool-service": {}})).expect("a table");
    let mut observer = BusObserver::new(&table);
    let mut complete = Vec::new();
    for step in messages {
        match step {
            Step::Message((subject, body)) => {
                let body = body.to_string().into_bytes();
                let message = BusMessage { subject: (*subject).to_owned(), body, ..BusMessage::default() };
                observer.take(&Seen { at: At::default(), traffic: Traffic::Bus(message) }, &mut complete);
            }
            Step::Look => observer.settle(&mut complete),
            Step::Gap => observer.gap(),
        }
    }
    complete.iter().map(|own| own.frames.iter().map(|frame| frame.kind).collect()).collect()
}

enum Step {
    Message((&'static str, Value)),
    Look,
    Gap,
}

#[test]
fn a_call_is_complete_when_a_second_look_finds_nothing_new() {
    let of = |message| Step::Message(message);
    let saves = || of(saved("result_a", "tool.result", Some("a")));
    let once = vec![Kind::Command, Kind::CardSave, Kind::Report];
    assert!(steps(&[of(command("a")), saves(), of(report("a")), Step::Look]).is_empty());
    let twice = [of(command("a")), saves(), of(report("a")), Step::Look, Step::Look];
    assert_eq!(steps(&twice), std::slice::from_ref(&once));
    // A command that is delivered again, when all that belongs to its call was said.
    let again = [
        of(command("a")),
        saves(),
        of(report("a")),
        Step::Look,
        Step::Look,
        of(command("a")),
        of(report("a")),
        Step::Look,
        Step::Look,
    ];
    assert_eq!(steps(&again), [once]);
}

#[test]
fn a_call_with_a_gap_in_it_is_not_judged() {
    let of = |message| Step::Message(message);
    let saves = || of(saved("result_a", "tool.result", Some("a")));
    let gap = [
        of(command("a")),
        Step::Gap,
        of(report("a")),
        of(command("a")),
        of(report("a")),
        Step::Look,
        Step::Look,
    ];
    assert!(steps(&gap).is_empty());
    let after = [Step::Gap, of(command("a")), saves(), of(report("a")), Step::Look, Step::Look];
    assert_eq!(steps(&after), [[Kind::Command, Kind::CardSave, Kind::Report]]);
}

#[test]
fn a_flood_is_bounded() {
    let mut messages = vec![command("a"), saved("result_a", "tool.result", Some("a"))];
    messages.extend(std::iter::repeat_with(|| command("a")).take(2 * FRAMES));
    messages.push(report("a"));
    check(&messages, &[], FRAMES as u64);
}

/// What reaches a watch on a bus that it shares with others, and that it joins in the middle.
#[test]
fn calls_of_other_projects_and_targets_are_kept_apart() {
    let own: &[Kind] = &[Kind::Command, Kind::CardSave, Kind::Report];
    let of = |project: &str, (subject, body): (&str, Value)| {
        (subject.replace(".prj.", &format!(".{project}.")), body)
    };
    let result = || saved("result_a", "tool.result", Some("a"));
    // Two projects may give one id to a call of theirs.
    let messages: Vec<(String, Value)> = [
        of("one", command("a")),
        of("two", command("a")),
        of("two", result()),
        of("one", result()),
        of("two", report("a")),
        of("one", report("a")),
    ]
    .into();
    let messages: Vec<(&str, Value)> =
        messages.iter().map(|(subject, body)| (subject.as_str(), body.clone())).collect();
    check(&messages, &[own, own], 0);
    // Two targets on one bus, each with a call of its own.
    let (_, other) = command("b");
    let other = ("cg.v1r3.prj.public.cmd.tool.other", other);
    let others = saved("result_b", "tool.result", Some("b"));
    let both = [command("a"), other, others, result(), report("b"), report("a")];
    check(&both, &[own, own], 0);
}

#[test]
fn two_calls_with_one_id_are_counted_and_not_judged() {
    let (_, same) = command("a");
    // Of another target, and of another revision.
    for subject in ["cg.v1r3.prj.public.cmd.tool.other", "cg.v1r4.prj.public.cmd.tool.x"] {
        let mut same = same.clone();
        same["tool_call_id"] = json!("a");
        let result = saved("result_a", "tool.result", Some("a"));
        let is_v1r4 = subject.contains("v1r4");
        let messages = [command("a"), (subject, same), result, report("a")];
        // In v1r4 the id is in a header, so that command names no call at all.
        if is_v1r4 {
            check(&messages, &[&[Kind::Command, Kind::CardSave, Kind::Report]], 1);
        } else {
            check(&messages, &[], 4);
        }
    }
    // The same command once more is the same call.
    let again = [command("a"), command("a"), saved("result_a", "tool.result", Some("a")), report("a")];
    check(&again, &[&[Kind::Command, Kind::Command, Kind::CardSave, Kind::Report]], 0);
}

/// No clock decides what belongs together: parties whose clocks differ are distinguished by their ids alone.
#[test]
fn times_in_messages_decide_nothing() {
    let at = |(subject, mut body): (&'static str, Value), time: &str| {
        body["created_at"] = json!(time);
        (subject, body)
    };
    let own: &[Kind] = &[Kind::Command, Kind::CardSave, Kind::Report];
    let result = || saved("result_a", "tool.result", Some("a"));
    let messages = [
        at(command("a"), "2031-01-01T00:00:10Z"),
        at(result(), "2031-01-01T00:00:05Z"),
        at(report("a"), "1999-01-01T00:00:00Z"),
    ];
    check(&messages, &[own], 0);
}

/// A report that overtakes its command, as it may where parties are connected to different servers, answers nobody.
#[test]
fn a_report_before_its_command_is_counted() {
    check(&[report("a"), command("a"), saved("result_a", "tool.result", Some("a"))], &[], 3);
}

#[test]
fn what_was_delivered_before_is_counted() {
    let own = [Kind::Command, Kind::CardsGet, Kind::CardsReply, Kind::CardSave, Kind::Report];
    let get = ("l0.v1.prj.cards.get -> _INBOX.1", json!({"card_ids": ["card_a"]}));
    let shown = ("_INBOX.1", json!({"cards": [{"card_id": "card_a"}]}));
    let result = saved("result_a", "tool.result", Some("a"));
    let body = command("a").1;
    let delivered = |reply: &'static str| (reply, body.clone());
    let first = delivered("cg.v1r3.prj.public.cmd.tool.x -> $JS.ACK.S.c.1.9.9.1700000000.0");
    check(&[first.clone(), get.clone(), shown.clone(), result.clone(), report("a")], &[&own], 0);
    let again = delivered("cg.v1r3.prj.public.cmd.tool.x -> $JS.ACK._.hash.S.c.2.9.9.1700000000.0");
    // Its card was saved after the first delivery, which nobody saw.
    check(&[again.clone(), get.clone(), shown.clone(), report("a")], &[], 2);
    let twice = [&own[..1], &own].concat();
    check(&[first, again, get, shown, result, report("a")], &[&twice], 0);
}
