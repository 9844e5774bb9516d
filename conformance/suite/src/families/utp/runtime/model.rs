//! The language model that the suite plays for a runtime: an OpenAI-compatible `POST /v1/chat/completions`, scripted by
//! turn.
//!
//! A turn is known by its mark, a word in its instruction. Which answer is due follows from the conversation that the
//! runtime sends, not from how often it asks: a runtime that asks again gets the same answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use crate::families::utp::platform::{PlatformService, Project};
use crate::net::http_server::{HttpReply, HttpServer, ReceivedRequest};
use crate::transcript::{Kind, Message, lock};

/// The built-in workflow tool of a worker (UTP intro).
pub const SUBMIT: &str = "submit_result";
/// What the last words of every turn begin with.
pub const LAST_WORDS: &str = "That was all of turn";
/// Header that names the turn of a request, in the transcript.
pub const TURN: &str = "turn";
/// Header with the number of tool rounds that a request has behind it, in the transcript.
pub const ROUND: &str = "round";
/// What every mark begins with.
const MARK: &str = "mark-";

/// A tool call that the model asks for.
#[derive(Clone, Debug)]
pub struct PlannedCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Arguments as text, as a model gives them.
    pub arguments: String,
}

/// How the model ends a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// With a text.
    #[default]
    Text,
    /// With `submit_result`.
    Submit,
    /// With `submit_result` in the same answer as the first calls.
    SubmitBeside,
}

/// What the model does in one turn.
#[derive(Clone)]
pub struct ModelScript {
    /// The platform whose project that is: what is said crosses its wire.
    pub platform_service: Arc<PlatformService>,
    /// The turn's project.
    pub project: Arc<Project>,
    /// Tool calls, round by round.
    pub rounds: Vec<Vec<PlannedCall>>,
    /// What comes after them.
    pub ending: Ending,
    /// What the end says.
    pub last_words: String,
}

/// A running model.
pub struct Model {
    /// None where a run is judged again, in which nobody asks.
    server: Option<HttpServer>,
    router: Arc<ModelRouter>,
}

#[derive(Default)]
struct ModelRouter {
    scripts: Mutex<BTreeMap<String, ModelScript>>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Model").finish_non_exhaustive()
    }
}

impl Model {
    /// Listens at `listen`, or on a free port.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(listen: Option<&str>) -> Result<Self, String> {
        let router = Arc::<ModelRouter>::default();
        let own = Arc::clone(&router);
        let server = HttpServer::start(listen, Arc::new(move |received| own.answer(&received))).await?;
        Ok(Self { server: Some(server), router })
    }

    /// A model that nobody asks, for a run that is judged again.
    pub(super) fn offline() -> Self {
        Self { server: None, router: Arc::default() }
    }

    /// The base URL that a runtime is given.
    pub fn url(&self) -> String {
        format!("{}/v1", self.server.as_ref().map(HttpServer::url).unwrap_or_default())
    }

    /// Says what the model does in the turn with this mark.
    pub fn script(&self, mark: &str, script: ModelScript) {
        lock(&self.router.scripts).insert(mark.to_owned(), script);
    }
}

/// The mark of the nth turn of a project.
pub fn mark(unique: &str, number: usize) -> String {
    format!("{MARK}{unique}-{number}")
}

impl ModelRouter {
    fn answer(&self, received: &ReceivedRequest) -> HttpReply {
        let path = received.bare_path();
        if path.ends_with("/models") {
            return HttpReply::json(
                200,
                &json!({"object": "list", "data": [{"id": "suite", "object": "model"}]}),
            );
        }
        if !path.ends_with("/chat/completions") {
            let error = json!({"error": {"message": "the suite's model serves chat completions", "type": "not_found"}});
            return HttpReply::json(404, &error);
        }
        let Some((mark, script)) = self.find(&received.body) else {
            return spoken(&received.body, &text("There is nothing to do."));
        };
        let platform_service = &script.platform_service;
        let round = rounds(&received.body, &mark, &script.rounds);
        let channel = format!("{} for {}", received.channel(), script.project.id);
        let headers = BTreeMap::from([(TURN.to_owned(), mark), (ROUND.to_owned(), round.to_string())]);
        let request = Message {
            direction: Direction::FromTarget,
            kind: Kind::Model,
            channel: channel.clone(),
            headers: headers.clone(),
            body: received.body.clone(),
        };
        let Some(request) = platform_service.incoming(&script.project, request).into_iter().next() else {
            return HttpReply::Hang;
        };
        let reply = Message {
            direction: Direction::ToTarget,
            kind: Kind::ModelReply,
            channel,
            headers,
            body: next(&script, round, &request.body),
        };
        match platform_service.outgoing(&script.project, reply).pop() {
            Some(reply) => spoken(&received.body, &reply.body),
            None => HttpReply::Hang,
        }
    }

    /// The turn that a conversation belongs to: the one whose mark was said last.
    fn find(&self, body: &Value) -> Option<(String, ModelScript)> {
        let scripts = lock(&self.scripts);
        let messages = body.get("messages")?.as_array()?;
        messages.iter().rev().find_map(|message| {
            let text = message.to_string();
            let mark = text.match_indices(MARK).filter_map(|(at, _)| known(&text[at..], &scripts)).last()?;
            Some((mark.clone(), scripts.get(&mark)?.clone()))
        })
    }
}

/// The mark at the beginning of a text, if it is one of these.
fn known(text: &str, scripts: &BTreeMap<String, ModelScript>) -> Option<String> {
    let end =
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(text.len());
    let mark = text[..end].trim_end_matches('-');
    scripts.contains_key(mark).then(|| mark.to_owned())
}

/// Rounds of tool calls that a conversation has behind it since the instruction with this mark. The calls of one round may
/// stand in messages of their own, each with its result, and have ids of the runtime's own.
fn rounds(body: &Value, mark: &str, planned: &[Vec<PlannedCall>]) -> usize {
    let Some(messages) = body.get("messages").and_then(Value::as_array) else { return 0 };
    let begin = messages
        .iter()
        .rposition(|message| message["role"] == "user" && message["content"].to_string().contains(mark));
    // The calls of the last round that have not been seen yet.
    let (mut count, mut rest) = (0, Vec::new());
    for message in messages.iter().skip(begin.unwrap_or_default()) {
        let calls = message["tool_calls"].as_array().filter(|_| message["role"] == "assistant");
        let Some(calls) = calls.filter(|calls| !calls.is_empty()) else { continue };
        let is_planned = |call: &Value, rest: &[&PlannedCall]| rest.iter().any(|own| own.is(call, planned));
        if !calls.iter().all(|call| is_planned(call, &rest)) {
            rest = planned.get(count).into_iter().flatten().collect();
            count += 1;
        }
        for call in calls {
            if let Some(place) = rest.iter().position(|own| own.is(call, planned)) {
                rest.remove(place);
            }
        }
    }
    count
}

impl PlannedCall {
    /// Whether a call in a conversation is this one: by its id, or by what it calls where the runtime has ids of its own.
    fn is(&self, call: &Value, planned: &[Vec<Self>]) -> bool {
        let id = call["id"].as_str().unwrap_or_default();
        if planned.iter().flatten().any(|planned| planned.id == id) {
            return id == self.id;
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text));
        let function = &call["function"];
        function["name"] == *self.tool
            && function["arguments"].as_str().is_some_and(|own| read(own) == read(&self.arguments))
    }
}

/// What the model says next.
fn next(script: &ModelScript, round: usize, request: &Value) -> Value {
    let offered = request.get("tools").and_then(Value::as_array);
    // A request without tools is for something else, such as a title.
    let Some(offered) = offered.filter(|tools| !tools.is_empty()) else { return text(&script.last_words) };
    let submit = offered.iter().find(|tool| tool.pointer("/function/name") == Some(&json!(SUBMIT)));
    let submission = submit.map(|tool| {
        let arguments = filled(tool.pointer("/function/parameters"), &script.last_words);
        call(&script.project.name.made("call_submit"), SUBMIT, &arguments.to_string())
    });
    if let Some(planned_calls) = script.rounds.get(round) {
        let planned =
            planned_calls.iter().map(|planned| call(&planned.id, &planned.tool, &planned.arguments));
        let beside = submission.filter(|_| script.ending == Ending::SubmitBeside && round == 0);
        return calls(&planned.chain(beside).collect::<Vec<_>>());
    }
    match submission {
        Some(submission) if script.ending == Ending::Submit && round == script.rounds.len() => {
            calls(&[submission])
        }
        _ => text(&script.last_words),
    }
}

fn call(id: &str, tool: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// Arguments that fit a schema, as far as a model can know.
fn filled(parameters: Option<&Value>, words: &str) -> Value {
    let Some(properties) = parameters.and_then(|schema| schema.get("properties")?.as_object()) else {
        return json!({"result": words});
    };
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("object") => json!({"text": words}),
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        _ => match schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
            Some(first) => first.clone(),
            None => json!(words),
        },
    };
    properties
        .iter()
        .map(|(name, schema)| (name.clone(), value(schema)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn text(words: &str) -> Value {
    json!({"role": "assistant", "content": words})
}

/// The answer on the wire: whole, or in pieces where that was asked for.
pub(crate) fn spoken(request: &Value, message: &Value) -> HttpReply {
    let called = message.get("tool_calls").is_some();
    let reason = if called { "tool_calls" } else { "stop" };
    let head = json!({"id": "chatcmpl-suite", "created": 1_767_225_600, "model": "suite"});
    let with = |object: &str, choice: Value| {
        let mut body = head.clone();
        body["object"] = json!(object);
        body["choices"] = json!([choice]);
        body
    };
    if request.get("stream") != Some(&Value::Bool(true)) {
        let mut body =
            with("chat.completion", json!({"index": 0, "message": message, "finish_reason": reason}));
        body["usage"] = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
        return HttpReply::json(200, &body);
    }
    let chunks = deltas(message).into_iter().map(|delta| (delta, Value::Null));
    let mut stream = String::new();
    for (delta, reason) in chunks.chain([(json!({}), json!(reason))]) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        stream.push_str("data: ");
        stream.push_str(&with("chat.completion.chunk", choice).to_string());
        stream.push_str("\n\n");
    }
    stream.push_str("data: [DONE]\n\n");
    HttpReply::text(200, "text/event-stream", &stream)
}

/// An answer in pieces, as models stream it: who speaks, then the text, then each call, first its name and then its
/// arguments.
fn deltas(message: &Value) -> Vec<Value> {
    let role = message.get("role").cloned().unwrap_or(json!("assistant"));
    let words = message.get("content").and_then(Value::as_str);
    let mut deltas = vec![json!({"role": role, "content": words.map(|_| "")})];
    deltas.extend(pieces(words.unwrap_or_default()).map(|piece| json!({"content": piece})));
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    for (index, call) in calls.enumerate() {
        let mut first = call.clone();
        first["index"] = json!(index);
        first["function"]["arguments"] = json!("");
        deltas.push(json!({"tool_calls": [first]}));
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str).unwrap_or_default();
        let more = |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
        deltas.extend(pieces(arguments).map(more));
    }
    deltas
}

/// A text in at most three pieces, which end within words.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    let length = letters.len().div_ceil(3).max(1);
    letters.chunks(length).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_from_the_turns_own_instruction() {
        let called = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]});
        let body = json!({"messages": [
            {"role": "user", "content": "mark-a-1"}, called.clone(), {"role": "tool", "content": "x"},
            {"role": "user", "content": "do mark-a-2 please"}, called, {"role": "tool", "content": "y"},
        ]});
        assert_eq!(rounds(&body, "mark-a-2", &[]), 1);
        assert_eq!(rounds(&body, "mark-a-1", &[]), 2);
    }

    #[test]
    fn calls_of_one_round_may_have_a_message_each() {
        let planned = [vec!["c1", "c2"], vec!["c1"]].map(|round| {
            let call = |id: &str| PlannedCall {
                id: id.to_owned(),
                tool: format!("t-{id}"),
                arguments: "{}".to_owned(),
            };
            round.into_iter().map(call).collect::<Vec<_>>()
        });
        let called = |ids: &[&str]| {
            let calls: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
            json!({"role": "assistant", "tool_calls": calls})
        };
        let check = |messages: &[Value], expect: usize| {
            assert_eq!(rounds(&json!({"messages": messages}), "mark", &planned), expect, "{messages:?}");
        };
        check(&[called(&["c1", "c2"])], 1);
        check(&[called(&["c1"]), called(&["c2"])], 1);
        check(&[called(&["c1", "c2"]), called(&["c1"])], 2);
        check(&[called(&["c1"]), called(&["c2"]), called(&["c1"])], 2);
        check(&[called(&["own1"]), called(&["own2"])], 2);
        // As the runtime calls them, they are known by what they call.
        let own = |id: &str, tool: &str| {
            let function = json!({"name": tool, "arguments": "{ }"});
            json!({"role": "assistant", "tool_calls": [{"id": id, "function": function}]})
        };
        check(&[own("own1", "t-c1"), own("own2", "t-c2")], 1);
        check(&[own("own1", "t-c2"), own("own2", "t-c1"), own("own3", "t-c1")], 2);
    }

    #[test]
    fn a_call_can_be_streamed() {
        let arguments = [r#"{"harbour": "Ærø"}"#, "{}"];
        let planned = arguments.map(|arguments| call("c", "tides", arguments));
        let HttpReply::Response { body, .. } = spoken(&json!({"stream": true}), &calls(&planned)) else {
            panic!("a response")
        };
        let text = String::from_utf8(body).expect("text");
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        let chunks = text.split("data: ").filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let mut streamed = [const { String::new() }; 2];
        let mut names = Vec::new();
        for chunk in chunks {
            let calls = chunk.pointer("/choices/0/delta/tool_calls").and_then(Value::as_array).cloned();
            for piece in calls.into_iter().flatten() {
                names.extend(piece.pointer("/function/name").cloned());
                let index = usize::try_from(piece["index"].as_u64().expect("an index")).expect("a small one");
                streamed[index].push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
            }
        }
        assert_eq!(streamed, arguments);
        assert_eq!(names, ["tides", "tides"]);
    }

    #[test]
    fn a_text_is_streamed_in_pieces() {
        assert_eq!(pieces("high 水").collect::<Vec<_>>(), ["hi", "gh", " 水"]);
        assert_eq!(pieces("").count(), 0);
    }

    #[test]
    fn arguments_follow_the_offered_schema() {
        let schema = json!({"properties": {"status": {"enum": ["done"]}, "result": {"type": "string"}}});
        assert_eq!(filled(Some(&schema), "w"), json!({"status": "done", "result": "w"}));
    }
}
