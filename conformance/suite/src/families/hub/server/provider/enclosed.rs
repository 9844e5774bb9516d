//! The mail that a request encloses.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::mime_message::MimeMessage;
use super::request::ProviderRequest;
use crate::net::multipart::{boundary, parts, split_head};

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
    if let Some(about) = &request.about {
        return Some((request.body.to_vec(), about.clone()));
    }
    if request.begins_upload() {
        return None;
    }
    if !request.content_type.to_ascii_lowercase().starts_with("multipart/") {
        return (!request.body.is_empty()).then(|| (request.body.to_vec(), Value::Null));
    }
    let boundary = boundary(&request.content_type)?;
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
