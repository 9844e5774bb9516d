//! What an agent makes of its tools' answers (Universal Tool Invocation L46-61, L118-121, L148, L178-185).

use serde_json::Value;

use super::Seen;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::agent::agent_output::Utterance;
use crate::families::breadcrumb::agent::conversation_reader::{leaves, read};
use crate::families::breadcrumb::agent::seed_data::meant;
use crate::families::breadcrumb::agent::task::{PlannedReply, number};
use crate::families::breadcrumb::reason::Alternative;
use crate::transcript::{Frame, Kind};

/// The first stage of the first task.
const FIRST: (usize, usize, usize) = (0, 0, 0);
/// What follows it.
const SECOND: (usize, usize, usize) = (0, 1, 0);

/// The first calls have this flag.
pub(in crate::families::breadcrumb::agent) fn returns(seen: &Seen<'_>, flag: bool) -> Judgement {
    for place in 0..seen.tasks[0].stages[0].len() {
        let call_record = seen.call((0, 0, place))?;
        if call_record.returns == flag {
            continue;
        }
        let (message, hint) = if flag {
            (
                "a result that the agent needs is not to come back to it",
                "set `return_to_llm` to `true` where the result is reasoned over, checked or built upon",
            )
        } else {
            (
                "a result that only the user needs is to come back to the agent",
                "set `return_to_llm` to `false` where nothing is left to do with the result",
            )
        };
        let frame = seen
            .utterances
            .iter()
            .find(|utterance| utterance.frame.n == call_record.frame)
            .map(|utterance| utterance.frame);
        let finding = Finding::new(message, hint).expected(flag).actual(Some(&call_record.returns.into()));
        return Err(frame.into_iter().fold(finding, Finding::frame).into());
    }
    Ok(())
}

/// Answers that came in another order went to their calls.
pub(in crate::families::breadcrumb::agent) fn pairs(seen: &Seen<'_>) -> Judgement {
    let planned_calls = &seen.tasks[0].stages[0];
    let answers: Vec<&Frame> =
        (0..planned_calls.len()).map(|place| seen.answer((0, 0, place))).collect::<Result<_, _>>()?;
    let last = answers.iter().map(|frame| frame.n).max().unwrap_or_default();
    let hint =
        "find the call of a `tool.response.v1` by its `context.request_id`, and wait for all open calls";
    let shown = |finding: Finding| answers.iter().fold(finding, |finding, frame| finding.frame(frame));
    let mark = &seen.tasks[0].mark;
    let values = ["first", "second", "third"].map(|what| number(mark, what).to_string());
    let (mut spoke, mut reported) = (false, false);
    for utterance in seen.after(last) {
        let Some(message) = utterance.message() else { continue };
        spoke = true;
        let message = digits_joined(&message);
        let mut tokens: Vec<(usize, bool, usize)> = Vec::new();
        for (place, (planned_call, value)) in planned_calls.iter().zip(&values).enumerate() {
            tokens.extend(message.match_indices(&planned_call.label).map(|(at, _)| (at, true, place)));
            tokens.extend(message.match_indices(value).map(|(at, _)| (at, false, place)));
        }
        reported |= tokens.iter().any(|(_, is_name, _)| !is_name);
        tokens.sort_unstable();
        if let Some((label, value)) = swapped(&tokens) {
            let finding = Finding::new("the answer to one call is reported as that of another", hint)
                .expected(format!("{}: {}", planned_calls[label].label, values[label]))
                .actual(Some(&format!("{}: {}", planned_calls[label].label, values[value]).into()));
            return Err(shown(finding).frame(utterance.frame).into());
        }
    }
    if reported {
        return Ok(());
    }
    if spoke {
        return Err(CheckFailure::NotObserved("the agent reports none of the results".to_owned()));
    }
    Err(shown(seen.last(Finding::new("the agent says nothing after the answers to its calls came", hint)))
        .into())
}

/// A name that is followed by the value of another, and never by its own.
fn swapped(tokens: &[(usize, bool, usize)]) -> Option<(usize, usize)> {
    let values_lead =
        tokens.first().is_some_and(|first| !first.1) && tokens.last().is_some_and(|last| last.1);
    let mut tokens = tokens.to_vec();
    if values_lead {
        tokens.reverse();
    }
    let pairs: Vec<(usize, usize)> = (0..tokens.len().saturating_sub(1))
        .filter(|at| tokens[*at].1 && !tokens[at + 1].1)
        // Names that stand together are followed by values that stand together.
        .filter(|at| *at == 0 || !tokens[at - 1].1 || tokens[at - 1].2 == tokens[*at].2)
        .map(|at| (tokens[at].2, tokens[at + 1].2))
        .collect();
    let is_right = |name: usize| pairs.contains(&(name, name));
    pairs.iter().copied().find(|(name, value)| name != value && !is_right(*name))
}

/// A text whose numbers have no separators.
fn digits_joined(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
    let is_between = |at: usize| is_digit(at.checked_sub(1)) && (1..=3).all(|more| is_digit(Some(at + more)));
    // Two numbers may stand beside each other.
    let is_group = |at: usize| is_between(at) && !is_digit(Some(at + 4));
    let keeps = |(at, letter): (usize, &char)| {
        let separates = match letter {
            ',' | '.' | '_' | '\'' | '’' | '\u{a0}' | '\u{2009}' | '\u{202f}' => is_between(at),
            ' ' => is_group(at),
            _ => false,
        };
        (!separates).then_some(*letter)
    };
    letters.iter().enumerate().filter_map(keeps).collect()
}

/// A planned call that fails.
struct Failed<'s> {
    /// Its answer.
    frame: &'s Frame,
    /// What nobody must take for its result.
    decoy: u64,
    place: (usize, usize, usize),
}

/// The planned calls that fail, where they were made and answered.
fn failures<'s>(seen: &'s Seen<'_>) -> Result<Vec<Failed<'s>>, CheckFailure> {
    let mut found = Vec::new();
    let mut why = None;
    for (task, own) in seen.tasks.iter().enumerate() {
        for (stage, planned_calls) in own.stages.iter().enumerate() {
            for (place, planned_call) in planned_calls.iter().enumerate() {
                if matches!(planned_call.reply, PlannedReply::Failure { .. }) {
                    match seen.answer((task, stage, place)) {
                        Ok(frame) => {
                            let decoy = number(&own.mark, "decoy");
                            found.push(Failed { frame, decoy, place: (task, stage, place) });
                        }
                        Err(trouble) => why = Some(trouble),
                    }
                }
            }
        }
    }
    match why {
        Some(trouble) if found.is_empty() => Err(trouble),
        _ => Ok(found),
    }
}

/// Nothing that stood in an answer of status `error` is reported or used as a result.
pub(in crate::families::breadcrumb::agent) fn heeds_the_status(seen: &Seen<'_>) -> Judgement {
    for Failed { frame, decoy, .. } in failures(seen)? {
        let decoy = decoy.to_string();
        if let Some(utterance) = seen.after(frame.n).find(|utterance| text(utterance).contains(&decoy)) {
            return Err(Finding::new(
                "what stood in an answer of status `error` is used as a result",
                "look at `context.status` of a `tool.response.v1` before anything else in it, and take nothing but \
                 `context.error` from one that says `error`",
            )
            .expected(format!("nothing with {decoy}"))
            .actual(Some(utterance.whole()))
            .frame(frame)
            .frame(utterance.frame)
            .into());
        }
        if seen.after(frame.n).next().is_none() {
            return Err(CheckFailure::NotObserved("the agent says nothing after the failure".to_owned()));
        }
    }
    Ok(())
}

/// Every answer of status `error` is followed by a word to the user or by a call.
pub(in crate::families::breadcrumb::agent) fn reacts(seen: &Seen<'_>) -> Judgement {
    for failed in failures(seen)? {
        let frame = failed.frame;
        let is_reaction =
            |utterance: &&Utterance<'_>| utterance.message().is_some() || !utterance.calls().is_empty();
        if seen.after(frame.n).find(is_reaction).is_none() {
            let finding = Finding::new(
                "nothing follows upon the failure of a tool",
                "when a `tool.response.v1` says `error`, try again, inform the user or call another tool",
            );
            return Err(seen.last(finding.frame(frame)).into());
        }
        if let Some((asked, words)) = kept_from_the_model(seen, &failed) {
            return Err(Finding::new(
                "the language model, which alone speaks to the user, is sent nothing of a failure",
                "give the model `context.status` and `context.error` of a `tool.response.v1`, or inform the user yourself",
            )
            .expected("an outcome that reports a failure")
            .actual(Some(&words.into()))
            .frame(frame)
            .frame(asked)
            .into());
        }
    }
    Ok(())
}

/// The request in which the suite's language model is sent a failure as if there was none, and in what words, where
/// nothing follows but what the model then says.
fn kept_from_the_model<'s>(seen: &'s Seen<'_>, failed: &Failed<'_>) -> Option<(&'s Frame, String)> {
    let (task, stage, place) = failed.place;
    let own = &seen.tasks[task];
    let later = || seen.frames.iter().filter(|frame| frame.n > failed.frame.n);
    let known = seen.ledger.known(task);
    let words_of = |frame: &&Frame| {
        let reported = read(frame.body["messages"].as_array()?, own, &known);
        reported.words.get(&(stage, place)).cloned()
    };
    let asked =
        later().filter(|frame| frame.kind == Kind::Model).find_map(|frame| Some((frame, words_of(&frame)?)));
    let (frame, words) = asked?;
    let PlannedReply::Failure { error, .. } = &own.stages[stage][place].reply else { return None };
    let said_by_the_model = |message: &str| {
        let mut replies = later().filter(|frame| frame.kind == Kind::ModelReply);
        replies.any(|reply| reply.text("/content").is_some_and(|content| content.contains(message.trim())))
    };
    let mut after = seen.after(failed.frame.n);
    let is_the_models = |utterance: &Utterance<'_>| {
        utterance.calls().is_empty() && utterance.message().is_none_or(|message| said_by_the_model(&message))
    };
    // What brings a value breaks the rule on results, or that on matching.
    let is_empty = own.names().iter().all(|(number, _)| !words.contains(number));
    let is_kept = is_empty && !words.contains(error.as_str()) && is_rosy(&words);
    (is_kept && after.all(is_the_models)).then_some((frame, words))
}

/// Whether a text says that a call succeeded, or nothing at all.
fn is_rosy(words: &str) -> bool {
    let words = words.trim();
    let Ok(json) = serde_json::from_str::<Value>(words) else { return words.is_empty() };
    if leaves(&json).chars().all(|letter| letter == ',' || letter.is_whitespace()) {
        return true;
    }
    let says = |name: &str| json[name].as_str().is_some_and(|text| ["success", "ok"].contains(&text));
    says("status") || json["ok"] == true || json["success"] == true
}

/// After the answer of a language model there is a message without a call.
pub(in crate::families::breadcrumb::agent) fn ends(seen: &Seen<'_>) -> Judgement {
    let answer = seen.answer(FIRST)?;
    // What nobody waits for may go with it.
    let is_end = |utterance: &&Utterance<'_>| utterance.message().is_some() && !utterance.is_open();
    if seen.after(answer.n).find(is_end).is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "no message without a call follows upon the answer of the language model",
        "work the answer in, and end the turn with an `agent.response.v1` that has a `message` and no `tool_requests`",
    );
    Err(seen.last(finding.frame(answer)).into())
}

/// What follows is made of the first result.
pub(in crate::families::breadcrumb::agent) fn builds_on_it(seen: &Seen<'_>) -> Judgement {
    let answer = seen.answer(FIRST)?;
    let mark = &seen.tasks[0].mark;
    let (first, second) = (number(mark, "first"), number(mark, "second"));
    let uses = |utterance: &&Utterance<'_>| {
        let text = text(utterance);
        let has = |number: u64| text.contains(&number.to_string());
        (has(first) && has(second)) || has(first + second)
    };
    if seen.after(answer.n).next().is_none() {
        return Err(CheckFailure::NotObserved("the agent says nothing after the first result".to_owned()));
    }
    if seen.after(answer.n).find(uses).is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "neither a later call nor a message has anything of the first result",
        "make the input of the next call, or the answer, from what the first tool brought",
    );
    Err(seen.last(finding.expected(format!("{first} and {second}")).frame(answer)).into())
}

/// The last word of the session leaves no call open.
pub(in crate::families::breadcrumb::agent) fn closes(seen: &Seen<'_>) -> Judgement {
    let answer = seen.answer(FIRST)?;
    if seen.utterances.last().is_some_and(|utterance| utterance.frame.n > answer.n && !utterance.is_open()) {
        return Ok(());
    }
    let finding = Finding::new(
        "the task does not end with an answer to the user",
        "end with an `agent.response.v1` that has a `message` and no further call",
    );
    Err(seen.last(finding.frame(answer)).into())
}

/// A failed tool is not asked for ever: the fallback is tried, or it is reported to the user.
pub(in crate::families::breadcrumb::agent) fn falls_back(seen: &Seen<'_>) -> Judgement {
    returns(seen, true)?;
    let answer = seen.answer(FIRST)?;
    let stages = &seen.tasks[0].stages;
    let (primary, fallback) = (stages[0][0].tool, stages[1][0].tool);
    let names = |utterance: &&Utterance<'_>, tool: &str| {
        utterance.calls().iter().any(|call| meant(call.tool()) == Some(tool))
    };
    let is_recovery = |utterance: &&Utterance<'_>| {
        names(utterance, fallback) || (utterance.message().is_some() && !names(utterance, primary))
    };
    if seen.after(answer.n).find(is_recovery).is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "the agent neither tries the fallback nor informs the user that the tool failed",
        "when the first tool fails, call the other one, or say that it failed",
    );
    Err(seen.last(finding.expected(format!("a call of `{fallback}`, or a message")).frame(answer)).into())
}

/// What the fallback brought is reported.
pub(in crate::families::breadcrumb::agent) fn reports_what_the_fallback_brought(
    seen: &Seen<'_>,
) -> Judgement {
    let first = seen.answer(FIRST)?;
    if let (Err(_), Some(utterance)) = (seen.call(SECOND), seen.after(first.n).next()) {
        return Err(Alternative::NoFallback.seen_in([utterance.frame]));
    }
    let answer = seen.answer(SECOND)?;
    let brought = number(&seen.tasks[0].mark, "first").to_string();
    let brings = |utterance: &&Utterance<'_>| {
        !utterance.is_open()
            && utterance.message().is_some_and(|message| digits_joined(&message).contains(&brought))
    };
    if seen.after(answer.n).find(brings).is_some() {
        return Ok(());
    }
    let finding = Finding::new(
        "what the fallback brought is not reported to the user",
        "end with a message that is made of the fallback's answer",
    );
    Err(seen.last(finding.expected(brought).frame(answer)).into())
}

/// Everything that was said to the user and to tools, with plain numbers. What the agent has a language model think over
/// is neither.
fn text(utterance: &Utterance<'_>) -> String {
    let calls = utterance.calls();
    if calls.len() == utterance.requests().len() {
        return digits_joined(&utterance.whole().to_string());
    }
    let calls = calls.iter().map(|call| call.value.to_string());
    digits_joined(&utterance.message().into_iter().chain(calls).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_the_name_before_it() {
        let (a, b) = (|at| (at, true, 0), |at| (at, true, 1));
        let (va, vb) = (|at| (at, false, 0), |at| (at, false, 1));
        assert_eq!(swapped(&[a(0), va(1), b(2), vb(3)]), None);
        assert_eq!(swapped(&[a(0), vb(1), b(2), va(3)]), Some((0, 1)));
        assert_eq!(swapped(&[b(0), va(1), a(2), vb(3)]), Some((1, 0)));
        assert_eq!(swapped(&[a(0), b(1), va(2), vb(3)]), None);
        assert_eq!(swapped(&[va(0), a(1), vb(2), b(3)]), None);
        assert_eq!(swapped(&[vb(0), a(1), va(2), b(3)]), Some((1, 0)));
        assert_eq!(swapped(&[a(0), vb(1)]), Some((0, 1)));
        assert_eq!(swapped(&[]), None);
    }

    #[test]
    fn a_number_is_one_with_separators_too() {
        assert_eq!(digits_joined("1,234,567 and 1.234.567, then 4."), "1234567 and 1234567, then 4.");
        assert_eq!(digits_joined("1 234 567 and 1’234’567"), "1234567 and 1234567");
        assert_eq!(digits_joined("item 7 1234567"), "item 7 1234567");
        assert_eq!(digits_joined("3.14"), "3.14");
    }
}
