//! What is wrong with a request by the contract, in sentences: the judgements of the features, one after the other.

use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::agent::asked::frame;
use crate::families::hub::agent::judge::request;
use crate::families::hub::agent::judge::request::{Expected, Part, Route};
use crate::families::hub::agent::judge::{inputs, status};
use crate::net::http_server::ReceivedRequest;

/// What is wrong with a request (HUB-07, 09, 13, 17 to 24, 117); nothing when all is well, or when the contract says
/// nothing about it.
pub fn problems(request: &ReceivedRequest, expected: &Expected) -> Vec<String> {
    let frame = frame(request);
    match Route::of(&frame) {
        Route::Execute => {
            let parts = Part::ALL.into_iter().map(|part| request::has(&frame, part, expected));
            let tool = frame.text("/tool").unwrap_or_default();
            let shapes = [inputs::is_an_object(&frame), inputs::are_documented(&frame, tool)];
            parts.chain(shapes).filter_map(sentence).collect()
        }
        Route::Status => sentence(status::is_documented(&frame, expected)).into_iter().collect(),
        Route::Beside | Route::Other => Vec::new(),
    }
}

fn sentence(judgement: Judgement) -> Option<String> {
    match judgement {
        Err(CheckFailure::Broken(finding)) => Some(match &finding.actual {
            Some(actual) => format!("{}: {actual}", finding.message),
            None => finding.message.clone(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::families::hub::contract;
    use crate::families::hub::contract::Subjects;

    fn problems_of(change: impl FnOnce(&mut ReceivedRequest)) -> Vec<String> {
        let mut request = ReceivedRequest {
            method: "POST".to_owned(),
            path: contract::EXECUTE.to_owned(),
            headers: BTreeMap::from([
                ("authorization".to_owned(), "ServiceSecret s3cr3t".to_owned()),
                ("content-type".to_owned(), "application/json; charset=utf-8".to_owned()),
            ]),
            body: json!({
                "tool": "email_send", "agent_id": "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60",
                "customer_id": "b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7", "user_id": null,
                "inputs": contract::full_inputs("email_send", &Subjects::default()),
            }),
        };
        change(&mut request);
        problems(&request, &Expected { secret: Some("s3cr3t".to_owned()), ..Expected::default() })
    }

    #[test]
    fn a_request_by_the_contract_has_none() {
        assert_eq!(problems_of(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn each_fault_is_reported() {
        let check = |change: fn(&mut ReceivedRequest), part: &str| {
            let reported = problems_of(change);
            assert!(reported.len() == 1 && reported[0].contains(part), "{part}: {reported:?}");
        };
        check(|request| request.path = "/api/internal/tools/execute".to_owned(), "path");
        check(
            |request| drop(request.headers.insert("authorization".to_owned(), "Bearer s3cr3t".to_owned())),
            "scheme",
        );
        check(|request| drop(request.headers.remove("content-type")), "JSON");
        check(|request| request.body["agent_id"] = json!("agent-1"), "agent_id");
        check(|request| request.body["user_id"] = json!(0), "user_id");
        check(|request| request.body["context"] = json!("conv-1"), "context");
        check(|request| request.body["inputs"]["to"] = json!("bo@orchid.example"), "to");
        check(|request| request.body["inputs"] = Value::Null, "inputs");
    }

    #[test]
    fn a_question_about_the_status_is_looked_at_too() {
        let reported = problems_of(|request| {
            request.method = "GET".to_owned();
            request.path = format!("{}b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7", contract::STATUS_BASE);
            request.body = json!("");
        });
        assert_eq!(reported.len(), 1, "{reported:?}");
    }
}
