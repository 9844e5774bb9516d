//! A small agent that does what the contract asks, for tests of the suite alone.
//!
//! It shares nothing with the suite or the reference: what both would get wrong, it gets right by itself.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use callmark_suite::families::hub::agent::manifest::ModelKind;
use callmark_suite::families::hub::agent::session::{Around, Embedded, StartAgent};
use futures::FutureExt as _;
use serde_json::{Value, json};

/// How it differs from the plainest agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Asks for the status before each call.
    pub looks_first: bool,
    /// The API of its model.
    pub model: ModelKind,
    /// Serves this customer whoever is named.
    pub serves_the_first_only: bool,
}

struct Agent {
    around: Around,
    habits: Habits,
    client: reqwest::Client,
    first: std::sync::OnceLock<Value>,
}

/// Starts it within this process.
pub(crate) fn start(habits: Habits) -> StartAgent {
    Box::new(move |around| serve(around, habits).boxed())
}

/// One call of the hook as a command line: what it reads, and what it prints.
pub(crate) async fn hook(call: &str) -> String {
    let variable = |name: &str| std::env::var(format!("CALLMARK_{name}")).unwrap_or_default();
    let around = Around {
        hub_url: variable("HUB_URL"),
        secret: variable("HUB_SECRET"),
        model_url: variable("MODEL_URL"),
        listen: variable("LISTEN"),
        agent_id: variable("AGENT_ID"),
        customer_id: variable("CUSTOMER_ID"),
        search_url: variable("SEARCH_URL"),
        provider_url: variable("PROVIDER_URL"),
    };
    let agent = Agent {
        around,
        habits: Habits::default(),
        client: reqwest::Client::new(),
        first: std::sync::OnceLock::new(),
    };
    let call: Value = serde_json::from_str(call).unwrap_or_default();
    match agent.call(&call).await {
        Ok(outcome) => json!({"ok": true, "outcome": outcome}),
        Err(failure) => json!({"ok": false, "outcome": failure}),
    }
    .to_string()
}

async fn serve(around: Around, habits: Habits) -> Result<Embedded, String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let listen = listener.local_addr().map_err(|error| error.to_string())?.to_string();
    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
    let agent = Arc::new(Agent { around, habits, client, first: std::sync::OnceLock::new() });
    let router = Router::new().route("/drive", post(drive)).route("/v1/chat", post(chat)).with_state(agent);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, router).await });
    Ok(Embedded { listen, keep: Box::new(tasks) })
}

async fn drive(State(agent): State<Arc<Agent>>, Json(call): Json<Value>) -> Json<Value> {
    Json(match agent.call(&call).await {
        Ok(outcome) => json!({"ok": true, "outcome": outcome}),
        Err(failure) => json!({"ok": false, "outcome": failure}),
    })
}

async fn chat(State(agent): State<Arc<Agent>>, Json(turn): Json<Value>) -> (StatusCode, Json<Value>) {
    match agent.converse(&turn).await {
        Ok(reply) => (StatusCode::OK, Json(json!({"reply": reply}))),
        Err(why) => (StatusCode::BAD_GATEWAY, Json(json!({"error": why}))),
    }
}

impl Agent {
    async fn call(&self, call: &Value) -> Result<Value, Value> {
        let (tool, inputs) = (call["tool"].as_str().unwrap_or_default(), &call["inputs"]);
        match tool {
            "mission_create_task" | "document_create" => Ok(json!({"id": "1", "title": inputs["title"]})),
            "research_fetch_page" => self.page(inputs["url"].as_str().unwrap_or_default()).await,
            "research_web_search" => {
                let query = inputs["query"].as_str().unwrap_or_default();
                self.page(&format!("{}?q={query}", self.around.search_url)).await
            }
            _ => self.ask_the_hub(call).await,
        }
    }

    async fn page(&self, url: &str) -> Result<Value, Value> {
        let response = self.client.get(url).send().await.map_err(|error| json!(error.to_string()))?;
        let text = response.text().await.map_err(|error| json!(error.to_string()))?;
        Ok(json!({"text": text}))
    }

    async fn ask_the_hub(&self, call: &Value) -> Result<Value, Value> {
        let unreadable = |why: String| json!({"code": "HUB_ANSWER", "message": why});
        let authorization = format!("ServiceSecret {}", self.around.secret);
        let mut customer = call["customer_id"].clone();
        if customer.is_null() {
            customer = json!(self.around.customer_id);
        }
        if self.habits.serves_the_first_only {
            customer = self.first.get_or_init(|| customer).clone();
        }
        if self.habits.looks_first {
            let customer = customer.as_str().unwrap_or_default();
            let url = format!("{}/api/internal/integrations/status/{customer}/", self.around.hub_url);
            // A status that cannot be had does not keep from trying.
            let _ = self.client.get(url).header("Authorization", &authorization).send().await;
        }
        let request = json!({
            "tool": call["tool"], "agent_id": self.around.agent_id, "customer_id": customer,
            "user_id": call["user_id"], "inputs": call["inputs"],
            "context": {"conversation_id": call["conversation_id"], "request_id": "req-1"},
        });
        let url = format!("{}/api/internal/tools/execute/", self.around.hub_url);
        let sent = self.client.post(url).header("Authorization", &authorization).json(&request).send();
        let response = sent.await.map_err(|error| unreadable(error.to_string()))?;
        let answer: Value = response.json().await.map_err(|error| unreadable(error.to_string()))?;
        match (answer.get("success").and_then(Value::as_bool), answer.get("result")) {
            (Some(true), Some(result)) => Ok(result.clone()),
            (Some(false), _) => Err(answer["error"].clone()),
            _ => Err(unreadable("the Hub's answer is outside the contract".to_owned())),
        }
    }

    /// One turn: asks the model, runs the tool that it wants, and hands the outcome back until there is a reply.
    async fn converse(&self, turn: &Value) -> Result<String, String> {
        let mut messages = vec![json!({"role": "user", "content": turn["message"]})];
        for _ in 0..3 {
            let tools = json!([{"name": "any"}]);
            let body = json!({"model": "m", "max_tokens": 100, "messages": messages, "tools": tools});
            let path = match self.habits.model {
                ModelKind::Openai => "chat/completions",
                ModelKind::Anthropic => "messages",
            };
            let url = format!("{}/{path}", self.around.model_url);
            let response =
                self.client.post(url).json(&body).send().await.map_err(|error| error.to_string())?;
            let answer: Value = response.json().await.map_err(|error| error.to_string())?;
            let (said, wanted) = self.wanted(&answer);
            let Some((id, tool, inputs)) = wanted else { return Ok(said.to_string()) };
            let call = json!({"tool": tool, "inputs": inputs, "customer_id": turn["customer_id"],
                              "user_id": turn["user_id"], "conversation_id": turn["conversation_id"]});
            let outcome = self.call(&call).await;
            messages.push(said);
            messages.push(self.result_message(&id, &outcome));
        }
        Err("the model asks for ever more".to_owned())
    }

    fn wanted(&self, answer: &Value) -> (Value, Option<(Value, Value, Value)>) {
        match self.habits.model {
            ModelKind::Openai => {
                let message = &answer["choices"][0]["message"];
                let call = &message["tool_calls"][0];
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                let inputs = serde_json::from_str(arguments).unwrap_or_default();
                let wanted = (call["id"].clone(), call["function"]["name"].clone(), inputs);
                (message.clone(), call.is_object().then_some(wanted))
            }
            ModelKind::Anthropic => {
                let block = &answer["content"][0];
                let wanted = (block["id"].clone(), block["name"].clone(), block["input"].clone());
                let said = json!({"role": "assistant", "content": answer["content"]});
                (said, (block["type"] == "tool_use").then_some(wanted))
            }
        }
    }

    fn result_message(&self, id: &Value, outcome: &Result<Value, Value>) -> Value {
        let text = match outcome {
            Ok(result) => result.to_string(),
            Err(failure) => format!("The call failed: {failure}"),
        };
        match self.habits.model {
            ModelKind::Openai => json!({"role": "tool", "tool_call_id": id, "content": text}),
            ModelKind::Anthropic => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": outcome.is_err()},
            ]}),
        }
    }
}
