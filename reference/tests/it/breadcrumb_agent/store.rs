//! The agent at a store.

use std::time::Duration;

use callmark_reference::breadcrumb::agent::{
    Agent, AgentConfig, AgentError, Capture, Deadlines, ScriptedModel,
};
use callmark_reference::secret::Secret;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::support::{Model, Store, any_port, call, calls, response, said, soon, success, user, words};

async fn agent(store: &Store, mut config: AgentConfig) -> Agent {
    config.store_url = Some(store.server.url());
    Agent::start(config).await.expect("an agent")
}

#[tokio::test]
async fn a_turn_goes_through_the_store_in_either_capture() {
    for capture in [Capture::Breadcrumb, Capture::Envelope] {
        let mut store = Store::new().await;
        let model = ScriptedModel::start(any_port()).await.expect("a model");
        let mut config = AgentConfig::new(model.url());
        config.capture = capture;
        let agent = agent(&store, config).await;

        store.put(&user("sess-1", "What is 6 * 7?")).await;
        let called = store.said().await;
        assert!(called.has_tag("agent:response") && called.has_tag("session:sess-1"));
        assert_eq!(called.context["message"], "One moment.");
        let request = &called.context["tool_requests"][0];
        assert_eq!(
            (&request["tool"], &request["input"], &request["return_to_llm"]),
            (&json!("calculator"), &json!({"expression": "6 * 7"}), &json!(true))
        );
        assert!(!store.client.full(&called.id).await.expect("it is stored").title.is_empty());

        store.put(&success(request, &json!({"result": 42}))).await;
        let last = store.said().await;
        assert!(last.context["message"].as_str().expect("a text").contains("42"));
        assert!(!last.context.contains_key("tool_requests") && last.has_tag("session:sess-1"));
        agent.shutdown().await;
        model.shutdown().await;
    }
}

#[tokio::test]
async fn requests_are_in_the_exact_structure_and_ids_never_come_again() {
    let mut store = Store::new().await;
    let config_id = store
        .put(&json!({"schema_name": "tool.config.v1", "title": "Fast", "tags": ["tool:config"],
                     "context": {"toolName": "calculator", "config": {"apiKey": "s3cr3t-of-the-tool"}}}))
        .await;
    let arguments = json!({"input": {"expression": "1+1"}, "return_to_llm": true, "config_id": config_id});
    let configured = json!({"id": "a", "type": "function",
                            "function": {"name": "calculator", "arguments": arguments.to_string()}});
    let turn = || calls(&[configured.clone(), call("random", &json!({}), false)]);
    let mut ids = Vec::new();
    for _restart in 0..2 {
        let model = Model::saying([turn(), words("2")]).await;
        let agent = agent(&store, model.config()).await;
        store.put(&user("sess-1", "one and one")).await;
        let called = store.said().await;
        let requests = called.context["tool_requests"].as_array().expect("an array").clone();
        let id = requests[0]["requestId"].as_str().expect("a text").to_owned();
        assert!(id.starts_with("calculator-"), "{id}");
        let expect = json!({"tool": "calculator", "input": {"expression": "1+1"}, "requestId": id,
                            "return_to_llm": true, "config_id": config_id});
        assert_eq!(requests[0], expect);
        assert_eq!((&requests[1]["return_to_llm"], requests[1].get("config_id")), (&json!(false), None));
        ids.extend(requests.iter().map(|request| request["requestId"].as_str().expect("a text").to_owned()));
        store.put(&success(&requests[0], &json!({"result": 2}))).await;
        assert_eq!(store.said().await.context["message"], "2");
        let asked = Value::from(model.asked().await).to_string();
        assert!(asked.contains(&config_id) && !asked.contains("s3cr3t-of-the-tool"));
        agent.shutdown().await;
    }
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 4, "{ids:?}");
}

#[tokio::test]
async fn answers_of_others_and_second_ones_do_nothing() {
    let mut store = Store::new().await;
    let turn = calls(&[
        json!({"id": "a", "function": {"name": "calculator",
               "arguments": {"input": {"expression": "1+1"}, "return_to_llm": true}}}),
        json!({"id": "b", "function": {"name": "random", "arguments": {"return_to_llm": true}}}),
    ]);
    let model = Model::saying([turn, words("done")]).await;
    let agent = agent(&store, model.config()).await;
    store.put(&user("sess-1", "both")).await;
    let called = store.said().await;
    let requests = &called.context["tool_requests"];
    let decoy = json!({"status": "error", "error": "no dice today", "output": {"numbers": [999]}});
    store.put(&response(&requests[1], &decoy)).await;
    store.put(&success(&requests[1], &json!({"numbers": [998]}))).await;
    store
        .put(&success(&json!({"requestId": "calculator-1", "tool": "calculator"}), &json!({"result": 997})))
        .await;
    store.put(&success(&requests[0], &json!({"result": 2}))).await;
    assert_eq!(store.said().await.context["message"], "done");
    let asked = model.asked().await;
    let tool_messages: Vec<&Value> = asked[1]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["role"] == "tool")
        .collect();
    assert_eq!(
        (&tool_messages[0]["tool_call_id"], &tool_messages[1]["tool_call_id"]),
        (&json!("a"), &json!("b"))
    );
    assert!(tool_messages[0]["content"].as_str().expect("a text").contains(r#""result":2"#));
    assert!(tool_messages[1]["content"].as_str().expect("a text").contains("no dice today"));
    assert!(!asked[1].to_string().contains("99"), "{}", asked[1]);
    agent.shutdown().await;
}

#[tokio::test]
async fn sessions_go_side_by_side_and_their_messages_one_after_another() {
    let mut store = Store::new().await;
    let model = Model::new(|request| {
        let messages = request["messages"].as_array().expect("messages");
        let text = messages.last().expect("a message")["content"].as_str().expect("a text");
        let answer = said(&words(&format!("answer to {text}, after {}", messages.len())));
        if text.contains("slow") { answer.set_delay(Duration::from_secs(1)) } else { answer }
    })
    .await;
    let agent = agent(&store, model.config()).await;
    store.put(&user("sess-1", "slow 1")).await;
    store.put(&user("sess-1", "quick 2")).await;
    store.put(&user("sess-2", "quick 3")).await;
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.push(store.said().await.context["message"].as_str().expect("a text").to_owned());
    }
    assert_eq!(
        replies,
        ["answer to quick 3, after 2", "answer to slow 1, after 2", "answer to quick 2, after 4"]
    );
    agent.shutdown().await;
}

#[tokio::test]
async fn who_does_not_answer_is_given_up() {
    let mut store = Store::new().await;
    let model = Model::saying([calls(&[call("random", &json!({}), true)]), words("it did not answer")]).await;
    let mut config = model.config();
    config.deadlines = Deadlines { response: Duration::from_millis(200), ..Deadlines::default() };
    let agent = agent(&store, config).await;
    store.put(&user("sess-1", "a number")).await;
    let called = store.said().await;
    assert_eq!(store.said().await.context["message"], "it did not answer");
    assert!(model.asked().await[1].to_string().contains("did not answer within"));
    // Too late; and the model has nothing more to say, which is said.
    store.put(&success(&called.context["tool_requests"][0], &json!({"numbers": [1]}))).await;
    store.put(&user("sess-1", "a number")).await;
    let failed = store.said().await;
    assert!(failed.context["message"].as_str().expect("a text").contains("status 500"));
    agent.shutdown().await;
}

#[tokio::test]
async fn the_key_of_the_model_is_sent_and_never_said() {
    let mut store = Store::new().await;
    let model = Model::new(|_| ResponseTemplate::new(401).set_body_string("bad key key-7f3a91")).await;
    let mut config = model.config();
    config.model_key = Some(Secret::from("key-7f3a91"));
    assert!(!format!("{config:?}").contains("key-7f3a91"));
    let agent = agent(&store, config).await;
    store.put(&user("sess-1", "a number")).await;
    let failed = store.said().await.context["message"].to_string();
    assert!(failed.contains("status 401") && !failed.contains("key-7f3a91"), "{failed}");
    let requests = model.server.received_requests().await.expect("requests are kept");
    assert_eq!(requests[0].headers["authorization"], "Bearer key-7f3a91");
    agent.shutdown().await;
}

#[tokio::test]
async fn an_agent_needs_its_store_and_a_model() {
    let no_store = soon(Agent::start(AgentConfig::new("http://127.0.0.1:1/v1"))).await;
    assert!(matches!(no_store, Err(AgentError::Config { what: "store_url", .. })));
    let mut config = AgentConfig::new("http://127.0.0.1:1/v1");
    config.store_url = Some("http://127.0.0.1:1".to_owned());
    assert!(matches!(soon(Agent::start(config.clone())).await, Err(AgentError::Store(_))));
    config.model_url = "nowhere".to_owned();
    assert!(matches!(soon(Agent::start(config)).await, Err(AgentError::Config { what: "model_url", .. })));
}

#[tokio::test]
async fn a_runner_gives_the_agent_its_tools_and_its_answers() {
    use callmark_reference::breadcrumb::runner::{Runner, RunnerConfig};
    use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
    use callmark_reference::breadcrumb::tools;

    let mut store = Store::over(StoreServer::start(StoreConfig::new()).await.expect("a store")).await;
    let catalog = tools::catalog(&store.client, Vec::new()).expect("a catalogue");
    let runner = Runner::start(RunnerConfig::new(store.server.url(), catalog)).await.expect("a runner");
    let model = ScriptedModel::start(any_port()).await.expect("a model");
    let agent = agent(&store, AgentConfig::new(model.url())).await;

    store.put(&user("sess-1", "What is 6 * 7?")).await;
    assert_eq!(store.said().await.context["tool_requests"][0]["tool"], "calculator");
    let last = store.said().await;
    assert!(last.context["message"].as_str().expect("a text").contains("42"), "{last:?}");

    // A result for the user alone ends the turn: the runner shows it.
    store.put(&user("sess-1", "Tell me directly: 6 * 8")).await;
    assert_eq!(store.said().await.context["tool_requests"][0]["return_to_llm"], false);
    let shown = store.said().await;
    assert!(shown.context["message"].as_str().expect("a text").contains("48"), "{shown:?}");
    agent.shutdown().await;
    runner.shutdown().await;
}
