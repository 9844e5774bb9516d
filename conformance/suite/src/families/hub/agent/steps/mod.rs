//! Steps of the features of agents, one module a part of a scenario.

#![expect(clippy::needless_pass_by_value, reason = "cucumber hands captured values to a step by value")]

mod act;
mod arrange;
mod outcome;
mod request;
mod traffic;

use std::str::FromStr;

use cucumber::Parameter;
use serde_json::json;

use super::call::Choice;
use super::judge::request::Part;
use super::judge::traffic::UnexpectedTraffic;
use super::mock::script::ScriptAnswer;
use super::router::WebFault;
use crate::families::hub::contract::{CODES, TOOLS};

/// A call, as features name it.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "called",
    regex = "(?:calendar|email)_[a-z_]+|any Hub tool|the first local tool|the second local tool|the page reader|the web search"
)]
pub(super) struct Called(pub Choice);

impl FromStr for Called {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let choice = match text {
            "any Hub tool" => Choice::AnyHubTool,
            "the first local tool" => Choice::Local(0),
            "the second local tool" => Choice::Local(1),
            "the page reader" => Choice::Page,
            "the web search" => Choice::Search,
            tool => {
                let place = TOOLS.into_iter().position(|own| own == tool);
                Choice::Tool(place.ok_or_else(|| format!("`{tool}` is none of the nine tools"))?)
            }
        };
        Ok(Self(choice))
    }
}

/// One of the six codes.
#[derive(Clone, Debug, Parameter)]
#[param(name = "code", regex = "[A-Z]+(?:_[A-Z]+)+")]
pub(super) struct Code(pub String);

impl FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = CODES.iter().any(|(code, _)| *code == text);
        if known { Ok(Self(text.to_owned())) } else { Err(format!("`{text}` is none of the six codes")) }
    }
}

impl Code {
    /// The answer with this code.
    pub(super) fn answer(&self) -> ScriptAnswer {
        ScriptAnswer::Code { code: self.0.clone(), message: None, details: None }
    }
}

/// An answer of the Hub: one of the six codes, or one outside the contract.
#[derive(Clone, Debug, Parameter)]
#[param(
    name = "hub_answer",
    regex = "[A-Z]+(?:_[A-Z]+)+|a page of HTML|a page of HTML with status 200|an empty body|an empty list|nothing but null|a text|an error with status 500|half a document|a closed connection|an empty object|a result whose success is a text|a failure with a result|an error with a result|a success whose error is null"
)]
pub(super) struct HubAnswer(pub ScriptAnswer);

impl FromStr for HubAnswer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let raw = |status: u16, body: serde_json::Value, content_type: &str| ScriptAnswer::Raw {
            status,
            body,
            content_type: content_type.to_owned(),
        };
        let html = "<html><body><h1>502 Bad Gateway</h1></body></html>";
        Ok(Self(match text {
            "a page of HTML" => raw(502, json!(html), "text/html"),
            "a page of HTML with status 200" => raw(200, json!(html), "text/html"),
            "nothing but null" => raw(200, json!("null"), "application/json"),
            "a text" => raw(200, json!(r#""done""#), "application/json"),
            "an error with status 500" => {
                raw(500, json!({"detail": "an error that nobody expected"}), "application/json")
            }
            "an empty body" => raw(200, json!(""), "application/json"),
            "an empty list" => raw(200, json!([]), "application/json"),
            "an empty object" => raw(200, json!({}), "application/json"),
            "a result whose success is a text" => {
                raw(200, json!({"success": "false", "result": {"status": "done"}}), "application/json")
            }
            "a failure with a result" => {
                raw(200, json!({"success": false, "result": {"status": "done"}}), "application/json")
            }
            "an error with a result" => {
                let error = json!({"code": "EXTERNAL_API_ERROR", "message": "the provider failed halfway"});
                let body = json!({"success": false, "error": error, "result": {"status": "done"}});
                raw(502, body, "application/json")
            }
            "half a document" => raw(200, json!(r#"{"success":true,"result":{"sta"#), "application/json"),
            "a closed connection" => ScriptAnswer::Close,
            "a success whose error is null" => ScriptAnswer::SuccessWithNulls,
            code => code.parse::<Code>()?.answer(),
        }))
    }
}

/// What the web gives instead of what was asked for.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "web_fault", regex = "is not there|is forbidden|fails|is not available|has nothing")]
pub(super) struct Fault(pub WebFault);

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "is not there" => WebFault::NotFound,
            "is forbidden" => WebFault::Forbidden,
            "fails" => WebFault::Failed,
            "is not available" => WebFault::Unavailable,
            "has nothing" => WebFault::Empty,
            other => return Err(format!("`{other}` is no fault of the web")),
        }))
    }
}

/// A part of a request.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "part", regex = "path|secret|content type|tool|agent|customer|end user|context")]
pub(super) struct RequestPart(pub Part);

impl FromStr for RequestPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let part = Part::ALL.into_iter().find(|part| part.name() == text);
        part.map(Self).ok_or_else(|| format!("`{text}` is no part of a request"))
    }
}

/// What nobody should have been asked for.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "unexpected_traffic",
    regex = "no local tool has reached the Hub|no direct tool has reached the Hub|nothing has reached the provider"
)]
pub(super) struct TrafficKind(pub UnexpectedTraffic);

impl FromStr for TrafficKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "no local tool has reached the Hub" => UnexpectedTraffic::Local,
            "no direct tool has reached the Hub" => UnexpectedTraffic::Direct,
            "nothing has reached the provider" => UnexpectedTraffic::Provider,
            other => return Err(format!("`{other}` is no unexpected traffic")),
        }))
    }
}
