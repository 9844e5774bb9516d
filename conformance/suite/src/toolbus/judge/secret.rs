//! Secrets stay secret (Tool bus v1 L27, L33).

use serde_json::Value;

use super::Reply;
use super::artifact::around;
use crate::judge::Judgement;
use crate::transcript::shorten_text;

/// The response does not hold the marker.
pub fn is_not_in_the_response(reply: &Reply<'_>, marker: &str, what: &str) -> Judgement {
    let shown = reply.answer.shown().to_string();
    if !shown.contains(marker) {
        return Ok(());
    }
    let from = around(&shown, marker);
    Err(reply
        .finding(
            format!("{what} shows a secret"),
            "replace values under keys such as `password`, `api_key` and `authorization` before anything else is done with a result",
        )
        .expected("no value that stood under the key of a secret")
        .actual(Some(&Value::from(shorten_text(&shown[from..]))))
        .into())
}
