//! What the agent says, in the Standard's exact structure: `action`, `breadcrumb`, and nothing beside them.

use serde_json::{Map, Value, json};

/// One thing said to one session: a message to the user, and the requests that go with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Utterance {
    pub(super) session: String,
    pub(super) message: String,
    /// Empty where nothing is called, as at the end of a turn.
    pub(super) requests: Vec<Request>,
}

/// One request to a tool.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the word of the Standard")]
pub(super) struct Request {
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    pub(super) request_id: String,
    pub(super) return_to_llm: bool,
    pub(super) config_id: Option<String>,
}

impl Utterance {
    /// The ids whose answers come back to the agent.
    pub(super) fn awaited(&self) -> impl Iterator<Item = &str> {
        let awaited = self.requests.iter().filter(|request| request.return_to_llm);
        awaited.map(|request| request.request_id.as_str())
    }

    /// The whole invocation.
    pub(super) fn envelope(&self) -> Value {
        json!({"action": "create", "breadcrumb": self.breadcrumb()})
    }

    /// The breadcrumb in it.
    pub(super) fn breadcrumb(&self) -> Value {
        let mut context = json!({"message": self.message});
        if !self.requests.is_empty() {
            context["tool_requests"] = self.requests.iter().map(Request::to_json).collect();
        }
        json!({
            "schema_name": "agent.response.v1",
            "title": self.title(),
            "tags": ["agent:response", format!("session:{}", self.session)],
            "context": context,
        })
    }

    fn title(&self) -> String {
        match self.requests.as_slice() {
            [] => "Response".to_owned(),
            [request] => format!("Call of {}", request.tool),
            requests => format!("{} calls", requests.len()),
        }
    }
}

impl Request {
    fn to_json(&self) -> Value {
        let mut request = json!({
            "tool": self.tool,
            "input": self.input,
            "requestId": self.request_id,
            "return_to_llm": self.return_to_llm,
        });
        if let Some(id) = &self.config_id {
            request["config_id"] = json!(id);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::{Request, Utterance};

    #[test]
    fn the_structure_is_the_one_of_the_standard() {
        let request = |tool: &str, return_to_llm, config_id: Option<&str>| Request {
            tool: tool.to_owned(),
            input: Map::new(),
            request_id: format!("{tool}-1"),
            return_to_llm,
            config_id: config_id.map(str::to_owned),
        };
        let mut said = Utterance {
            session: "sess-7f3a".to_owned(),
            message: "One moment.".to_owned(),
            requests: vec![request("echo", true, Some("an-id")), request("random", false, None)],
        };
        assert_eq!(said.awaited().collect::<Vec<_>>(), ["echo-1"]);
        assert_eq!(
            said.envelope(),
            json!({"action": "create", "breadcrumb": {
                "schema_name": "agent.response.v1",
                "title": "2 calls",
                "tags": ["agent:response", "session:sess-7f3a"],
                "context": {"message": "One moment.", "tool_requests": [
                    {"tool": "echo", "input": {}, "requestId": "echo-1", "return_to_llm": true,
                     "config_id": "an-id"},
                    {"tool": "random", "input": {}, "requestId": "random-1", "return_to_llm": false}
                ]}
            }})
        );
        said.requests.clear();
        assert_eq!(said.breadcrumb()["context"], json!({"message": "One moment."}));
    }
}
