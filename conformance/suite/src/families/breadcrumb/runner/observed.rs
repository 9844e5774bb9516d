//! Calls as the messages of a scenario show them, with their answers: what `@always` scenarios judge.

use serde_json::Value;

use super::answer::Answer;
use super::call::Call;
use super::fixtures::Step;
use super::plan;
use super::upstream::Speech;
use crate::engine::invariant::ExchangeKind;
use crate::families::breadcrumb::manifest::ASTRAL_ACTIONS;
use crate::net::wire::SCENARIO;
use crate::transcript::{Frame, Kind, texts};

/// Every call in the form of the standard that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::families::breadcrumb) struct EveryAnsweredCall;

/// A call and the first answer that names it.
pub(in crate::families::breadcrumb) struct AnsweredCall<'a> {
    pub call: Call,
    pub answer: Answer<'a>,
    /// All messages of the scenario in which it was made.
    pub frames: &'a [Frame],
    put: &'a Frame,
}

impl ExchangeKind for EveryAnsweredCall {
    type Exchange<'a> = AnsweredCall<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<AnsweredCall<'a>> {
        let puts = frames.iter().filter(|frame| frame.kind == Kind::Put);
        let calls: Vec<(&Frame, Call)> = puts
            .flat_map(|put| requests(put).filter_map(move |request| Some((put, call(request)?))))
            .collect();
        // Of an id that stands for several calls it is not known which of them an answer is to.
        let is_one = |own: &Call| calls.iter().filter(|(_, other)| other.id() == own.id()).count() == 1;
        calls
            .iter()
            .filter(|(_, own)| is_one(own))
            .filter_map(|(put, own)| {
                // A result for the user needs no answer, so what else names the call is a record of it.
                let is_for_user = own.return_to_llm == Some(false);
                let all = Answer::all(frames, own).into_iter();
                let answer = all.into_iter().find(|answer| !is_for_user || answer.has_schema())?;
                Some(AnsweredCall { call: own.clone(), answer, frames, put })
            })
            .collect()
    }

    fn stimulus(exchange: &AnsweredCall<'_>) -> u32 {
        exchange.put.n
    }
}

impl AnsweredCall<'_> {
    /// What the language model said, where one was asked in the scenario, once.
    pub(super) fn speech(&self) -> Option<Speech> {
        let mut replies = self.frames.iter().filter(|frame| frame.kind == Kind::UpstreamReply);
        let reply = replies.next().filter(|_| replies.next().is_none())?;
        Speech::read(&reply.body)
    }

    /// The mark of the scenario.
    pub(super) fn mark(&self) -> Option<&str> {
        self.put.headers.get(SCENARIO).map(String::as_str)
    }

    /// What a browser was to do, where the input says so.
    pub(super) fn action(&self) -> Option<&'static str> {
        let words = self.call.input.as_ref().map(texts).unwrap_or_default();
        ASTRAL_ACTIONS.into_iter().find(|action| words.contains(action))
    }

    /// Whether the input holds this text.
    pub(super) fn is_about(&self, text: &str) -> bool {
        self.call.input.as_ref().map(texts).unwrap_or_default().contains(&text)
    }

    /// The only text of the input.
    pub(super) fn only_text(&self) -> Option<&str> {
        match self.call.input.as_ref().map(texts)?.as_slice() {
            [text] => Some(text),
            _ => None,
        }
    }

    /// The steps of a workflow that can be carried out with these tools: nothing of it is bound to fail.
    pub(super) fn sound_steps(&self, has: impl Fn(&str) -> bool) -> Option<Vec<Step>> {
        let steps = plan::steps(self.call.input.as_ref()?);
        let is_sound = steps.iter().all(|step| has(&step.tool)) && plan::can_be_carried_out(&steps);
        Some(steps).filter(|_| is_sound)
    }
}

/// What a breadcrumb of the suite asks for: the items of an invocation, or one request by itself.
fn requests(put: &Frame) -> impl Iterator<Item = &Value> {
    let several = put.member("/context/tool_requests").and_then(Value::as_array).into_iter().flatten();
    several.chain(put.member("/context").filter(|context| context.get("requestId").is_some()))
}

/// The call of a request; nothing where it lacks what the standard asks for, or has it in another form.
fn call(request: &Value) -> Option<Call> {
    let text = |name: &str| request.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let input = request.get("input").filter(|input| input.is_object())?;
    let mut call = Call::new(text("tool")?, input.clone(), text("requestId")?.to_owned());
    call.return_to_llm = request.get("return_to_llm").and_then(Value::as_bool);
    Some(call)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::crumb::RESPONSE;

    #[test]
    fn calls_in_the_form_of_the_standard_are_found_with_their_answers() {
        let frame = |n: u32, kind: Kind, body: Value| Frame {
            n,
            at_us: 0,
            direction: if kind == Kind::Put { Direction::ToTarget } else { Direction::FromTarget },
            kind,
            channel: String::new(),
            headers: BTreeMap::new(),
            body,
        };
        let request = |id: &str| json!({"tool": "echo", "input": {"message": "x"}, "requestId": id});
        let answer =
            |id: &str| json!({"schema_name": RESPONSE, "context": {"request_id": id, "status": "success"}});
        let frames = [
            frame(
                1,
                Kind::Put,
                json!({"context": {"tool_requests": [
                    request("a"), request("twice"), request("unanswered"), {"tool": "echo", "requestId": "without input"},
                ]}}),
            ),
            frame(2, Kind::Put, json!({"context": request("b")})),
            frame(3, Kind::Put, json!({"context": request("twice")})),
            frame(4, Kind::Crumb, answer("b")),
            frame(5, Kind::Crumb, answer("a")),
            frame(6, Kind::Crumb, answer("twice")),
            frame(7, Kind::Crumb, answer("without input")),
        ];
        let found = EveryAnsweredCall.find(&frames);
        let found: Vec<(&str, u32, u32)> =
            found.iter().map(|own| (own.call.id(), own.put.n, own.answer.frame.n)).collect();
        assert_eq!(found, [("a", 1, 5), ("b", 2, 4)]);
    }
}
