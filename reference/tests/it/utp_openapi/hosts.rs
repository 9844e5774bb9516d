//! Two hosts and no other: configured ones, look-alikes, redirects.

use serde_json::json;
use wiremock::ResponseTemplate;

use super::support::{Harness, search, target};

#[tokio::test]
async fn no_other_host_is_asked() {
    let harness = Harness::start().await;
    harness.answers(ResponseTemplate::new(200)).await;
    for base_url in [
        "https://evil.test",
        "https://api.jina.ai",
        "https://s.jina.ai.evil.test",
        "https://s.jina.ai@evil.test",
        "https://evil.test/s.jina.ai",
        "https://evil.test#s.jina.ai",
        "https://evil.test?s.jina.ai",
        "https://xs.jina.ai",
        "https://s.jina.ai:8443",
        "https://s.jina.ai.",
        "http://s.jina.ai",
        "ftp://s.jina.ai",
        "https://key:word@s.jina.ai",
        "https://r.jina.ai",
        "//s.jina.ai",
        "not an address",
    ] {
        let outcome = harness.call(&search(&json!({ "base_url": base_url })), &json!({"query": "x"})).await;
        let error = &outcome.card["content"]["error"];
        assert_eq!(error["code"], "bad_request", "{base_url}");
        assert_eq!(error["detail"]["field"], "options.jina.base_url", "{base_url}");
    }
    assert!(harness.requests().await.is_empty());
}

#[tokio::test]
async fn a_path_does_not_change_the_host() {
    let harness = Harness::start().await;
    for path in
        ["//evil.test/", "@evil.test/", "\\\\evil.test", "/../..//evil.test", "https://evil.test", "?x#y"]
    {
        let request = harness.request_of(&search(&json!({ "path": path })), &json!({"query": "x"})).await;
        assert!(target(&request).starts_with("GET s.jina.ai/"), "{path}: {}", target(&request));
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let harness = Harness::start().await;
    for status in [301, 302, 303, 307, 308] {
        for location in ["https://evil.test/", "https://s.jina.ai/elsewhere", "/elsewhere"] {
            harness.answers(ResponseTemplate::new(status).insert_header("location", location)).await;
            let outcome = harness.call(&search(&json!({})), &json!({"query": "x"})).await;
            assert_eq!(outcome.card["content"]["error"]["code"], "upstream_unavailable");
            let targets: Vec<_> = harness.requests().await.iter().map(target).collect();
            assert_eq!(targets, ["GET s.jina.ai/?q=x"]);
        }
    }
}
