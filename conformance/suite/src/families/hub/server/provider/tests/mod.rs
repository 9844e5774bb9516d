//! The provider as a Hub meets it: over HTTP.

mod bad;
mod calendar;
mod events;
mod following;
mod mailbox;
mod outgoing;
mod search;
mod token;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::Provider;
use crate::families::hub::manifest::Customer;
use crate::net::wire::PassthroughWire;
use crate::transcript::Transcript;

/// Where events are.
const EVENTS: &str = "/calendar/v3/calendars/primary/events";
/// Where mails are.
const MESSAGES: &str = "/gmail/v1/users/me/messages";

/// A provider and a Hub that has a token.
struct ProviderFixture {
    provider: Arc<Provider>,
    client: Client,
    token: String,
}

impl ProviderFixture {
    async fn start() -> Self {
        let provider = Provider::start(None, Arc::new(PassthroughWire)).await.expect("a free port");
        Self { provider, client: Client::new(), token: "hub-token".to_owned() }
    }

    /// The same Hub, for another customer.
    fn with(&self, token: &str) -> Self {
        Self { provider: Arc::clone(&self.provider), client: self.client.clone(), token: token.to_owned() }
    }

    /// Learns a token as a customer's.
    async fn learn(&self, customer: Customer, token: &str) -> Self {
        self.provider.learn(Some(customer));
        let fixture = self.with(token);
        fixture.get("/gmail/v1/users/me/profile").await;
        self.provider.learn(None);
        fixture
    }

    fn request(&self, method: &Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.provider.url());
        self.client.request(method.clone(), url).bearer_auth(&self.token)
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.request(&method, path);
        let request = if body.is_null() { request } else { request.json(body) };
        answer(request).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.call(Method::GET, path, &Value::Null).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.call(Method::POST, path, &body).await
    }

    /// Asks, and expects success.
    async fn good(&self, path: &str) -> Value {
        let (status, body) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn grant(&self, refresh_token: &str) -> (u16, Value) {
        let form =
            format!("grant_type=refresh_token&refresh_token={refresh_token}&client_id=c&client_secret=s");
        let request = self.client.post(format!("{}/token", self.provider.url()));
        answer(request.header("content-type", "application/x-www-form-urlencoded").body(form)).await
    }

    /// Follows a mark, in a transcript of its own.
    fn follow(&self, mark: &str) -> Arc<Transcript> {
        let transcript = Arc::new(Transcript::default());
        self.provider.follow(mark, "a scenario", &transcript);
        transcript
    }

    async fn send(&self, raw: &str, thread_id: Option<&str>) -> (u16, Value) {
        let mut body = json!({"raw": URL_SAFE_NO_PAD.encode(raw)});
        if let Some(thread_id) = thread_id {
            body["threadId"] = json!(thread_id);
        }
        self.post(&format!("{MESSAGES}/send"), body).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// The bodies of the frames of a transcript.
fn bodies(transcript: &Transcript) -> Vec<Value> {
    transcript.frames().into_iter().map(|frame| frame.body).collect()
}

/// The only body with an effect.
fn effect(transcript: &Transcript) -> Value {
    let mut effects = bodies(transcript);
    effects.retain(|body| body["effect"] != "read");
    assert_eq!(effects.len(), 1, "{effects:?}");
    effects.remove(0)
}

fn decoded(data: &Value) -> String {
    let bytes = URL_SAFE.decode(data.as_str().expect("text")).expect("base64");
    String::from_utf8(bytes).expect("text")
}

fn reason(body: &Value) -> &str {
    body["error"]["errors"][0]["reason"].as_str().unwrap_or_default()
}
