//! Calls as the messages of a scenario show them: what `@always` scenarios judge.

use serde_json::Value;

use super::call::Call;
use super::judge::{CallRecord, Made};
use crate::engine::invariant::ExchangeKind;
use crate::families::hub::contract::TOOLS;
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind};

/// Every call of a tool of the Hub that the agent was made to make, for this customer where a call names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EveryHubCall {
    pub customer_id: Option<String>,
}

/// A call, and the messages of the scenario in which it was made.
pub(super) struct ObservedCall<'a> {
    frames: &'a [Frame],
    drive: &'a Frame,
    made: Made,
}

impl ObservedCall<'_> {
    /// The call as judgements know it.
    pub(super) fn record(&self) -> CallRecord<'_> {
        CallRecord { made: &self.made, frames: self.frames }
    }
}

impl ExchangeKind for EveryHubCall {
    type Exchange<'a> = ObservedCall<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedCall<'a>> {
        let drives = frames.iter().filter(|frame| frame.kind == Kind::Drive);
        drives
            .filter_map(|drive| Some(ObservedCall { frames, drive, made: self.made(drive)? }))
            .filter(|own| TOOLS.contains(&own.made.call.tool.as_str()))
            .collect()
    }

    fn stimulus(exchange: &ObservedCall<'_>) -> u32 {
        exchange.drive.n
    }
}

impl EveryHubCall {
    /// The call that a message to the agent is about.
    fn made(&self, drive: &Frame) -> Option<Made> {
        let (tool, inputs) = match drive.text("/message") {
            Some(message) => task(message)?,
            None => (drive.text("/tool")?.to_owned(), drive.body.get("inputs")?.clone()),
        };
        let customer_id = drive.text("/customer_id").or(self.customer_id.as_deref())?.to_owned();
        let user_id = drive.text("/user_id").map(str::to_owned);
        let number = drive.headers.get(CALL)?.parse().ok()?;
        Some(Made { call: Call { tool, inputs, user_id }, customer_id, number })
    }
}

/// What a chat is asked to do.
pub(super) fn task_text(tool: &str, inputs: &Value) -> String {
    format!("Call the tool `{tool}` with exactly these inputs: {inputs}")
}

/// Tool and inputs of [`task_text`].
fn task(text: &str) -> Option<(String, Value)> {
    let (tool, inputs) = text.strip_prefix("Call the tool `")?.split_once("` with exactly these inputs: ")?;
    Some((tool.to_owned(), serde_json::from_str(inputs).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::hub::agent::judge::request_frame;

    #[test]
    fn a_call_is_read_from_what_the_agent_is_sent() {
        let drive = |body: Value| Frame {
            kind: Kind::Drive,
            headers: std::iter::once((CALL.to_owned(), "2".to_owned())).collect(),
            ..request_frame(body)
        };
        let inputs = json!({"message_id": "m", "mark_as_read": false});
        let check = |body: Value, configured: Option<&str>, expect: Option<(&str, Option<&str>)>| {
            let frames = [drive(body)];
            let kind = EveryHubCall { customer_id: configured.map(str::to_owned) };
            let found = kind.find(&frames);
            let found = found.first().map(|own| {
                assert_eq!(
                    (own.made.call.tool.as_str(), &own.made.call.inputs, own.made.number),
                    ("email_read", &inputs, 2)
                );
                (own.made.customer_id.as_str(), own.made.call.user_id.as_deref())
            });
            assert_eq!(found, expect);
        };
        let hook = json!({"tool": "email_read", "inputs": inputs, "customer_id": "c", "user_id": "u"});
        check(hook.clone(), None, Some(("c", Some("u"))));
        check(
            json!({"message": task_text("email_read", &inputs), "customer_id": "c", "user_id": null}),
            None,
            Some(("c", None)),
        );
        check(json!({"message": task_text("email_read", &inputs)}), Some("d"), Some(("d", None)));
        check(json!({"message": "Good morning"}), Some("d"), None);
        check(json!({"tool": "local_time", "inputs": {}, "customer_id": "c"}), None, None);
    }
}
