//! From a model's call to a `tool.call` card and a command (UTP §4.1, Guide §3.2 and §4).
//!
//! Pure but for ids and the card's timestamp; `turn` saves the card and publishes the command, in this order.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::arguments::{TemplateValues, resolve};
use super::turns::EPOCH;
use super::worker::Turn;
use crate::completion::ModelCall;
use crate::utp::ident::{new_id, timestamp};
use crate::utp::message::{AfterExecution, ToolRow};
use crate::utp::revision::Revision;
use crate::utp::revision::command::Identity;
use crate::utp::revision::headers::is_value;
use crate::utp::subject::{CommandSubject, expand};

/// No call is waited for longer, whatever its row says.
const MAX_DEADLINE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A call that can be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prepared {
    pub(super) subject: String,
    /// That of the subject: a turn may call tools of either.
    pub(super) revision: Revision,
    pub(super) card: Value,
    pub(super) identity: Identity,
    /// The command without its identity.
    pub(super) business: Map<String, Value>,
    pub(super) after_execution: AfterExecution,
    /// How long its answer may take, if the row says so.
    pub(super) deadline: Option<Duration>,
}

/// Prepares a call, or says why it cannot be made.
pub(super) fn prepare(
    turn: &Turn,
    step_id: &str,
    rows: &[ToolRow],
    called: &ModelCall,
) -> Result<Prepared, String> {
    let row = rows
        .iter()
        .find(|row| row.tool_name == called.name)
        .ok_or_else(|| format!("there is no tool `{}`", called.name))?;
    let given = read_arguments(&called.arguments)?;
    let subject =
        expand(&row.target_subject, &turn.project, &turn.channel).map_err(|error| error.to_string())?;
    let revision = revision_of(&subject).unwrap_or(turn.revision);
    let in_headers = [called.id.as_str(), turn.agent_turn_id.as_str()];
    if let Some(id) = in_headers.into_iter().find(|id| revision == Revision::V1r4 && !is_value(id)) {
        return Err(format!("the id {id:?} cannot stand in a header"));
    }
    let values = TemplateValues {
        project_id: turn.project.to_string(),
        channel_id: turn.channel.to_string(),
        agent_id: turn.agent_id.clone(),
        agent_turn_id: turn.agent_turn_id.clone(),
        step_id: step_id.to_owned(),
        tool_call_id: called.id.clone(),
        parent_step_id: turn.parent_step_id.clone(),
        trace_id: turn.headers.traceparent.trace_id().to_owned(),
        turn_epoch: EPOCH.to_string(),
        context_box_id: turn.context_box_id.clone(),
    };
    let resolved = resolve(&row.options, given, &values);
    let mut metadata = json!({
        "agent_turn_id": turn.agent_turn_id,
        "step_id": step_id,
        "tool_call_id": called.id,
        "trace_id": values.trace_id,
        "parent_step_id": turn.parent_step_id,
    });
    if !resolved.defaults_applied.is_empty() {
        metadata["tool_args_defaults_applied"] = json!(resolved.defaults_applied);
    }
    if !resolved.fixed_applied.is_empty() {
        metadata["tool_args_fixed_applied"] = json!(resolved.fixed_applied);
    }
    if !resolved.envs.is_empty() {
        // The names of the variables: their values are the executor's alone.
        metadata["tool_args_envs"] = Value::Object(resolved.envs);
    }
    let card_id = new_id("card_tc");
    let card = json!({
        "card_id": card_id,
        "project_id": turn.project.as_str(),
        "type": "tool.call",
        "author_id": turn.agent_id,
        "created_at": timestamp(),
        "tool_call_id": called.id,
        "content": {
            "__type__": "ToolCallContent",
            "tool_name": row.tool_name,
            "arguments": resolved.arguments,
            "status": "called",
            "target_subject": subject,
        },
        "metadata": metadata,
    });
    let mut business = Map::new();
    business.insert("after_execution".to_owned(), json!(row.after_execution));
    business.insert("tool_call_card_id".to_owned(), json!(card_id));
    business.insert("tool_name".to_owned(), json!(row.tool_name));
    if let Some(context_box_id) = &turn.context_box_id {
        business.insert("context_box_id".to_owned(), json!(context_box_id));
    }
    Ok(Prepared {
        subject,
        revision,
        card,
        identity: Identity {
            tool_call_id: called.id.clone(),
            agent_turn_id: turn.agent_turn_id.clone(),
            turn_epoch: json!(EPOCH),
            agent_id: turn.agent_id.clone(),
            // A PMO built-in needs it; a Tool Service ignores it.
            step_id: Some(step_id.to_owned()),
        },
        business,
        after_execution: row.after_execution,
        deadline: own_deadline(&row.options),
    })
}

/// The revision of a subject, if it is one that is spoken here.
fn revision_of(subject: &str) -> Option<Revision> {
    CommandSubject::parse(subject).ok()?.version.parse().ok()
}

/// The model's arguments; none are an empty object.
fn read_arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("the arguments are not a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

/// `options.suspend_timeout_seconds`, a number that may be a fraction.
fn own_deadline(options: &Value) -> Option<Duration> {
    let seconds = options.get("suspend_timeout_seconds")?.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{MAX_DEADLINE, own_deadline, read_arguments};

    #[test]
    fn arguments_are_an_object_or_nothing() {
        fn check(text: &str, expect: Option<&Value>) {
            assert_eq!(read_arguments(text).ok().map(Value::Object).as_ref(), expect, "{text}");
        }
        check("{\"a\": null}", Some(&json!({"a": null})));
        check("", Some(&json!({})));
        check(" \n", Some(&json!({})));
        check("null", Some(&json!({})));
        check("[1]", None);
        check("\"{}\"", None);
        check("{\"a\": ", None);
    }

    #[test]
    fn a_row_may_say_how_long_its_calls_take() {
        fn check(value: &Value, expect: Option<Duration>) {
            assert_eq!(own_deadline(&json!({"suspend_timeout_seconds": value})), expect, "{value}");
        }
        check(&json!(2), Some(Duration::from_secs(2)));
        check(&json!(0.25), Some(Duration::from_millis(250)));
        check(&json!(1e300), Some(MAX_DEADLINE));
        for odd in [json!(0), json!(-1), json!("2"), Value::Null] {
            check(&odd, None);
        }
        assert_eq!(own_deadline(&json!({})), None);
    }
}
