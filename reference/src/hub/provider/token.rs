//! The OAuth token endpoint: new access tokens for refresh tokens (RFC 6749 §6), and nothing else.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use url::form_urlencoded;

use super::state::ProviderState;

pub(super) async fn issue(
    extract::State(state): extract::State<Arc<ProviderState>>,
    body: Bytes,
) -> Response {
    let field = |name: &str| {
        let mut fields = form_urlencoded::parse(&body);
        fields.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
    };
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if field("grant_type").as_deref() != Some("refresh_token") {
        return refused("unsupported_grant_type");
    }
    let (Some(_client), Some(refresh_token)) = (field("client_id"), field("refresh_token")) else {
        return refused("invalid_request");
    };
    match state.renew(&refresh_token) {
        None => refused("invalid_grant"),
        Some(access_token) => {
            let body = json!({"access_token": access_token, "expires_in": 3600, "token_type": "Bearer"});
            ([(CACHE_CONTROL, "no-store")], Json(body)).into_response()
        }
    }
}
