//! Conversations without a model and without a store.

use serde_json::{Value, json};

use super::super::ids::IdGenerator;
use super::super::knowledge::tests::{breadcrumb, knowledge};
use super::super::utterance::Utterance;
use super::{Act, Conversation, ROUNDS, Response, TURNS};
use crate::completion::{ModelCall, ModelReply};

/// A conversation and what goes with it.
struct Test {
    conversation: Conversation,
    ids: IdGenerator,
}

impl Test {
    fn new() -> Self {
        Self { conversation: Conversation::new("sess-1"), ids: IdGenerator::new("x") }
    }

    /// The user speaks, and the model is to be asked.
    fn user(&mut self, text: &str) {
        assert_eq!(self.conversation.message(text), Act::Ask);
    }

    /// The model calls.
    fn calls(&mut self, calls: &[(&str, Value)]) -> Act {
        let calls = calls.iter().enumerate().map(|(at, (name, arguments))| ModelCall {
            id: format!("call-{at}"),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        });
        self.said(Ok(ModelReply { content: None, calls: calls.collect() }))
    }

    fn said(&mut self, said: Result<ModelReply, String>) -> Act {
        self.conversation.model_replied(said, &knowledge().known(), &self.ids)
    }

    fn words(&mut self, text: &str) -> Act {
        self.said(Ok(ModelReply { content: Some(text.to_owned()), calls: Vec::new() }))
    }

    fn answer(&mut self, context: &Value) -> Act {
        let response = Response::read(&breadcrumb("r", 1, "tool.response.v1", context)).expect("a response");
        self.conversation.answered(response)
    }

    /// What is sent to the model about its calls, last ones last.
    fn tool_messages(&self) -> Vec<(String, Value)> {
        let question = self.conversation.question(&knowledge().known());
        let messages = question.iter().filter(|message| message["role"] == "tool");
        let pair = |message: &Value| {
            let text = |name: &str| message[name].as_str().expect("a text").to_owned();
            (text("tool_call_id"), serde_json::from_str(&text("content")).expect("JSON"))
        };
        messages.map(pair).collect()
    }
}

fn spoken(act: Act) -> Utterance {
    match act {
        Act::Send(utterance) => utterance,
        other => panic!("nothing is said but {other:?}"),
    }
}

fn compute(expression: &str, return_to_llm: bool) -> (&'static str, Value) {
    ("calculator", json!({"input": {"expression": expression}, "return_to_llm": return_to_llm}))
}

#[test]
fn answers_are_paired_by_their_id_in_any_order() {
    let mut test = Test::new();
    test.user("two sums");
    let said = spoken(test.calls(&[compute("1+1", true), compute("2+2", true)]));
    assert_eq!(said.awaited().collect::<Vec<_>>(), ["calculator-x1", "calculator-x2"]);
    assert!(!said.message.is_empty());
    let success = |id: &str, result: u8| json!({"request_id": id, "tool": "calculator", "status": "success", "output": {"result": result}});
    assert_eq!(test.answer(&success("calculator-x2", 4)), Act::Wait);
    // Twice, from elsewhere, from nowhere.
    assert_eq!(test.answer(&success("calculator-x2", 9)), Act::Wait);
    assert_eq!(test.answer(&success("calculator-y1", 9)), Act::Wait);
    assert_eq!(test.answer(&success("calculator-x1", 2)), Act::Ask);
    let messages = test.tool_messages();
    assert_eq!((messages[0].0.as_str(), &messages[0].1["output"]), ("call-0", &json!({"result": 2})));
    assert_eq!((messages[1].0.as_str(), &messages[1].1["output"]), ("call-1", &json!({"result": 4})));
    let last = spoken(test.words("2 and 4"));
    assert_eq!((last.message.as_str(), last.requests.len()), ("2 and 4", 0));
    assert!(test.conversation.is_idle());
}

#[test]
fn an_error_is_sent_without_its_output() {
    fn check(context: &Value, expect: &str) {
        let mut test = Test::new();
        test.user("a sum");
        spoken(test.calls(&[compute("1+", true)]));
        let mut context = context.clone();
        context["request_id"] = json!("calculator-x1");
        assert_eq!(test.answer(&context), Act::Ask);
        let messages = &test.tool_messages()[0].1;
        assert_eq!((&messages["status"], &messages["error"]), (&json!("error"), &json!(expect)));
        assert!(!messages.to_string().contains("999"), "{messages}");
    }
    check(&json!({"status": "error", "error": "it ends", "output": {"result": 999}}), "it ends");
    check(&json!({"status": "error", "output": {"result": 999}}), "the tool failed and does not say why");
    check(&json!({"status": "ok", "output": {"result": 999}}), "the answer says neither success nor error");
    check(&json!({"output": {"result": 999}}), "the answer says neither success nor error");
}

#[test]
fn results_for_the_user_end_the_turn_or_are_not_waited_for() {
    let mut test = Test::new();
    test.user("a sum");
    let said = spoken(test.calls(&[compute("1+1", false)]));
    assert!(!said.requests[0].return_to_llm && test.conversation.is_idle());
    assert_eq!(test.tool_messages()[0].1["status"], "sent");

    test.user("two sums");
    let said = spoken(test.calls(&[compute("1+1", false), compute("2+2", true)]));
    assert_eq!(said.awaited().collect::<Vec<_>>(), ["calculator-x3"]);
    let answer = json!({"request_id": "calculator-x2", "status": "success", "output": {"result": 2}});
    assert_eq!(test.answer(&answer), Act::Wait);
    let answer = json!({"request_id": "calculator-x3", "status": "success", "output": {"result": 4}});
    assert_eq!(test.answer(&answer), Act::Ask);
    assert_eq!(test.tool_messages()[1].1["status"], "sent");
}

#[test]
fn a_fault_goes_back_to_the_model_and_nothing_is_called() {
    let mut test = Test::new();
    test.user("a sum");
    assert_eq!(test.calls(&[compute("1+1", true), ("Calculator", json!({}))]), Act::Ask);
    let messages = test.tool_messages();
    assert!(messages[1].1["error"].as_str().expect("a text").contains("did you mean `calculator`?"));
    assert!(messages[0].1["error"].as_str().expect("a text").contains("not called"));
    // The ids of what was not called are not used up; they were never sent.
    let said = spoken(test.calls(&[compute("1+1", true)]));
    assert_eq!(said.requests[0].request_id, "calculator-x1");
}

#[test]
fn a_turn_has_an_end() {
    let mut test = Test::new();
    test.user("a sum");
    for _ in 1..ROUNDS {
        assert_eq!(test.calls(&[("kite", json!({}))]), Act::Ask);
    }
    let said = spoken(test.calls(&[("kite", json!({}))]));
    assert!(said.requests.is_empty() && said.message.contains("gave this up"), "{}", said.message);
    assert!(test.conversation.is_idle());
}

#[test]
fn what_fails_is_said_to_the_user_or_the_model() {
    let mut test = Test::new();
    test.user("a sum");
    let said = spoken(test.said(Err("it answered with status 500".to_owned())));
    assert!(said.requests.is_empty() && said.message.contains("status 500"), "{}", said.message);

    test.user("a sum");
    let said = spoken(test.said(Ok(ModelReply::default())));
    assert!(said.requests.is_empty() && !said.message.is_empty());

    test.user("two sums");
    spoken(test.calls(&[compute("1+1", true), compute("2+2", true)]));
    assert!(test.conversation.is_waiting());
    let answer = json!({"request_id": "calculator-x1", "status": "success", "output": {"result": 2}});
    assert_eq!(test.answer(&answer), Act::Wait);
    assert_eq!(test.conversation.timed_out("too late"), Act::Ask);
    let messages = test.tool_messages();
    assert_eq!((&messages[0].1["status"], &messages[1].1["error"]), (&json!("success"), &json!("too late")));

    test.conversation.abandon();
    assert!(test.conversation.is_idle() && test.tool_messages().is_empty());
}

#[test]
fn whole_turns_are_forgotten() {
    let mut test = Test::new();
    for turn in 0..TURNS + 3 {
        test.user(&format!("turn {turn}"));
        spoken(test.calls(&[compute("1+1", false)]));
    }
    let question = test.conversation.question(&knowledge().known());
    assert_eq!(question.len(), 1 + 3 * TURNS);
    assert_eq!((&question[1]["role"], &question[1]["content"]), (&json!("user"), &json!("turn 3")));
}

#[test]
fn long_answers_are_cut() {
    let mut test = Test::new();
    test.user("a sum");
    spoken(test.calls(&[compute("1+1", true)]));
    let output = json!({"text": "é".repeat(200_000)});
    test.answer(&json!({"request_id": "calculator-x1", "status": "success", "output": output}));
    let question = test.conversation.question(&knowledge().known());
    let content = question.last().expect("a message")["content"].as_str().expect("a text");
    assert!(content.len() < 140_000 && content.ends_with("(the rest is left out)"));
}
