//! Whether a workflow says in which order it ran its steps (Universal Tool Invocation L99).

use serde_json::Value;

use super::tool::output;
use super::workflow::finding;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::breadcrumb::reason::Alternative;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::Step;

/// `executionOrder` names each step once.
pub fn has_order(call: &Call, answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    output(call, answer)?;
    let order = order(answer);
    let mut named: Vec<&str> = order.clone().unwrap_or_default();
    named.sort_unstable();
    let mut expected: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    expected.sort_unstable();
    if order.is_some() && named == expected {
        return Ok(());
    }
    Err(finding(
        "`executionOrder` does not name each step once",
        "list the ids of all steps that were executed in the array `output.executionOrder`, each once",
        answer,
    )
    .expected(expected)
    .actual(answer.at("/executionOrder"))
    .at("/context/output/executionOrder")
    .into())
}

/// `executionOrder` names no step twice, a failed one neither.
pub fn names_none_twice(answer: &Answer<'_>) -> Judgement {
    let Some(order) = order(answer) else {
        return Err(Alternative::NoOrder.seen_in([answer.frame]));
    };
    let twice = order.iter().enumerate().find(|(index, id)| order[..*index].contains(id));
    let Some((_, id)) = twice else { return Ok(()) };
    Err(finding(
        format!("`executionOrder` names step `{id}` twice"),
        "list the id of a step in `output.executionOrder` once, whether it succeeds or fails",
        answer,
    )
    .actual(answer.at("/executionOrder"))
    .at("/context/output/executionOrder")
    .into())
}

/// In `executionOrder` every step comes after its dependencies.
pub fn is_ordered(call: &Call, answer: &Answer<'_>, steps: &[Step]) -> Judgement {
    output(call, answer)?;
    let order = order(answer)
        .ok_or_else(|| CheckFailure::NotObserved("there is no `executionOrder` to look at".to_owned()))?;
    let place = |id: &str| order.iter().position(|own| *own == id);
    for step in steps {
        for before in &step.after {
            if let (Some(own), Some(other)) = (place(&step.id), place(before))
                && own < other
            {
                return Err(finding(
                    format!("step `{}` stands ahead of `{before}`, on which it depends", step.id),
                    "list the steps in `output.executionOrder` in the order in which they were executed",
                    answer,
                )
                .actual(answer.at("/executionOrder"))
                .at("/context/output/executionOrder")
                .into());
            }
        }
    }
    if order.len() < 2 {
        return Err(CheckFailure::NotObserved("`executionOrder` has no two steps to compare".to_owned()));
    }
    Ok(())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a judgement hands on the answer that it is given")]
fn order<'a>(answer: &Answer<'a>) -> Option<Vec<&'a str>> {
    let order = answer.at("/executionOrder")?.as_array()?;
    // A step with its times is still a step.
    let id = |item: &'a Value| item.as_str().or_else(|| item.get("id").and_then(Value::as_str));
    Some(order.iter().filter_map(id).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::transcript::{Frame, Kind};

    #[test]
    fn a_failed_step_is_named_once_or_there_is_no_order() {
        let check = |context: Value, expect: &str| {
            let frame = Frame {
                n: 1,
                at_us: 0,
                direction: Direction::FromTarget,
                kind: Kind::Crumb,
                channel: String::new(),
                headers: BTreeMap::new(),
                body: json!({"context": context}),
            };
            let came = match names_none_twice(&Answer { frame: &frame }) {
                Ok(()) => "holds",
                Err(CheckFailure::Broken(_)) => "broken",
                Err(CheckFailure::Permitted(_)) => "permitted",
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(came, expect, "{}", frame.body);
        };
        let output = |order: Value| json!({"status": "success", "output": {"executionOrder": order}});
        check(output(json!(["fine", "faulty"])), "holds");
        check(output(json!(["fine"])), "holds");
        check(output(json!(["fine", "faulty", "faulty"])), "broken");
        check(output(json!([{"id": "faulty"}, {"id": "faulty"}])), "broken");
        check(json!({"status": "error", "error": "step faulty failed"}), "permitted");
    }
}
