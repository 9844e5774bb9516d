//! The form of answers: Google's JSON, and Google's error body, the same for calendar and mail.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::{Value, json};

use crate::net::http_connections::Closed;

/// Content type of bodies.
const JSON: &str = "application/json; charset=UTF-8";
/// Content type of a page.
const HTML: &str = "text/html; charset=UTF-8";

/// How a request is answered that is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderFault {
    /// With an error of this HTTP status.
    Status(u16),
    /// With status 200 and a page of HTML, as something between the Hub and its provider may.
    Page,
    /// With status 200 and a JSON body that ends in the middle.
    CutShort,
    /// Not at all: the connection is closed.
    Unanswered,
}

/// A page of HTML.
const PAGE: &str =
    "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Please sign in.</body></html>";
/// The beginning of a JSON body.
const CUT_SHORT: &str = "{\"kind\": \"calendar#event\", \"id\": \"";

/// What is sent back.
#[derive(Clone, Debug)]
pub(super) struct ProviderResponse {
    /// HTTP status.
    pub(super) status: u16,
    /// Nothing where there is no body.
    pub(super) body: Value,
    /// Path and query of where to go on.
    pub(super) location: Option<String>,
    /// Whether this provider has nothing there, where Google's may.
    pub(super) is_unplayed: bool,
    /// What stands in place of the body.
    pub(super) malformed: Option<ProviderFault>,
}

/// A request that was carried out.
#[derive(Debug)]
pub(super) struct Done {
    /// What is sent back.
    pub(super) reply: ProviderResponse,
    /// What it changed, one entry for each thing: bodies of frames.
    pub(super) effects: Vec<Value>,
    /// Ids of what it made.
    pub(super) made: Vec<String>,
}

/// What becomes of a request.
pub(super) type Handled = Result<Done, ProviderResponse>;

impl ProviderResponse {
    pub(super) fn new(status: u16, body: Value) -> Self {
        Self { status, body, location: None, is_unplayed: false, malformed: None }
    }

    /// The status, or what was sent in place of an answer.
    pub(super) fn shown(&self) -> Value {
        match self.malformed {
            Some(ProviderFault::Page) => "a page of HTML".into(),
            Some(ProviderFault::CutShort) => "JSON that ends in the middle".into(),
            Some(ProviderFault::Unanswered) => "the end of the connection".into(),
            Some(ProviderFault::Status(_)) | None => self.status.into(),
        }
    }

    /// Content type and text of the body; nothing where the connection is closed instead.
    fn text(&self) -> Result<(&'static str, Cow<'static, str>), Closed> {
        Ok(match (self.malformed, &self.body) {
            (Some(ProviderFault::Unanswered), _) => return Err(Closed),
            (Some(ProviderFault::Page), _) => (HTML, PAGE.into()),
            (Some(ProviderFault::CutShort), _) => (JSON, CUT_SHORT.into()),
            (_, Value::Null) => (JSON, "".into()),
            (_, body) => (JSON, body.to_string().into()),
        })
    }

    pub(super) fn ok(body: Value) -> Self {
        Self::new(200, body)
    }

    pub(super) fn empty() -> Self {
        Self::new(204, Value::Null)
    }

    /// As HTTP/1.1 has it, for an answer within another.
    pub(super) fn http(&self) -> Result<String, Closed> {
        let status = StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
        let (kind, body) = self.text()?;
        Ok(format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            self.status,
            body.len()
        ))
    }

    /// In the form that the server wants, for a client that calls the provider by this origin.
    pub(super) fn response(&self, origin: &str) -> Result<Response<Body>, Closed> {
        let mut response = Response::builder().status(StatusCode::from_u16(self.status).map_err(|_| Closed)?);
        if self.status == 401 {
            let challenge = r#"Bearer realm="https://accounts.google.com/", error="invalid_token""#;
            response = response.header(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(location) = &self.location {
            response = response.header(header::LOCATION, format!("{origin}{location}"));
        }
        let (kind, body) = self.text()?;
        if !body.is_empty() {
            response = response.header(header::CONTENT_TYPE, kind);
        }
        response.body(Body::from(body.into_owned())).map_err(|_| Closed)
    }
}

impl Done {
    /// An answer to a question.
    pub(super) fn read(body: Value) -> Self {
        Self { reply: ProviderResponse::ok(body), effects: Vec::new(), made: Vec::new() }
    }

    /// An answer to a request that changed something.
    pub(super) fn with(reply: ProviderResponse, effects: Vec<Value>) -> Self {
        Self { reply, effects, made: Vec::new() }
    }

    /// Names what was made.
    pub(super) fn making(self, made: impl IntoIterator<Item = String>) -> Self {
        Self { made: made.into_iter().collect(), ..self }
    }
}

/// An error with a reason of the service.
pub(super) fn refuse(status: u16, reason: &str, message: &str) -> ProviderResponse {
    let mut error = json!({
        "code": status,
        "message": message,
        "errors": [{"message": message, "domain": "global", "reason": reason}],
        "status": canonical(status),
    });
    if reason == "insufficientPermissions" {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
            "domain": "googleapis.com",
        }]);
    }
    ProviderResponse::new(status, json!({"error": error}))
}

/// The answer to a request for what this provider does not have.
pub(super) fn unplayed() -> ProviderResponse {
    ProviderResponse { is_unplayed: true, ..failure(404) }
}

/// What a request gets that is to fail in this way.
pub(super) fn fault(fault: ProviderFault) -> ProviderResponse {
    match fault {
        ProviderFault::Status(status) => failure(status),
        malformed => ProviderResponse { malformed: Some(malformed), ..ProviderResponse::ok(Value::Null) },
    }
}

/// The usual error of a status.
pub(super) fn failure(status: u16) -> ProviderResponse {
    let (reason, message) = match status {
        400 => ("badRequest", "Bad Request"),
        401 => ("authError", "Invalid Credentials"),
        403 => ("insufficientPermissions", "Request had insufficient authentication scopes."),
        404 => ("notFound", "Not Found"),
        410 => ("deleted", "Resource has been deleted"),
        413 => ("uploadTooLarge", "Request entity is too large"),
        415 => ("unsupportedMediaType", "The encoding of the request is not supported"),
        429 => ("rateLimitExceeded", "Rate Limit Exceeded"),
        503 => ("backendError", "The service is currently unavailable."),
        _ => ("backendError", "Internal error encountered."),
    };
    refuse(status, reason, message)
}

fn canonical(status: u16) -> &'static str {
    match status {
        400 | 413 | 415 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 | 410 => "NOT_FOUND",
        409 => "ALREADY_EXISTS",
        412 => "FAILED_PRECONDITION",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
