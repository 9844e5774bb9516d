use super::*;
use crate::engine::codec::PlainJson;

fn report(body: Value) -> Message {
    Message {
        direction: Direction::FromTarget,
        kind: Kind::Report,
        channel: "l0.v1.prj_1.public.report".to_owned(),
        headers: std::collections::BTreeMap::default(),
        body,
    }
}

fn plain_json(faults: Vec<Fault>) -> MutatingWire {
    MutatingWire::new(faults, &PlainJson)
}

/// Of a family whose scenarios exchange several messages of a kind.
struct Repeating;

impl Codec for Repeating {
    fn repeats_in_scenario(&self) -> bool {
        true
    }
}

fn fault(text: &str) -> Vec<Fault> {
    #[derive(serde::Deserialize)]
    struct Faults {
        fault: Vec<Fault>,
    }
    toml::from_str::<Faults>(text).expect("a sound fault").fault
}

#[test]
fn a_fault_changes_what_it_names_and_nothing_else() {
    let wire = plain_json(fault("[[fault]]\non = \"report\"\ndo = [{ drop = \"/payload/status\" }]"));
    let out = wire.incoming(report(json!({"payload": {"status": "success", "turn_epoch": 6}})));
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].body, json!({"payload": {"turn_epoch": 6}}));
}

#[test]
fn a_text_can_be_cut() {
    let wire = plain_json(fault("[[fault]]\non = \"report\"\ndo = [{ cut = { at = \"/x\", to = 3 } }]"));
    let cut = |value: Value| wire.incoming(report(json!({"x": value}))).remove(0).body["x"].clone();
    assert_eq!(cut(json!("áéíó")), json!("áéí"));
    assert_eq!(cut(json!("ab")), json!("ab"));
    assert_eq!(cut(json!(12345)), json!(12345));
}

#[test]
fn a_condition_on_a_header_can_name_the_project() {
    let wire = plain_json(fault(
        "[[fault]]\non = \"report\"\nwhen = [{ header = { name = \"x\", to = \"{project_id}_2\" } }]\ndo = [\"swallow\"]",
    ));
    let passes = |header: &str| {
        let mut message = report(json!({}));
        message.headers.insert("x".to_owned(), header.to_owned());
        !wire.incoming(message).is_empty()
    };
    assert!(passes("prj_1"));
    assert!(!passes("prj_1_2"));
}

#[test]
fn what_one_call_keeps_another_gets_only_where_it_is_shared() {
    let check = |wide: &str, expect: Value| {
        let wire = plain_json(fault(&format!(
            "[[fault]]\non = \"report\"\nwhen = [{{ has = \"/payload/x\" }}]\n\
             do = [{{ stash = {{ at = \"/payload/x\", as = \"x\"{wide} }} }}]\n\
             [[fault]]\non = \"report\"\nwhen = [{{ lacks = \"/payload/x\" }}]\n\
             do = [{{ paste = {{ at = \"/payload/x\", as = \"x\"{wide} }} }}]"
        )));
        wire.incoming(report(json!({"payload": {"tool_call_id": "call_1", "x": 1}})));
        let out = wire.incoming(report(json!({"payload": {"tool_call_id": "call_2"}})));
        assert_eq!(out[0].body["payload"]["x"], expect, "{wide}");
    };
    check("", Value::Null);
    check(", wide = true", json!(1));
}

#[test]
fn a_repeat_runs_again_and_its_answer_looks_like_the_first() {
    let wire = plain_json(fault("[[fault]]\non = \"command\"\ndo = [\"rerun_repeats\"]"));
    let sent = || {
        let mut out = wire.outgoing(Message {
            direction: Direction::ToTarget,
            kind: Kind::Command,
            channel: "cg.v1r3.prj_1.public.cmd.tool.x".to_owned(),
            ..report(json!({"tool_call_id": "call_1"}))
        });
        out.remove(0).body
    };
    assert_eq!(sent(), json!({"tool_call_id": "call_1"}));
    let rerun = sent();
    assert_ne!(rerun, json!({"tool_call_id": "call_1"}));
    let out = wire.incoming(report(json!({"payload": rerun})));
    assert_eq!(out[0].body, json!({"payload": {"tool_call_id": "call_1"}}));
}

#[test]
fn a_deafened_target_receives_nothing_more_in_its_project() {
    let wire = plain_json(fault("[[fault]]\non = \"command\"\nwhen = [{ text = \"\" }]\ndo = [\"deafen\"]"));
    let command = |project: &str, body: Value| Message {
        direction: Direction::ToTarget,
        kind: Kind::Command,
        channel: format!("cg.v1r3.{project}.public.cmd.tool.x"),
        ..report(body)
    };
    assert_eq!(wire.outgoing(command("prj_1", json!("no JSON"))).len(), 1);
    assert!(wire.outgoing(command("prj_1", json!({}))).is_empty());
    assert_eq!(wire.outgoing(command("prj_2", json!({}))).len(), 1);
}

#[test]
fn a_fault_can_wait_for_its_time() {
    let wire = plain_json(fault("[[fault]]\non = \"report\"\nwhen = [{ after = 1 }]\ndo = [\"swallow\"]"));
    let passed = |call: &str| wire.incoming(report(json!({"payload": {"tool_call_id": call}}))).len();
    assert_eq!([passed("call_1"), passed("call_2"), passed("call_3")], [1, 0, 0]);
}

#[test]
fn one_part_of_a_header_can_be_replaced() {
    let wire = plain_json(fault(
        "[[fault]]\non = \"report\"\n\
         do = [{ header_part = { name = \"traceparent\", part = 3, to = \"1\" } }]",
    ));
    let mut message = report(json!({}));
    message.headers.insert("traceparent".to_owned(), "00-aa-bb-01".to_owned());
    assert_eq!(wire.incoming(message)[0].headers["traceparent"], "00-aa-bb-1");
}

#[test]
fn a_held_card_follows_its_report() {
    let wire = plain_json(fault("[[fault]]\non = \"card-save\"\ndo = [\"hold\"]"));
    let card = Message {
        kind: Kind::CardSave,
        channel: "l0.v1.prj_1.cards.save".to_owned(),
        ..report(json!({"card": {"card_id": "c", "tool_call_id": "call_1"}}))
    };
    assert!(wire.incoming(card).is_empty());
    let out = wire.incoming(report(json!({"payload": {"tool_call_id": "call_1"}})));
    assert_eq!(out.iter().map(|message| message.kind).collect::<Vec<_>>(), [Kind::Report, Kind::CardSave]);
}

#[test]
fn a_late_mutant_lets_the_first_message_of_a_scenario_pass_that_it_would_change() {
    let text = "[[fault]]\non = \"report\"\nwhen = [{ has = \"/payload/status\" }]\ndo = [{ null = \"/payload/status\" }]";
    let wire = MutatingWire::new(fault(text), &Repeating).late();
    let passed = |project: &str, body: Value| {
        let message = Message { channel: format!("l0.v1.{project}.public.report"), ..report(body) };
        wire.incoming(message)[0].body["payload"]["status"].is_string()
    };
    let of = |call: &str| json!({"payload": {"tool_call_id": call, "status": "success"}});
    assert!(!passed("prj_1", json!({"payload": {"tool_call_id": "call_0"}})), "nothing to change");
    assert_eq!([passed("prj_1", of("call_1")), passed("prj_1", of("call_2"))], [true, false]);
    assert_eq!([passed("prj_2", of("call_1")), passed("prj_2", of("call_1"))], [true, false]);
}

#[test]
fn where_a_scenario_has_one_exchange_of_a_kind_a_late_mutant_spares_the_first_scenario() {
    let wire = plain_json(fault("[[fault]]\non = \"report\"\ndo = [{ null = \"/payload/status\" }]")).late();
    let passed = |project: &str| {
        let body = json!({"payload": {"tool_call_id": "call_1", "status": "success"}});
        let message = Message { channel: format!("l0.v1.{project}.public.report"), ..report(body) };
        wire.incoming(message)[0].body["payload"]["status"].is_string()
    };
    assert_eq!(["prj_1", "prj_2", "prj_1", "prj_2"].map(passed), [true, false, true, false]);
}

#[test]
fn a_late_mutant_remembers_from_the_beginning() {
    let text = "[[fault]]\non = \"command\"\ndo = [{ stash = { at = \"/step_id\", as = \"step\" } }]\n\
                [[fault]]\non = \"report\"\ndo = [{ paste = { at = \"/payload/step_id\", as = \"step\" } }]";
    let wire = MutatingWire::new(fault(text), &Repeating).late();
    let body =
        |call: &str| json!({"tool_call_id": call, "step_id": "own", "payload": {"tool_call_id": call}});
    for (call, expect) in [("call_1", Value::Null), ("call_2", json!("own"))] {
        wire.outgoing(Message { kind: Kind::Command, ..report(body(call)) });
        let out = wire.incoming(report(json!({"payload": {"tool_call_id": call}})));
        assert_eq!(out[0].body["payload"]["step_id"], expect, "{call}");
    }
}
