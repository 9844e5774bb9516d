//! What the suite's plain HTTP clients make of an answer: its body whole and bounded, and in a few words why there is
//! none.
//!
//! Clients whose answers are streams or have deadlines of their own read for themselves.

use std::error::Error;
use std::io;

use futures::StreamExt as _;
use serde_json::Value;

use crate::engine::environment;

/// The body of an answer, of at most so many bytes.
pub(crate) async fn body(response: reqwest::Response, most: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| said(&error))?);
        if body.len() > most {
            return Err(format!("the answer is longer than {most} bytes"));
        }
    }
    Ok(body)
}

/// JSON where it is JSON, null where there is nothing, else the text.
pub(crate) fn value(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body)))
}

/// JSON with numbers that JSON does not know (`NaN`, `Infinity`), as strings of these names.
pub(crate) fn with_odd_numbers(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let mut strict = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_text = false;
    while let Some(letter) = rest.chars().next() {
        let odd = ["NaN", "-Infinity", "Infinity"].into_iter().find(|odd| !is_text && rest.starts_with(odd));
        let (taken, shown) = match odd {
            Some(odd) => (odd.len(), format!("\"{odd}\"")),
            None if is_text && letter == '\\' => {
                let taken = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
                (taken, rest[..taken].to_owned())
            }
            None => {
                is_text ^= letter == '"';
                (letter.len_utf8(), letter.to_string())
            }
        };
        strict.push_str(&shown);
        rest = &rest[taken..];
    }
    serde_json::from_str(&strict).ok()
}

/// A connection that somebody else closed.
pub(crate) const CLOSED: &str = "the connection was closed before the answer was complete";

/// What went wrong, without addresses: they differ from run to run.
pub(crate) fn said(error: &reqwest::Error) -> String {
    environment::note(error);
    if error.is_timeout() {
        "there was no answer in time"
    } else if error.is_connect() {
        unconnected(error)
    } else {
        CLOSED
    }
    .to_owned()
}

/// Why there is no connection, as far as its causes show it.
pub(crate) fn unconnected(error: &(dyn Error + 'static)) -> &'static str {
    let mut causes = std::iter::successors(Some(error), |&cause| cause.source());
    let because = |cause: &(dyn Error + 'static)| match cause.downcast_ref::<io::Error>().map(io::Error::kind)
    {
        Some(io::ErrorKind::ConnectionRefused) => {
            Some("no connection can be made: nothing listens at that port")
        }
        // The library's own word; the system's differs from one to the next.
        _ if cause.to_string() == "dns error" => Some("no connection can be made: the host has no address"),
        _ => None,
    };
    causes.find_map(because).unwrap_or("no connection can be made")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reqwest::dns::{Name, Resolve, Resolving};
    use serde_json::json;

    use super::*;

    /// Knows no host.
    struct NoAddress;

    impl Resolve for NoAddress {
        fn resolve(&self, _: Name) -> Resolving {
            Box::pin(async { Err("nothing is known of it".into()) })
        }
    }

    #[tokio::test]
    async fn a_port_without_a_listener_and_a_host_without_an_address_are_distinguished() {
        let check = async |url: &str, expect: &str| {
            let client =
                reqwest::Client::builder().dns_resolver(Arc::new(NoAddress)).build().expect("a client");
            let error = client.get(url).send().await.expect_err("nobody answers");
            assert_eq!(said(&error), format!("no connection can be made: {expect}"));
        };
        let free =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port");
        check(&format!("http://{free}/"), "nothing listens at that port").await;
        check("http://no-such-host.invalid/", "the host has no address").await;
    }

    #[test]
    fn an_odd_number_is_read_as_its_name() {
        let check = |text: &str, expect: Option<Value>| {
            assert_eq!(with_odd_numbers(text.as_bytes()), expect, "{text}");
        };
        check(r#"{"score": NaN}"#, Some(json!({"score": "NaN"})));
        check(
            r#"[-Infinity, Infinity, "a NaN \" NaN"]"#,
            Some(json!(["-Infinity", "Infinity", "a NaN \" NaN"])),
        );
        check(r#"{"score": NaN"#, None);
        check("<html>NaN</html>", None);
    }
}
