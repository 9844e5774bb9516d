//! OAuth 2.0 client credentials (RFC 6749, section 4.4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Url};
use serde_json::Value;
use url::form_urlencoded;

use super::connection::{self, CONNECT_DEADLINE, Deadlines};
use super::tls::{TlsSource, unset};
use crate::engine::manifest::target::{OAuthTable, variable};
use crate::net::http_answer;

/// For any answer of an authorization server.
const DEADLINE: Duration = Duration::from_secs(10);
/// Largest answer of one.
const MAX_ANSWER: usize = 1024 * 1024;
/// Characters of what it says of an error.
const SHOWN: usize = 200;

/// Who issues tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Server {
    pub(super) token_url: String,
    /// For what tokens are to be good (RFC 8707), where that was found.
    pub(super) resource: Option<String>,
}

/// What was issued.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) token: String,
    /// How long it is good.
    pub(super) lives: Option<Duration>,
}

/// How a client says who it is.
#[derive(Clone, Copy)]
enum Method {
    Basic,
    Post,
}

impl Server {
    /// One that the manifest names.
    pub(super) fn at(token_url: String) -> Self {
        Self { token_url, resource: None }
    }
}

/// Id and secret of the client.
///
/// # Errors
/// The variable of one is not set.
pub(super) fn client(table: &OAuthTable) -> Result<(String, String), String> {
    let known = |key: &str, name: &String| {
        variable(name).ok_or_else(|| unset(&format!("target.http.oauth.{key}"), name))
    };
    let id = known("client_id_env", &table.client_id_env)?;
    Ok((id, known("client_secret_env", &table.client_secret_env)?))
}

/// Gets a token.
///
/// # Errors
/// Why there is none.
pub(super) async fn token(tls: &TlsSource, table: &OAuthTable, server: &Server) -> Result<Grant, String> {
    let (id, secret) = client(table)?;
    let at = |why: String| format!("no token from `{}`: {why}", server.token_url);
    let url = Url::parse(&server.token_url).map_err(|error| at(format!("that is no URL: {error}")))?;
    let mut last = None;
    // All servers know the first (RFC 6749, section 2.3.1), and some only this client's use of the second.
    for method in [Method::Basic, Method::Post] {
        let (status, answer) =
            request_token(tls, &url, table, server, (&id, &secret), method).await.map_err(at)?;
        if let Some(token) = answer.get("access_token").and_then(Value::as_str).filter(|_| status == 200) {
            let kind = answer.get("token_type").and_then(Value::as_str).unwrap_or("Bearer");
            if !kind.eq_ignore_ascii_case("bearer") {
                return Err(at(format!("it is of type `{kind}`, and only `Bearer` is known")));
            }
            let lives = answer.get("expires_in").and_then(Value::as_f64);
            let lives = lives.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            return Ok(Grant { token: token.to_owned(), lives });
        }
        let is_about_us = answer.get("error").and_then(Value::as_str) == Some("invalid_client");
        let first = last.get_or_insert_with(|| refusal(status, &answer, &[&id, &secret])).clone();
        if !is_about_us {
            return Err(at(first));
        }
    }
    Err(at(last.unwrap_or_default()))
}

/// What came in place of a token, with what the standard says that it means.
fn refusal(status: u16, answer: &Value, secrets: &[&str]) -> String {
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let Some(error) = text("error") else {
        return format!("it answers {status} without an `access_token`");
    };
    let hint = match error {
        "invalid_client" => "; check `client_id_env` and `client_secret_env`",
        "invalid_scope" => "; check `scope`",
        "unauthorized_client" => "; this client may not use client credentials",
        _ => "",
    };
    let more = text("error_description").map(|more| format!(" ({more})")).unwrap_or_default();
    let said: String = format!("{error}{more}").chars().filter(|c| !c.is_control()).take(SHOWN).collect();
    let said = secrets.iter().fold(said, |said, secret| said.replace(secret, "***"));
    format!("it answers {status}, {said}{hint}")
}

async fn request_token(
    tls: &TlsSource,
    url: &Url,
    table: &OAuthTable,
    server: &Server,
    (id, secret): (&str, &str),
    method: Method,
) -> Result<(u16, Value), String> {
    let mut pairs = vec![("grant_type", "client_credentials")];
    pairs.extend(table.scope.iter().map(|scope| ("scope", scope.as_str())));
    pairs.extend(server.resource.iter().map(|resource| ("resource", resource.as_str())));
    if let Method::Post = method {
        pairs.extend([("client_id", id), ("client_secret", secret)]);
    }
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let client = client_of_others()?;
    let mut request = client
        .request(reqwest::Method::POST, url.clone())
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(ACCEPT, "application/json")
        .body(form);
    if let Method::Basic = method {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
        let mut value = HeaderValue::from_str(&format!("Basic {pair}")).map_err(|error| error.to_string())?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    answer(&client, tls, request).await
}

/// A document that an authorization server or a resource publishes.
///
/// # Errors
/// Why there is none.
pub(super) async fn document(tls: &TlsSource, url: &Url) -> Result<Value, String> {
    let client = client_of_others()?;
    let request = client.request(reqwest::Method::GET, url.clone()).header(ACCEPT, "application/json");
    match answer(&client, tls, request).await? {
        (200, document) if document.is_object() => Ok(document),
        (200, _) => Err("it is no JSON object".to_owned()),
        (status, _) => Err(format!("it is answered {status}")),
    }
}

/// A client of others than the target: neither its headers nor its token are for them.
fn client_of_others() -> Result<Client, String> {
    let builder = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.connect_timeout(CONNECT_DEADLINE).build().map_err(|error| error.to_string())
}

async fn answer(
    client: &Client,
    tls: &TlsSource,
    request: reqwest::RequestBuilder,
) -> Result<(u16, Value), String> {
    let answer = async {
        let request = request.build().map_err(|error| error.to_string())?;
        let sent = connection::exchange(client, tls, request, Deadlines::default(), false).await;
        let response = sent.map_err(|error| error.said())?;
        let status = response.status().as_u16();
        Ok((status, http_answer::value(&http_answer::body(response, MAX_ANSWER).await?)))
    };
    tokio::time::timeout(DEADLINE, answer).await.unwrap_or_else(|_| Err("it does not answer".to_owned()))
}
