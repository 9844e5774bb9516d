//! The requests of a message, each read by itself: what can be run, what is answered by an error, what is passed over.
//!
//! Two kinds of messages hold requests: an agent's invocation, which holds any number, and a `tool.request.v1`, which
//! is one. Anything else that happens to have a `tool_requests` is no invocation.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::breadcrumb::client::Breadcrumb;

/// Where a result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `return_to_llm: true`, and where nothing is said.
    Agent,
    /// `return_to_llm: false`.
    User,
}

/// A request that is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: String,
    /// As it was asked for; empty where it was not.
    pub(super) tool: String,
    pub(super) route: Route,
    /// What is to be run, or why nothing can be.
    pub(super) task: Result<Task, String>,
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) input: Map<String, Value>,
    pub(super) config_id: Option<String>,
}

/// The requests of a message; nothing where it is no invocation. The texts say what was passed over.
pub(super) fn requests(
    message: &mut Breadcrumb,
    workspace: &str,
) -> Option<(Vec<Request>, Vec<&'static str>)> {
    let listed = match message.schema_name.as_deref()? {
        "agent.response.v1" if message.has_tag("agent:response") => {
            match message.context.remove("tool_requests")? {
                Value::Array(listed) => listed,
                _ => return Some((Vec::new(), vec!["`tool_requests` is no array"])),
            }
        }
        "tool.request.v1" if message.has_tag("tool:request") && is_of(message, workspace) => {
            vec![Value::Object(std::mem::take(&mut message.context))]
        }
        _ => return None,
    };
    let mut ids = HashSet::new();
    let (mut requests, mut passed_over) = (Vec::new(), Vec::new());
    for listed in listed {
        match read(listed) {
            // Two answers under one id could not be distinguished.
            Ok(request) if !ids.insert(request.id.clone()) => {
                passed_over.push("a request has the `requestId` of another one of its message");
            }
            Ok(request) => requests.push(request),
            Err(reason) => passed_over.push(reason),
        }
    }
    Some((requests, passed_over))
}

/// Whether it is for this workspace, or for none in particular.
fn is_of(message: &Breadcrumb, workspace: &str) -> bool {
    message.has_tag(workspace) || !message.tags.iter().any(|tag| tag.starts_with("workspace:"))
}

fn read(listed: Value) -> Result<Request, &'static str> {
    let Value::Object(mut members) = listed else { return Err("a request is no object") };
    let id = match members.remove("requestId") {
        Some(Value::String(id)) if !id.is_empty() => id,
        _ => return Err("a request has no `requestId`"),
    };
    let (route, faulty_route) = match members.remove("return_to_llm") {
        None | Some(Value::Bool(true)) => (Route::Agent, None),
        Some(Value::Bool(false)) => (Route::User, None),
        Some(_) => (Route::Agent, Some("`return_to_llm` is neither `true` nor `false`")),
    };
    let tool = members.remove("tool");
    let named = tool.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let task = match tool {
        None => Err("the request has no `tool`"),
        Some(Value::String(_)) if !named.is_empty() => task(members),
        Some(_) => Err("`tool` is no name"),
    };
    let task = faulty_route.map_or(task, Err).map_err(str::to_owned);
    Ok(Request { id, tool: named, route, task })
}

fn task(mut members: Map<String, Value>) -> Result<Task, &'static str> {
    let config_id = match members.remove("config_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if !id.is_empty() => Some(id),
        Some(_) => return Err("`config_id` is no id"),
    };
    match members.remove("input") {
        Some(Value::Object(input)) => Ok(Task { input, config_id }),
        Some(_) => Err("`input` is no object"),
        None => Err("the request has no `input`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Request, Route, requests};
    use crate::breadcrumb::client::Breadcrumb;

    fn of(breadcrumb: Value) -> Option<(Vec<Request>, usize)> {
        let mut breadcrumb = Breadcrumb::read(breadcrumb).expect("a breadcrumb");
        requests(&mut breadcrumb, "workspace:tools")
            .map(|(requests, passed_over)| (requests, passed_over.len()))
    }

    fn invocation(tool_requests: &Value) -> Value {
        json!({
            "id": "b", "schema_name": "agent.response.v1", "tags": ["agent:response"],
            "context": {"tool_requests": tool_requests},
        })
    }

    #[test]
    fn a_request_is_run_or_answered_or_passed_over() {
        #[expect(clippy::needless_pass_by_value, reason = "the table below reads better")]
        fn check(request: Value, expect: Option<(Route, Option<&str>)>) {
            let (requests, passed_over) = of(invocation(&json!([request]))).expect("an invocation");
            let outcome = requests
                .first()
                .map(|request| (request.route, request.task.as_ref().err().map(String::as_str)));
            match (outcome, expect) {
                (None, None) => assert_eq!(passed_over, 1),
                (Some((route, None)), Some((expect, None))) => assert_eq!(route, expect, "{request}"),
                (Some((route, Some(fault))), Some((expect, Some(part)))) => {
                    assert!(route == expect && fault.contains(part), "{request}: {fault}");
                }
                (outcome, _) => panic!("{request}: {outcome:?}"),
            }
        }
        let with = |members: Value| {
            let mut request =
                json!({"tool": "echo", "input": {}, "requestId": "echo-1", "return_to_llm": true});
            for (name, value) in members.as_object().expect("an object") {
                request[name] = value.clone();
            }
            request
        };
        let without = |name: &str| {
            let mut request = with(json!({}));
            request.as_object_mut().expect("an object").remove(name);
            request
        };
        check(with(json!({})), Some((Route::Agent, None)));
        check(with(json!({"return_to_llm": false, "config_id": null, "more": 1})), Some((Route::User, None)));
        check(without("return_to_llm"), Some((Route::Agent, None)));
        check(with(json!({"return_to_llm": "false"})), Some((Route::Agent, Some("return_to_llm"))));
        check(without("tool"), Some((Route::Agent, Some("tool"))));
        check(with(json!({"tool": 3, "return_to_llm": false})), Some((Route::User, Some("tool"))));
        check(without("input"), Some((Route::Agent, Some("input"))));
        check(with(json!({"input": "x"})), Some((Route::Agent, Some("input"))));
        check(with(json!({"input": null})), Some((Route::Agent, Some("input"))));
        check(with(json!({"config_id": 7})), Some((Route::Agent, Some("config_id"))));
        check(without("requestId"), None);
        check(with(json!({"requestId": 7})), None);
        check(json!("echo"), None);
    }

    #[test]
    fn only_invocations_hold_requests() {
        let request = json!({"tool": "echo", "input": {}, "requestId": "echo-1"});
        let message = |schema_name: &str, tags: Value, context: &Value| json!({"id": "b", "schema_name": schema_name, "tags": tags, "context": context});
        let listed = json!({"tool_requests": [request, request]});
        assert_eq!(
            of(message("agent.response.v1", json!(["agent:response"]), &listed)).map(|(r, p)| (r.len(), p)),
            Some((1, 1))
        );
        assert_eq!(of(message("agent.response.v1", json!([]), &listed)), None);
        assert_eq!(
            of(message("agent.response.v1", json!(["agent:response"]), &json!({"message": "m"}))),
            None
        );
        assert_eq!(of(message("note.v1", json!(["agent:response"]), &listed)), None);
        let one =
            |tags: Value| of(message("tool.request.v1", tags, &request)).map(|(requests, _)| requests.len());
        assert_eq!(one(json!(["tool:request"])), Some(1));
        assert_eq!(one(json!(["tool:request", "workspace:tools"])), Some(1));
        assert_eq!(one(json!(["tool:request", "workspace:others"])), None);
        assert_eq!(one(json!(["workspace:tools"])), None);
    }
}
