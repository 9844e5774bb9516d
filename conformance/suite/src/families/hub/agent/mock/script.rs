//! What a mock Hub answers, as data: the right result unless a rule says otherwise.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::results;
use crate::families::hub::contract;
use crate::net::http_server::HttpReply;

/// How a mock Hub answers. The first rule that fits decides; without one a call succeeds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// In order of precedence.
    #[serde(default, rename = "rule")]
    pub rules: Vec<ScriptRule>,
}

impl Script {
    /// Reads a script written as TOML.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}

/// How certain requests are answered. A rule that names no tool holds for questions about the status too.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRule {
    /// Only calls of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only requests for this customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// Only so many requests; after them the rule is passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What comes back.
    pub answer: ScriptAnswer,
}

/// What comes back: `"success"`, `"success-with-nulls"`, `"hang"`, `"close"`, `{ code, message?, details? }` or `{ status, body?,
/// content_type? }`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum ScriptAnswer {
    /// The result of the tool, by the contract.
    Success,
    /// The same, with an `error` that is null and metadata that count nothing.
    SuccessWithNulls,
    /// Nothing while anyone waits.
    Hang,
    /// The connection is closed.
    Close,
    /// An error of the contract, with its status.
    Code {
        /// One of the six.
        code: String,
        /// In place of the mock's own.
        message: Option<String>,
        /// In place of the mock's own.
        details: Option<Value>,
    },
    /// Whatever is wanted.
    Raw {
        /// HTTP status.
        status: u16,
        /// JSON, or a text that is sent as it is.
        body: Value,
        /// `application/json` when absent.
        content_type: String,
    },
}

impl TryFrom<Value> for ScriptAnswer {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::String(word) => match word.as_str() {
                "success" => Ok(Self::Success),
                "success-with-nulls" => Ok(Self::SuccessWithNulls),
                "hang" => Ok(Self::Hang),
                "close" => Ok(Self::Close),
                other => Err(format!(
                    "`{other}` is no answer: `success`, `success-with-nulls`, `hang` and `close` are"
                )),
            },
            Value::Object(members) if members.contains_key("code") => code_form(&members),
            Value::Object(members) if members.contains_key("status") => raw_form(&members),
            _ => Err("an answer is a word, or has `code` or `status`".to_owned()),
        }
    }
}

fn only(members: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match members.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(format!("unknown key `{name}` of an answer; known here: {}", known.join(", "))),
    }
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` of an answer is a string")),
    }
}

fn code_form(members: &Map<String, Value>) -> Result<ScriptAnswer, String> {
    only(members, &["code", "message", "details"])?;
    let code = text(members, "code")?.unwrap_or_default();
    if contract::status_of(&code).is_none() {
        let known: Vec<&str> = contract::CODES.iter().map(|(code, _)| *code).collect();
        return Err(format!("`{code}` is no code of the contract: {}", known.join(", ")));
    }
    let details = members.get("details").cloned();
    Ok(ScriptAnswer::Code { code, message: text(members, "message")?, details })
}

fn raw_form(members: &Map<String, Value>) -> Result<ScriptAnswer, String> {
    only(members, &["status", "body", "content_type"])?;
    let status = members.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    let status = status.filter(|status| (200..600).contains(status));
    Ok(ScriptAnswer::Raw {
        status: status.ok_or("`status` of an answer is a number from 200 to 599")?,
        body: members.get("body").cloned().unwrap_or_else(|| Value::from("")),
        content_type: text(members, "content_type")?.unwrap_or_else(|| "application/json".to_owned()),
    })
}

impl From<ScriptAnswer> for Value {
    fn from(answer: ScriptAnswer) -> Self {
        match answer {
            ScriptAnswer::Success => json!("success"),
            ScriptAnswer::SuccessWithNulls => json!("success-with-nulls"),
            ScriptAnswer::Hang => json!("hang"),
            ScriptAnswer::Close => json!("close"),
            ScriptAnswer::Code { code, message, details } => {
                let mut form = json!({"code": code});
                let own = [("message", message.map(Value::from)), ("details", details)];
                for (name, value) in own.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                    form[name] = value;
                }
                form
            }
            ScriptAnswer::Raw { status, body, content_type } => {
                json!({"status": status, "body": body, "content_type": content_type})
            }
        }
    }
}

/// What a request asks of a Hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// A tool is to be executed.
    Tool(&'a str),
    /// The status of integrations.
    Status,
}

impl Script {
    /// A script of one rule: calls of `tool`, or all requests, are answered like this.
    pub fn of(tool: Option<&str>, answer: ScriptAnswer) -> Self {
        let tool = tool.map(str::to_owned);
        Self { rules: vec![ScriptRule { tool, customer_id: None, times: None, answer }] }
    }

    /// The answer to a request, which is counted.
    pub fn next(&mut self, wanted: Wanted<'_>, customer_id: Option<&str>) -> ScriptAnswer {
        let fits = |rule: &&mut ScriptRule| {
            let tool = match (&rule.tool, wanted) {
                (None, _) => true,
                (Some(own), Wanted::Tool(tool)) => own == tool,
                (Some(_), Wanted::Status) => false,
            };
            tool && rule.times != Some(0)
                && rule.customer_id.as_deref().is_none_or(|own| Some(own) == customer_id)
        };
        match self.rules.iter_mut().find(fits) {
            Some(rule) => {
                rule.times = rule.times.map(|times| times - 1);
                rule.answer.clone()
            }
            None => ScriptAnswer::Success,
        }
    }
}

impl ScriptAnswer {
    /// The answer to an execute request for `tool`. `mark` shows in its values whose they are.
    pub fn to_call(&self, tool: &str, mark: &str) -> HttpReply {
        match self {
            Self::Success | Self::SuccessWithNulls => match results::result(tool, mark) {
                Some(result) if *self == Self::Success => {
                    HttpReply::json(200, &results::success(tool, &result))
                }
                Some(result) => HttpReply::json(200, &results::success_with_nulls(tool, &result)),
                None => Self::failure(tool, "TOOL_NOT_FOUND", None, None),
            },
            Self::Code { code, message, details } => {
                Self::failure(tool, code, message.as_deref(), details.as_ref())
            }
            other => other.plain(),
        }
    }

    /// The answer to a question about the status of a customer's integrations.
    pub fn to_status(&self, customer_id: &str) -> HttpReply {
        match self {
            Self::Raw { .. } | Self::Hang | Self::Close => self.plain(),
            Self::Success | Self::SuccessWithNulls | Self::Code { .. } => {
                let missing = matches!(self, Self::Code { code, .. } if code == "INTEGRATION_NOT_CONNECTED");
                HttpReply::json(200, &results::status(customer_id, !missing))
            }
        }
    }

    fn failure(tool: &str, code: &str, message: Option<&str>, details: Option<&Value>) -> HttpReply {
        let status = contract::status_of(code).unwrap_or(500);
        HttpReply::json(status, &results::failure(tool, code, message, details))
    }

    fn plain(&self) -> HttpReply {
        match self {
            Self::Hang => HttpReply::Hang,
            Self::Raw { status, body: Value::String(body), content_type } => {
                HttpReply::text(*status, content_type, body)
            }
            Self::Raw { status, body, content_type } => {
                HttpReply::text(*status, content_type, &body.to_string())
            }
            Self::Close | Self::Success | Self::SuccessWithNulls | Self::Code { .. } => HttpReply::Close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<Script, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_rule_that_fits_decides_and_is_used_up() {
        let mut script = script(
            "[[rule]]\ntool = \"email_send\"\ntimes = 1\nanswer = { code = \"RATE_LIMITED\" }\n\
             [[rule]]\ncustomer_id = \"c\"\nanswer = \"close\"\n",
        )
        .expect("a sound script");
        let send = Wanted::Tool("email_send");
        assert!(matches!(script.next(send, None), ScriptAnswer::Code { code, .. } if code == "RATE_LIMITED"));
        assert_eq!(script.next(send, None), ScriptAnswer::Success);
        assert_eq!(script.next(Wanted::Status, Some("c")), ScriptAnswer::Close);
    }

    #[test]
    fn what_is_no_answer_is_reported() {
        for (answer, part) in [
            ("\"succeed\"", "`hang` and `close` are"),
            ("{ code = \"NOT_FOUND\" }", "no code of the contract"),
            ("{ status = 99 }", "200 to 599"),
            ("{ status = 502, boddy = \"\" }", "unknown key `boddy`"),
        ] {
            let error = script(&format!("[[rule]]\nanswer = {answer}\n")).expect_err("a faulty script");
            assert!(error.contains(part), "{error}");
        }
        assert!(script("[[rules]]\n").is_err());
    }

    #[test]
    fn every_answer_survives_its_form() {
        for answer in [
            ScriptAnswer::Success,
            ScriptAnswer::SuccessWithNulls,
            ScriptAnswer::Code { code: "RATE_LIMITED".to_owned(), message: None, details: Some(json!({})) },
            ScriptAnswer::Raw { status: 502, body: json!("<html>"), content_type: "text/html".to_owned() },
        ] {
            assert_eq!(ScriptAnswer::try_from(Value::from(answer.clone())), Ok(answer));
        }
    }
}
