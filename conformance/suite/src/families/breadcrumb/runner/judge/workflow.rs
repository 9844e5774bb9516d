//! Whether the tool `workflow` runs its steps as the standard says (Universal Tool Invocation L97-100, L159-175).
//!
//! A step's output is found leniently (`Brought`), so that only the rules about `results` break where it has another place.

use std::time::Duration;

use serde_json::Value;

use super::tool::output;
use super::utility::since_sent;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::{MEMO, MEMO_TITLE, Step};
use crate::transcript::{Frame, Kind};

/// What a workflow brought, step by step.
pub struct Brought<'a> {
    answer: &'a Answer<'a>,
}

impl<'a> Brought<'a> {
    /// What this answer brings.
    pub fn by(answer: &'a Answer<'a>) -> Self {
        Self { answer }
    }

    /// What stands for a step, wherever that is: a member with its id, or an item that names it.
    fn of(&self, step: &str) -> Option<&'a Value> {
        fn find<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
            match value {
                Value::Object(members) => {
                    let names = ["id", "step", "stepId", "step_id"];
                    if names.iter().any(|name| members.get(*name).and_then(Value::as_str) == Some(step)) {
                        return Some(value);
                    }
                    let own = members.get(step).filter(|value| !value.is_null());
                    own.or_else(|| members.values().find_map(|member| find(member, step)))
                }
                Value::Array(items) => items.iter().find_map(|item| find(item, step)),
                _ => None,
            }
        }
        let output = self.answer.output()?;
        let results = output.get("results").and_then(|results| find(results, step));
        results.or_else(|| find(output, step))
    }

    /// A member of a step's output, wherever in it.
    fn member(&self, step: &str, name: &str) -> Option<&'a Value> {
        fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
            let nested = |members: &'a serde_json::Map<String, Value>| {
                members.values().find_map(|member| find(member, name))
            };
            match value {
                // An entry may wrap the output in a `result`, which is not yet that of the calculator.
                Value::Object(members) => {
                    members.get(name).filter(|value| !value.is_object()).or_else(|| nested(members))
                }
                _ => None,
            }
        }
        find(self.of(step)?, name)
    }
}

/// The member by which a tool's output is known.
pub(in crate::families::breadcrumb::runner) fn sign(tool: &str) -> &'static str {
    match tool {
        "calculator" => "result",
        "random" => "numbers",
        "timer" => "waited",
        "breadcrumb-create" => "id",
        "breadcrumb-search" => "breadcrumbs",
        "openrouter" | "venice" | "ollama_local" => "content",
        _ => "echo",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a judgement hands on the answer that it is given")]
pub(super) fn finding(what: impl Into<String>, hint: &str, answer: &Answer<'_>) -> Finding {
    Finding::new(what, hint).actual(Some(&answer.frame.body["context"])).frame(answer.frame)
}

/// The workflow succeeds, and every step of it brings what its tool brings.
pub fn completes(call: &Call, answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    output(call, answer)?;
    let brought = Brought::by(answer);
    match steps.iter().find(|step| brought.member(&step.id, sign(&step.tool)).is_none()) {
        None => Ok(()),
        Some(step) => Err(finding(
            format!("step `{}` brings no output of `{}`", step.id, step.tool),
            "run every step with the tool that it names, and give its output in `output.results.<id of the step>`",
            answer,
        )
        .expected(format!("`{}`", sign(&step.tool)))
        .at(format!("/context/output/results/{}", step.id))
        .into()),
    }
}

/// `results` has an entry for each step under its id.
pub fn has_results(call: &Call, answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    output(call, answer)?;
    let results = answer.at("/results").and_then(Value::as_object);
    let has = |step: &&Step| {
        results.and_then(|results| results.get(&step.id)).is_some_and(|entry| !entry.is_null())
    };
    match steps.iter().find(|step| !has(step)) {
        None => Ok(()),
        Some(step) => Err(finding(
            format!("`results` has no entry for step `{}`", step.id),
            "make `output.results` an object with one member for each step that was completed, named by the step's id",
            answer,
        )
        .at(format!("/context/output/results/{}", step.id))
        .into()),
    }
}

/// `results` has no entry for a step that other workflows alone have.
pub fn has_own_results_only(call: &Call, answer: &Answer<'_>, own: &[Step], others: &[Step]) -> Judgement {
    output(call, answer)?;
    let Some(results) = answer.at("/results").and_then(Value::as_object) else {
        return Err(CheckFailure::NotObserved("`results` is no object".to_owned()));
    };
    let is_foreign = |step: &&Step| {
        own.iter().all(|own| own.id != step.id) && results.get(&step.id).is_some_and(|entry| !entry.is_null())
    };
    match others.iter().find(is_foreign) {
        None => Ok(()),
        Some(step) => Err(finding(
            format!("`results` has an entry for `{}`, a step of another workflow", step.id),
            "begin every workflow with results of its own, which no other one writes to",
            answer,
        )
        .expected(own.iter().map(|step| step.id.clone()).collect::<Vec<_>>())
        .at(format!("/context/output/results/{}", step.id))
        .into()),
    }
}

/// The entries of `results` are what the tools put out.
pub fn has_outputs(call: &Call, answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    output(call, answer)?;
    let brought = Brought::by(answer);
    for step in steps {
        let Some(entry) = brought.of(&step.id) else { continue };
        if entry.get(sign(&step.tool)).is_none_or(Value::is_object) {
            return Err(finding(
                format!("the entry of step `{}` is not what `{}` put out", step.id, step.tool),
                "make each entry of `output.results` the output of the step's tool, as it is",
                answer,
            )
            .expected(format!("an object with `{}`", sign(&step.tool)))
            .at(format!("/context/output/results/{}", step.id))
            .into());
        }
    }
    // Nothing of it was found at all: other rules report that.
    if steps.iter().all(|step| brought.of(&step.id).is_none()) {
        return Err(CheckFailure::NotObserved("no step brings anything".to_owned()));
    }
    Ok(())
}

/// What a step must bring.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This, as a text or as the number that the text says.
    This(String),
    /// About so many seconds.
    About(f64),
    /// The same as another step.
    Same(String),
    /// The number that another step drew, and so many more.
    More(String, f64),
    /// The id of one of the breadcrumbs that another step found, counted from 0.
    Found(String, usize),
}

impl Expected {
    /// As a value, where what it depends on is there.
    fn value(&self, brought: &Brought<'_>) -> Option<Value> {
        match self {
            Self::This(text) => Some(Value::from(text.as_str())),
            Self::About(seconds) => Some(Value::from(*seconds)),
            Self::Same(step) => brought.member(step, "echo").cloned(),
            Self::More(step, more) => {
                Some(Value::from(brought.member(step, "numbers")?.get(0)?.as_f64()? + more))
            }
            Self::Found(step, item) => brought.member(step, "breadcrumbs")?.get(item)?.get("id").cloned(),
        }
    }
}

/// A step brings what follows from its input.
pub fn brings(
    frames: &[Frame],
    call: &Call,
    answer: &Answer<'_>,
    step: &Step,
    expected: &Expected,
) -> Judgement {
    output(call, answer)?;
    // A timer may report what it measured.
    let took = since_sent(frames, call, answer.frame).unwrap_or_default().as_secs_f64();
    let brought = Brought::by(answer);
    let actual = brought.member(&step.id, sign(&step.tool));
    let value = expected.value(&brought);
    let is_right = actual.zip(value.as_ref()).is_some_and(|(actual, value)| match expected {
        Expected::About(seconds) => number(actual)
            .is_some_and(|reported| reported >= seconds - 0.5 && reported <= took.max(seconds + 0.5)),
        _ => is_alike(actual, value),
    });
    if is_right {
        return Ok(());
    }
    Err(finding(
        format!("step `{}` does not bring what follows from its input", step.id),
        "before a step is run, replace each `${stepId.field}` of its input by that part of the earlier output, at its place",
        answer,
    )
    .expected(value.unwrap_or_else(|| Value::from("what follows from an earlier step")))
    .actual(actual.or(Some(&answer.frame.body["context"])))
    .at(format!("/context/output/results/{}", step.id))
    .into())
}

/// A number, or the one that a text says.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

/// Whether two values are the same, as a text or as what the text says (resolution A19).
fn is_alike(actual: &Value, expected: &Value) -> bool {
    actual == expected
        || match (number(actual), number(expected)) {
            (Some(actual), Some(expected)) => super::tool::is_number(Some(&Value::from(actual)), expected),
            _ => false,
        }
}

/// A breadcrumb that a step stored holds this text wherever its input had it.
pub fn stores(frames: &[Frame], call: &Call, answer: &Answer<'_>, expected: &str) -> Judgement {
    output(call, answer)?;
    let Some(frame) = stored(frames) else {
        return Err(CheckFailure::NotObserved("no breadcrumb of the workflow was seen".to_owned()));
    };
    let places = ["/context/text", "/context/items/0/text"];
    match places.iter().find(|place| !frame.member(place).is_some_and(|own| is_alike(own, &expected.into()))) {
        None => Ok(()),
        Some(place) => Err(Finding::new(
            "a reference deep in the input of a step is not replaced",
            "replace `${stepId.field}` in every text of a step's input, in members of objects and in items of arrays",
        )
        .expected(expected)
        .actual(frame.member(place))
        .at(*place)
        .frame(frame)
        .into()),
    }
}

/// What a step stored in the store.
fn stored(frames: &[Frame]) -> Option<&Frame> {
    let is_memo = |frame: &&Frame| {
        let title = frame.text("/title").unwrap_or_default();
        frame.kind == Kind::Crumb && (frame.text("/schema_name") == Some(MEMO) || title.contains(MEMO_TITLE))
    };
    frames.iter().find(is_memo)
}

/// Nothing of the workflow is there before its timer is over.
pub fn waits(frames: &[Frame], call: &Call, answer: &Answer<'_>, seconds: f64) -> Judgement {
    output(call, answer)?;
    let first = stored(frames).filter(|frame| frame.n < answer.frame.n).unwrap_or(answer.frame);
    let Some(took) = since_sent(frames, call, first) else { return Ok(()) };
    if took >= Duration::from_secs_f64(seconds * 0.95) {
        return Ok(());
    }
    Err(Finding::new(
        "a step runs before one of its `dependencies` has finished",
        "start a step when every step that its `dependencies` name has finished",
    )
    .expected(format!("not before {seconds} s have passed"))
    .frame(first)
    .frame(answer.frame)
    .into())
}

/// A failed step is reported: by an error of the workflow, or in `errors` by its id.
pub fn reports_failure(answer: &Answer<'_>, step: &str) -> Judgement {
    if !answer.succeeded() {
        return match answer.error() {
            Some(error) if error.as_str().is_some_and(|text| !text.trim().is_empty()) => Ok(()),
            _ => Err(finding(
                "the workflow fails and does not say why",
                "say in `error` which step failed and why",
                answer,
            )
            .at("/context/error")
            .into()),
        };
    }
    if answer.at("/errors").is_some_and(|errors| errors.to_string().contains(step)) {
        return Ok(());
    }
    Err(finding(
        format!("nothing reports that step `{step}` failed"),
        "answer with an error that names the failed step, or list it in `output.errors` by its id",
        answer,
    )
    .expected(step)
    .actual(answer.at("/errors").or_else(|| answer.output()))
    .at("/context/output/errors")
    .into())
}

/// What cannot be carried out is reported, by an error or by something in `errors`.
pub fn reports_trouble(answer: &Answer<'_>) -> Judgement {
    if !answer.succeeded() || !is_empty(answer.at("/errors")) {
        return Ok(());
    }
    Err(finding(
        "the workflow cannot be carried out, and nothing reports it",
        "answer with an error, or say in `output.errors` which steps could not be run",
        answer,
    )
    .at("/context/output/errors")
    .into())
}

/// `errors` is not there, null or empty.
pub fn has_no_errors(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    if is_empty(answer.at("/errors")) {
        return Ok(());
    }
    Err(finding(
        "`errors` holds something, though no step failed",
        "leave `output.errors` out, null or empty where every step succeeded",
        answer,
    )
    .actual(answer.at("/errors"))
    .at("/context/output/errors")
    .into())
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Object(members)) => members.values().all(Value::is_null),
        Some(_) => false,
    }
}

/// No tool got a reference that was left as it is.
pub fn leaves_nothing_unresolved(frames: &[Frame], answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    let brought = Brought::by(answer);
    let is_raw = |value: Option<&Value>| value.is_some_and(|value| value.to_string().contains("${"));
    let echoed = steps.iter().find(|step| {
        let own = brought.of(&step.id).and_then(|entry| entry.get(sign(&step.tool)));
        is_raw(own)
    });
    let stored = stored(frames).filter(|frame| is_raw(frame.member("/context")));
    if echoed.is_none() && stored.is_none() {
        return Ok(());
    }
    Err(finding(
        "a step that depends on a failed one is run with a reference left in its input",
        "skip the steps that depend on a failed one, or fail them too",
        answer,
    )
    .frame(stored.unwrap_or(answer.frame))
    .into())
}

/// The workflow is answered once, as `workflow`, and nothing else has its id.
pub fn is_answered_once(frames: &[Frame], call: &Call) -> Judgement {
    let answers = Answer::all(frames, call);
    let Some(first) = answers.first() else { return Err(super::answer::missing(frames, call)) };
    // What is about the workflow itself, its progress for instance, may name it.
    let named = |frame: &Frame| {
        let members = ["/context/request_id", "/context/requestId", "/context/id"];
        members.iter().any(|pointer| frame.text(pointer) == Some(call.id()))
            && frame.text("/context/tool").is_some_and(|tool| tool != call.tool())
    };
    let is_other = |frame: &&Frame| frame.kind == Kind::Crumb && frame.n != first.frame.n && named(frame);
    if let Some(other) = answers.get(1).map(|answer| answer.frame).or_else(|| frames.iter().find(is_other)) {
        return Err(Finding::new(
            "something besides the workflow's answer has the `requestId` of its call",
            "answer the workflow once under the `requestId` of its call, and give the calls of its steps ids of their own",
        )
        .expected("one answer")
        .actual(Some(&other.body))
        .frame(first.frame)
        .frame(other)
        .into());
    }
    let tool = first.frame.member("/context/tool");
    if tool.and_then(Value::as_str) == Some(call.tool()) {
        return Ok(());
    }
    Err(finding("the answer to the workflow names another tool", "answer with `tool` `workflow`", first)
        .expected(call.tool())
        .actual(tool)
        .at("/context/tool")
        .into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;

    fn answered(output: &Value) -> Frame {
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::Crumb,
            channel: String::new(),
            headers: BTreeMap::new(),
            body: json!({"context": {"status": "success", "output": output}}),
        }
    }

    fn check(output: &Value, step: &str, name: &str, expect: Option<&Value>) {
        let frame = answered(output);
        let answer = Answer { frame: &frame };
        assert_eq!(Brought::by(&answer).member(step, name), expect, "{}", frame.body);
    }

    #[test]
    fn what_a_step_brought_is_found_wherever_it_stands() {
        let sum = json!(42);
        check(&json!({"results": {"add": {"result": 42}}}), "add", "result", Some(&sum));
        check(&json!({"results": {"add": {"result": {"result": 42}}}}), "add", "result", Some(&sum));
        check(&json!({"results": [{"id": "add", "output": {"result": 42}}]}), "add", "result", Some(&sum));
        check(&json!({"steps": {"add": {"status": "success"}}}), "add", "result", None);
        check(&json!({"results": {"add": null}, "errors": {"add": "x"}}), "add", "result", None);
    }

    #[test]
    fn results_of_another_workflow_are_no_further_members() {
        let step = |id: &str| Step {
            id: id.to_owned(),
            tool: "echo".to_owned(),
            after: Vec::new(),
            says_none: false,
            input: Value::Null,
        };
        let check = |results: Value, expect: bool| {
            let frame = answered(&json!({"results": results}));
            let call = Call::new("workflow", json!({}), "wf-1".to_owned());
            let judged =
                has_own_results_only(&call, &Answer { frame: &frame }, &[step("a")], &[step("a"), step("b")]);
            assert_eq!(judged.is_ok(), expect, "{}", frame.body);
        };
        check(json!({"a": {"echo": "x"}}), true);
        check(json!({"a": {"echo": "x"}, "b": null, "total": {"steps": 1}}), true);
        check(json!({"a": {"echo": "x"}, "b": {"echo": "y"}}), false);
        check(json!([{"id": "a"}]), false);
    }

    #[test]
    fn a_text_is_as_good_as_the_number_that_it_says() {
        assert!(is_alike(&json!("42"), &json!(42)) && is_alike(&json!(42.0), &json!("42")));
        assert!(!is_alike(&json!("42 "), &json!("43")) && !is_alike(&json!("a"), &json!("b")));
    }
}
