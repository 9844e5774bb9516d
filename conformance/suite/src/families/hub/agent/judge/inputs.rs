//! `inputs` of an execute request: what was driven, under the documented names and types (Tool Execution Contract
//! L33-35, L91-322).

use serde_json::{Map, Value};

use super::CallRecord;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::server::judge::shape::moment;
use crate::transcript::Frame;

/// The form of an input.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A string.
    Text,
    /// A string or null.
    TextOrNull,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Integer,
    /// A boolean.
    Boolean,
    /// An array of strings.
    Texts,
    /// An object with these members, each of which may be absent.
    Object(&'static [Input]),
}

/// An input: its name, its form, and whether a task cannot do without it.
type Input = (&'static str, Form, bool);

const EVENT: &[Input] = &[
    ("title", Form::Text, true),
    ("start", Form::Text, true),
    ("end", Form::Text, true),
    ("description", Form::Text, false),
    ("location", Form::Text, false),
    ("attendees", Form::Texts, false),
    ("send_notifications", Form::Boolean, false),
];

/// The inputs of a tool.
fn documented(tool: &str) -> &'static [Input] {
    match tool {
        "calendar_get_availability" => &[
            ("start_date", Form::Text, true),
            ("end_date", Form::Text, true),
            ("timezone", Form::Text, true),
            ("calendars", Form::Texts, false),
        ],
        "calendar_create_event" => EVENT,
        "calendar_update_event" => &[
            ("event_id", Form::Text, true),
            ("updates", Form::Object(EVENT), true),
            ("send_notifications", Form::Boolean, false),
        ],
        "calendar_delete_event" => {
            &[("event_id", Form::Text, true), ("send_notifications", Form::Boolean, false)]
        }
        "calendar_find_optimal_times" => &[
            ("duration_minutes", Form::Integer, true),
            ("attendees", Form::Texts, true),
            ("date_range", Form::Object(&[("start", Form::Text, true), ("end", Form::Text, true)]), true),
            (
                "preferences",
                Form::Object(&[
                    (
                        "preferred_hours",
                        Form::Object(&[("start", Form::Text, true), ("end", Form::Text, true)]),
                        false,
                    ),
                    ("avoid_mondays", Form::Boolean, false),
                ]),
                false,
            ),
        ],
        "email_send" => &[
            ("to", Form::Texts, true),
            ("cc", Form::Texts, false),
            ("bcc", Form::Texts, false),
            ("subject", Form::Text, true),
            ("body", Form::Text, true),
            ("body_type", Form::OneOf(&["text", "html"]), false),
            ("reply_to_message_id", Form::TextOrNull, false),
        ],
        "email_search" => &[
            ("query", Form::Text, true),
            ("max_results", Form::Integer, false),
            ("include_body", Form::Boolean, false),
        ],
        "email_read" => &[("message_id", Form::Text, true), ("mark_as_read", Form::Boolean, false)],
        "email_check_replies" => &[("thread_id", Form::Text, true), ("since", Form::Text, true)],
        _ => &[],
    }
}

impl Form {
    fn name(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::TextOrNull => "a string or null".to_owned(),
            Self::OneOf(words) => format!("one of `{}`", words.join("`, `")),
            Self::Integer => "a whole number".to_owned(),
            Self::Boolean => "a boolean".to_owned(),
            Self::Texts => "an array of strings".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::TextOrNull => value.is_string() || value.is_null(),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Integer => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Boolean => value.is_boolean(),
            Self::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Object(_) => value.is_object(),
        }
    }
}

/// `inputs` is an object.
pub fn is_an_object(frame: &Frame) -> Judgement {
    members(frame).map(|_| ())
}

fn members(frame: &Frame) -> Result<&Map<String, Value>, CheckFailure> {
    let sent = frame.body.get("inputs");
    match sent.and_then(Value::as_object) {
        Some(members) => Ok(members),
        None => Err(Finding::new("`inputs` is no object", "send the tool's inputs as the object `inputs`")
            .expected("an object")
            .actual(sent.or(Some(&Value::from("absent"))))
            .at("/inputs")
            .frame(frame)
            .into()),
    }
}

/// Every input with a documented name has its documented type.
pub fn are_typed(frame: &Frame, tool: &str) -> Judgement {
    let Some(inputs) = frame.body.get("inputs").and_then(Value::as_object) else { return Ok(()) };
    typed(frame, tool, documented(tool), inputs, "/inputs", &mut Vec::new())
}

/// Every input that is there has a documented name and type. An unknown name is a warning (resolution A22).
pub fn are_documented(frame: &Frame, tool: &str) -> Judgement {
    let Some(inputs) = frame.body.get("inputs").and_then(Value::as_object) else { return Ok(()) };
    let mut unknown = Vec::new();
    typed(frame, tool, documented(tool), inputs, "/inputs", &mut unknown)?;
    let Some((pointer, value)) = unknown.first() else { return Ok(()) };
    Err(Finding::new(
        format!("`{}` is no documented input of `{tool}`", dotted(pointer)),
        "use the names of the contract, and no others",
    )
    .expected(names(documented(tool)))
    .actual(Some(value))
    .at(pointer.clone())
    .frame(frame)
    .recommended("extra inputs of a call are tolerated (ambiguity A22)")
    .into())
}

fn typed(
    frame: &Frame,
    tool: &str,
    known: &[Input],
    members: &Map<String, Value>,
    at: &str,
    unknown: &mut Vec<(String, Value)>,
) -> Judgement {
    for (name, value) in members {
        let pointer = format!("{at}/{name}");
        let Some((_, form, _)) = known.iter().find(|(own, ..)| own == name) else {
            unknown.push((pointer, value.clone()));
            continue;
        };
        if !form.holds(value) {
            return Err(Finding::new(
                format!("the input `{}` of `{tool}` has another type than the contract's", dotted(&pointer)),
                format!("send it as {}", form.name()),
            )
            .expected(form.name())
            .actual(Some(value))
            .at(pointer)
            .frame(frame)
            .into());
        }
        if let (Form::Object(known), Value::Object(members)) = (form, value) {
            typed(frame, tool, known, members, &pointer, unknown)?;
        }
    }
    Ok(())
}

/// What a full task needs arrives under its documented name.
pub fn serve_the_task(frame: &Frame, call_record: &CallRecord<'_>) -> Judgement {
    let inputs = members(frame)?;
    for (name, form, _) in documented(call_record.tool()).iter().filter(|(.., needed)| *needed) {
        let driven = call_record.made.call.inputs.get(name);
        if let Some(driven) = driven.filter(|driven| inputs.get(*name).is_none_or(|sent| !same(sent, driven)))
        {
            let (how, hint) = match inputs.get(*name) {
                None => ("without the", format!("send `{name}` in `inputs`, as {}", form.name())),
                Some(_) => ("with another", format!("send `{name}` as the task has it, whole and unchanged")),
            };
            let than = if inputs.contains_key(*name) { "than" } else { "that" };
            return Err(call_record
                .finding(
                    format!("`{}` is executed {how} `{name}` {than} the task names", call_record.tool()),
                    hint,
                )
                .expected(driven.clone())
                .actual(inputs.get(*name).or(Some(&Value::from("absent"))))
                .at(format!("/inputs/{name}"))
                .frame(frame)
                .into());
        }
    }
    Ok(())
}

/// Members of a request that are no inputs.
pub(super) const ENVELOPE: [&str; 6] = ["tool", "agent_id", "customer_id", "user_id", "inputs", "context"];

/// `inputs` holds what was driven, with nothing around it and nothing of the request in it.
pub fn are_those_of_the_call(frame: &Frame, call_record: &CallRecord<'_>) -> Judgement {
    let driven = call_record.made.call.inputs.as_object().cloned().unwrap_or_default();
    let spread = frame.body.as_object().into_iter().flatten().find(|(name, _)| driven.contains_key(*name));
    if let Some((name, value)) = spread {
        return Err(call_record
            .finding(
                "inputs of the tool stand beside `inputs`",
                "put the tool's inputs into the object `inputs`, and nowhere else",
            )
            .actual(Some(value))
            .at(format!("/{name}"))
            .frame(frame)
            .into());
    }
    let sent = members(frame)?;
    let mixed = sent.iter().find(|(name, _)| ENVELOPE.contains(&name.as_str()));
    if let Some((name, value)) = mixed {
        return Err(call_record
            .finding(
                format!("`inputs` holds `{name}`, which is no input of the tool"),
                "put the tool's inputs into `inputs` as they are: nothing around them, nothing else among them",
            )
            .actual(Some(value))
            .at(format!("/inputs/{name}"))
            .frame(frame)
            .into());
    }
    for (name, value) in &driven {
        let other = match sent.get(name) {
            Some(sent) if same(sent, value) => continue,
            // Its form is another rule's business.
            Some(Value::String(sent)) if is_joined(sent, value) => continue,
            None if goes_without_saying(value) => continue,
            other => other,
        };
        let needed = documented(call_record.tool()).iter().any(|(own, _, needed)| own == name && *needed);
        let finding = call_record
            .finding(
                format!("the input `{name}` does not arrive as it was given to the agent"),
                "send the inputs of the call as they are",
            )
            .expected(value.clone())
            .actual(other.or(Some(&Value::from("absent"))))
            .at(format!("/inputs/{name}"))
            .frame(frame);
        // Which inputs are required is not said (resolution A11), so leaving one out may be a reading.
        return Err(if other.is_none() && !needed {
            finding.recommended("which inputs are required is not said (ambiguity A11)").into()
        } else {
            finding.into()
        });
    }
    Ok(())
}

/// An input of the call before is none of this one, which was given none of that name.
pub fn are_its_own(frame: &Frame, call_record: &CallRecord<'_>, before: &CallRecord<'_>) -> Judgement {
    let (sent, driven) = (members(frame)?, &call_record.made.call.inputs);
    let earlier = before.made.call.inputs.as_object().into_iter().flatten();
    let is_kept = |(name, value): &(&String, &Value)| {
        driven.get(name.as_str()).is_none() && sent.get(*name).is_some_and(|sent| same(sent, value))
    };
    match earlier.into_iter().find(is_kept) {
        None => Ok(()),
        Some((name, value)) => Err(call_record
            .finding(
                format!("the input `{name}` is that of the call before; this one has none"),
                "make the inputs of each call from that call alone",
            )
            .expected("absent")
            .actual(Some(value))
            .at(format!("/inputs/{name}"))
            .frame(frame)
            .into()),
    }
}

/// Whether a text is what an array of texts comes to: all of them in their order, and between them nothing but
/// separators, quotes and brackets.
fn is_joined(text: &str, texts: &Value) -> bool {
    let Some(texts) = texts.as_array() else { return false };
    let separates = |between: &str| !between.contains(char::is_alphanumeric);
    let rest = texts.iter().try_fold(text, |rest, own| {
        let (between, rest) = rest.split_once(own.as_str()?)?;
        separates(between).then_some(rest)
    });
    rest.is_some_and(separates)
}

/// Values that say what leaving them out says too.
fn goes_without_saying(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty() || items[..] == [Value::from("primary")],
        Value::String(text) => text == "text",
        _ => false,
    }
}

/// Equal as JSON; `30` is `30.0`, and a moment is the same moment in another zone or spelling.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => {
            one == other || moment(one).is_some_and(|one| moment(other) == Some(one))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        (one, other) => crate::families::toolbus::answer::same(one, other),
    }
}

fn names(known: &[Input]) -> String {
    known.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// `/inputs/date_range/start` as `date_range.start`.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches("/inputs/").replace('/', ".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::hub::agent::call::Call;
    use crate::families::hub::agent::judge::Made;
    use crate::families::hub::contract;
    use crate::families::hub::contract::Subjects;

    #[test]
    fn the_full_inputs_of_all_nine_are_documented() {
        for tool in contract::TOOLS {
            let inputs = contract::full_inputs(tool, &Subjects::default());
            let body = json!({"tool": tool, "inputs": inputs});
            let frame = crate::families::hub::agent::judge::request_frame(body);
            assert_eq!(are_documented(&frame, tool), Ok(()), "{tool}");
            for (name, ..) in documented(tool) {
                assert!(inputs.get(name).is_some(), "{tool} {name}");
            }
        }
    }

    #[test]
    fn a_moment_may_be_spelled_in_another_way() {
        let check = |one: &str, other: &str, expect: bool| {
            let (one, other) = (json!({"since": [one]}), json!({"since": [other]}));
            assert_eq!(same(&one, &other), expect, "{one} {other}");
        };
        check("2031-03-05T11:00:00+01:00", "2031-03-05T10:00:00.000Z", true);
        check("2031-03-05T10:00:00Z", "2031-03-05T10:00:00+00:00", true);
        check("2031-03-05T11:00:00+01:00", "2031-03-05T11:00:00Z", false);
        check("2031-03-05T10:00:00Z", "2031-03-05T10:00:00", false);
        check("2031-03-05", "2031-03-06", false);
    }

    #[test]
    fn a_wrong_type_breaks_and_an_unknown_name_warns() {
        let check = |inputs: Value| {
            let frame = crate::families::hub::agent::judge::request_frame(json!({"inputs": inputs}));
            match are_documented(&frame, "email_check_replies") {
                Err(CheckFailure::Broken(finding)) => {
                    let level = finding.level();
                    Some((finding.pointer.unwrap_or_default(), level))
                }
                _ => None,
            }
        };
        assert_eq!(check(json!({"thread_id": "t"})), None);
        assert_eq!(check(json!({"thread_id": 1})), Some(("/inputs/thread_id".to_owned(), None)));
        let warned = Some(callmark_reports::record::Level::Should);
        assert_eq!(check(json!({"tracking_ids": []})), Some(("/inputs/tracking_ids".to_owned(), warned)));
    }

    #[test]
    fn what_another_call_was_given_is_no_input_of_this_one() {
        let check = |sent: Value, expect: bool| {
            let made = |inputs: Value, number: u32| Made {
                call: Call { tool: "email_send".to_owned(), inputs, user_id: None },
                customer_id: String::new(),
                number,
            };
            let first = made(json!({"subject": "s", "cc": ["cy@orchid.example"]}), 1);
            let second = made(json!({"subject": "s"}), 2);
            let frames = [crate::families::hub::agent::judge::request_frame(json!({"inputs": sent}))];
            let [first, second] = [&first, &second].map(|made| CallRecord { made, frames: &frames });
            assert_eq!(are_its_own(&frames[0], &second, &first).is_ok(), expect, "{sent}");
        };
        check(json!({"subject": "s"}), true);
        // A default of the agent's own.
        check(json!({"subject": "s", "cc": []}), true);
        check(json!({"subject": "s", "cc": ["cy@orchid.example"]}), false);
    }

    #[test]
    fn a_list_that_is_sent_as_a_string_arrives_in_another_form() {
        let all = json!(["ada@orchid.example", "bo@orchid.example"]);
        let check = |sent: Value, arrives: bool| {
            let inputs = json!({"to": all, "subject": "s"});
            let call = Call { tool: "email_send".to_owned(), inputs, user_id: None };
            let made = Made { call, customer_id: String::new(), number: 1 };
            let body = json!({"tool": "email_send", "inputs": {"to": sent, "subject": "s"}});
            let frames = [crate::families::hub::agent::judge::request_frame(body)];
            let record = CallRecord { made: &made, frames: &frames };
            assert_eq!(are_those_of_the_call(&frames[0], &record).is_ok(), arrives, "{sent}");
            // Who sends a string breaks the rule on types.
            assert_eq!(are_typed(&frames[0], "email_send").is_ok(), sent.is_array(), "{sent}");
        };
        check(all.clone(), true);
        for sent in [
            "ada@orchid.example, bo@orchid.example",
            "ada@orchid.example;bo@orchid.example",
            "ada@orchid.example bo@orchid.example",
            r#"["ada@orchid.example","bo@orchid.example"]"#,
            "['ada@orchid.example', 'bo@orchid.example']",
        ] {
            check(json!(sent), true);
        }
        for sent in ["ada@orchid.example", "bo@orchid.example, ada@orchid.example", "all@orchid.example", ""]
        {
            check(json!(sent), false);
        }
        check(json!(["ada@orchid.example"]), false);
    }
}
