//! A Hub at work, its provider, and a plain client.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callmark_reference::hub::provider::StandIn;
use callmark_reference::hub::{Hub, HubConfig};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use wiremock::matchers::{method, path, path_regex};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) const SECRET: &str = "s3cr3t-for-tests";
pub(crate) const AGENT: &str = "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60";
/// For everything that is waited for.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) retry_after: Option<u64>,
}

impl Answer {
    async fn read(response: Response) -> Self {
        let status = response.status().as_u16();
        let json = response
            .headers()
            .get("content-type")
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        assert!(json, "every answer says that it is JSON");
        let retry_after =
            response.headers().get("retry-after").map(|value| value.to_str().expect("text").parse());
        let body = response.json().await.expect("JSON");
        Self { status, body, retry_after: retry_after.map(|seconds| seconds.expect("seconds")) }
    }

    /// The result of a success, whose envelope is checked.
    pub(crate) fn result(&self) -> &Value {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.body["success"], true);
        assert!(self.body.get("error").is_none(), "{}", self.body);
        assert!(self.body["metadata"]["execution_time_ms"].is_u64());
        assert!(self.body["metadata"]["api_calls"].is_u64());
        assert!(self.body["result"].is_object());
        &self.body["result"]
    }

    /// Status and code of an error, whose envelope is checked.
    pub(crate) fn code(&self) -> (u16, &str) {
        assert_eq!(self.body["success"], false, "{}", self.body);
        assert!(self.body.get("result").is_none(), "{}", self.body);
        let error = &self.body["error"];
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(error.get("details").is_none_or(Value::is_object));
        (self.status, error["code"].as_str().expect("a code"))
    }
}

/// A Hub with a client.
pub(crate) struct TestHub {
    pub(crate) hub: Hub,
    pub(crate) client: Client,
    /// Ends with the Hub.
    _provider: Option<StandIn>,
    log: Arc<Mutex<String>>,
}

impl TestHub {
    /// A Hub whose provider is the stand-in.
    pub(crate) async fn new() -> Self {
        Self::with(|_config| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut HubConfig)) -> Self {
        let provider = StandIn::start(loopback()).await.expect("a provider");
        let base = provider.url();
        Self::build(&base, Some(provider), change).await
    }

    /// A Hub with this provider.
    pub(crate) async fn at(provider: &str, change: impl FnOnce(&mut HubConfig)) -> Self {
        Self::build(provider, None, change).await
    }

    async fn build(base: &str, provider: Option<StandIn>, change: impl FnOnce(&mut HubConfig)) -> Self {
        let log = Arc::new(Mutex::new(String::new()));
        let mut config = HubConfig::new(SECRET, base);
        let lines = Arc::clone(&log);
        config.log = Arc::new(move |line| {
            let mut lines = lines.lock().expect("a log");
            lines.push_str(line);
            lines.push('\n');
        });
        change(&mut config);
        let hub = Hub::start(config, loopback()).await.expect("a Hub");
        let client = Client::builder().no_proxy().timeout(DEADLINE).build().expect("a client");
        Self { hub, client, _provider: provider, log }
    }

    pub(crate) fn post(&self) -> RequestBuilder {
        self.client.post(format!("{}/api/internal/tools/execute/", self.hub.url()))
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        Answer::read(request.send().await.expect("an answer")).await
    }

    /// Executes with the secret.
    pub(crate) async fn execute(&self, tool: &str, customer: &str, inputs: Value) -> Answer {
        let request = self.post().header("Authorization", format!("ServiceSecret {SECRET}"));
        self.send(request.json(&body(tool, customer, &inputs))).await
    }

    pub(crate) async fn status(&self, customer: &str) -> Answer {
        let url = format!("{}/api/internal/integrations/status/{customer}/", self.hub.url());
        self.send(self.client.get(url).header("Authorization", format!("ServiceSecret {SECRET}"))).await
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("a log").clone()
    }
}

pub(crate) fn body(tool: &str, customer: &str, inputs: &Value) -> Value {
    json!({
        "tool": tool,
        "agent_id": AGENT,
        "customer_id": customer,
        "user_id": "u-17",
        "inputs": inputs,
        "context": {"conversation_id": "conv-88", "request_id": "req-0042"},
    })
}

/// Full inputs of every tool, for what the stand-in holds.
pub(crate) fn full_inputs() -> Vec<(&'static str, Value)> {
    vec![
        ("calendar_get_availability", availability()),
        (
            "calendar_create_event",
            json!({
                "title": "Seed review", "start": "2031-03-05T15:00:00+01:00",
                "end": "2031-03-05T15:30:00+01:00", "description": "Two open points",
                "location": "Room 4", "attendees": ["ana@orchid.example", "bo@orchid.example"],
                "send_notifications": false,
            }),
        ),
        (
            "calendar_update_event",
            json!({"event_id": "ev-seeded", "updates": {"title": "Moved"}, "send_notifications": false}),
        ),
        (
            "calendar_find_optimal_times",
            json!({
                "duration_minutes": 30, "attendees": ["ana@orchid.example", "bo@orchid.example"],
                "date_range": {"start": "2031-03-03", "end": "2031-03-07"},
                "preferences": {
                    "preferred_hours": {"start": "09:00", "end": "13:00"}, "avoid_mondays": true,
                },
            }),
        ),
        ("calendar_delete_event", json!({"event_id": "ev-seeded", "send_notifications": false})),
        (
            "email_send",
            json!({
                "to": ["bo@orchid.example"], "cc": [], "bcc": [], "subject": "Two points",
                "body": "Hi Bo, see below.", "body_type": "text", "reply_to_message_id": null,
            }),
        ),
        ("email_search", json!({"query": "subject:harvest", "max_results": 2, "include_body": false})),
        ("email_read", json!({"message_id": "msg-harvest-1", "mark_as_read": false})),
        ("email_check_replies", json!({"thread_id": "thread-harvest", "since": "2026-03-01T08:00:00Z"})),
    ]
}

pub(crate) fn availability() -> Value {
    json!({
        "start_date": "2031-03-04", "end_date": "2031-03-07", "timezone": "Europe/Madrid",
        "calendars": ["primary"],
    })
}

/// A provider that gives every request the same answer, except for tokens, which it issues.
pub(crate) async fn answering(template: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    issue_tokens(&server).await;
    Mock::given(path_regex("^/(calendar|gmail)/")).respond_with(template).mount(&server).await;
    server
}

pub(crate) async fn issue_tokens(server: &MockServer) {
    let token = json!({"access_token": "access-new", "expires_in": 3600, "token_type": "Bearer"});
    Mock::given(method("POST"))
        .and(path("/token"))
        .respond_with(ResponseTemplate::new(200).set_body_json(token))
        .mount(server)
        .await;
}

/// How often the provider was asked at a path that begins like this.
pub(crate) async fn asked(server: &MockServer, beginning: &str) -> usize {
    let requests = server.received_requests().await.expect("recording");
    requests.iter().filter(|request| request.url.path().starts_with(beginning)).count()
}

pub(crate) fn free_busy(busy: &Value) -> Value {
    json!({"calendars": {"primary": {"busy": busy}}})
}
