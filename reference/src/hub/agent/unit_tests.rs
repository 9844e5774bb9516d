//! Parts of the agent that need no socket.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::HubResponse;
use super::config::{AgentConfig, ServiceSecret};
use super::effect::Effect;
use super::error::AgentError;
use super::failure::CallFailure;
use super::ids::{Uuid, new_id};
use super::page;
use super::tool::{AgentTool, Category, TOOLS};

/// What a tool says to inputs: nothing, or the reason for which they are refused.
fn check(tool: &str, inputs: &Value, expect: Result<(), &str>) {
    let found = AgentTool::find(tool).expect("a tool").check(inputs);
    match (found, expect) {
        (Ok(_), Ok(())) => {}
        (Err(CallFailure::Inputs { reason, .. }), Err(expected)) => {
            assert!(reason.contains(expected), "{tool} {inputs}: {reason}");
        }
        (found, expect) => panic!("{tool} {inputs}: {found:?} for {expect:?}"),
    }
}

#[test]
fn inputs_have_the_names_and_types_of_the_contract() {
    let event = |name: &str, value: Value| {
        let mut event =
            json!({"title": "t", "start": "2031-03-05T15:00:00+01:00", "end": "2031-03-05T15:30:00+01:00"});
        event[name] = value;
        event
    };
    check("calendar_create_event", &event("location", json!("")), Ok(()));
    check("calendar_create_event", &event("send_invites", json!(true)), Err("not an input"));
    check("calendar_create_event", &event("atendees", json!([])), Err("did you mean `attendees`?"));
    check("calendar_create_event", &event("send_notifications", json!("yes")), Err("a boolean"));
    check(
        "calendar_create_event",
        &event("start", json!("2031-03-05")),
        Err("`start` must be a date and time"),
    );
    check("calendar_create_event", &event("title", json!("a\r\nBcc: x")), Err("control characters"));
    check("calendar_create_event", &json!({"title": "t"}), Err("`start` is missing"));
    check("calendar_create_event", &json!([]), Err("`inputs` must be an object"));
    check("calendar_update_event", &json!({"event_id": "e", "updates": {}}), Ok(()));
    check(
        "calendar_update_event",
        &json!({"event_id": "e", "updates": {"titel": 1}}),
        Err("`updates.titel`"),
    );
    check("calendar_update_event", &json!({"event_id": "e", "updates": []}), Err("an object"));
    let mail = |name: &str, value: Value| {
        let mut mail = json!({"to": ["bo@orchid.example"], "subject": "s", "body": "b"});
        mail[name] = value;
        mail
    };
    check("email_send", &mail("reply_to_message_id", Value::Null), Ok(()));
    check("email_send", &mail("cc", json!([])), Ok(()));
    check("email_send", &mail("to", json!("bo@orchid.example")), Err("an array of email addresses"));
    check("email_send", &mail("to", json!(["bo"])), Err("an array of email addresses"));
    check("email_send", &mail("body_type", json!("markdown")), Err("`text`, `html`"));
    check("email_search", &json!({"query": "q", "max_results": 0}), Err("from 1 to 500"));
    check("email_search", &json!({"query": "q", "max_results": 2.5}), Err("a whole number"));
    let times = |hours: Value| {
        json!({"duration_minutes": 30, "attendees": [], "date_range": {"start": "2031-03-03", "end": "2031-03-07"},
               "preferences": {"preferred_hours": hours}})
    };
    check("calendar_find_optimal_times", &times(json!({"start": "09:00", "end": "13:00"})), Ok(()));
    check(
        "calendar_find_optimal_times",
        &times(json!({"start": "9", "end": "13:00"})),
        Err("`preferences.preferred_hours.start` must be a time"),
    );
    check("mission_list_tasks", &json!({"all": true}), Err("it takes none"));
}

#[test]
fn moments_need_a_date_a_time_and_a_zone() {
    for (since, fits) in [
        ("2031-03-01T08:00:00Z", true),
        ("2031-03-01T08:00:00.123z", true),
        ("2031-03-01T08:00+0100", true),
        ("2031-03-01T08:00:00-05", true),
        ("2031-03-01T08:00:00", false),
        ("2031-03-01T08:00:0Z", false),
        ("2031-03-01T08:00:00.Z", false),
        ("2031-03-01T08:0é:00Z", false),
        ("2031-13-01T08:00:00Z", false),
        ("2031-03-01T24:00:00Z", false),
        ("2031-03-01 08:00:00Z", false),
        ("T+", false),
        ("yesterday", false),
    ] {
        let inputs = json!({"thread_id": "t", "since": since});
        let expect = if fits { Ok(()) } else { Err("`since` must be a date and time") };
        check("email_check_replies", &inputs, expect);
    }
}

#[test]
fn every_tool_has_one_name_and_the_contract_has_nine_for_the_hub() {
    let names: std::collections::BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(names.len(), TOOLS.len());
    let proxied = |tool: &&AgentTool| matches!(tool.category, Category::HubProxied(_));
    let prefixed = |tool: &&AgentTool| tool.name.starts_with("calendar_") || tool.name.starts_with("email_");
    assert_eq!(TOOLS.iter().filter(proxied).count(), 9);
    assert!(TOOLS.iter().all(|tool| proxied(&tool) == prefixed(&tool)));
    let schema = AgentTool::find("calendar_update_event").expect("a tool").input_schema();
    assert_eq!(schema["required"], json!(["event_id", "updates"]));
    assert_eq!(schema["properties"]["updates"]["additionalProperties"], false);
}

/// The outcome of an answer: `ok`, or the code of the failure.
fn read(status: u16, body: &str) -> String {
    let secret = ServiceSecret::new("s3cr3t-for-tests");
    let answer = HubResponse {
        tool: "email_read",
        effect: Effect::Reads,
        status,
        retry_after: Some(Duration::ZERO),
        body: body.as_bytes(),
    };
    answer.read(&secret).map_or_else(|failure| failure.code().to_owned(), |result| result.to_string())
}

#[test]
fn the_body_decides_and_the_status_only_where_it_is_silent() {
    fn check(status: u16, body: &str, expect: &str) {
        assert_eq!(read(status, body), expect, "{status} {body}");
    }
    check(200, r#"{"success":true,"tool":"email_read","result":{"a":1},"metadata":{}}"#, r#"{"a":1}"#);
    check(200, r#"{"success":true,"result":{}}"#, "{}");
    check(200, r#"{"success":true,"result":{"says":"s3cr3t-for-tests"}}"#, r#"{"says":"[secret]"}"#);
    check(200, r#"{"success":true,"tool":"email_send","result":{}}"#, "HUB_ANSWER");
    check(200, r#"{"success":true,"result":{},"error":{"code":"X"}}"#, "HUB_ANSWER");
    check(200, r#"{"success":true,"result":[]}"#, "HUB_ANSWER");
    check(200, r#"{"success":true}"#, "HUB_ANSWER");
    check(500, r#"{"success":true,"result":{}}"#, "HUB_ANSWER");
    check(200, r#"{"success":"true","result":{}}"#, "HUB_ANSWER");
    check(200, "[]", "HUB_ANSWER");
    check(200, "", "HUB_ANSWER");
    check(200, r#"{"success":false,"error":{"code":"EXTERNAL_API_ERROR"}}"#, "EXTERNAL_API_ERROR");
    check(404, r#"{"success":false,"error":{"code":"NOT_FOUND","message":"m"}}"#, "NOT_FOUND");
    check(400, r#"{"success":false,"error":"no"}"#, "HUB_ANSWER");
    check(401, r#"{"success":false,"error":{"code":"INTEGRATION_EXPIRED"}}"#, "INTEGRATION_EXPIRED");
    check(401, r#"{"success":false,"error":{"code":"UNAUTHORIZED"}}"#, "HUB_SECRET_REFUSED");
    check(401, "<html>", "HUB_SECRET_REFUSED");
    check(401, r#"{"detail":"no"}"#, "HUB_SECRET_REFUSED");
}

#[test]
fn only_links_are_passed_on_as_links() {
    fn check(link: &Value, expect: Option<&str>) {
        let body = json!({"success": false, "error": {"code": "INTEGRATION_NOT_CONNECTED", "message": "m",
                          "details": {"setup_url": link}}});
        let answer = HubResponse {
            tool: "email_read",
            effect: Effect::Reads,
            status: 400,
            retry_after: None,
            body: body.to_string().as_bytes(),
        }
        .read(&ServiceSecret::new("s3cr3t-for-tests"));
        let failure = answer.expect_err("a refusal");
        assert_eq!(failure.setup_url(), expect);
        assert_eq!(failure.message().contains("set it up"), expect.is_some());
    }
    check(&json!("https://hub.test/integrations/google"), Some("https://hub.test/integrations/google"));
    check(&json!("javascript:alert(1)"), None);
    check(&json!("https://hub.test/ a\n"), None);
    check(&json!(7), None);
}

#[test]
fn pages_become_text() {
    fn check(html: &str, title: Option<&str>, text: &str) {
        assert_eq!(page::read(html), (title.map(str::to_owned), text.to_owned()), "{html}");
    }
    check(
        "<!doctype html><HTML><head><title>Tide &amp; time</title><style>p{}</style></head>\
         <body><h1>Tides</h1><p>High <b>water</b>\n at&nbsp;9 &#8211; low <!-- not > --> later</p>\
         <script>if (a < b) { '</p>' }</script><p>End</p>",
        Some("Tide & time"),
        "Tides\nHigh water\nat 9 – low later\nEnd",
    );
    check("1 < 2 & 3 &unknown; &#xZZ; &#1114112;", None, "1 < 2 & 3 &unknown; &#xZZ; &#1114112;");
    check("<title></title>a<br>b<unfinished", None, "a\nb");
    check("<script>never ends", None, "");
    check("&ééééééé; x", None, "&ééééééé; x");
    check("", None, "");
}

#[test]
fn the_environment_names_what_is_missing() {
    let error = AgentConfig::from_variables(|name| (name == "CALLMARK_HUB_SECRET").then(String::new))
        .expect_err("nothing is set");
    assert_eq!(error.to_string(), "not set: `CALLMARK_HUB_URL`, `CALLMARK_HUB_SECRET`, `CALLMARK_AGENT_ID`");
    let config = AgentConfig::from_variables(|name| Some(format!("value of {name}"))).expect("all is set");
    assert_eq!(config.hub_url, "value of CALLMARK_HUB_URL");
    assert_eq!(config.search_url.as_deref(), Some("value of CALLMARK_SEARCH_URL"));
    assert!(!format!("{config:?} {:?}", config.hub_secret).contains("value of CALLMARK_HUB_SECRET"));
}

#[test]
fn a_configuration_that_cannot_work_is_refused_with_its_name() {
    fn check(change: impl FnOnce(&mut AgentConfig), expect: &str) {
        let id = "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60";
        let mut config = AgentConfig::new("http://127.0.0.1:1/base/", "s3cr3t-for-tests", id);
        change(&mut config);
        let what = match super::Agent::new(config) {
            Ok(_) => "",
            Err(AgentError::Invalid { what, .. }) => what,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(what, expect);
    }
    check(|_| (), "");
    check(|config| config.hub_url = "https://hub.test".to_owned(), "hub_url");
    check(|config| config.hub_url = "hub.test".to_owned(), "hub_url");
    check(|config| config.hub_secret = ServiceSecret::new("a\nb"), "hub_secret");
    check(|config| config.agent_id = "agent-1".to_owned(), "agent_id");
    check(|config| config.customer_id = Some(String::new()), "customer_id");
    check(|config| config.model_url = Some("http://m/v1?key=1".to_owned()), "model_url");
    check(|config| config.search_url = Some("ftp://s".to_owned()), "search_url");
}

#[test]
fn ids_have_their_form() {
    assert!(Uuid::parse("6E9F2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60").is_some());
    assert!(Uuid::parse("6e9f2c1a0b7d4d0e8f551c2d3e4f5a60").is_none());
    assert!(Uuid::parse("6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a6g").is_none());
    assert!(Uuid::parse("../../../../../../../../etc/passwd..").is_none());
    assert_ne!(new_id("req"), new_id("req"));
}
