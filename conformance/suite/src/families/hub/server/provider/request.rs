//! A request to the provider, taken apart; no meaning yet.

use axum::http::request::Parts;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::response::{ProviderResponse, refuse};

/// Bytes of a body that are read.
pub(super) const MAX_BODY: usize = 2 * 1024 * 1024;
/// Parameters that are secrets.
const SECRETS: [&str; 4] = ["access_token", "oauth_token", "key", "token"];

/// A request.
pub(super) struct ProviderRequest<'a> {
    /// In capitals; what `X-HTTP-Method-Override` says if it is there.
    pub(super) method: String,
    /// Of the path, decoded, without empty ones.
    pub(super) segments: Vec<String>,
    /// Parameters, decoded.
    pub(super) query: Vec<(String, String)>,
    /// Method, path and query as they came, without secrets.
    pub(super) channel: String,
    /// The bearer token.
    pub(super) token: Option<String>,
    /// Content type, as it came.
    pub(super) content_type: String,
    /// Whether the body is compressed, which is not understood here.
    pub(super) is_encoded: bool,
    /// Entity tag that the resource must have.
    pub(super) if_match: Option<String>,
    /// What was said before about the mail that is the body.
    pub(super) about: Option<Value>,
    /// As it came.
    pub(super) body: &'a [u8],
    /// The body, where it is JSON and not too large.
    pub(super) json: Option<Value>,
}

impl<'a> ProviderRequest<'a> {
    /// Takes a request apart.
    pub(super) fn read(request: &Parts, body: &'a [u8]) -> Self {
        let header = |name: &str| {
            request
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(|value| value.trim().to_owned())
        };
        let content_type = header("content-type").unwrap_or_default();
        let mut method = request.method.as_str().to_ascii_uppercase();
        let mut query = pairs(request.uri.query().unwrap_or_default().as_bytes());
        let overridden = header("x-http-method-override");
        let is_form = content_type.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded");
        if overridden.is_some() && is_form && body.len() <= MAX_BODY {
            // Clients send a GET with a long query like this.
            query.extend(pairs(body));
        }
        if let Some(overridden) = overridden {
            method = overridden.to_ascii_uppercase();
        }
        let token = header("authorization")
            .and_then(|value| {
                let (scheme, token) = value.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
            })
            .or_else(|| find(&query, "access_token").map(str::to_owned))
            .filter(|token| !token.is_empty());
        let looks_like_json = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        let json =
            (looks_like_json && body.len() <= MAX_BODY).then(|| serde_json::from_slice(body).ok()).flatten();
        Self {
            channel: channel(&method, request),
            segments: request
                .uri
                .path()
                .split('/')
                .filter(|part| !part.is_empty())
                .map(percent_decoded)
                .collect(),
            method,
            query,
            token,
            content_type,
            is_encoded: header("content-encoding").is_some_and(|coding| coding != "identity"),
            if_match: header("if-match"),
            about: None,
            body,
            json,
        }
    }

    /// Whether it begins an upload in two requests, and has no mail yet.
    pub(super) fn begins_upload(&self) -> bool {
        self.parameter("uploadType") == Some("resumable") && self.about.is_none()
    }

    /// The first parameter of a name.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }

    /// All parameters of a name.
    pub(super) fn parameters(&self, name: &str) -> Vec<&str> {
        self.query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }

    /// A parameter that is a number.
    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, ProviderResponse> {
        let Some(text) = self.parameter(name) else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|_| refuse(400, "invalidParameter", &format!("Invalid value for {name}")))
    }

    /// The path as strings to match on.
    pub(super) fn path(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// The JSON object of the body; no body is an empty object.
    pub(super) fn object(&self) -> Result<Map<String, Value>, ProviderResponse> {
        match &self.json {
            Some(Value::Object(object)) => Ok(object.clone()),
            _ if self.body.iter().all(u8::is_ascii_whitespace) => Ok(Map::new()),
            _ => Err(refuse(400, "parseError", "Parse Error")),
        }
    }

    /// The parameters of a form, or the strings of a JSON object, or the query: token endpoints are asked in all ways.
    pub(super) fn form(&self) -> Vec<(String, String)> {
        let mut form = match &self.json {
            Some(Value::Object(object)) => object
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            _ => pairs(self.body),
        };
        form.extend(self.query.iter().cloned());
        form
    }
}

/// The first value of a name.
pub(super) fn find<'p>(pairs: &'p [(String, String)], name: &str) -> Option<&'p str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn pairs(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn channel(method: &str, request: &Parts) -> String {
    let path = request.uri.path();
    let kept: Vec<&str> = request
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty() && !SECRETS.contains(&pair.split('=').next().unwrap_or_default()))
        .collect();
    if kept.is_empty() { format!("{method} {path}") } else { format!("{method} {path}?{}", kept.join("&")) }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
            .flatten();
        decoded.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
