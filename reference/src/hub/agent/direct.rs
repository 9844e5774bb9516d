//! The direct tools: the agent asks the web itself, without a Hub and without anyone's credentials.
//!
//! Neighbour: `page` makes text of HTML. What a page says is a stranger's word, for the model to read and no more.

use std::time::Duration;

use reqwest::{Client, Url, redirect};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::config::{Deadlines, http_url};
use super::error::AgentError;
use super::failure::CallFailure;
use super::fetch::{client, fetch};
use super::page;
use super::tool::DirectTool;

/// How many redirects of a page are followed.
const REDIRECTS: usize = 5;
/// How much of a page is read.
const PAGE_BYTES: usize = 2 * 1024 * 1024;
/// How much of a page's text is passed on, in characters.
const TEXT_CHARACTERS: usize = 50_000;
/// How much a search service may answer.
const SEARCH_BYTES: usize = 2 * 1024 * 1024;
/// How many results there are when the call does not say.
const RESULTS: usize = 10;
/// How much of each part of a result is passed on, in characters.
const RESULT_CHARACTERS: usize = 1000;

/// The agent's line to the web.
pub(super) struct Research {
    client: Client,
    search: Option<Url>,
    search_deadline: Duration,
    page_deadline: Duration,
}

/// What a search service answers, in the JSON of SearXNG.
#[derive(Deserialize)]
struct Found {
    results: Vec<FoundPage>,
}

#[derive(Deserialize)]
struct FoundPage {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

impl Research {
    pub(super) fn new(search_url: Option<&str>, deadlines: Deadlines) -> Result<Self, AgentError> {
        Ok(Self {
            client: client("search_url", redirect::Policy::limited(REDIRECTS))?,
            search: search_url.map(|url| http_url("search_url", url)).transpose()?,
            search_deadline: deadlines.search,
            page_deadline: deadlines.page,
        })
    }

    /// Runs a direct tool, whose inputs were checked.
    pub(super) async fn run(
        &self,
        tool: DirectTool,
        inputs: &Map<String, Value>,
    ) -> Result<Value, CallFailure> {
        let text = |name| inputs.get(name).and_then(Value::as_str).unwrap_or_default();
        match tool {
            DirectTool::WebSearch => {
                let most = inputs.get("max_results").and_then(Value::as_u64);
                let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(RESULTS);
                self.search(text("query"), most).await
            }
            DirectTool::FetchPage => self.page(text("url")).await,
        }
    }

    async fn search(&self, query: &str, most: usize) -> Result<Value, CallFailure> {
        let failed = |reason: String| CallFailure::Web { what: "the search", reason };
        let mut url = self.search.clone().ok_or(CallFailure::NotConfigured { what: "a search service" })?;
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let answer = fetch(self.client.get(url), SEARCH_BYTES, Instant::now() + self.search_deadline)
            .await
            .map_err(|fault| failed(fault.into_reason(self.search_deadline)))?;
        if !answer.is_success() {
            return Err(failed(format!("status {}", answer.status)));
        }
        if answer.cut {
            return Err(failed(format!("the answer is larger than {SEARCH_BYTES} bytes")));
        }
        let found: Found = serde_json::from_slice(&answer.body)
            .map_err(|_| failed("the answer is no JSON with `results`".to_owned()))?;
        let short = |text: &str| text.chars().take(RESULT_CHARACTERS).collect::<String>();
        let results: Vec<_> = found
            .results
            .iter()
            .take(most)
            .map(|page| {
                json!({
                    "title": short(page.title.as_deref().unwrap_or_default()),
                    "url": short(&page.url),
                    "content": short(page.content.as_deref().unwrap_or_default()),
                })
            })
            .collect();
        Ok(json!({"query": query, "results": results}))
    }

    async fn page(&self, url: &str) -> Result<Value, CallFailure> {
        let failed = |reason: String| CallFailure::Web { what: "the page", reason };
        let url = http_url("url", url).map_err(|error| failed(error.to_string()))?;
        let answer = fetch(self.client.get(url), PAGE_BYTES, Instant::now() + self.page_deadline)
            .await
            .map_err(|fault| failed(fault.into_reason(self.page_deadline)))?;
        let media_type = answer.media_type();
        let body = String::from_utf8_lossy(&answer.body);
        let (title, text) = match &*media_type {
            "" | "text/html" | "application/xhtml+xml" => page::read(&body),
            "application/json" | "application/xml" => (None, body.into_owned()),
            other if other.starts_with("text/") || other.ends_with("+json") => (None, body.into_owned()),
            _ => return Err(failed("it is no text".to_owned())),
        };
        let shown: String = text.chars().take(TEXT_CHARACTERS).collect();
        let truncated = answer.cut || shown.len() < text.len();
        // An answer that says "not there" is an answer as well: its status says so.
        let mut result = json!({"url": answer.url.as_str(), "status": answer.status, "text": shown});
        if let Some(title) = title {
            result["title"] = json!(title);
        }
        if truncated {
            result["truncated"] = json!(true);
        }
        Ok(result)
    }
}
