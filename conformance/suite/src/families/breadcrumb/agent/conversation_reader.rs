//! What the language model was sent about its calls: read from the conversation that the agent sends.
//!
//! The model believes it. Where it sees an error it sees a failure, where it sees nothing but an output it sees that; so
//! an agent that hides a failure, or pairs an answer with the wrong call, is led into saying so.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::task::{PlannedCall, PlannedReply, Task};

/// Characters of an outcome that the model repeats.
const REPEATED: usize = 400;
/// Members that say the most, best first.
const INFORMATIVE: [&str; 7] = ["content", "notes", "result", "numbers", "text", "receipt", "saved"];
/// What the status of a call that failed has in it.
const FAILURES: [&str; 9] =
    ["err", "fail", "timeout", "timed", "cancel", "denied", "reject", "refuse", "unavailable"];

/// What a call came to, as far as the model knows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Output(String),
    Failure(String),
}

/// What a conversation says of a task: its calls are named by stage and place.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedOutcomes {
    pub outcomes: BTreeMap<(usize, usize), Outcome>,
    /// In which words.
    pub words: BTreeMap<(usize, usize), String>,
    /// The calls that the model has made.
    pub called: BTreeSet<(usize, usize)>,
}

/// A call under the ids by which it may be reported.
#[derive(Clone, Debug)]
pub(super) struct KnownId {
    pub place: (usize, usize),
    /// That of the agent.
    pub id: String,
}

/// The model's own id of a call.
pub(super) fn call_id(task: &Task, (stage, place): (usize, usize)) -> String {
    format!("call_{}_{stage}_{place}", task.mark)
}

/// How an id ends that the model gives to a call where it is asked for one.
pub(super) fn ending(task: &Task, (stage, place): (usize, usize)) -> String {
    format!("{}s{stage}p{place}", task.mark.replace('-', "n"))
}

/// Reads a conversation.
pub(super) fn read(messages: &[Value], task: &Task, known: &[KnownId]) -> ReportedOutcomes {
    let mut reported = ReportedOutcomes::default();
    let is_begin = |message: &Value| message["role"] == "user" && text(message).contains(&task.mark);
    let begin = messages.iter().position(is_begin).unwrap_or_default();
    for (number, message) in messages[begin..].iter().enumerate() {
        let words = text(message);
        if message["role"] == "assistant" {
            let ids =
                message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| call["id"].as_str());
            let own: Vec<&str> = ids.collect();
            let is_called = |place: (usize, usize)| {
                own.contains(&call_id(task, place).as_str()) || words.contains(&ending(task, place))
            };
            reported.called.extend(task.places().map(|(place, _)| place).filter(|place| is_called(*place)));
            let named = known
                .iter()
                .filter(|known| find(&words, &known.id).is_some() || own.contains(&known.id.as_str()));
            reported.called.extend(named.map(|known| known.place));
            continue;
        }
        for (place, planned_call) in task.places() {
            let mut ids = known.iter().filter(|known| known.place == place);
            if message["tool_call_id"] == call_id(task, place).as_str()
                || ids.any(|known| message["tool_call_id"] == known.id.as_str())
            {
                reported.set(place, &words, &planned_call.reply);
            }
        }
        if message["role"] == "tool"
            && message["tool_call_id"].as_str().is_some_and(|id| id.contains(&task.mark))
        {
            continue;
        }
        let mut is_named = known.iter().any(|known| message["tool_call_id"] == known.id.as_str());
        for own in known {
            let reply = &task.stages[own.place.0][own.place.1].reply;
            if let Some(part) = about(&words, own, known).filter(|_| number > 0) {
                reported.set(own.place, &part, reply);
                is_named = true;
            }
        }
        // What the user asked for names what the calls are about, and no result.
        if !is_named && number > 0 {
            for (place, part) in unnamed(&words, task) {
                reported.set(place, &part, &task.stages[place.0][place.1].reply);
            }
        }
    }
    reported
}

impl ReportedOutcomes {
    fn set(&mut self, place: (usize, usize), words: &str, reply: &PlannedReply) {
        self.outcomes.insert(place, outcome(words, reply));
        self.words.insert(place, words.to_owned());
    }
}

/// The parts of a text that names no call, and the call that each is of: the one that is about the same thing, else the
/// one that brought what is reported.
fn unnamed(words: &str, task: &Task) -> Vec<((usize, usize), String)> {
    let planned_calls: Vec<((usize, usize), &PlannedCall)> = task.places().collect();
    let mut brought: Vec<((usize, usize), String)> = planned_calls
        .iter()
        .filter_map(|(place, planned_call)| {
            Some((
                *place,
                traces(&planned_call.reply).into_iter().find(|trace| words.contains(trace.as_str()))?,
            ))
        })
        .collect();
    let after = |planned_call: &PlannedCall| {
        planned_call.key.as_ref().and_then(|key| Some(words.find(key.as_str())? + key.len()))
    };
    let mut topics: Vec<(usize, (usize, usize))> = planned_calls
        .iter()
        .filter_map(|(place, planned_call)| Some((after(planned_call)?, *place)))
        .collect();
    topics.sort_unstable();
    topics.dedup_by_key(|(at, _)| *at);
    if let ([(place, part)], ..=1) = (brought.as_mut_slice(), topics.len()) {
        let (stage, own) = *place;
        let begin = after(&task.stages[stage][own]).filter(|at| words[*at..].contains(part.as_str()));
        words[begin.unwrap_or_default()..].clone_into(part);
    } else if !brought.is_empty() && topics.len() > 1 {
        let ends = topics.iter().skip(1).map(|(at, _)| *at).chain([words.len()]);
        return topics
            .iter()
            .zip(ends)
            .map(|((at, place), end)| (*place, words[*at..end].to_owned()))
            .filter(|(_, part)| brought.iter().any(|(_, trace)| part.contains(trace.as_str())))
            .collect();
    }
    brought
}

/// What shows that a text is about an answer.
fn traces(reply: &PlannedReply) -> Vec<String> {
    let values = |value: &Value| numbers(&value.to_string()).iter().map(u64::to_string).collect::<Vec<_>>();
    match reply {
        PlannedReply::Output(output) => values(output),
        PlannedReply::Failure { error, decoy } => [vec![error.clone()], values(decoy)].concat(),
    }
}

/// The text of a message, however it is built.
pub(super) fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The part of a text that is about one call: the object that names its id, else what follows the id.
fn about(words: &str, own: &KnownId, known: &[KnownId]) -> Option<String> {
    let at = find(words, &own.id)?;
    for (begin, _) in words.match_indices(['{', '[']) {
        let first = serde_json::Deserializer::from_str(&words[begin..]).into_iter::<Value>().next();
        if let Some(found) = first.and_then(Result::ok).as_ref().and_then(|json| named(json, &own.id)) {
            return Some(found.to_string());
        }
    }
    let after = at + own.id.len();
    let others = known.iter().filter(|other| other.id != own.id);
    let end = others.filter_map(|other| find(&words[after..], &other.id)).min();
    Some(words[after..][..end.unwrap_or(words.len() - after)].to_owned())
}

/// Where an id stands in a text, and not as a part of another one: some agents just count.
fn find(words: &str, id: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let mut places = words.match_indices(id).map(|(at, _)| at);
    places.find(|at| !words[..*at].ends_with(is_part) && !words[at + id.len()..].starts_with(is_part))
}

/// The object within a value that has a member with this id.
fn named<'a>(value: &'a Value, id: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            let own = ["request_id", "requestId"]
                .iter()
                .any(|name| members.get(*name).is_some_and(|own| own == id));
            if own { Some(value) } else { members.values().find_map(|member| named(member, id)) }
        }
        Value::Array(items) => items.iter().find_map(|item| named(item, id)),
        _ => None,
    }
}

/// What a text about a call says.
fn outcome(words: &str, reply: &PlannedReply) -> Outcome {
    let begin = words.find('{').unwrap_or(words.len());
    let json = serde_json::from_str(words).ok();
    let json = json
        .or_else(|| serde_json::Deserializer::from_str(&words[begin..]).into_iter::<Value>().next()?.ok());
    if let Some(json @ Value::Object(_)) = json {
        return of_json(&json);
    }
    let knows = match reply {
        PlannedReply::Failure { error, .. } => words.contains(error.as_str()),
        PlannedReply::Output(_) => false,
    };
    if knows { Outcome::Failure(short(words)) } else { Outcome::Output(short(words)) }
}

fn of_json(json: &Value) -> Outcome {
    let place = ["context", "response", "tool_response"].iter().find_map(|name| json.get(*name));
    let place = place.filter(|place| place.is_object()).unwrap_or(json);
    let error = place.get("error").filter(|error| !error.is_null() && *error != "" && *error != false);
    // How an agent says to its model that a call succeeded is its own affair: `ok`, `done`.
    let says_failure = |status: &str| FAILURES.iter().any(|word| status.to_lowercase().contains(word));
    let failed = match place["status"].as_str() {
        Some("success") => false,
        Some(status) if says_failure(status) => true,
        _ => error.is_some() || place["success"] == false || place["ok"] == false,
    };
    if failed {
        let error = error.or_else(|| place.get("message")).unwrap_or(place);
        return Outcome::Failure(short(&leaves(error)));
    }
    let output = place.get("output").or_else(|| place.get("result").filter(|result| result.is_object()));
    let output = output.unwrap_or(place);
    let informative = INFORMATIVE.iter().find_map(|name| output.get(*name));
    Outcome::Output(short(&leaves(informative.unwrap_or(output))))
}

/// Everything that a value says, without the names of its members.
pub(super) fn leaves(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(leaves).collect::<Vec<_>>().join(", "),
        Value::Object(members) => members.values().map(leaves).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        plain => plain.to_string(),
    }
}

fn short(text: &str) -> String {
    text.chars().take(REPEATED).collect::<String>().trim().to_owned()
}

/// The numbers of a text, but for those that are parts of words.
pub(super) fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    words.filter(|word| word.len() < 12).filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::agent::task::number;
    use crate::families::breadcrumb::agent::user_request::UserRequest;

    fn task() -> Task {
        Task::new(UserRequest::TwoNotes, "0123456789ab", 1, "sess-0123456789ab".to_owned())
    }

    fn known() -> Vec<KnownId> {
        let known = |place, id: &str| KnownId { place, id: id.to_owned() };
        vec![known((0, 0), "web-notes-1"), known((0, 1), "web-notes-2")]
    }

    fn check(messages: &Value, expect: &[((usize, usize), Outcome)]) {
        let task = task();
        let messages = messages.as_array().expect("messages");
        let reported = read(messages, &task, &known());
        let expect: BTreeMap<_, _> = expect.iter().cloned().collect();
        assert_eq!(reported.outcomes, expect, "{messages:?}");
    }

    fn output(text: &str) -> Outcome {
        Outcome::Output(text.to_owned())
    }

    fn failure(text: &str) -> Outcome {
        Outcome::Failure(text.to_owned())
    }

    #[test]
    fn answers_are_known_by_the_models_id() {
        let user = json!({"role": "user", "content": task().words});
        let tool = |place, content: &str| json!({"role": "tool", "tool_call_id": call_id(&task(), (0, place)), "content": content});
        check(&json!([user, tool(1, "{\"notes\": [\"b\"]}")]), &[((0, 1), output("b"))]);
        check(
            &json!([
                user,
                tool(0, "{\"status\": \"error\", \"error\": \"no\", \"output\": {\"notes\": [\"x\"]}}")
            ]),
            &[((0, 0), failure("no"))],
        );
        check(&json!([user, tool(0, "{\"output\": {\"notes\": [\"x\"]}}")]), &[((0, 0), output("x"))]);
        check(&json!([user, tool(0, "just words")]), &[((0, 0), output("just words"))]);
        // How an agent says that a call succeeded is not said.
        for word in ["ok", "done", "success"] {
            let content = json!({"status": word, "output": {"notes": ["x"]}}).to_string();
            check(&json!([user, tool(0, &content)]), &[((0, 0), output("x"))]);
        }
        for word in ["error", "failed", "ok"] {
            let content = json!({"status": word, "error": "no"}).to_string();
            check(&json!([user, tool(0, &content)]), &[((0, 0), failure("no"))]);
        }
    }

    #[test]
    fn answers_in_texts_are_known_by_the_request() {
        let say = |content: String| json!([{"role": "user", "content": task().words}, {"role": "user", "content": content}]);
        let first = json!({"request_id": "web-notes-1", "status": "success", "output": {"notes": ["a"]}});
        let second = json!({"request_id": "web-notes-2", "status": "error", "error": "no"});
        let both = [((0, 0), output("a")), ((0, 1), failure("no"))];
        check(&say(format!("Results: {}", json!([first, second]))), &both);
        check(&say(format!("{second}\n{first}")), &both);
        check(&say("web-notes-1: a b".to_owned()), &[((0, 0), output(": a b"))]);
        check(&say("web-notes-11: a b".to_owned()), &[]);
    }

    #[test]
    fn answers_are_known_by_the_agents_own_id_of_a_call() {
        let user = json!({"role": "user", "content": task().words});
        let tool = json!({"role": "tool", "tool_call_id": "web-notes-2", "content": "{\"notes\": [\"b\"]}"});
        check(&json!([user, tool]), &[((0, 1), output("b"))]);
    }

    #[test]
    fn answers_without_an_id_are_known_by_what_they_are_about() {
        let task = task();
        let reported = |content: String| json!([{"role": "user", "content": task.words}, {"role": "user", "content": content}]);
        let value = |what: &str| number(&task.mark, what);
        let (first, second) = (value("first"), value("second"));
        let labels: Vec<&String> = task.stages[0].iter().map(|planned_call| &planned_call.label).collect();
        check(
            &reported(format!("The note says {second}.")),
            &[((0, 1), output(&format!("The note says {second}.")))],
        );
        check(
            &reported(format!("{}: {second}; {}: {first}", labels[0], labels[1])),
            // A pair that is wrong is believed.
            &[
                ((0, 0), output(&format!(": {second}; {}", labels[1]))),
                ((0, 1), output(&format!(": {first}"))),
            ],
        );
        let asked = json!({"query": labels[0]});
        check(
            &reported(format!("web-notes {asked}: {}", json!({"output": {"notes": [first.to_string()]}}))),
            &[((0, 0), output(&first.to_string()))],
        );
        check(&reported("Go on.".to_owned()), &[]);
        check(&json!([{"role": "user", "content": task.words}]), &[]);
    }

    #[test]
    fn numbers_stand_alone() {
        assert_eq!(
            numbers("The levels are 1234567 and 7654321. (quartz-0123456789ab-1)"),
            [1_234_567, 7_654_321]
        );
    }
}
