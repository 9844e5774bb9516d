//! What an answer is.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::breadcrumb::runner::judge::{answer, outcome};
use crate::families::breadcrumb::runner::world::World;

vocabulary! {
    /// What is said of an answer.
    enum AnswerPredicate "answer_predicate" {
        "is a breadcrumb of schema tool.response.v1" => Schema,
        "has its members in its context" => Context,
        "spells its id request_id" => Spelling,
        "repeats the id of the request" => Id,
        "repeats the name of the tool" => Tool,
        "has success or error as its status" => Status,
    }
}

vocabulary! {
    /// What is said of a success or a failure.
    enum AnswerPart "part" {
        "an object as its output" => Output,
        "no error" => NoError,
        "a text as its error" => Error,
    }
}

#[then(
    regex = "^the answer (is a breadcrumb of schema tool.response.v1|has its members in its context|spells its id \
                request_id|repeats the id of the request|repeats the name of the tool|has success or error as its status)$"
)]
fn is(world: &mut World, answer_predicate: AnswerPredicate) -> Step {
    world.judge_each_answer(move |call, given| match answer_predicate {
        AnswerPredicate::Schema => answer::schema(given),
        AnswerPredicate::Context => answer::in_context(given),
        AnswerPredicate::Spelling => answer::spelling(call, given),
        AnswerPredicate::Id => answer::id(call, given),
        AnswerPredicate::Tool => answer::tool(call, given),
        AnswerPredicate::Status => answer::status(given),
    })
}

#[then(expr = "the success/failure has {part}")]
fn has(world: &mut World, part: AnswerPart) -> Step {
    world.judge_each_answer(move |call, given| match part {
        AnswerPart::Output => outcome::has_succeeded(given).and_then(|()| answer::output(given)),
        AnswerPart::NoError => outcome::has_succeeded(given).and_then(|()| answer::no_error(given)),
        AnswerPart::Error => outcome::has_failed(call, given).and_then(|()| answer::error(given)),
    })
}

#[then(regex = "^the calls? succeeds?$")]
fn calls_succeed(world: &mut World) -> Step {
    world.judge_each_answer(outcome::success)
}

#[then(regex = "^the calls? ends? in an error$")]
fn fails(world: &mut World) -> Step {
    world.judge_answers(outcome::failure)
}

#[then("the failure is reported as such")]
fn admits(world: &mut World) -> Step {
    world.judge_answers(outcome::admits_failure)
}

#[then(regex = "^the answers? (?:shows|show) the work of the tool that was named$")]
fn own_work(world: &mut World) -> Step {
    world.judge_answers(outcome::work_of_the_tool)
}
