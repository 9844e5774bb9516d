//! What holds for all workflows, and what cannot be one.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Plan, PlanError, Progress};
use crate::breadcrumb::tool::ToolFailure;

fn read(steps: Value) -> Result<Plan, PlanError> {
    let input: Map<_, _> = [("steps".to_owned(), steps)].into_iter().collect();
    Plan::read(&input, |tool| matches!(tool, "echo" | "random"))
}

/// Runs all steps; of the running ones, `choose` says which ends next. Each gives its resolved input.
fn run(plan: &Plan, mut choose: impl FnMut(usize) -> usize, fails: impl Fn(usize) -> bool) -> Value {
    let mut progress = Progress::new(plan);
    let mut running = Vec::new();
    loop {
        while let Some(step) = progress.start() {
            running.push(step);
        }
        if running.is_empty() {
            return progress.output();
        }
        let step = running.swap_remove(choose(running.len()));
        let outcome = if fails(step) {
            Err(ToolFailure::new("broken"))
        } else {
            progress.input(step, false).map(Value::Object)
        };
        progress.end(step, outcome);
    }
}

#[test]
fn what_cannot_be_run_is_named() {
    #[expect(clippy::needless_pass_by_value, reason = "the table below reads better")]
    fn check(steps: Value, expect: PlanError) {
        assert_eq!(read(steps.clone()), Err(expect), "{steps}");
    }
    let step = |id: &str, tool: &str, dependencies: Value| json!({"id": id, "tool": tool, "dependencies": dependencies});
    let id = |id: &str| id.to_owned();
    check(json!([]), PlanError::Empty);
    check(json!({}), PlanError::Empty);
    check(json!([{"tool": "echo"}]), PlanError::Member { number: 1, member: "id" });
    check(json!([{"id": "a"}]), PlanError::Member { number: 1, member: "tool" });
    check(
        json!([{"id": "a", "tool": "echo", "input": []}]),
        PlanError::Member { number: 1, member: "input" },
    );
    check(json!([step("a", "echo", json!([1]))]), PlanError::Member { number: 1, member: "dependencies" });
    check(
        json!([step("a", "echo", json!([])), step("a", "echo", json!([]))]),
        PlanError::Duplicate { id: id("a") },
    );
    check(json!([step("a", "Echo", json!([]))]), PlanError::UnknownTool { id: id("a"), tool: id("Echo") });
    check(json!([step("a", "workflow", json!([]))]), PlanError::Nested { id: id("a") });
    check(
        json!([step("a", "echo", json!(["b"]))]),
        PlanError::UnknownDependency { id: id("a"), dependency: id("b") },
    );
    check(json!([step("a", "echo", json!(["a"]))]), PlanError::Cycle { ids: vec![id("a")] });
    check(
        json!([
            step("x", "echo", json!([])),
            step("a", "echo", json!(["b"])),
            step("b", "echo", json!(["a", "x"]))
        ]),
        PlanError::Cycle { ids: vec![id("a"), id("b")] },
    );
    let implicit = json!([{"id": "a", "tool": "echo", "input": {"message": "${a.echo}"}}]);
    check(implicit, PlanError::Cycle { ids: vec![id("a")] });
    check(json!(vec![step("a", "echo", json!([])); 257]), PlanError::TooMany);
}

#[test]
fn a_reference_is_a_dependency() {
    let plan = read(json!([
        {"id": "last", "tool": "echo", "input": {"message": ["x ${first.v}"]}},
        {"id": "first", "tool": "echo", "input": {"v": 3}},
    ]))
    .expect("a plan");
    let output = run(&plan, |_| 0, |_| false);
    assert_eq!(output["executionOrder"], json!(["first", "last"]));
    assert_eq!(output["results"]["last"], json!({"message": ["x 3"]}));
    assert_eq!(output.get("errors"), None);
}

#[test]
fn who_depends_on_a_failure_is_not_run() {
    let plan = read(json!([
        {"id": "bad", "tool": "echo"},
        {"id": "next", "tool": "echo", "dependencies": ["bad"]},
        {"id": "after", "tool": "echo", "dependencies": ["next"]},
        {"id": "apart", "tool": "echo", "input": {"v": "${nobody.v}"}},
        {"id": "good", "tool": "echo"},
    ]))
    .expect("a plan");
    let output = run(&plan, |_| 0, |step| step == 0);
    assert_eq!(output["results"], json!({"good": {}}));
    assert_eq!(output["executionOrder"], json!(["bad", "apart", "good"]));
    let errors = output["errors"].as_object().expect("errors");
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["bad", "next", "after", "apart"]);
    assert!(errors["after"].as_str().is_some_and(|text| text.contains("`bad`")));
}

/// Steps of which each may depend on earlier ones, in any order of listing.
fn steps() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<usize>)> {
    proptest::collection::vec(proptest::collection::vec(any::<proptest::sample::Index>(), 0..4), 1..12)
        .prop_map(|drawn| {
            drawn
                .into_iter()
                .enumerate()
                .map(|(place, drawn)| {
                    let mut earlier: Vec<_> = drawn
                        .into_iter()
                        .filter(|_| place > 0)
                        .map(|index| index.index(place.max(1)))
                        .collect();
                    earlier.sort_unstable();
                    earlier.dedup();
                    earlier
                })
                .collect::<Vec<_>>()
        })
        .prop_flat_map(|dependencies| {
            let listing = Just((0..dependencies.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(dependencies), listing)
        })
}

proptest! {
    #[test]
    fn every_step_runs_once_and_after_what_it_depends_on(
        (dependencies, listing) in steps(),
        choices in proptest::collection::vec(any::<proptest::sample::Index>(), 12),
        explicit in any::<bool>(),
    ) {
        let listed: Vec<_> = listing
            .iter()
            .map(|step| {
                let names: Vec<_> = dependencies[*step].iter().map(|used| format!("s{used}")).collect();
                if explicit {
                    json!({"id": format!("s{step}"), "tool": "echo", "dependencies": names})
                } else {
                    let uses: Vec<_> = names.iter().map(|name| format!("${{{name}}}")).collect();
                    json!({"id": format!("s{step}"), "tool": "echo", "input": {"uses": uses}})
                }
            })
            .collect();
        let plan = read(json!(listed)).expect("a plan");
        let mut choices = choices.into_iter();
        let output = run(&plan, |running| choices.next().expect("a choice").index(running), |_| false);
        let order: Vec<_> =
            output["executionOrder"].as_array().expect("an order").iter().filter_map(Value::as_str).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), dependencies.len());
        prop_assert_eq!(order.len(), dependencies.len());
        prop_assert_eq!(output["results"].as_object().map(Map::len), Some(dependencies.len()));
        let place = |step: usize| order.iter().position(|id| *id == format!("s{step}"));
        for (step, used) in dependencies.iter().enumerate() {
            for used in used {
                prop_assert!(place(*used) < place(step));
            }
        }
    }

    #[test]
    fn a_lone_reference_keeps_its_value_and_others_become_text(
        // Without an opening brace nothing in it is a reference of its own.
        text in "[a-z$}. ]{0,12}",
        number in any::<i64>(),
        before in "[a-z ]{0,5}",
    ) {
        let plan = read(json!([
            {"id": "a", "tool": "echo", "input": {"number": number, "list": [{"text": text}]}},
            {"id": "b", "tool": "echo", "dependencies": ["a"], "input": {
                "whole": "${a}", "number": "${a.number}", "mixed": format!("{before}${{a.number}}|${{a.list[0].text}}"),
            }},
        ]))
        .expect("a plan");
        let output = run(&plan, |_| 0, |_| false);
        let results = &output["results"];
        prop_assert_eq!(&results["b"]["whole"], &results["a"]);
        prop_assert_eq!(&results["b"]["number"], &json!(number));
        let mixed = format!("{before}{number}|{text}");
        let number_alone = before.is_empty() && mixed.is_empty();
        prop_assert!(!number_alone);
        prop_assert_eq!(&results["b"]["mixed"], &json!(mixed));
    }
}
