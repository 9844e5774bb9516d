//! The agent over HTTP and in lines.

use callmark_reference::breadcrumb::agent::{AgentConfig, AgentError, HttpAgent, run_lines};
use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HOST};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::support::{Model, any_port, call, calls, catalog, soon, success, user, words};

async fn post(url: &str, breadcrumb: &Value) -> (u16, Value) {
    let response = soon(Client::new().post(url).json(breadcrumb).send()).await.expect("an answer");
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn an_answer_is_what_the_agent_says_or_nothing() {
    let both =
        calls(&[call("calculator", &json!({"expression": "1+1"}), true), call("random", &json!({}), true)]);
    let model = Model::saying([both, words("2 and 7")]).await;
    let agent = HttpAgent::start(model.config(), any_port()).await.expect("an agent");
    let url = agent.url();
    assert_eq!(post(&url, &catalog()).await.0, 204);
    assert_eq!(post(&url, &json!({"schema_name": "note.v1"})).await.0, 204);

    let (status, said) = post(&url, &user("sess-1", "both")).await;
    assert_eq!((status, &said["action"]), (200, &json!("create")));
    let breadcrumb = &said["breadcrumb"];
    assert_eq!(said.as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(breadcrumb["schema_name"], "agent.response.v1");
    assert_eq!(breadcrumb["tags"], json!(["agent:response", "session:sess-1"]));
    let requests = &breadcrumb["context"]["tool_requests"];
    assert_eq!(post(&url, &success(&requests[1], &json!({"numbers": [7]}))).await.0, 204);
    assert_eq!(post(&url, &success(&requests[1], &json!({"numbers": [8]}))).await.0, 204);
    let (status, said) = post(&url, &success(&requests[0], &json!({"result": 2}))).await;
    assert_eq!((status, &said["breadcrumb"]["context"]), (200, &json!({"message": "2 and 7"})));
    agent.shutdown().await;
}

#[tokio::test]
async fn only_breadcrumbs_from_this_machine_are_accepted() {
    let agent =
        HttpAgent::start(AgentConfig::new("http://127.0.0.1:1/v1"), any_port()).await.expect("an agent");
    let (client, url) = (Client::new(), agent.url());
    let json = client.post(&url).header(CONTENT_TYPE, "application/json");
    let check = async |request: reqwest::RequestBuilder, expect: u16| {
        assert_eq!(soon(request.send()).await.expect("an answer").status().as_u16(), expect);
    };
    check(client.post(&url).body("{}"), 415).await;
    check(json.try_clone().expect("a request").body("{"), 422).await;
    check(json.try_clone().expect("a request").body("[]"), 422).await;
    check(json.try_clone().expect("a request").header(HOST, "pages.example").body("{}"), 403).await;
    check(json.body(" ".repeat(5 << 20)), 413).await;
    check(client.put(&url), 405).await;
    check(client.get(format!("{url}/health")), 200).await;
    let taken = HttpAgent::start(AgentConfig::new("http://127.0.0.1:1/v1"), agent.address()).await;
    assert!(matches!(taken, Err(AgentError::Listen { .. })));
    agent.shutdown().await;
}

#[tokio::test]
async fn lines_are_breadcrumbs_in_and_invocations_out() {
    let model =
        Model::saying([calls(&[call("calculator", &json!({"expression": "6*7"}), true)]), words("42")]).await;
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let running = tokio::spawn(run_lines(model.config(), reader, writer));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();
    let message = user("sess-1", "6*7");
    let input = format!("{}\nno breadcrumb\n\n{message}\n", catalog());
    writer.write_all(input.as_bytes()).await.expect("it is read");
    let line = soon(lines.next_line()).await.expect("it can be read").expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&said["action"], said["breadcrumb"]["tags"][1].as_str()),
        (&json!("create"), Some("session:sess-1"))
    );
    // The input ends while the model is still to be asked.
    let answer = success(&said["breadcrumb"]["context"]["tool_requests"][0], &json!({"result": 42}));
    writer.write_all(answer.to_string().as_bytes()).await.expect("it is read");
    writer.shutdown().await.expect("it can end");
    let line = soon(lines.next_line()).await.expect("it can be read").expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(said["breadcrumb"]["context"], json!({"message": "42"}));
    soon(running).await.expect("no panic").expect("no error");
}

#[tokio::test]
async fn an_endless_line_ends_the_agent() {
    let config = AgentConfig::new("http://127.0.0.1:1/v1");
    let ended = soon(run_lines(config, tokio::io::repeat(b'x'), tokio::io::sink())).await;
    assert!(matches!(ended, Err(AgentError::Lines(_))));
}
