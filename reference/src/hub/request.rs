//! The request to execute a tool (contract, "Request Schema"): its fields, before anything is known of the tool.
//!
//! What the contract shows must be there, except for `user_id`, which may be absent, and `context`, which is optional.
//! Members that it does not show are tolerated.

use serde_json::{Map, Value};

use super::envelope::{Code, Refusal};

/// A request of the contract's form.
#[derive(Debug, PartialEq)]
pub(super) struct ExecuteRequest {
    pub(super) tool: String,
    /// In lower case.
    pub(super) customer_id: String,
    pub(super) inputs: Map<String, Value>,
}

/// A request that does not have it; `tool` is there to be repeated, if the request names one.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) tool: Option<String>,
    pub(super) refusal: Refusal,
}

impl ExecuteRequest {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let unnamed = |message: &str| Malformed { tool: None, refusal: invalid(message) };
        let body: Value =
            serde_json::from_slice(bytes).map_err(|_error| unnamed("the body is not a JSON document"))?;
        let Value::Object(mut members) = body else { return Err(unnamed("the body is not a JSON object")) };
        let tool = match members.remove("tool") {
            Some(Value::String(tool)) if !tool.is_empty() => tool,
            _ => return Err(unnamed("`tool` must be a non-empty string")),
        };
        match fields(&mut members) {
            Ok((customer_id, inputs)) => Ok(Self { tool, customer_id, inputs }),
            Err(refusal) => Err(Malformed { tool: Some(tool), refusal }),
        }
    }
}

fn fields(members: &mut Map<String, Value>) -> Result<(String, Map<String, Value>), Refusal> {
    let id = |name: &str| {
        let text = members.get(name).and_then(Value::as_str);
        text.and_then(uuid).ok_or_else(|| invalid(format!("`{name}` must be a UUID")))
    };
    id("agent_id")?;
    let customer_id = id("customer_id")?;
    if members.get("user_id").is_some_and(|user| !user.is_string() && !user.is_null()) {
        return Err(invalid("`user_id` must be a string or null"));
    }
    context(members.get("context"))?;
    match members.remove("inputs") {
        Some(Value::Object(inputs)) => Ok((customer_id, inputs)),
        _ => Err(invalid("`inputs` must be an object")),
    }
}

fn context(context: Option<&Value>) -> Result<(), Refusal> {
    let Some(context) = context.filter(|context| !context.is_null()) else { return Ok(()) };
    let Value::Object(members) = context else { return Err(invalid("`context` must be an object")) };
    for name in ["conversation_id", "request_id"] {
        if members.get(name).is_some_and(|id| !id.is_string() && !id.is_null()) {
            return Err(invalid(format!("`context.{name}` must be a string")));
        }
    }
    Ok(())
}

/// The UUID in lower case, if the text is one in its usual form.
pub(super) fn uuid(text: &str) -> Option<String> {
    let right = |(index, byte): (usize, u8)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    (text.len() == 36 && text.bytes().enumerate().all(right)).then(|| text.to_ascii_lowercase())
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ExecuteRequest, uuid};

    const ID: &str = "B1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7";

    fn request(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut request = json!({
            "tool": "email_read", "agent_id": ID, "customer_id": ID, "user_id": null,
            "inputs": {"message_id": "m"}, "context": {"conversation_id": "c", "request_id": "r"}
        });
        change(&mut request);
        request.to_string().into_bytes()
    }

    #[test]
    fn forms_that_the_contract_allows_are_read() {
        fn check(change: impl FnOnce(&mut Value)) {
            let read = ExecuteRequest::parse(&request(change)).expect("a request");
            assert_eq!((read.tool.as_str(), read.customer_id), ("email_read", ID.to_lowercase()));
            assert_eq!(read.inputs.len(), 1);
        }
        check(|_| ());
        check(|request| request["user_id"] = json!("u-17"));
        check(|request| request["context"] = Value::Null);
        check(|request| request["context"] = json!({}));
        check(|request| request["extra"] = json!(1));
        check(|request| {
            request.as_object_mut().expect("an object").retain(|key, _| key != "user_id" && key != "context");
        });
    }

    #[test]
    fn other_forms_are_refused_and_name_the_member() {
        fn check(change: impl FnOnce(&mut Value), member: &str) {
            let refused = ExecuteRequest::parse(&request(change)).expect_err("a refusal");
            assert!(format!("{:?}", refused.refusal).contains(member), "{:?}", refused.refusal);
            assert_eq!(refused.tool.is_some(), member != "`tool`");
        }
        check(|request| request["tool"] = json!(7), "`tool`");
        check(|request| request["tool"] = json!(""), "`tool`");
        check(|request| request["agent_id"] = json!("x"), "`agent_id`");
        check(|request| request["agent_id"] = Value::Null, "`agent_id`");
        check(|request| request["customer_id"] = json!(17), "`customer_id`");
        check(|request| request["user_id"] = json!(0), "`user_id`");
        check(|request| request["inputs"] = json!([]), "`inputs`");
        check(|request| request["context"] = json!("c"), "`context`");
        check(|request| request["context"]["request_id"] = json!(1), "`context.request_id`");
    }

    #[test]
    fn uuids_have_one_form() {
        assert_eq!(uuid(ID), Some(ID.to_lowercase()));
        for text in
            ["", "b1d3a8c477aa4e219c3950f0e6a1d2b7", "g1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b7", "é1d3a8c4"]
        {
            assert_eq!(uuid(text), None, "{text}");
        }
    }
}
