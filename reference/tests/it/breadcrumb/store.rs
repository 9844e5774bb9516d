//! The contract of the store over plain HTTP: creation, versions, lists, search, secrets, refusals.

use callmark_reference::breadcrumb::client::{ListQuery, SearchQuery};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreError, StoreServer, StoredSecret};
use callmark_reference::secret::Secret;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::support::{memo, soon, store};

async fn ask(
    base: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (StatusCode, Value) {
    let client = Client::builder().no_proxy().build().expect("a client");
    let mut request = client.request(method, format!("{base}{path}")).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = soon("an answer", request.send()).await.expect("an answer");
    let status = response.status();
    let text = soon("a body", response.text()).await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

#[tokio::test]
async fn a_breadcrumb_is_created_changed_and_found() {
    let (server, client) = store(StoreConfig::new()).await;
    let id = client.create(&memo("Pump log", &["pump", "memo"])).await.expect("an id");
    let full = client.full(&id).await.expect("a breadcrumb");
    assert_eq!((full.version, full.title.as_str()), (1, "Pump log"));
    assert_eq!(full.context.get("text"), Some(&json!("about Pump log")));

    client.patch(&id, &json!({"title": "Pump log 2"}), Some(1)).await.expect("a change");
    let stale = client.patch(&id, &json!({"title": "Pump log 3"}), Some(1)).await.expect_err("a refusal");
    assert_eq!(stale.status(), Some(412));
    client.patch(&id, &json!({"tags": ["valve"]}), None).await.expect("a change");
    let full = client.full(&id).await.expect("a breadcrumb");
    assert_eq!((full.version, full.title.as_str(), full.tags), (3, "Pump log 2", vec!["valve".to_owned()]));

    let by_tag = |tag: &str| ListQuery { tag: Some(tag.to_owned()), ..ListQuery::default() };
    assert!(client.list(&by_tag("pump")).await.expect("a list").is_empty());
    assert_eq!(client.list(&by_tag("valve")).await.expect("a list").len(), 1);
    let missing = client.full("no-such-id").await.expect_err("a refusal");
    assert_eq!(missing.status(), Some(404));
    server.shutdown().await;
}

#[tokio::test]
async fn lists_are_newest_first_and_have_pages() {
    let (server, client) = store(StoreConfig::new()).await;
    let mut ids = Vec::new();
    for title in ["one", "two", "three"] {
        ids.push(client.create(&memo(title, &["count"])).await.expect("an id"));
    }
    client.create(&memo("other", &["else"])).await.expect("an id");
    client.patch(&ids[0], &json!({"context": {}}), None).await.expect("a change");
    let query = ListQuery { tag: Some("count".to_owned()), limit: Some(2), ..ListQuery::default() };
    let titles = |found: Vec<callmark_reference::breadcrumb::client::Breadcrumb>| {
        found.into_iter().map(|breadcrumb| breadcrumb.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(client.list(&query).await.expect("a list")), ["one", "three"]);
    let rest = ListQuery { offset: 2, ..query };
    assert_eq!(titles(client.list(&rest).await.expect("a list")), ["two"]);
    let (_, listed) = ask(&server.url(), Method::GET, "/breadcrumbs?schema_name=memo.v1", &[], "").await;
    let entries = listed.as_array().expect("an array");
    assert_eq!(entries.len(), 4);
    assert!(entries.iter().all(|entry| entry.get("context").is_none() && entry["updated_at"].is_string()));
    server.shutdown().await;
}

#[tokio::test]
async fn words_find_what_they_are_in() {
    let (server, client) = store(StoreConfig::new()).await;
    client.create(&memo("Bilge pump", &["a"])).await.expect("an id");
    client.create(&memo("Anchor winch", &["b"])).await.expect("an id");
    let find = async |text: &str| {
        let query = SearchQuery { text: text.to_owned(), nearest: Some(5), ..SearchQuery::default() };
        client.search(&query).await.expect("a list").into_iter().map(|found| found.title).collect::<Vec<_>>()
    };
    assert_eq!(find("pump").await, ["Bilge pump"]);
    assert_eq!(find("winch \" OR ( *").await, ["Anchor winch"]);
    assert_eq!(find("sextant").await, Vec::<String>::new());
    assert_eq!(find("about").await.len(), 2);
    server.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_with_a_text() {
    let (server, _client) = store(StoreConfig::new()).await;
    let url = server.url();
    let check = async |method: Method, path: &str, headers: &[(&str, &str)], body: &str, expect: u16| {
        let (status, answer) = ask(&url, method.clone(), path, headers, body).await;
        assert_eq!(status.as_u16(), expect, "{method} {path} {body:.60}: {answer}");
        if !status.is_success() {
            assert!(answer["error"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
        }
        answer
    };
    let whole = memo("t", &[]).to_string();
    check(Method::POST, "/breadcrumbs", &[], "{", 422).await;
    check(Method::POST, "/breadcrumbs", &[], "[]", 422).await;
    check(Method::POST, "/breadcrumbs", &[], r#"{"title": "t", "tags": []}"#, 422).await;
    check(Method::POST, "/breadcrumbs", &[], r#"{"title": "t", "tags": [], "context": 1}"#, 422).await;
    check(Method::POST, "/breadcrumbs", &[], &"[".repeat(100_000), 422).await;
    check(Method::POST, "/breadcrumbs", &[], &" ".repeat(1024 * 1024 + 1), 413).await;
    let created = check(Method::POST, "/breadcrumbs", &[("Idempotency-Key", "k")], &whole, 200).await;
    check(Method::POST, "/breadcrumbs", &[("Idempotency-Key", "k")], &whole, 409).await;
    let path = format!("/breadcrumbs/{}", created["id"].as_str().expect("an id"));
    check(Method::PATCH, &path, &[("If-Match", "2")], "{}", 412).await;
    check(Method::PATCH, &path, &[("If-Match", "two")], "{}", 422).await;
    check(Method::PATCH, &path, &[("If-Match", "\"1\"")], r#"{"title": 1}"#, 422).await;
    check(Method::PATCH, "/breadcrumbs/none", &[], "{}", 404).await;
    check(Method::PATCH, &path, &[], r#"{"note": "kept"}"#, 200).await;
    let full = check(Method::GET, &format!("{path}/full"), &[], "", 200).await;
    assert_eq!((&full["note"], &full["version"]), (&json!("kept"), &json!(2)));
    check(Method::GET, "/breadcrumbs?limit=many", &[], "", 422).await;
    check(Method::DELETE, &path, &[], "", 405).await;
    check(Method::GET, "/elsewhere", &[], "", 404).await;
    check(Method::GET, "/health", &[("Host", "attacker.example")], "", 403).await;
    check(Method::GET, "/secrets", &[("Origin", "https://attacker.example")], "", 403).await;
    assert_eq!(check(Method::GET, "/health", &[], "", 200).await, json!("ok"));
    let token = check(Method::POST, "/auth/token", &[], "", 200).await;
    assert!(token["token"].is_string() && token["exp"].is_i64(), "{token}");
    server.shutdown().await;
}

#[tokio::test]
async fn an_envelope_is_the_breadcrumb_in_it() {
    let (server, client) = store(StoreConfig::new()).await;
    let id =
        client.create(&json!({"action": "create", "breadcrumb": memo("inner", &[])})).await.expect("an id");
    assert_eq!(client.full(&id).await.expect("a breadcrumb").title, "inner");
    server.shutdown().await;
}

#[tokio::test]
async fn a_secret_is_seen_by_who_decrypts_it_alone() {
    let mut config = StoreConfig::new();
    config.secrets = vec![StoredSecret {
        id: "sec-1".to_owned(),
        name: "provider".to_owned(),
        value: Secret::from("hush-9b1c"),
    }];
    assert!(!format!("{config:?}").contains("hush"));
    let (server, client) = store(config).await;
    let (_, listed) = ask(&server.url(), Method::GET, "/secrets", &[], "").await;
    assert_eq!(listed, json!([{"id": "sec-1", "name": "provider"}]));
    assert_eq!(client.secret("sec-1", "a call").await.expect("a secret").expose(), "hush-9b1c");
    assert_eq!(client.secret("sec-2", "a call").await.expect_err("a refusal").status(), Some(404));
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_is_asked_for_where_there_is_one() {
    let mut config = StoreConfig::new();
    config.token = Some(Secret::from("t0ken"));
    let server = StoreServer::start(config).await.expect("a store");
    let status = async |path: &str, header: &str| {
        ask(&server.url(), Method::GET, path, &[("Authorization", header)], "").await.0.as_u16()
    };
    assert_eq!(status("/breadcrumbs", "Bearer t0ken").await, 200);
    assert_eq!(status("/breadcrumbs?token=t0ken", "").await, 200);
    assert_eq!(status("/breadcrumbs", "Bearer t0ke").await, 401);
    assert_eq!(status("/secrets", "").await, 401);
    assert_eq!(status("/health", "").await, 200);
    server.shutdown().await;

    let mut open = StoreConfig::new();
    open.listen = "0.0.0.0:0".parse().expect("an address");
    assert!(matches!(StoreServer::start(open).await, Err(StoreError::Config { .. })));
}

#[tokio::test]
async fn a_file_keeps_what_was_stored() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = StoreConfig::new();
    config.data_dir = Some(directory.path().join("data"));
    config.seeds = vec![memo("seed", &["seed"])];
    let (server, client) = store(config.clone()).await;
    let id = client.create(&memo("kept", &["kept"])).await.expect("an id");
    client.patch(&id, &json!({"title": "kept well"}), None).await.expect("a change");
    server.shutdown().await;

    let (server, client) = store(config).await;
    let full = client.full(&id).await.expect("a breadcrumb");
    assert_eq!((full.version, full.title.as_str()), (2, "kept well"));
    assert_eq!(client.list(&ListQuery::default()).await.expect("a list").len(), 2);
    server.shutdown().await;
}
