//! The mail that a request encloses.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::mime_message::MimeMessage;
use super::request::ProviderRequest;

const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A mail in a request.
pub(super) struct Enclosed {
    pub(super) raw: Vec<u8>,
    pub(super) thread_id: Option<String>,
    /// Nothing where it cannot be read.
    pub(super) mime_message: Option<MimeMessage>,
}

/// The mail in a request: `raw` in JSON, else the body or a part of it in an upload.
pub(super) fn enclosed(request: &ProviderRequest<'_>) -> Option<Enclosed> {
    let (raw, about) = if request.segments.first().is_some_and(|first| first == "upload") {
        let (raw, about) = uploaded(request)?;
        (Some(raw), about)
    } else {
        let object = request.json.as_ref()?;
        let about = if object["message"].is_object() { &object["message"] } else { object };
        (decoded(about["raw"].as_str()?), about.clone())
    };
    let about = if about["message"].is_object() { &about["message"] } else { &about };
    let thread_id = about["threadId"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    let raw = raw.unwrap_or_default();
    let mime_message = MimeMessage::read(&raw);
    Some(Enclosed { raw, thread_id, mime_message })
}

/// The mail of an upload, and what is said about it.
fn uploaded(request: &ProviderRequest<'_>) -> Option<(Vec<u8>, Value)> {
    if !request.content_type.to_ascii_lowercase().starts_with("multipart/") {
        return (!request.body.is_empty()).then(|| (request.body.to_vec(), Value::Null));
    }
    let boundary = request.content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches(['"', '\'']))
    })?;
    let mut about = Value::Null;
    let mut raw = None;
    for part in parts(request.body, boundary) {
        let (head, content) = split_head(part);
        let head = String::from_utf8_lossy(head).to_lowercase();
        if head.contains("application/json") {
            about = serde_json::from_slice(content).unwrap_or_default();
        } else if head.contains("content-transfer-encoding: base64") {
            raw = decoded(&String::from_utf8_lossy(content));
        } else {
            raw = Some(content.to_vec());
        }
    }
    Some((raw?, about))
}

/// What stands between the delimiters of a multipart body (RFC 2046 §5.1.1).
fn parts<'b>(body: &'b [u8], boundary: &str) -> Vec<&'b [u8]> {
    let delimiter = format!("--{boundary}");
    let mut starts = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii_end();
        if trimmed.strip_prefix(delimiter.as_bytes()).is_some_and(|rest| rest.is_empty() || rest == b"--") {
            starts.push((at, at + line.len()));
        }
        at += line.len();
    }
    starts
        .windows(2)
        .map(|pair| {
            let part = &body[pair[0].1..pair[1].0];
            let part = part.strip_suffix(b"\n").unwrap_or(part);
            part.strip_suffix(b"\r").unwrap_or(part)
        })
        .collect()
}

/// Headers and content of a part.
fn split_head(part: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in part.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            return (&part[..at], &part[at + line.len()..]);
        }
        at += line.len();
    }
    (part, &[])
}

/// Base64 in either alphabet, with or without padding, in one line or more.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let unified: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => other,
        })
        .collect();
    TOLERANT.decode(unified).ok().filter(|decoded| !decoded.is_empty())
}
