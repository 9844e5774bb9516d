//! Several requests in one, as Google's client libraries send them: `multipart/mixed` whose parts are HTTP requests.

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Request, Response};

use super::response::{ProviderResponse, failure, refuse};
use crate::net::http_connections::Closed;
use crate::net::multipart::{boundary, header, parts, split_head};

/// Requests in one batch, at most.
const MAX_REQUESTS: usize = 100;
/// Headers of a request in a batch that are read.
const MAX_HEADERS: usize = 64;
/// Between the answers.
const BOUNDARY: &str = "batch_callmark";

/// A request of a batch.
pub(super) struct Batched {
    /// `Content-ID` of its part.
    id: Option<String>,
    /// Its head and its body; nothing where the part holds no request.
    pub(super) request: Option<(Parts, Vec<u8>)>,
}

/// Whether a request is a batch of others.
pub(super) fn is_batch(request: &Parts) -> bool {
    let first = request.uri.path().split('/').find(|part| !part.is_empty());
    request.method == Method::POST && first == Some("batch")
}

/// The requests of a batch.
///
/// # Errors
/// The answer to a batch that cannot be read.
pub(super) fn read(outer: &Parts, body: &[u8]) -> Result<Vec<Batched>, ProviderResponse> {
    let kind = outer.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_mixed = kind.trim_start().to_ascii_lowercase().starts_with("multipart/mixed");
    let boundary = boundary(kind).filter(|_| is_mixed).ok_or_else(|| failure(400))?;
    let found = parts(body, boundary);
    if found.is_empty() {
        return Err(failure(400));
    }
    if found.len() > MAX_REQUESTS {
        let message = format!("The batch exceeds the limit of {MAX_REQUESTS} requests");
        return Err(refuse(400, "badRequest", &message));
    }
    Ok(found.into_iter().map(|part| batched(part, outer)).collect())
}

fn batched(part: &[u8], outer: &Parts) -> Batched {
    let (head, content) = split_head(part);
    let id = header(head, "content-id").filter(|id| HeaderValue::from_str(id).is_ok());
    Batched { id, request: request(content.trim_ascii_start(), outer) }
}

/// A request as HTTP has it. Its version may be missing, and whose it is may be said of the batch alone.
fn request(text: &[u8], outer: &Parts) -> Option<(Parts, Vec<u8>)> {
    let (head, body) = split_head(text);
    let head = std::str::from_utf8(head).ok()?;
    let (line, rest) = head.split_once('\n').unwrap_or((head, ""));
    let line = line.trim_end();
    let version = if line.contains(" HTTP/") { "" } else { " HTTP/1.1" };
    let whole = format!("{line}{version}\r\n{}\r\n\r\n", rest.trim_end());
    let whole = whole.replace("\r\n\r\n\r\n", "\r\n\r\n");
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut read = httparse::Request::new(&mut headers);
    let _ = read.parse(whole.as_bytes()).ok().filter(httparse::Status::is_complete)?;
    let mut request = Request::builder().method(read.method?).uri(read.path?);
    for header in read.headers.iter() {
        request = request.header(header.name, header.value);
    }
    let (mut parts, ()) = request.body(()).ok()?.into_parts();
    if let Some(token) = outer.headers.get(AUTHORIZATION)
        && !parts.headers.contains_key(AUTHORIZATION)
    {
        parts.headers.insert(AUTHORIZATION, token.clone());
    }
    Some((parts, body.to_vec()))
}

/// The answers to a batch, in the order of its requests.
pub(super) fn response(answers: &[(Batched, ProviderResponse)]) -> Result<Response<Body>, Closed> {
    let part = |(batched, answer): &(Batched, ProviderResponse)| -> Result<String, Closed> {
        let id = batched.id.as_deref().map_or_else(String::new, |id| {
            let (start, rest) = id.strip_prefix('<').map_or(("", id), |rest| ("<", rest));
            format!("Content-ID: {start}response-{rest}\r\n")
        });
        let answer = answer.http()?;
        Ok(format!("--{BOUNDARY}\r\nContent-Type: application/http\r\n{id}\r\n{answer}\r\n"))
    };
    let parts: String = answers.iter().map(part).collect::<Result<_, _>>()?;
    let body = format!("{parts}--{BOUNDARY}--\r\n");
    let kind = format!("multipart/mixed; boundary={BOUNDARY}");
    Response::builder().header(CONTENT_TYPE, kind).body(Body::from(body)).map_err(|_| Closed)
}
