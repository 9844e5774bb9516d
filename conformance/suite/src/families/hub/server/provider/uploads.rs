//! Uploads in two requests ("resumable" in Google's client libraries): first what is said about a mail, then the mail.

use std::collections::HashMap;

use serde_json::Value;

use super::context::RequestContext;
use super::request::ProviderRequest;
use super::response::{Done, Handled, ProviderResponse, refuse};

/// Uploads that are remembered.
const MAX_OPEN: usize = 1_000;
/// Parameter with the id of one.
const ID: &str = "upload_id";

/// Those that were begun.
#[derive(Default)]
pub(super) struct Uploads(HashMap<String, Upload>);

struct Upload {
    about: Value,
    token: Option<String>,
}

/// Whether a request begins one.
pub(super) fn begins(request: &ProviderRequest<'_>) -> bool {
    request.parameter("uploadType") == Some("resumable") && request.about.is_none()
}

impl Uploads {
    /// Turns the second request of an upload into what the whole of it is: the mail is its body.
    pub(super) fn complete(&mut self, request: &mut ProviderRequest<'_>) {
        let is_second = matches!(request.method.as_str(), "PUT" | "POST");
        let Some(upload) = request.parameter(ID).filter(|_| is_second).and_then(|id| self.0.get(id)) else {
            return;
        };
        "POST".clone_into(&mut request.method);
        request.about = Some(upload.about.clone());
        request.token = request.token.take().or_else(|| upload.token.clone());
        request.json = None;
    }
}

/// Begins one; where the mail goes stands in the answer.
pub(super) fn begin(context: &mut RequestContext<'_>) -> Handled {
    let request = context.request;
    let about = Value::Object(request.object()?);
    if context.uploads.0.len() >= MAX_OPEN {
        return Err(refuse(429, "rateLimitExceeded", "Too many uploads were begun"));
    }
    let id = context.ids.message_id();
    let location = format!("/{}?uploadType=resumable&{ID}={id}", request.segments.join("/"));
    context.uploads.0.insert(id, Upload { about, token: request.token.clone() });
    let reply = ProviderResponse { location: Some(location), ..ProviderResponse::ok(Value::Null) };
    Ok(Done::with(reply, Vec::new()))
}
