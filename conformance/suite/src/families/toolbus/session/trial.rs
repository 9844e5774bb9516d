//! Whether a probe does what the manifest says of it, for who asks before a run.

use serde_json::Value;

use super::{RootKind, ToolbusSession};
use crate::families::toolbus::answer::Answer;
use crate::families::toolbus::call::Probe;
use crate::transcript::shorten;

impl ToolbusSession {
    /// Makes a plain call of a probe, and says what it did, or what is wrong with that; nothing where the manifest does
    /// not name the probe.
    pub async fn try_probe(&self, probe: Probe) -> Option<Result<String, String>> {
        probe.table(&self.table)?;
        let server = match self.server(RootKind::First, 0).await {
            Ok(server) => server,
            Err(why) => return Some(Err(why)),
        };
        let answer = self.try_call(&server, probe, &Value::Null, true, self.pace.answer).await;
        Some(self.judged(probe, &answer))
    }

    fn judged(&self, probe: Probe, answer: &Answer) -> Result<String, String> {
        let told = || shorten(&answer.shown()).to_string();
        match (probe, answer) {
            (Probe::Fail, Answer::Success(_)) => Err(format!("it succeeds, and it should fail: {}", told())),
            (Probe::Invalid, Answer::Success(_)) => {
                Err(format!("it is carried out, and its arguments should be invalid: {}", told()))
            }
            (Probe::Fail | Probe::Invalid, Answer::Error(_) | Answer::ToolError(_)) => {
                Ok("fails as it should".to_owned())
            }
            (Probe::Partial, Answer::Success(_)) => {
                let hint = self.table.probes.partial.as_ref().map(|own| own.hint_pointer.as_str());
                let (hint, envelope) = (hint.unwrap_or_default(), answer.envelope().unwrap_or_default());
                if envelope.pointer(hint).is_none_or(is_empty) {
                    return Err(format!(
                        "nothing is at `{hint}` of its envelope (`hint_pointer`): {}",
                        told()
                    ));
                }
                Ok("says what comes next".to_owned())
            }
            (Probe::Secret | Probe::BreakGlass | Probe::Large, Answer::Success(_)) => {
                let envelope = answer.envelope().unwrap_or_default();
                match envelope.pointer(&self.result_pointer) {
                    Some(result) if !is_empty(result) => Ok("gives something back".to_owned()),
                    _ => Err(format!("it gives nothing back, so nothing can be seen: {}", told())),
                }
            }
            // A reader of the state may call an unknown key an error.
            (_, Answer::Success(_)) | (Probe::State, Answer::Error(_) | Answer::ToolError(_)) => {
                Ok("answers a plain call".to_owned())
            }
            _ => Err(format!("a plain call does not work: {}", told())),
        }
    }
}

fn is_empty(result: &Value) -> bool {
    match result {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
