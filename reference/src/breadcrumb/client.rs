//! The client of a store: requests with bounds, and the stream of events that outlives its connections.
//!
//! Nothing is waited for without a deadline, and no answer is read without an end. Neighbour: `client/events` is the
//! stream. Errors name neither token nor secret.

mod events;
mod lines;

use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue, IF_MATCH};
use reqwest::{Client, Method, RequestBuilder, Response, Url, redirect};
use serde_json::{Map, Value, json};

pub use self::events::{Event, Events};
use super::tool::shorten;
use crate::secret::Secret;

/// For one request, its answer included.
const DEADLINE: Duration = Duration::from_secs(10);
/// No answer is read beyond this; a list of the store stops before it.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// How much of an error answer is looked at.
const ERROR_BYTES: usize = 4096;

/// Who talks to a store. Clones share everything.
#[derive(Clone)]
pub struct StoreClient {
    client: Client,
    base: Url,
    authorization: Option<HeaderValue>,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreClientError {
    /// The address or the token cannot be used.
    #[error("the store cannot be used: {reason}")]
    Config {
        /// What is wrong.
        reason: String,
    },
    /// There was no connection, so nothing was asked.
    #[error("the store cannot be reached: {reason}")]
    Unreachable {
        /// What the system says.
        reason: String,
    },
    /// The connection broke, or was too slow; what was asked may have been done.
    #[error("the store did not answer: {reason}")]
    Broken {
        /// What happened.
        reason: String,
    },
    /// It refused.
    #[error("the store answered with {status}{}", .text.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Status {
        /// The status of HTTP.
        status: u16,
        /// What it said, where it did.
        text: Option<String>,
    },
    /// It answered with something that is not as agreed.
    #[error("the store answered with {what}")]
    Answer {
        /// What it was.
        what: &'static str,
    },
}

impl StoreClientError {
    /// The status of HTTP, where it was that far.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// What a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only of this schema.
    pub schema_name: Option<String>,
    /// At most so many; the store's own number without one.
    pub limit: Option<u32>,
    /// After so many that would come before.
    pub offset: u32,
}

/// What is searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words.
    pub text: String,
    /// At most so many.
    pub nearest: Option<u32>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only of this schema.
    pub schema_name: Option<String>,
}

/// A breadcrumb as a store gives it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Breadcrumb {
    /// Its id.
    pub id: String,
    /// Counts its changes.
    pub version: i64,
    /// What its context is.
    pub schema_name: Option<String>,
    /// For people.
    pub title: String,
    /// By which it is found.
    pub tags: Vec<String>,
    /// What it says; empty where a list left it out.
    pub context: Map<String, Value>,
    /// When it was changed last, as the store writes times.
    pub updated_at: Option<String>,
}

impl Breadcrumb {
    /// Reads one; nothing when it is none. An event names its id otherwise.
    pub fn read(value: Value) -> Option<Self> {
        let Value::Object(mut members) = value else { return None };
        let id = members.remove("id").or_else(|| members.remove("breadcrumb_id"))?;
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Self {
            id: text(Some(id))?,
            version: members.get("version").and_then(Value::as_i64).unwrap_or(1),
            schema_name: text(members.remove("schema_name")),
            title: text(members.remove("title")).unwrap_or_default(),
            tags: match members.remove("tags") {
                Some(Value::Array(tags)) => tags.into_iter().filter_map(|tag| text(Some(tag))).collect(),
                _ => Vec::new(),
            },
            context: match members.remove("context") {
                Some(Value::Object(context)) => context,
                _ => Map::new(),
            },
            updated_at: text(members.remove("updated_at")),
        })
    }

    /// Whether it has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }
}

impl fmt::Debug for StoreClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoreClient").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl StoreClient {
    /// A client of the store at this URL, which may have a path; it shows the token, if there is one.
    ///
    /// # Errors
    ///
    /// When the URL is not one of HTTP, or the token cannot be in a header.
    pub fn new(url: &str, token: Option<&Secret>) -> Result<Self, StoreClientError> {
        let config = |reason: &str| StoreClientError::Config { reason: reason.to_owned() };
        let mut base = Url::parse(url).map_err(|_| config("its address is no URL"))?;
        if base.scheme() != "http" || base.cannot_be_a_base() {
            return Err(config("its address does not begin with `http://`"));
        }
        base.set_query(None);
        base.set_fragment(None);
        let authorization = token
            .map(|token| HeaderValue::from_str(&format!("Bearer {}", token.expose())))
            .transpose()
            .map_err(|_| config("its token has characters that no header may hold"))?
            .map(|mut value| {
                value.set_sensitive(true);
                value
            });
        let client = Client::builder()
            .no_proxy()
            // A store has one address, and the token must not travel to another.
            .redirect(redirect::Policy::none())
            .connect_timeout(DEADLINE)
            // A connection that its peer closes while it lies idle would fail the next request, which may be a write.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|_| config("the HTTP client cannot be made"))?;
        Ok(Self { client, base, authorization })
    }

    /// Stores a breadcrumb, in the form of a creation, and gives its id.
    ///
    /// # Errors
    ///
    /// When the store refuses or cannot be reached.
    pub async fn create(&self, breadcrumb: &Value) -> Result<String, StoreClientError> {
        let answer = self.json(self.request(Method::POST, &["breadcrumbs"], &[]).json(breadcrumb)).await?;
        let id =
            answer.get("id").and_then(Value::as_str).ok_or(StoreClientError::Answer { what: "no id" })?;
        Ok(id.to_owned())
    }

    /// Stores a breadcrumb unless the key was used before, in which case nothing is to be done.
    ///
    /// A connection that broke is no reason not to ask again with the same key.
    ///
    /// # Errors
    ///
    /// When the store refuses or cannot be reached.
    pub async fn create_once(&self, breadcrumb: &Value, key: &str) -> Result<(), StoreClientError> {
        let request =
            self.request(Method::POST, &["breadcrumbs"], &[]).header("Idempotency-Key", key).json(breadcrumb);
        match self.json(request).await {
            Err(StoreClientError::Status { status: 409, .. }) => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// One breadcrumb with all its members.
    ///
    /// # Errors
    ///
    /// When there is none of this id (status 404), or the store cannot be reached.
    pub async fn full(&self, id: &str) -> Result<Breadcrumb, StoreClientError> {
        let answer = self.json(self.request(Method::GET, &["breadcrumbs", id, "full"], &[])).await?;
        Breadcrumb::read(answer).ok_or(StoreClientError::Answer { what: "something that is no breadcrumb" })
    }

    /// Breadcrumbs with their contexts, newest first.
    ///
    /// # Errors
    ///
    /// When the store refuses or cannot be reached.
    pub async fn list(&self, query: &ListQuery) -> Result<Vec<Breadcrumb>, StoreClientError> {
        let mut pairs = vec![("include_context", "true".to_owned())];
        pairs.extend(query.tag.clone().map(|tag| ("tag", tag)));
        pairs.extend(query.schema_name.clone().map(|schema_name| ("schema_name", schema_name)));
        pairs.extend(query.limit.map(|limit| ("limit", limit.to_string())));
        if query.offset > 0 {
            pairs.push(("offset", query.offset.to_string()));
        }
        self.found(&["breadcrumbs"], &pairs).await
    }

    /// Breadcrumbs with their contexts, best first.
    ///
    /// # Errors
    ///
    /// When the store refuses or cannot be reached.
    pub async fn search(&self, query: &SearchQuery) -> Result<Vec<Breadcrumb>, StoreClientError> {
        let mut pairs = vec![("include_context", "true".to_owned()), ("q", query.text.clone())];
        pairs.extend(query.nearest.map(|nearest| ("nn", nearest.to_string())));
        pairs.extend(query.tag.clone().map(|tag| ("tag", tag)));
        pairs.extend(query.schema_name.clone().map(|schema_name| ("schema_name", schema_name)));
        self.found(&["breadcrumbs", "search"], &pairs).await
    }

    /// Changes some members of a breadcrumb; with a version, only of that one.
    ///
    /// # Errors
    ///
    /// When there is none of this id (status 404), it has another version (412), or the store cannot be reached.
    pub async fn patch(
        &self,
        id: &str,
        members: &Value,
        version: Option<i64>,
    ) -> Result<(), StoreClientError> {
        let mut request = self.request(Method::PATCH, &["breadcrumbs", id], &[]).json(members);
        if let Some(version) = version {
            request = request.header(IF_MATCH, version.to_string());
        }
        self.json(request).await.map(drop)
    }

    /// Decrypts a secret; the reason is sent to the store.
    ///
    /// # Errors
    ///
    /// When there is none of this id, or the store cannot be reached.
    pub async fn secret(&self, id: &str, reason: &str) -> Result<Secret, StoreClientError> {
        let request = self.request(Method::POST, &["secrets", id, "decrypt"], &[]);
        let mut answer = self.json(request.json(&json!({"reason": reason}))).await?;
        match answer.get_mut("value").map(Value::take) {
            Some(Value::String(value)) => Ok(Secret::from(value)),
            _ => Err(StoreClientError::Answer { what: "no value of a secret" }),
        }
    }

    async fn found(
        &self,
        path: &[&str],
        pairs: &[(&'static str, String)],
    ) -> Result<Vec<Breadcrumb>, StoreClientError> {
        match self.json(self.request(Method::GET, path, pairs)).await? {
            Value::Array(entries) => Ok(entries.into_iter().filter_map(Breadcrumb::read).collect()),
            _ => Err(StoreClientError::Answer { what: "something that is no list" }),
        }
    }

    /// A request to this path; each part is one segment, whatever is in it.
    fn request(&self, method: Method, path: &[&str], pairs: &[(&str, String)]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let mut request = self.client.request(method, url);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        request
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, StoreClientError> {
        let exchange = async {
            let response = accepted(request).await?;
            let bytes = bounded(response, ANSWER_BYTES).await?;
            serde_json::from_slice(&bytes)
                .map_err(|_| StoreClientError::Answer { what: "something that is no JSON" })
        };
        tokio::time::timeout(DEADLINE, exchange).await.unwrap_or_else(|_| Err(late()))
    }
}

/// The answer, unless it is a refusal.
async fn accepted(request: RequestBuilder) -> Result<Response, StoreClientError> {
    let response = request.send().await.map_err(|error| fault(&error))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let said: Option<Value> = match bounded(response, ERROR_BYTES).await {
        Ok(bytes) => serde_json::from_slice(&bytes).ok(),
        Err(_) => None,
    };
    let text = said.as_ref().and_then(|said| said.get("error")?.as_str()).map(shorten);
    Err(StoreClientError::Status { status: status.as_u16(), text })
}

/// Chunk by chunk, so that an endless answer never fills the memory.
async fn bounded(mut response: Response, limit: usize) -> Result<Vec<u8>, StoreClientError> {
    let mut read = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault(&error))? {
        if read.len() + chunk.len() > limit {
            return Err(StoreClientError::Answer { what: "too much" });
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read)
}

fn late() -> StoreClientError {
    StoreClientError::Broken { reason: format!("nothing came within {DEADLINE:?}") }
}

fn fault(error: &reqwest::Error) -> StoreClientError {
    // The innermost cause; the outer ones repeat the address, which may hold credentials.
    let mut cause = std::error::Error::source(error);
    let mut reason = "the request failed".to_owned();
    while let Some(inner) = cause {
        reason = inner.to_string();
        cause = inner.source();
    }
    if error.is_connect() || error.is_builder() {
        StoreClientError::Unreachable { reason }
    } else {
        StoreClientError::Broken { reason }
    }
}
