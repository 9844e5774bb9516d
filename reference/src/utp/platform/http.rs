//! The HTTP binding: the same operations below a base URL.
//!
//! Neighbour: `l0::http` answers these requests. Redirects are not followed: the platform has one address.

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::{Client, RequestBuilder, redirect};

use super::{MAX_ANSWER, Platform, PlatformError, PlatformRequest};
use crate::utp::subject::ProjectId;

/// The platform over HTTP.
#[derive(Debug, Clone)]
pub struct HttpPlatform {
    client: Client,
    base_url: String,
    deadline: Duration,
}

impl HttpPlatform {
    /// `base_url` as in `CALLMARK_PLATFORM_URL`; `deadline` bounds each request, body included.
    ///
    /// # Errors
    /// [`PlatformError::Unreachable`] when the HTTP client cannot be set up.
    pub fn new(base_url: &str, deadline: Duration) -> Result<Self, PlatformError> {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(deadline)
            .build()
            .map_err(|error| PlatformError::Unreachable { operation: "set up", source: Box::new(error) })?;
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Self { client, base_url, deadline })
    }

    fn url(&self, segments: &[&str]) -> String {
        let mut url = format!("{}/projects", self.base_url);
        for segment in segments {
            url.push('/');
            url.push_str(&percent_encoded(segment));
        }
        url
    }

    fn build(&self, project: &ProjectId, request: &PlatformRequest<'_>) -> RequestBuilder {
        let project = project.as_str();
        let get = |segments: &[&str]| self.client.get(self.url(segments));
        let post = |segments: &[&str]| self.client.post(self.url(segments)).json(&request.body());
        let put = |segments: &[&str]| self.client.put(self.url(segments)).json(&request.body());
        let builder = match *request {
            PlatformRequest::CardsGet { .. } => post(&[project, "cards", "batch"]),
            PlatformRequest::CardsSave { card } => {
                put(&[project, "cards", card["card_id"].as_str().unwrap_or_default()])
            }
            PlatformRequest::ToolsGet { tool_name } => get(&[project, "tools", tool_name]),
            PlatformRequest::ToolsList => get(&[project, "tools"]),
            PlatformRequest::RosterGet { agent_id } => get(&[project, "agents", agent_id]),
            PlatformRequest::RosterSave { row } => put(&[project, "agents", &row.agent_id]),
            PlatformRequest::InboxList { agent_id } => get(&[project, "agents", agent_id, "inbox"]),
            PlatformRequest::Report { channel, .. } => {
                post(&[project, "channels", channel.as_str(), "reports"])
            }
            PlatformRequest::TurnsStart { channel, .. } => {
                post(&[project, "channels", channel.as_str(), "turns"])
            }
        };
        let headers = request.routing().map(|(_, headers)| headers.pairs()).unwrap_or_default();
        // As bytes, since an id may be more than ASCII.
        headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, value.as_bytes()))
    }
}

impl Platform for HttpPlatform {
    fn request<'a>(
        &'a self,
        project_id: &'a ProjectId,
        request: PlatformRequest<'a>,
    ) -> BoxFuture<'a, Result<Bytes, PlatformError>> {
        async move {
            let operation = request.name();
            let failed = |error: reqwest::Error| {
                if error.is_timeout() {
                    PlatformError::Deadline { operation, after: self.deadline }
                } else {
                    PlatformError::Unreachable { operation, source: Box::new(error) }
                }
            };
            let mut response = self.build(project_id, &request).send().await.map_err(failed)?;
            let status = response.status();
            let mut body = Vec::new();
            // Chunk by chunk, so that an endless answer never fills the memory.
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                if body.len() + chunk.len() > MAX_ANSWER {
                    return Err(PlatformError::TooLong { operation, limit: MAX_ANSWER });
                }
                body.extend_from_slice(&chunk);
            }
            if status.is_success() {
                Ok(body.into())
            } else {
                Err(PlatformError::refused(operation, status.as_u16(), &body))
            }
        }
        .boxed()
    }

    fn nests_rows(&self) -> bool {
        false
    }
}

/// Encodes everything but the unreserved characters of RFC 3986.
fn percent_encoded(segment: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use wiremock::matchers::{header_exists, method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::{HttpPlatform, percent_encoded};
    use crate::utp::message::{Report, TOOL_RESULT};
    use crate::utp::platform::{MAX_ANSWER, Platform, PlatformError};
    use crate::utp::subject::{ChannelId, ProjectId};
    use crate::utp::trace::TraceHeaders;

    fn project() -> ProjectId {
        ProjectId::new("prj").expect("a token")
    }

    /// Result of a request with a 200 ms timeout.
    async fn check(answer: ResponseTemplate, expect: &str) {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        let platform = HttpPlatform::new(&server.uri(), Duration::from_millis(200)).expect("a client");
        let found = match platform.cards(&project(), &["c1".to_owned()]).await {
            Ok(batch) => format!("{} cards", batch.cards.len()),
            Err(error) => match &error {
                PlatformError::Deadline { .. } => "deadline".to_owned(),
                PlatformError::Unreachable { .. } => "unreachable".to_owned(),
                PlatformError::Refused { status, code, .. } => {
                    format!("refused {status} {code} transient={}", error.is_transient())
                }
                PlatformError::Malformed { .. } => "malformed".to_owned(),
                PlatformError::TooLong { .. } => "too long".to_owned(),
            },
        };
        assert_eq!(found, expect);
    }

    #[tokio::test]
    async fn a_card_store_is_met_in_every_mood() {
        let cards = json!({"cards": [{"card_id": "c1"}], "missing_card_ids": []});
        let ok = || ResponseTemplate::new(200);
        check(ok().set_body_json(&cards), "1 cards").await;
        check(ok().set_body_json(&cards).set_delay(Duration::from_millis(20)), "1 cards").await;
        check(ok().set_body_json(&cards).set_delay(Duration::from_secs(5)), "deadline").await;
        check(ResponseTemplate::new(500), "refused 500  transient=true").await;
        check(
            ResponseTemplate::new(400).set_body_json(json!({"error": {"code": "bad_request"}})),
            "refused 400 bad_request transient=false",
        )
        .await;
        check(ok().set_body_raw("<html>hello</html>", "text/html"), "malformed").await;
        check(ResponseTemplate::new(502).set_body_string("<html>"), "refused 502  transient=true").await;
        check(
            ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:1/"),
            "refused 302  transient=false",
        )
        .await;
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut_off() {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_bytes(vec![b' '; MAX_ANSWER + 1]);
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        let platform = HttpPlatform::new(&server.uri(), Duration::from_secs(20)).expect("a client");
        let answer = platform.cards(&project(), &[]).await;
        assert!(matches!(answer, Err(PlatformError::TooLong { .. })), "{answer:?}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unreachable() {
        let platform = HttpPlatform::new("http://127.0.0.1:1", Duration::from_secs(5)).expect("a client");
        let answer = platform.tool(&project(), "probe.echo").await;
        assert!(matches!(answer, Err(PlatformError::Unreachable { .. })), "{answer:?}");
    }

    #[tokio::test]
    async fn a_report_carries_the_trace_as_a_header() {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path("/projects/prj/channels/ch/reports"))
            .and(header_exists("traceparent"))
            .respond_with(
                ResponseTemplate::new(200).set_body_json(json!({"inbox_id": "i", "duplicate": true})),
            )
            .mount(&server)
            .await;
        let platform =
            HttpPlatform::new(&format!("{}/", server.uri()), Duration::from_secs(5)).expect("a client");
        let report = Report {
            message_type: TOOL_RESULT.to_owned(),
            correlation_id: "call".to_owned(),
            source_agent_id: "tool.probe".to_owned(),
            payload: json!({}),
        };
        let channel = ChannelId::new("ch").expect("a token");
        let receipt = platform
            .report(&project(), &channel, &report, &TraceHeaders::fresh().into())
            .await
            .expect("an answer");
        assert!(receipt.duplicate);
    }

    #[test]
    fn path_segments_are_encoded() {
        assert_eq!(percent_encoded("a b/ü.c"), "a%20b%2F%C3%BC.c");
    }
}
