//! Local and direct tools: they work with no Hub at all, and none of them reaches it.

use callmark_reference::hub::agent::{Agent, AgentCall, AgentConfig};
use serde_json::{Value, json};
use wiremock::matchers::{method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::{NOBODY, agent, call, config, count, done, failure};

async fn result(agent: &Agent, tool: &str, inputs: Value) -> Value {
    done(agent, call(tool, inputs)).await.expect("a success").result
}

async fn pages() -> MockServer {
    let server = MockServer::start().await;
    let html = "<title>Tides</title><p>High water at 9</p><script>no()</script>";
    for (place, answer) in [
        ("/tides", ResponseTemplate::new(200).set_body_raw(html, "text/html; charset=utf-8")),
        ("/gone", ResponseTemplate::new(404).set_body_raw("gone", "text/plain")),
        ("/picture", ResponseTemplate::new(200).set_body_raw(vec![0_u8, 1], "image/png")),
        ("/moved", ResponseTemplate::new(302).insert_header("location", "/tides")),
        ("/round", ResponseTemplate::new(302).insert_header("location", "/round")),
        ("/large", ResponseTemplate::new(200).set_body_raw(vec![b'x'; 20 * 1024 * 1024], "text/plain")),
    ] {
        Mock::given(method("GET")).and(path(place)).respond_with(answer).mount(&server).await;
    }
    server
}

#[tokio::test]
async fn tasks_and_documents_are_kept_for_each_customer() {
    let hub = MockServer::start().await;
    let agent = agent(&hub.uri());
    let task = result(&agent, "mission_create_task", json!({"title": "sow", "due_date": "2031-03-04"})).await;
    assert_eq!((&task["title"], &task["status"]), (&json!("sow"), &json!("open")));
    assert_eq!(result(&agent, "mission_list_tasks", json!({})).await, json!({"tasks": [task]}));
    let document = result(&agent, "document_create", json!({"title": "plan", "content": "sow, reap"})).await;
    let by_id = json!({"document_id": document["document_id"]});
    assert_eq!(result(&agent, "document_read", by_id.clone()).await["content"], "sow, reap");

    let other = Some("b1d3a8c4-77aa-4e21-9c39-50f0e6a1d2b8".to_owned());
    let tasks = AgentCall { customer_id: other.clone(), ..call("mission_list_tasks", json!({})) };
    assert_eq!(done(&agent, tasks).await.expect("a success").result, json!({"tasks": []}));
    let document = AgentCall { customer_id: other, ..call("document_read", by_id) };
    assert_eq!(failure(&agent, document).await.code(), "NOT_FOUND");
    assert_eq!(count(&hub).await, 0);
}

#[tokio::test]
async fn what_is_kept_has_a_limit_and_survives_in_a_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let data_dir = Some(directory.path().join("agent"));
    for data_dir in [None, data_dir.clone()] {
        let agent = Agent::new(AgentConfig { data_dir, ..config(NOBODY) }).expect("an agent");
        result(&agent, "mission_create_task", json!({"title": "sow"})).await;
        let large = json!({"title": "t", "content": "x".repeat(5 * 1024 * 1024)});
        assert_eq!(failure(&agent, call("document_create", large)).await.code(), "STORE_FULL");
        let tasks = result(&agent, "mission_list_tasks", json!({})).await;
        assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(1));
    }
    let later = Agent::new(AgentConfig { data_dir: data_dir.clone(), ..config(NOBODY) }).expect("an agent");
    assert_eq!(result(&later, "mission_list_tasks", json!({})).await["tasks"][0]["title"], "sow");

    let file = directory.path().join("agent").join(format!("{}.json", super::support::CUSTOMER));
    std::fs::write(file, "not ours").expect("written");
    assert_eq!(failure(&later, call("mission_list_tasks", json!({}))).await.code(), "STORE_FAILED");
}

#[tokio::test]
async fn pages_are_fetched_by_the_agent_itself() {
    let pages = pages().await;
    let agent = agent(NOBODY);
    let page = |place: &str| json!({"url": format!("{}{place}", pages.uri())});
    let tides =
        json!({"url": page("/tides")["url"], "status": 200, "text": "High water at 9", "title": "Tides"});
    assert_eq!(result(&agent, "research_fetch_page", page("/tides")).await, tides);
    assert_eq!(result(&agent, "research_fetch_page", page("/moved")).await, tides);
    let gone = result(&agent, "research_fetch_page", page("/gone")).await;
    assert_eq!((&gone["status"], &gone["text"]), (&json!(404), &json!("gone")));
    let large = result(&agent, "research_fetch_page", page("/large")).await;
    assert_eq!(large["truncated"], true);
    assert_eq!(large["text"].as_str().map(str::len), Some(50_000));
    for (inputs, says) in [
        (page("/picture"), "no text"),
        (page("/round"), "redirect"),
        (json!({"url": NOBODY}), "no connection"),
        (json!({"url": "https://orchid.example/"}), "TLS"),
        (json!({"url": "file:///etc/passwd"}), "http://"),
        (json!({"url": "tides"}), "relative URL"),
    ] {
        let failure = failure(&agent, call("research_fetch_page", inputs)).await;
        assert_eq!(failure.code(), "WEB_FAILED");
        assert!(failure.message().contains(says), "{failure}");
    }
    let requests = pages.received_requests().await.expect("they are recorded");
    assert!(requests.iter().all(|request| !request.headers.contains_key("authorization")));
}

#[tokio::test]
async fn searches_ask_the_search_service() {
    let server = MockServer::start().await;
    let found = json!({"query": "tides", "results": [
        {"title": "One", "url": "http://one.test/", "content": "first", "engine": "x"},
        {"title": null, "url": "http://two.test/"},
        {"title": "Three", "url": "http://three.test/"},
    ]});
    Mock::given(method("GET"))
        .and(path("/search"))
        .and(query_param("q", "tides & time"))
        .and(query_param("format", "json"))
        .and(query_param("lang", "en"))
        .respond_with(ResponseTemplate::new(200).set_body_json(found))
        .mount(&server)
        .await;
    let search_url = Some(format!("{}/search?lang=en", server.uri()));
    let agent_with = Agent::new(AgentConfig { search_url, ..config(NOBODY) }).expect("an agent");
    let inputs = json!({"query": "tides & time", "max_results": 2});
    assert_eq!(
        result(&agent_with, "research_web_search", inputs.clone()).await,
        json!({"query": "tides & time", "results": [
            {"title": "One", "url": "http://one.test/", "content": "first"},
            {"title": "", "url": "http://two.test/", "content": ""},
        ]})
    );
    let failed = failure(&agent_with, call("research_web_search", json!({"query": "other"}))).await;
    assert!(failed.message().contains("404"), "{failed}");
    assert_eq!(failure(&agent(NOBODY), call("research_web_search", inputs)).await.code(), "NOT_CONFIGURED");
}
