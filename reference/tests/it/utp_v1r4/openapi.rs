//! The OpenAPI executor takes and reports calls as a Tool Service does.

use callmark_reference::utp::openapi::rows;
use callmark_reference::utp::revision::headers;
use callmark_reference::utp::{Revision, message::Status};
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::utp_openapi::support::{Harness, PROJECT};

#[tokio::test]
async fn a_search_is_known_and_reported_by_its_headers() {
    let harness = Harness::start_in(Revision::V1r4, |_| {}).await;
    harness.answers(ResponseTemplate::new(200).set_body_json(json!({"answer": 42}))).await;
    let row = rows(PROJECT, Revision::V1r4).remove(0);
    let call = harness.prepare(&row, &json!({"query": "tides"})).await;
    let outcome = harness.caller().send(&call).await.expect("an answer");
    assert_eq!(outcome.callback.status, Status::Success);
    assert_eq!(outcome.card["author_id"], outcome.record.source_agent_id);
    assert_eq!(outcome.card["metadata"]["function_name"], row.tool_name);
    assert_eq!(outcome.record.payload.as_object().expect("an object").len(), 3);
    let context = outcome.record.context.expect("a context");
    assert_eq!(Some(context.agent_turn_id.as_str()), call.sent.value(headers::TURN_ID));
    assert_eq!(harness.requests().await.len(), 1);

    let mut call = harness.prepare(&row, &json!({"query": "tides"})).await;
    call.command["agent_id"] = json!("ag");
    let refused = harness.caller().send(&call).await.expect("an answer");
    assert_eq!(refused.card["content"]["error"]["code"], "protocol_violation");
    assert_eq!(harness.requests().await.len(), 1);
}
