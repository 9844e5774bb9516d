//! What every ledger store must do, for the tests of each of them.

use serde_json::json;

use super::command::CallKey;
use super::ledger::{Claim, LedgerStore};
use super::result::CallResponse;
use crate::utp::message::{AfterExecution, Callback, Status};
use crate::utp::revision::Revision;

pub(crate) fn key(turn: &str, call: &str) -> CallKey {
    CallKey { project_id: "prj".to_owned(), agent_turn_id: turn.to_owned(), tool_call_id: call.to_owned() }
}

pub(crate) fn answer() -> CallResponse {
    CallResponse {
        revision: Revision::V1r3,
        project_id: "prj".to_owned(),
        channel_id: "ch".to_owned(),
        source_agent_id: "tool.probe".to_owned(),
        card: json!({"card_id": "c", "content": {"result": {"count": null}}}),
        callback: Callback {
            tool_call_id: "call".to_owned(),
            agent_turn_id: "turn".to_owned(),
            turn_epoch: json!(6),
            agent_id: "ag".to_owned(),
            tool_result_card_id: "c".to_owned(),
            status: Status::Success,
            after_execution: AfterExecution::Suspend,
            step_id: None,
        },
        headers: Vec::new(),
    }
}

/// The counter's value in an answer.
pub(crate) fn count(answer: &CallResponse) -> Option<u64> {
    answer.card["content"]["result"]["count"].as_u64()
}

/// What every store must do, beginning with an empty one.
pub(crate) fn check_store(store: &dyn LedgerStore) {
    let (first, second) = (key("turn", "one"), key("turn", "two"));
    assert!(store.find(&first).expect("no error").is_none());
    assert!(matches!(store.claim(&first), Ok(Claim::New)));
    let recorded = store.record(&first, Some("prj"), answer()).expect("no error");
    assert_eq!(count(&recorded), Some(1));
    assert_eq!(store.find(&first).expect("no error"), Some(recorded.clone()));
    store.mark_delivered(&first).expect("no error");

    assert!(matches!(store.claim(&second), Ok(Claim::New)));
    let counted = store.record(&second, Some("prj"), answer()).expect("no error");
    assert_eq!(count(&counted), Some(2));
    store.mark_delivered(&second).expect("no error");

    let third = key("other", "one");
    let uncounted = store.record(&third, None, answer()).expect("no error");
    assert_eq!(count(&uncounted), None);
    let elsewhere = store.record(&key("other", "two"), Some("another"), answer()).expect("no error");
    assert_eq!(count(&elsewhere), Some(1), "each name has a counter of its own");

    // A repetition gets the recorded answer, again and again.
    for _ in 0..2 {
        match store.claim(&first).expect("no error") {
            Claim::Done { answer, .. } => assert_eq!(answer, recorded),
            other => panic!("unexpected {other:?}"),
        }
        store.release(&first).expect("no error");
    }

    // A second outcome of a call is refused, and counts nothing.
    assert!(store.record(&first, Some("prj"), answer()).is_err());
    assert_eq!(store.find(&first).expect("no error"), Some(recorded));
    let next = store.record(&key("turn", "three"), Some("prj"), answer()).expect("no error");
    assert_eq!(count(&next), Some(3));

    // Whoever gives up a call leaves it as new as it was.
    let given_up = key("turn", "four");
    assert!(matches!(store.claim(&given_up), Ok(Claim::New)));
    store.release(&given_up).expect("no error");
    assert!(matches!(store.claim(&given_up), Ok(Claim::New)));
}
