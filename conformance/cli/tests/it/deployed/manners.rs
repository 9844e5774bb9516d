//! A target that others use too: what a run says before it begins, what everything that it makes is called, and what it
//! leaves.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::gateway::{Decision, Gateway};
use super::{Home, hub, toolbus, unwrapped};
use crate::pages::served::Served;

#[test]
fn what_a_run_makes_has_its_prefix_and_is_deleted() {
    let home = Home::new();
    let served = Served::start(&["hub"], "http://");
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let gateway = Gateway::start(None, &served.address, move |asked| {
        if let Ok(body) = serde_json::from_str(&asked.body) {
            seen.lock().expect("no panic").push(body);
        }
        Decision::Pass
    });
    let manners =
        "[target.manners]\nrequests_per_second = 2000\nin_flight = 3\nprefix = \"cmk-\"\nclean_up = true\n";
    let manifest =
        hub(&format!("http://127.0.0.1:{}", gateway.port())).replace("[hub]\n", &format!("{manners}[hub]\n"));
    let (code, said) = home.certify(&manifest);
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    let said = unwrapped(&said);
    for part in [
        "note: about",
        "mails sent through `deployed`",
        "deleted at the target:",
        "with subjects that begin with `cmk-`",
    ] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    let asked = asked.lock().expect("no panic");
    let of = |tool: &'static str| asked.iter().filter(move |body| body["tool"] == tool);
    let named: Vec<&str> = of("calendar_create_event")
        .map(|body| &body["inputs"]["title"])
        .chain(of("email_send").map(|body| &body["inputs"]["subject"]))
        .filter_map(Value::as_str)
        .collect();
    assert!(named.len() > 20 && named.iter().all(|text| text.starts_with("cmk-")), "{named:?}");
    let ids: Vec<&str> = asked.iter().filter_map(|body| body["context"]["request_id"].as_str()).collect();
    assert!(ids.iter().filter(|id| id.starts_with("cmk-req-")).count() > 100, "{ids:?}");
    let deleted = of("calendar_delete_event").filter(|body| body["inputs"]["send_notifications"] == false);
    assert!(deleted.count() > 10, "{said}");
}

#[test]
fn a_plan_touches_nothing() {
    let home = Home::new();
    // Nobody is there.
    let (code, said) = home.run(&["certify", "--dry-run", "--out", "out"], &hub("http://127.0.0.1:9"));
    let said = unwrapped(&said);
    assert_eq!(code, 0, "{said}");
    for part in
        ["plan for deployed", "hub.server at most", "mails sent, which reach people", "events created"]
    {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
    assert!(!home.path().join("out").exists());
    let (code, said) =
        home.run(&["certify", "--dry-run", "--format", "json"], &toolbus("http://127.0.0.1:9/mcp"));
    let plan: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let own = &plan["profiles"]["toolbus.server"];
    assert!(
        code == 0 && own["scenarios"].as_u64() > Some(50) && own["to_people"] == serde_json::json!({}),
        "{said}"
    );
    assert!(own["effects"]["calls with artifacts"].as_u64() > Some(50), "{said}");
}

#[test]
fn manners_that_no_target_can_have_are_refused() {
    let home = Home::new();
    for (manners, expect) in [
        ("requests_per_second = 0", "target.manners.requests_per_second"),
        ("in_flight = 0", "target.manners.in_flight"),
        ("prefix = \"a b.\"", "target.manners.prefix"),
        ("cleanup = true", "did you mean `clean_up`"),
    ] {
        let manifest =
            hub("http://127.0.0.1:9").replace("[hub]\n", &format!("[target.manners]\n{manners}\n[hub]\n"));
        let (code, said) = home.run(&["certify", "--dry-run"], &manifest);
        assert!(code == 2 && unwrapped(&said).contains(expect), "{code}, and `{expect}` is not in\n{said}");
    }
}
