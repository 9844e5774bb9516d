//! The connection to the broker: credentials out of its URL, and waiting until it has read what was sent.

use std::time::Duration;

use futures::StreamExt as _;

use super::error::ReferenceError;

/// Connects to the broker, at one of several URLs with commas between; the error names them without credentials.
pub(crate) async fn connect(nats_url: &str, name: &str) -> Result<async_nats::Client, ReferenceError> {
    let urls = urls(nats_url);
    let named = urls.iter().find(|url| url.contains('@')).copied().unwrap_or(nats_url);
    let options = with_credentials(async_nats::ConnectOptions::new(), named);
    options.name(name).connect(&urls[..]).await.map_err(|source| {
        let addresses: Vec<String> = urls.iter().map(|url| without_credentials(url)).collect();
        ReferenceError::Connect { address: addresses.join(","), source: Box::new(source) }
    })
}

/// The URLs in a text. A comma that no scheme follows belongs to a password.
fn urls(text: &str) -> Vec<&str> {
    let (mut all, mut from) = (Vec::new(), 0);
    for (at, _) in text.match_indices(',') {
        let scheme = text[at + 1..].trim_start().split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            all.push(text[from..at].trim());
            from = at + 1;
        }
    }
    all.push(text[from..].trim());
    all
}

/// The credentials of a URL, which the client leaves out: `nats://user:password@host`, or `nats://token@host`.
fn with_credentials(options: async_nats::ConnectOptions, nats_url: &str) -> async_nats::ConnectOptions {
    let Ok(url) = url::Url::parse(nats_url) else { return options };
    match (decoded(url.username()), url.password().map(decoded)) {
        (user, Some(password)) => options.user_and_password(user, password),
        (token, None) if !token.is_empty() => options.token(token),
        _ => options,
    }
}

/// A text of a URL, percent-decoded. Unlike in a form, `+` is no blank.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

/// For the broker to send a message back to where it came from.
const ROUND_TRIP_DEADLINE: Duration = Duration::from_secs(10);

/// Returns once the broker has worked through everything that this client sent before.
///
/// A flush only empties the client's own buffer. A message to oneself comes back after the broker has read
/// the subscriptions that were sent ahead of it, so that others may publish on them.
///
/// # Errors
/// The connection is lost, or the broker does not answer within ten seconds.
pub async fn round_trip(client: &async_nats::Client) -> Result<(), ReferenceError> {
    let inbox = client.new_inbox();
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| ReferenceError::Subscribe {
        subject: inbox.clone(),
        source,
    };
    let mut echo = client.subscribe(inbox.clone()).await.map_err(|source| failed(source.into()))?;
    client.publish(inbox.clone(), bytes::Bytes::new()).await.map_err(|source| failed(source.into()))?;
    tokio::time::timeout(ROUND_TRIP_DEADLINE, echo.next()).await.map_err(|_elapsed| {
        ReferenceError::Deadline { what: "answer of the broker".to_owned(), after: ROUND_TRIP_DEADLINE }
    })?;
    Ok(())
}

fn without_credentials(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &url[..scheme + 3], &url[at + 1..])
        }
        (None, Some(at)) => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{urls, without_credentials};

    #[test]
    fn urls_stand_between_commas() {
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(urls(text), expect, "{text}");
        }
        check("nats://a:4222", &["nats://a:4222"]);
        check("nats://a:1, tls://u:p,w@b:2", &["nats://a:1", "tls://u:p,w@b:2"]);
        check("token@host", &["token@host"]);
    }

    #[test]
    fn addresses_in_errors_have_no_credentials() {
        fn check(url: &str, expect: &str) {
            assert_eq!(without_credentials(url), expect);
        }
        check("nats://127.0.0.1:4222", "nats://127.0.0.1:4222");
        check("nats://user:pa@ss@host:4222", "nats://host:4222");
        check("token@host", "host");
    }
}
