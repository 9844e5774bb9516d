//! Exchanges as the messages of a scenario show them, whoever made them: what `@always` scenarios judge.

use callmark_schemas::SchemaName;
use serde_json::Value;

use super::client::CUSTOMER;
use super::reply::Reply;
use crate::engine::invariant::ExchangeKind;
use crate::families::hub::contract;
use crate::families::hub::manifest::Customer;
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind};

/// Every answer of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryReply {
    /// A success, of one tool or of any.
    Result(Option<&'static str>),
    /// An error with one of the six codes.
    Error,
    /// The error of a customer who has not connected an integration.
    NotConnected,
    /// The status of a customer's integrations.
    Status,
    /// What came of a request for it.
    StatusRequest,
    /// What came of a tool of the contract for a customer who has connected all.
    Connected,
    /// What came of a tool of the contract for a customer who has connected nothing.
    Unconnected,
    /// What came of a tool that no contract has.
    UnknownTool,
    /// A success that arrived at the provider before it was answered.
    Effect,
}

/// An exchange, and what arrived at the provider between request and answer.
pub(super) struct ObservedReply<'a> {
    pub reply: Reply<'a>,
    pub seen: Vec<&'a Frame>,
}

impl ExchangeKind for EveryReply {
    type Exchange<'a> = ObservedReply<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedReply<'a>> {
        let requests = || frames.iter().filter(|frame| frame.kind == Kind::HubRequest);
        // A scenario that sends another secret sends the right one last. How a Hub refuses is left open.
        let secret = requests().next_back().and_then(|last| last.headers.get("authorization"));
        let replies: Vec<ObservedReply<'a>> = requests()
            .filter(|request| secret.is_some() && request.headers.get("authorization") == secret)
            .filter_map(|request| Reply::of(frames, request.headers.get(CALL)?.parse().ok()?))
            // Silence, beside others or of a connection that broke, is the business of the scenario that met it.
            .filter(|reply| reply.answer.is_some())
            .map(|reply| ObservedReply { seen: between(frames, &reply), reply })
            .filter(|own| self.includes(own))
            .collect();
        // Where one is answered before the provider is asked, what arrives during another may be its own.
        let is_late = |own: &ObservedReply<'_>| !own.has_effect();
        if *self == Self::Effect && replies.iter().any(is_late) { Vec::new() } else { replies }
    }

    fn stimulus(exchange: &ObservedReply<'_>) -> u32 {
        exchange.reply.request.n
    }
}

impl EveryReply {
    fn includes(self, own: &ObservedReply<'_>) -> bool {
        let reply = &own.reply;
        match self {
            Self::Result(tool) => {
                is_execution(reply) && is_success(reply) && tool.is_none_or(|tool| tool == reply.tool())
            }
            Self::Error => is_execution(reply) && is_documented_error(reply),
            Self::NotConnected => {
                let customer = reply.request.headers.get(CUSTOMER).map(String::as_str);
                is_execution(reply)
                    && reply.code() == Some(contract::NOT_CONNECTED)
                    && customer == Some(Customer::NotConnected.name())
            }
            Self::Status => customer_asked_about(reply).is_some() && reply.is_2xx(),
            // Whether a customer that nobody knows has a status is left open.
            Self::StatusRequest => {
                customer_asked_about(reply).is_some_and(|customer| customer != contract::NOBODY)
                    && !reply.is_limited()
            }
            // Who or what is not there may be answered in many ways.
            Self::Connected => {
                is_for(reply, Customer::Connected)
                    && (is_success(reply) || (is_as_documented(reply) && !names_something(reply)))
            }
            Self::Unconnected => {
                is_for(reply, Customer::NotConnected)
                    && !reply.is_limited()
                    && is_as_documented(reply)
                    && !names_something(reply)
            }
            Self::UnknownTool => {
                let is_ours = OWN.iter().any(|prefix| reply.tool().starts_with(prefix));
                is_execution(reply)
                    && !contract::TOOLS.contains(&reply.tool())
                    && !is_ours
                    && is_as_documented(reply)
            }
            Self::Effect => is_execution(reply) && is_success(reply) && WRITING.contains(&reply.tool()),
        }
    }
}

/// Whether a request names something of the customer's: who has none may look for it first.
fn names_something(reply: &Reply<'_>) -> bool {
    let inputs = &reply.request.body["inputs"];
    ["event_id", "message_id", "thread_id"].into_iter().any(|name| inputs.get(name).is_some())
}

/// What names of tools begin with that are the agent's own (Tool Execution Contract, "Tool categories").
const OWN: [&str; 3] = ["mission_", "document_", "research_"];
/// Tools that change something at the provider.
const WRITING: [&str; 5] =
    ["calendar_create_event", "calendar_update_event", "calendar_delete_event", "email_send", "email_read"];

impl ObservedReply<'_> {
    /// Whether anything arrived that changes something. Reading a mail need not.
    fn has_effect(&self) -> bool {
        let changes = |frame: &&Frame| frame.text("/effect").is_some_and(|effect| effect != "read");
        self.reply.tool() == "email_read" || self.seen.iter().any(changes)
    }
}

/// What arrived at the provider between request and answer.
fn between<'a>(frames: &'a [Frame], reply: &Reply<'a>) -> Vec<&'a Frame> {
    let answered = reply.answer.map_or(u32::MAX, |answer| answer.n);
    let is_between =
        |frame: &&Frame| frame.kind == Kind::Provider && frame.n > reply.request.n && frame.n < answered;
    frames.iter().filter(is_between).collect()
}

/// Whether a tool of the contract was to be executed for this customer.
fn is_for(reply: &Reply<'_>, customer: Customer) -> bool {
    is_execution(reply)
        && contract::TOOLS.contains(&reply.tool())
        && reply.request.text("/customer_id") != Some(contract::NOBODY)
        && reply.request.headers.get(CUSTOMER).map(String::as_str) == Some(customer.name())
}

/// Whether a tool was to be executed, by a request in the form of the contract: what others may be answered is left
/// open.
fn is_execution(reply: &Reply<'_>) -> bool {
    let request = reply.request;
    let text = |member: &str| request.text(member).filter(|text| !text.is_empty());
    request.channel.split_once(' ') == Some(("POST", contract::EXECUTE))
        && text("/tool") == Some(reply.tool())
        && text("/customer_id").is_some()
        && request.body.get("inputs").is_some_and(Value::is_object)
}

/// Whether a request has all that the contract shows of its tool's, so that no Hub has a reason to refuse it for its form
/// first. Which customers there are, others say.
fn is_as_documented(reply: &Reply<'_>) -> bool {
    let body = &reply.request.body;
    let faults = callmark_schemas::violations(SchemaName::ExecuteRequest, body);
    faults.iter().all(|fault| fault.pointer == "/customer_id")
        && contract::main_inputs(reply.tool()).iter().all(|name| body["inputs"].get(name).is_some())
}

/// Whether an answer says that the tool was executed, and is not contradicted by status and error at once.
fn is_success(reply: &Reply<'_>) -> bool {
    let has_error = reply.body().get("error").is_some_and(|error| !error.is_null());
    reply.is_executed() && (reply.is_2xx() || !has_error)
}

/// Whether an answer is one of the six errors. Other conditions may have errors of another form.
fn is_documented_error(reply: &Reply<'_>) -> bool {
    let is_of_the_table = reply.code().is_some_and(|code| contract::status_of(code).is_some());
    is_of_the_table && !(reply.is_executed() && reply.is_2xx())
}

/// The customer whose status was asked for.
pub(super) fn customer_asked_about<'a>(reply: &Reply<'a>) -> Option<&'a str> {
    reply.request.channel.strip_prefix("GET ")?.strip_prefix(contract::STATUS_BASE)?.strip_suffix('/')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::net::wire::{STATUS, TOOL};

    fn exchange(request: &Value, status: u16, answer: &Value) -> [Frame; 2] {
        let frame = |n, direction, kind, body: &Value, headers: &[(&str, &str)]| Frame {
            n,
            at_us: 0,
            direction,
            kind,
            channel: format!("POST {}", contract::EXECUTE),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            body: body.clone(),
        };
        let tool = request["tool"].as_str().unwrap_or("email_read");
        [
            frame(
                1,
                Direction::ToTarget,
                Kind::HubRequest,
                request,
                &[(CALL, "1"), (TOOL, tool), ("authorization", "ServiceSecret s3cr3t")],
            ),
            frame(
                2,
                Direction::FromTarget,
                Kind::HubResponse,
                answer,
                &[(CALL, "1"), (STATUS, &status.to_string())],
            ),
        ]
    }

    const AGENT: &str = "3f3c1d0a-7b52-4d0e-8f55-000000000001";

    #[test]
    fn what_a_hub_may_refuse_for_its_form_shows_nothing_of_customers_and_tools() {
        let check = |kind: EveryReply, request: &Value, expect: bool| {
            let mut frames = exchange(request, 400, &json!({"error": {"code": "INVALID_REQUEST"}}));
            for frame in &mut frames {
                frame.headers.insert(CUSTOMER.to_owned(), Customer::NotConnected.name().to_owned());
            }
            assert_eq!(!kind.find(&frames).is_empty(), expect, "{request}");
        };
        let of = |tool: &str, agent: &str, inputs: Value| json!({"tool": tool, "agent_id": agent, "customer_id": "c", "inputs": inputs});
        let days = json!({"start_date": "2031-03-04", "end_date": "2031-03-07"});
        check(EveryReply::Unconnected, &of("calendar_get_availability", AGENT, days.clone()), true);
        check(EveryReply::Unconnected, &of("calendar_get_availability", "agent-1", days), false);
        check(EveryReply::Unconnected, &of("calendar_get_availability", AGENT, json!({})), false);
        // Whose message that is may be looked at first.
        check(EveryReply::Unconnected, &of("email_read", AGENT, json!({"message_id": "m"})), false);
        let unknown =
            |agent: Value| json!({"tool": "nothing", "agent_id": agent, "customer_id": "c", "inputs": {}});
        check(EveryReply::UnknownTool, &unknown(json!(AGENT)), true);
        check(EveryReply::UnknownTool, &unknown(Value::Null), false);
    }

    #[test]
    fn silence_is_no_exchange() {
        let request = json!({"tool": "no_such_tool", "agent_id": AGENT, "customer_id": "c", "inputs": {}});
        let [request, answer] = exchange(&request, 404, &json!({}));
        let found = |frames: &[Frame]| EveryReply::UnknownTool.find(frames).len();
        assert_eq!(found(&[request.clone(), answer]), 1);
        let closed = Frame { n: 2, kind: Kind::Closed, ..request.clone() };
        assert_eq!((found(std::slice::from_ref(&request)), found(&[request.clone(), closed])), (0, 0));
    }

    #[test]
    fn an_answer_is_a_success_or_a_documented_error_or_none_of_the_two() {
        let check = |status: u16, answer: Value, expect: [bool; 2]| {
            let request = json!({"tool": "email_read", "customer_id": "c", "inputs": {}});
            let frames = exchange(&request, status, &answer);
            let found =
                [EveryReply::Result(None), EveryReply::Error].map(|kind| !kind.find(&frames).is_empty());
            assert_eq!(found, expect, "{status} {answer}");
        };
        let error = json!({"code": "INTEGRATION_EXPIRED", "message": "over"});
        check(200, json!({"success": true, "result": {}}), [true, false]);
        check(201, json!({"result": {}}), [true, false]);
        check(502, json!({"success": true, "result": {}}), [true, false]);
        check(200, json!({"success": true, "result": {}, "error": error}), [true, false]);
        check(401, json!({"success": true, "error": error}), [false, true]);
        check(200, json!({"success": false, "error": error}), [false, true]);
        check(400, json!({"success": false, "error": {"code": "VALIDATION_ERROR"}}), [false, false]);
        check(401, json!("Unauthorized"), [false, false]);
    }

    #[test]
    fn what_comes_of_a_request_with_another_secret_is_left_open() {
        let request = json!({"tool": "email_read", "customer_id": "c", "inputs": {}});
        let answer = json!({"success": false, "error": {"code": "INTEGRATION_EXPIRED"}});
        let mut frames: Vec<Frame> = exchange(&request, 401, &answer).into();
        for (call, secret) in [("2", "ServiceSecret other"), ("3", "ServiceSecret s3cr3t")] {
            for mut frame in exchange(&request, 401, &answer) {
                frame.headers.insert(CALL.to_owned(), call.to_owned());
                if frame.kind == Kind::HubRequest {
                    frame.headers.insert("authorization".to_owned(), secret.to_owned());
                }
                frames.push(frame);
            }
        }
        let found = EveryReply::Error.find(&frames);
        let calls: Vec<&str> = found.iter().map(|own| own.reply.request.headers[CALL].as_str()).collect();
        assert_eq!(calls, ["1", "3"]);
    }

    #[test]
    fn what_comes_of_a_request_in_another_form_is_left_open() {
        let check = |request: Value, expect: bool| {
            let frames = exchange(&request, 200, &json!({"success": true, "result": {}}));
            assert_eq!(!EveryReply::Result(None).find(&frames).is_empty(), expect, "{request}");
        };
        check(json!({"tool": "email_read", "customer_id": "c", "inputs": {}}), true);
        check(json!({"tool": "email_read", "inputs": {}}), false);
        check(json!({"tool": "email_read", "customer_id": "c"}), false);
        check(json!({"tool": "email_read", "customer_id": "c", "inputs": []}), false);
        check(json!({"tool": 7, "customer_id": "c", "inputs": {}}), false);
        check(json!("{\"tool\":"), false);
    }
}
