//! The head of a request: what the listeners ask of it.

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HOST};

/// Whether `Content-Type` is JSON.
pub(crate) fn declares_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Whether `Host` is a loopback name.
pub(crate) fn names_loopback(headers: &HeaderMap) -> bool {
    is_loopback(headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default())
}

/// Whether the authority, as in `Host`, is a loopback name, with or without a port.
pub(crate) fn is_loopback(authority: &str) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next(),
        None => authority.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn loopback_names_are_known() {
        fn check(authority: &str, expect: bool) {
            assert_eq!(is_loopback(authority), expect, "{authority}");
        }
        check("127.0.0.1:8080", true);
        check("localhost", true);
        check("LOCALHOST:1", true);
        check("[::1]:8080", true);
        check("127.0.0.1.example.org", false);
        check("example.org:80", false);
        check("localhost.example.org", false);
        check("", false);
    }
}
