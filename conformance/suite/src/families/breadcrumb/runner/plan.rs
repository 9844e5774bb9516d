//! What an input asks a workflow to do, and whether that can be done.

use serde_json::Value;

use super::fixtures::Step;
use super::judge::workflow::sign;

/// The steps that an input asks for, wherever in it.
pub(super) fn steps(input: &Value) -> Vec<Step> {
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let step = |item: &Value| {
        let after = item.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        Some(Step {
            id: text(item, "id")?,
            tool: text(item, "tool")?,
            after: after.filter_map(Value::as_str).map(str::to_owned).collect(),
            says_none: false,
            input: item.get("input").cloned().unwrap_or_default(),
        })
    };
    match input {
        Value::Array(items) => items.iter().filter_map(step).collect(),
        Value::Object(members) => {
            members.values().map(steps).find(|steps| !steps.is_empty()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Whether nothing in these steps is bound to fail: dependencies lead to steps and not in a circle, a reference names
/// what a dependency brings, and no expression breaks off.
pub(super) fn can_be_carried_out(steps: &[Step]) -> bool {
    let known = |id: &str| steps.iter().filter(|step| step.id == id).count() == 1;
    let mut done: Vec<&str> = Vec::new();
    while let Some(next) = steps.iter().find(|step| {
        !done.contains(&step.id.as_str()) && step.after.iter().all(|before| done.contains(&before.as_str()))
    }) {
        done.push(&next.id);
    }
    !steps.is_empty()
        && done.len() == steps.len()
        && steps.iter().all(|step| {
            known(&step.id) && refers_soundly(step, steps) && !breaks_off(step) && !has_no_time(step)
        })
}

/// Whether no step uses, or waits for, what another one brings.
pub(super) fn is_plain(steps: &[Step]) -> bool {
    steps.iter().all(|step| step.after.is_empty() && !step.input.to_string().contains("${"))
}

/// Whether every reference in the input of a step is to what one of its dependencies brings.
fn refers_soundly(step: &Step, steps: &[Step]) -> bool {
    let text = step.input.to_string();
    text.split("${").skip(1).all(|rest| {
        let reference = rest.split('}').next().unwrap_or_default();
        let (id, field) = reference.split_once('.').unwrap_or((reference, ""));
        let tool = steps.iter().find(|other| other.id == id).map(|other| sign(&other.tool));
        step.after.iter().any(|before| before == id)
            && tool.is_some_and(|sign| field == sign || field.starts_with(&format!("{sign}[")))
    })
}

/// Whether a timer of a step is asked to wait for what is neither a number nor stands for one.
fn has_no_time(step: &Step) -> bool {
    fn has_time(value: &Value) -> bool {
        match value {
            Value::Number(_) => true,
            Value::String(text) => text.contains("${"),
            Value::Array(items) => items.iter().any(has_time),
            Value::Object(members) => members.values().any(has_time),
            _ => false,
        }
    }
    step.tool == "timer" && !has_time(&step.input)
}

/// Whether an expression of a step lacks a number after a sign, has a bracket without its other half, or divides by zero.
fn breaks_off(step: &Step) -> bool {
    let text: String = step.input.to_string().chars().filter(|own| !own.is_whitespace()).collect();
    let signs = ['+', '-', '*', '/', '('];
    let count = |bracket: char| text.matches(bracket).count();
    let lacks_a_number =
        || [")", "\""].iter().any(|end| signs.iter().any(|sign| text.contains(&format!("{sign}{end}"))));
    let divides_by_zero = || ["/0)", "/0\""].iter().any(|end| text.contains(end));
    step.tool == "calculator" && (count('(') != count(')') || lacks_a_number() || divides_by_zero())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workflow_can_be_carried_out_or_is_bound_to_fail() {
        let check = |items: Value, expect: bool| {
            assert_eq!(can_be_carried_out(&steps(&json!({"steps": items}))), expect, "{items}");
        };
        let echo = |id: &str, text: &str, after: &[&str]| json!({"id": id, "tool": "echo", "input": {"message": text}, "dependencies": after});
        let sum = |text: &str| json!({"id": "sum", "tool": "calculator", "input": {"expression": text}});
        check(json!([echo("b", "${a.echo} b", &["a"]), echo("a", "x", &[])]), true);
        check(json!([sum("(1 + 2) * -3")]), true);
        check(json!([sum("1 +")]), false);
        check(json!([sum("(1 + )")]), false);
        check(json!([sum("(1 + 2")]), false);
        check(json!([sum("1 / 0")]), false);
        check(json!([sum("2 * (1 / 0) + 1")]), false);
        check(json!([sum("1 / 10")]), true);
        check(json!([sum("1 / 0.5")]), true);
        let timer = |seconds: Value| json!({"id": "t", "tool": "timer", "input": {"seconds": seconds}});
        check(json!([timer(json!(1))]), true);
        check(json!([timer(json!("soon"))]), false);
        check(json!([echo("a", "${b.echo}", &["b"]), echo("b", "${a.echo}", &["a"])]), false);
        check(json!([echo("a", "x", &["nobody"])]), false);
        check(json!([echo("a", "x", &[]), echo("b", "${a.other}", &["a"])]), false);
        check(json!([echo("a", "x", &[]), echo("b", "${a.echo}", &[])]), false);
        check(json!([]), false);
    }
}
