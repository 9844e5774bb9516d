//! Uploads in two requests ("resumable" in Google's client libraries): first what is said about a mail, then the mail.

use std::collections::HashMap;

use serde_json::Value;

use super::request::ProviderRequest;

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

impl Uploads {
    /// Begins one under this id; the path and query to which the mail goes, unless too many were begun.
    pub(super) fn begin(&mut self, id: &str, about: Value, request: &ProviderRequest<'_>) -> Option<String> {
        if self.0.len() >= MAX_OPEN {
            return None;
        }
        self.0.insert(id.to_owned(), Upload { about, token: request.token.clone() });
        Some(format!("/{}?uploadType=resumable&{ID}={id}", request.segments.join("/")))
    }

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
