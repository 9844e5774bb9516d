//! What the agent sends to the Hub.

use cucumber::then;

use super::RequestPart;
use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, HasCore as _, Step};
use crate::families::hub::agent::judge::request::Expected;
use crate::families::hub::agent::judge::{inputs, outcome, request, status, traffic};
use crate::families::hub::agent::world::World;
use crate::families::hub::reason::Alternative;
use crate::transcript::Kind;

vocabulary! {
    /// What an agent may do or leave.
    enum Habit "habit" {
        "a context is sent" => SendsContext,
        "the agent asks for the status" => AsksForStatus,
    }
}

#[then(expr = "every execute request has the right {part}")]
fn has_part(world: &mut World, part: RequestPart) -> Step {
    let session = world.session()?;
    world.judge_each_call(move |call_record| {
        let expected = session.expected(call_record.made);
        call_record.requests()?.into_iter().try_for_each(|frame| request::has(frame, part.0, &expected))
    })
}

/// What is varied an agent may refuse by itself; that it makes the usual call has rows of its own.
#[then("its inputs are those of the call")]
fn inputs_of_the_call(world: &mut World) -> Step {
    let is_varied = !world.judges_every() && world.scene()?.is_varied;
    world.judge_each_call(move |call_record| {
        if is_varied && outcome::is_refused_by_the_agent(call_record) {
            return Err(Alternative::RefusesInput.seen_in(call_record.own(Kind::Outcome)));
        }
        call_record
            .requests()?
            .into_iter()
            .try_for_each(|frame| inputs::are_those_of_the_call(frame, call_record))
    })
}

#[then("the other request has no input of the call before")]
fn inputs_of_its_own(world: &mut World) -> Step {
    world.judge_all(|call_records, subject| {
        let (before, own) = (&call_records[subject], &call_records[call_records.len() - 1]);
        own.requests()?.into_iter().try_for_each(|frame| inputs::are_its_own(frame, own, before))
    })
}

#[then("its inputs are named and typed as documented")]
fn documented_inputs(world: &mut World) -> Step {
    world.judge_each_call(|call_record| {
        call_record.requests()?.into_iter().try_for_each(|frame| {
            inputs::is_an_object(frame)?;
            inputs::are_typed(frame, call_record.tool())?;
            inputs::serve_the_task(frame, call_record)?;
            inputs::are_documented(frame, call_record.tool())
        })
    })
}

#[then("every question about the status is as documented")]
fn status_is_documented(world: &mut World) -> Step {
    let session = std::sync::Arc::clone(&world.scene()?.session);
    let early = world.core().transcript.record_external("early", || session.early());
    world.judge_call(|call_record| {
        let own = session.expected(call_record.made);
        traffic::questions(call_record.frames).try_for_each(|frame| status::is_documented(frame, &own))?;
        traffic::questions(&early).try_for_each(|frame| {
            // What stands in another transcript cannot be shown by its number.
            status::is_documented(frame, &session.expected_early()).map_err(|trouble| match trouble {
                CheckFailure::Broken(mut finding) => {
                    finding.frames.clear();
                    CheckFailure::Broken(finding)
                }
                other => other,
            })
        })?;
        if traffic::questions(call_record.frames).chain(traffic::questions(&early)).next().is_none() {
            return Err(Alternative::NoStatusQuestion.seen_in(call_record.executions()));
        }
        Ok(())
    })
}

#[then("each question about the status is as documented")]
fn each_question_is_documented(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_each_call(move |call_record| {
        let expected = session.expected(call_record.made);
        let questions: Vec<_> = traffic::questions_of(call_record).collect();
        if questions.is_empty() {
            return Err(Alternative::NoStatusQuestion.seen_in(call_record.executions()));
        }
        // What is known of another customer may be refreshed meanwhile; two customers have a scenario of their own.
        let of_anybody = Expected { customer_id: None, ..expected.clone() };
        questions.into_iter().try_for_each(|frame| {
            status::is_documented(frame, &expected).or_else(|_| status::is_documented(frame, &of_anybody))
        })
    })
}

#[then("every question about the status is for the customer of its call")]
fn status_of_the_customer(world: &mut World) -> Step {
    let session = std::sync::Arc::clone(&world.scene()?.session);
    world.judge_all(|call_records, _| {
        traffic::questions_are_for_their_customers(call_records, |call_record| {
            session.expected(call_record.made)
        })
    })
}

#[then(expr = "it is noted whether {habit}")]
fn habit_is_noted(world: &mut World, habit: Habit) -> Step {
    let mut note = None;
    world.judge_call(|call_record| {
        note = Some(match habit {
            Habit::SendsContext => traffic::note_on_context(call_record)?,
            Habit::AsksForStatus => {
                call_record.requests()?;
                traffic::note_on_status(call_record)
            }
        });
        Ok(())
    })?;
    if let Some(note) = note {
        world.note(note);
    }
    Ok(())
}
