//! Whether an outcome has the values of the Hub's result (Tool Execution Contract L43-57).

use serde_json::Value;

use super::CallRecord;
use super::outcome::Reported;
use super::words::parsed;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::server::judge::shape::moment;
use crate::families::toolbus::answer::same;

/// An outcome that has names of the result has its values as well. One that says it in words is another form of it.
pub fn are_all_there(call_record: &CallRecord<'_>) -> Judgement {
    let missed = || {
        CheckFailure::NotObserved(format!("`{}` has no outcome with a result to look at", call_record.tool()))
    };
    let sent = call_record.answers().last().and_then(|frame| frame.body.get("result"));
    let result = sent.ok_or_else(missed)?;
    let outcome = match Reported::of(call_record) {
        Reported::Hook { ok: true, outcome } | Reported::Chat(outcome) => parsed(outcome),
        _ => return Err(missed()),
    };
    let Some(value) = lost(result, &outcome) else { return Ok(()) };
    Err(call_record
        .finding(
            "a value of the Hub's result is not in the outcome, which has others of it",
            "hand on the whole content of `result`: every member, with its value",
        )
        .expected(value.clone())
        .actual(Some(&outcome))
        .recommended("how an agent hands a result on is not said")
        .into())
}

/// The first value of a result that an outcome with the same names does not have.
fn lost<'v>(result: &'v Value, outcome: &Value) -> Option<&'v Value> {
    let has_a_name = |part: &Value| {
        let names = result.as_object().into_iter().flatten().map(|(name, _)| name);
        part.as_object().is_some_and(|members| names.into_iter().any(|name| members.contains_key(name)))
    };
    let is_one = has_a_name(outcome) || outcome.as_object()?.values().any(|part| has_a_name(&parsed(part)));
    let mut own = Vec::new();
    scalars(outcome, &mut own);
    let mut wanted = Vec::new();
    scalars(result, &mut wanted);
    wanted.into_iter().find(|value| is_one && !own.iter().any(|own| says(own, value)))
}

/// All texts, numbers and truth values within a value.
fn scalars<'v>(value: &'v Value, all: &mut Vec<&'v Value>) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| scalars(item, all)),
        Value::Object(members) => members.values().for_each(|member| scalars(member, all)),
        plain => all.push(plain),
    }
}

/// Whether a value is the other one, or a text in which that stands.
fn says(own: &Value, value: &Value) -> bool {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_in = |own: &str| own.to_lowercase().contains(&text.to_lowercase());
    let is_then = |own: &str| moment(&text).is_some_and(|at| moment(own) == Some(at));
    same(own, value) || own.as_str().is_some_and(|own| is_in(own) || is_then(own))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_is_dropped_is_lost() {
        let result =
            json!({"suggestions": [{"score": 0.91, "start": "2031-03-04T09:30:00+01:00"}], "last": false});
        let check = |outcome: Value, expect: Option<Value>| {
            assert_eq!(lost(&result, &outcome).cloned(), expect, "{outcome}");
        };
        check(result.clone(), None);
        check(json!({"result": result.to_string()}), None);
        check(
            json!({"suggestions": [{"score": 0, "start": "2031-03-04T08:30:00Z"}], "last": false}),
            Some(json!(0.91)),
        );
        check(json!({"suggestions": [{"score": 0.91, "start": "2031-03-04T08:30:00Z"}]}), Some(json!(false)));
        // Words are another form.
        check(json!("There is one suggestion."), None);
        check(json!({"text": "There is one suggestion."}), None);
    }
}
