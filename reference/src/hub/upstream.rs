//! The client of the provider: Google Calendar v3, Gmail v1 and the OAuth token endpoint, over plain HTTP.
//!
//! It makes one request and says what came of it; `session` decides what that means for the agent.
//! Nothing is sent twice, no redirect is followed (it would take the token elsewhere), and answers are bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::config::{OAuthClient, ProviderUrls};
use super::error::HubError;

/// No answer is longer; the provider keeps large attachments out of messages.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How long an unused connection is kept: less than servers usually do, so that none is used that is closing.
const IDLE: Duration = Duration::from_secs(15);

/// One request for the provider.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) api: Api,
    /// Below the API's base; every segment is encoded.
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<&'a Value>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Api {
    Calendar,
    Mail,
}

/// Why there is no answer to work with.
#[derive(Debug, PartialEq)]
pub(super) enum UpstreamFault {
    /// The provider said no.
    Refused(Refused),
    /// It did not answer in time.
    Late(Duration),
    /// It could not be reached, or broke off.
    Unreachable,
    /// Its answer is not JSON, or too long.
    Unreadable(StatusCode),
}

/// What a refusal of the provider says, as far as it is needed.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    /// A word such as `insufficientPermissions` or `invalid_grant`.
    pub(super) reason: Option<String>,
    pub(super) retry_after: Option<Duration>,
}

/// What the token endpoint gave.
pub(super) struct FreshToken {
    pub(super) access_token: String,
    /// A new one, where the provider replaces them.
    pub(super) refresh_token: Option<String>,
    pub(super) lifetime: Duration,
}

/// How many requests an execution made to the provider, renewals of the token included.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestCounter(Arc<AtomicU32>);

impl RequestCounter {
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn made(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The client itself.
pub(super) struct Upstream {
    client: Client,
    calendar: Url,
    mail: Url,
    token: Url,
    oauth: OAuthClient,
    deadline: Duration,
}

impl Upstream {
    pub(super) fn new(urls: &ProviderUrls, oauth: OAuthClient, deadline: Duration) -> Result<Self, HubError> {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|source| HubError::Client { source: Box::new(source) })?;
        Ok(Self {
            client,
            calendar: parse(&urls.calendar)?,
            mail: parse(&urls.gmail)?,
            token: parse(&urls.token)?,
            oauth,
            deadline,
        })
    }

    pub(super) async fn send(&self, ask: &Ask<'_>, access_token: &str) -> Result<Value, UpstreamFault> {
        let mut request =
            self.client.request(ask.method.clone(), self.url(ask)).header(ACCEPT, "application/json");
        // A token with a line break in it would be one that was tampered with.
        let mut bearer = HeaderValue::from_str(&format!("Bearer {access_token}"))
            .map_err(|_error| UpstreamFault::Unreachable)?;
        bearer.set_sensitive(true);
        request = request.header(AUTHORIZATION, bearer);
        if let Some(body) = ask.body {
            request = request.json(body);
        } else if ask.method == Method::POST {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        self.exchange(request).await
    }

    pub(super) async fn refresh(&self, refresh_token: &str) -> Result<FreshToken, UpstreamFault> {
        let form = Serializer::new(String::new())
            .append_pair("grant_type", "refresh_token")
            .append_pair("refresh_token", refresh_token)
            .append_pair("client_id", &self.oauth.id)
            .append_pair("client_secret", &self.oauth.secret)
            .finish();
        let request = self
            .client
            .post(self.token.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(form);
        let answer = self.exchange(request).await?;
        let text = |name: &str| {
            answer.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let seconds = answer.get("expires_in").and_then(Value::as_u64).unwrap_or(3600).min(86_400 * 365);
        Ok(FreshToken {
            access_token: text("access_token").ok_or(UpstreamFault::Unreadable(StatusCode::OK))?,
            refresh_token: text("refresh_token"),
            lifetime: Duration::from_secs(seconds),
        })
    }

    fn url(&self, ask: &Ask<'_>) -> Url {
        let mut url = match ask.api {
            Api::Calendar => self.calendar.clone(),
            Api::Mail => self.mail.clone(),
        };
        // Cannot fail: `parse` lets nothing through that has no path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(ask.path);
        }
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(ask.query);
        }
        url
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Value, UpstreamFault> {
        let exchange = async {
            let response = request.send().await.map_err(|_error| UpstreamFault::Unreachable)?;
            read(response).await
        };
        tokio::time::timeout(self.deadline, exchange)
            .await
            .unwrap_or_else(|_elapsed| Err(UpstreamFault::Late(self.deadline)))
    }
}

fn parse(text: &str) -> Result<Url, HubError> {
    let url = Url::parse(text).ok().filter(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| HubError::config("a URL of the provider is not absolute"))
}

async fn read(mut response: Response) -> Result<Value, UpstreamFault> {
    let status = response.status();
    let retry_after = retry_after(&response);
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_error| UpstreamFault::Unreachable)? {
        if bytes.len() + chunk.len() > ANSWER_BYTES {
            return Err(UpstreamFault::Unreadable(status));
        }
        bytes.extend_from_slice(&chunk);
    }
    let body = if bytes.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&bytes).ok() };
    if status.is_success() {
        return body.ok_or(UpstreamFault::Unreadable(status));
    }
    // What answers in HTML is some other server in between, except where its status says enough.
    let says_enough = status.is_server_error()
        || matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS);
    match body {
        None if !says_enough => Err(UpstreamFault::Unreadable(status)),
        body => {
            let reason = body.as_ref().and_then(reason);
            Err(UpstreamFault::Refused(Refused { status, reason, retry_after }))
        }
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse::<u32>().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

/// The provider's word for what went wrong: Google's old form, its new one, or OAuth's (RFC 6749 §5.2).
/// Sentences are left out: they may quote what was sent.
fn reason(body: &Value) -> Option<String> {
    let found = body
        .pointer("/error/errors/0/reason")
        .or_else(|| body.pointer("/error/details/0/reason"))
        .or_else(|| body.pointer("/error/status"))
        .or_else(|| body.get("error"))?;
    let word = found.as_str()?;
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && (1..=64).contains(&word.len())).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::Method;
    use serde_json::{Value, json};

    use super::{Api, Ask, Upstream, reason};
    use crate::hub::config::{OAuthClient, ProviderUrls};

    #[test]
    fn ids_are_one_segment_whatever_is_in_them() {
        fn check(path: &[&str], query: &[(&str, &str)], expect: &str) {
            let oauth = OAuthClient { id: String::new(), secret: String::new() };
            let urls = ProviderUrls::below("http://127.0.0.1:1/p/");
            let upstream = Upstream::new(&urls, oauth, Duration::from_secs(1)).expect("a client");
            let ask = Ask { method: Method::GET, api: Api::Calendar, path, query, body: None };
            assert_eq!(upstream.url(&ask).as_str(), format!("http://127.0.0.1:1/p/calendar/v3{expect}"));
        }
        check(&["freeBusy"], &[], "/freeBusy");
        check(&["events", "a/b?c#d"], &[], "/events/a%2Fb%3Fc%23d");
        check(&["events", "é"], &[("q", "a b&c=d")], "/events/%C3%A9?q=a+b%26c%3Dd");
    }

    #[test]
    fn reasons_are_words_not_sentences() {
        fn check(body: &Value, expect: Option<&str>) {
            assert_eq!(reason(body).as_deref(), expect, "{body}");
        }
        check(
            &json!({"error": {"status": "A", "errors": [{"reason": "insufficientPermissions"}]}}),
            Some("insufficientPermissions"),
        );
        check(&json!({"error": {"status": "PERMISSION_DENIED"}}), Some("PERMISSION_DENIED"));
        check(&json!({"error": "invalid_grant"}), Some("invalid_grant"));
        check(&json!({"error": "the token abc is bad"}), None);
        check(&json!({}), None);
        check(&json!(null), None);
    }
}
