//! The form of one execute request (Tool Execution Contract L17-41).

use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::contract::{EXECUTE, SCHEME, TOOLS};
use crate::transcript::Frame;

/// What a request is to a Hub, taken leniently: that its path is wrong breaks the rule on the path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A tool is to be executed.
    Execute,
    /// The status of integrations.
    Status,
    /// What the original system's agents ask beside the contract.
    Beside,
    /// Anything else.
    Other,
}

impl Route {
    /// The route of a request.
    pub fn of(frame: &Frame) -> Self {
        let (_, path) = method_and_path(frame);
        let path = path.trim_end_matches('/');
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        if path.ends_with("/tools/execute") {
            Self::Execute
        } else if path.contains("/integrations/status") {
            Self::Status
        } else if ends(&["/config", "/validate-key", "/usage/batch"]) {
            Self::Beside
        } else if frame.body.get("inputs").is_some() {
            // A tool's name alone stands in reports on usage too.
            Self::Execute
        } else {
            Self::Other
        }
    }
}

/// What the requests of an agent are expected to say; what is not known is not compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The agent's service secret.
    pub secret: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The customer that is served.
    pub customer_id: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The end user, where the agent was given one.
    pub user_id: Option<String>,
    /// What the ids of all end users begin with that the agent was given for other calls.
    pub other_users: Option<String>,
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Method and path.
    Path,
    /// `Authorization`.
    Secret,
    /// `Content-Type`.
    ContentType,
    /// `tool`.
    Tool,
    /// `agent_id`.
    Agent,
    /// `customer_id`.
    Customer,
    /// `user_id`.
    User,
    /// `context`.
    Context,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Path,
        Self::Secret,
        Self::ContentType,
        Self::Tool,
        Self::Agent,
        Self::Customer,
        Self::User,
        Self::Context,
    ];

    /// The name in features.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Secret => "secret",
            Self::ContentType => "content type",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Customer => "customer",
            Self::User => "end user",
            Self::Context => "context",
        }
    }
}

/// A part of an execute request is as documented.
pub fn has(frame: &Frame, part: Part, expected: &Expected) -> Judgement {
    match part {
        Part::Path => path(frame),
        Part::Secret => secret(frame, expected.secret.as_deref()),
        Part::ContentType => content_type(frame),
        Part::Tool => tool(frame, expected.tool.as_deref()),
        Part::Agent => {
            id(frame, "agent_id", expected.agent_id.as_deref(), "the id that the agent is configured with")
        }
        Part::Customer => id(
            frame,
            "customer_id",
            expected.customer_id.as_deref(),
            "the customer for whom the call is made",
        ),
        Part::User => user(frame, expected),
        Part::Context => context(frame),
    }
}

/// Method, and path without its query.
pub(super) fn method_and_path(frame: &Frame) -> (&str, &str) {
    let (method, path) = frame.channel.split_once(' ').unwrap_or(("", &frame.channel));
    (method, path.split('?').next().unwrap_or_default())
}

fn path(frame: &Frame) -> Judgement {
    if method_and_path(frame) == ("POST", EXECUTE) {
        return Ok(());
    }
    Err(Finding::new(
        "an execute request does not go to the method and path of the contract",
        format!("send tool calls as `POST {EXECUTE}`, with the final slash"),
    )
    .expected(format!("POST {EXECUTE}"))
    .actual(Some(&Value::from(frame.channel.clone())))
    .frame(frame)
    .into())
}

/// `Authorization: ServiceSecret <secret>`.
pub(super) fn secret(frame: &Frame, secret: Option<&str>) -> Judgement {
    let sent = frame.headers.get("authorization");
    let (scheme, credentials) = sent.and_then(|sent| sent.split_once(' ')).unwrap_or_default();
    let credentials = credentials.trim();
    let hint = format!("send `Authorization: {SCHEME} <secret>` with the secret that is configured");
    let finding = |message: &str| {
        Finding::new(message, hint.clone())
            .expected(format!("{SCHEME} {}", secret.unwrap_or("<secret>")))
            .actual(Some(&Value::from(sent.map_or("no `Authorization`", String::as_str))))
            .frame(frame)
    };
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(finding("a request does not use the scheme `ServiceSecret`").into());
    }
    if credentials.is_empty() || secret.is_some_and(|secret| secret != credentials) {
        return Err(finding("a request carries another secret than the configured one").into());
    }
    if secret.is_some_and(|secret| !secret.is_empty() && frame.channel.contains(secret)) {
        return Err(Finding::new(
            "a request carries the secret in its address too",
            "send the secret in `Authorization` alone: addresses are kept in logs",
        )
        .expected("an address without the secret")
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into());
    }
    if scheme != SCHEME {
        // Schemes are compared without regard to case (RFC 9110 §11.1), which not every Hub knows.
        return Err(finding("a request spells the scheme `ServiceSecret` in another way")
            .recommended("schemes are compared without regard to case (RFC 9110 §11.1)")
            .into());
    }
    Ok(())
}

fn content_type(frame: &Frame) -> Judgement {
    let sent = frame.headers.get("content-type");
    let media = sent.and_then(|sent| sent.split(';').next()).unwrap_or_default().trim();
    let hint = "send the request as a JSON document with `Content-Type: application/json`";
    let finding = |message: &str| {
        Finding::new(message, hint)
            .expected("application/json")
            .actual(Some(&Value::from(sent.map_or("no `Content-Type`", String::as_str))))
            .frame(frame)
    };
    if !media.eq_ignore_ascii_case("application/json") {
        return Err(finding("a request does not declare its body as JSON").into());
    }
    Ok(())
}

fn tool(frame: &Frame, expected: Option<&str>) -> Judgement {
    let sent = frame.body.get("tool").and_then(Value::as_str);
    let right = match expected {
        Some(expected) => sent == Some(expected),
        None => sent.is_some_and(|sent| TOOLS.contains(&sent)),
    };
    if right {
        return Ok(());
    }
    Err(Finding::new(
        "a request does not name the tool in `tool`",
        "put the name of the tool, as the contract spells it, into `tool`",
    )
    .expected(expected.unwrap_or("the name of one of the nine tools"))
    .actual(frame.body.get("tool").or(Some(&Value::from("absent"))))
    .at("/tool")
    .frame(frame)
    .into())
}

fn id(frame: &Frame, name: &str, expected: Option<&str>, whose: &str) -> Judgement {
    let sent = frame.body.get(name);
    let finding = |message: String| {
        Finding::new(message, format!("send `{name}` as a UUID string: {whose}"))
            .expected(expected.unwrap_or("a UUID string"))
            .actual(sent.or(Some(&Value::from("absent"))))
            .at(format!("/{name}"))
            .frame(frame)
    };
    let Some(text) = sent.and_then(Value::as_str).filter(|text| is_uuid(text)) else {
        return Err(finding(format!("`{name}` is no UUID string")).into());
    };
    if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(text)) {
        return Err(finding(format!("`{name}` is not {whose}")).into());
    }
    Ok(())
}

/// Whether a text is a UUID in its usual form.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn user(frame: &Frame, expected: &Expected) -> Judgement {
    let hint = "send `user_id` as a string, or as null where there is no end user";
    let is_of_another = |sent: &str| {
        let mut others = expected.other_users.iter().filter(|_| expected.user_id.is_none());
        others.any(|others| sent.starts_with(others))
    };
    match (frame.body.get("user_id"), expected.user_id.as_deref()) {
        (Some(Value::String(sent)), None) if is_of_another(sent) => Err(Finding::new(
            "`user_id` is the end user of another call, and this one is made for none",
            hint,
        )
        .expected("null")
        .actual(frame.body.get("user_id"))
        .at("/user_id")
        .frame(frame)
        .into()),
        (Some(Value::String(sent)), None) if sent.is_empty() => {
            Err(Finding::new("`user_id` is an empty text, and there is no end user", hint)
                .expected("null")
                .actual(frame.body.get("user_id"))
                .at("/user_id")
                .frame(frame)
                .recommended("the contract allows every string for `user_id`")
                .into())
        }
        (Some(Value::String(sent)), Some(expected)) if sent != expected => {
            Err(Finding::new("`user_id` is not the end user for whom the call is made", hint)
                .expected(expected)
                .actual(frame.body.get("user_id"))
                .at("/user_id")
                .frame(frame)
                .into())
        }
        (Some(Value::Null), Some(expected)) => {
            Err(Finding::new("a request does not name the end user for whom the call is made", hint)
                .expected(expected)
                .actual(Some(&Value::Null))
                .at("/user_id")
                .frame(frame)
                .recommended("the contract allows null for `user_id`")
                .into())
        }
        (Some(Value::String(_) | Value::Null), _) => Ok(()),
        // Resolution A3: absent is taken, with a warning.
        (None, _) => Err(Finding::new("a request has no `user_id`", hint)
            .expected("a string or null")
            .actual(Some(&Value::from("absent")))
            .at("/user_id")
            .frame(frame)
            .recommended("whether null and absent differ is not said (ambiguity A3)")
            .into()),
        (other, _) => Err(Finding::new("`user_id` is neither a string nor null", hint)
            .expected("a string or null")
            .actual(other)
            .at("/user_id")
            .frame(frame)
            .into()),
    }
}

fn context(frame: &Frame) -> Judgement {
    let hint =
        "send `context` as an object with the strings `conversation_id` and `request_id`, or leave it out";
    let finding = |message: String, expected: &str, actual: &Value, pointer: String| -> CheckFailure {
        Finding::new(message, hint).expected(expected).actual(Some(actual)).at(pointer).frame(frame).into()
    };
    // A typed client writes null for what it leaves out.
    match frame.body.get("context") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(members)) => {
            for name in ["conversation_id", "request_id"] {
                if let Some(member) =
                    members.get(name).filter(|member| !member.is_string() && !member.is_null())
                {
                    let pointer = format!("/context/{name}");
                    return Err(finding(
                        format!("`context.{name}` is no string"),
                        "a string",
                        member,
                        pointer,
                    ));
                }
            }
            Ok(())
        }
        Some(other) => {
            Err(finding("`context` is no object".to_owned(), "an object", other, "/context".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Level;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_user_of_another_call_is_nobodys() {
        let check = |sent: Value, named: Option<&str>, is_fault: bool| {
            let frame = crate::families::hub::agent::judge::request_frame(json!({"user_id": sent}));
            let expected = Expected {
                user_id: named.map(str::to_owned),
                other_users: Some("u-".to_owned()),
                ..Expected::default()
            };
            assert_eq!(has(&frame, Part::User, &expected).is_err(), is_fault, "{sent} {named:?}");
        };
        check(json!("u-1"), None, true);
        check(json!("u-1"), Some("u-1"), false);
        check(json!("the agent's own"), None, false);
        check(json!(null), None, false);
    }

    #[test]
    fn the_end_user_is_the_one_that_was_named() {
        let check = |sent: Value, named: Option<&str>, expect: Option<Option<Level>>| {
            let frame = crate::families::hub::agent::judge::request_frame(json!({"user_id": sent}));
            let expected = Expected { user_id: named.map(str::to_owned), ..Expected::default() };
            let found = match has(&frame, Part::User, &expected) {
                Err(CheckFailure::Broken(finding)) => Some(finding.level()),
                _ => None,
            };
            assert_eq!(found, expect, "{sent} {named:?}");
        };
        check(json!("u-1"), Some("u-1"), None);
        check(json!("u-2"), Some("u-1"), Some(None));
        check(json!(null), Some("u-1"), Some(Some(Level::Should)));
        check(json!(null), None, None);
        check(json!("u-2"), None, None);
        check(json!(""), None, Some(Some(Level::Should)));
        check(json!(0), Some("u-1"), Some(None));
    }

    #[test]
    fn null_in_a_context_says_what_leaving_it_out_says() {
        let check = |context: Value, expect: bool| {
            let frame = crate::families::hub::agent::judge::request_frame(json!({"context": context}));
            assert_eq!(has(&frame, Part::Context, &Expected::default()).is_ok(), expect, "{context}");
        };
        check(json!(null), true);
        check(json!({"conversation_id": "c", "request_id": null}), true);
        check(json!({"request_id": 7}), false);
        check(json!("conv-1"), false);
    }

    #[test]
    fn a_report_on_usage_is_no_execute_request() {
        let check = |path: &str, body: Value, expect: Route| {
            let mut frame = crate::families::hub::agent::judge::request_frame(body);
            frame.channel = format!("POST {path}");
            assert_eq!(Route::of(&frame), expect, "{path}");
        };
        check("/api/internal/telemetry/", json!({"event": "tool_call", "tool": "email_send"}), Route::Other);
        check("/api/internal/documents/", json!({"tool": "email_send", "inputs": {}}), Route::Execute);
        check("/tools/execute", json!({}), Route::Execute);
    }
}
