//! What the doctor asks of a server: whether each probe does what the manifest says of it.

use serde_json::Value;

use super::{RootKind, ToolbusSession};
use crate::engine::diagnosis::{Check, NOT_DECLARED};
use crate::engine::judge::Cause;
use crate::engine::session::Session as _;
use crate::families::toolbus::answer::Answer;
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::revision::{self, Era};
use crate::transcript::shorten;

impl ToolbusSession {
    /// What the calibration of a tool bus session found, and what each probe answers.
    pub(super) async fn checks(&self) -> Vec<Check> {
        let fault = revision::fault_of_session(&self.revision).filter(|_| self.era == Era::Legacy);
        let fault =
            fault.map(|(fault, hint)| Check::bad("revision", Cause::Fixture, format!("{fault}: {hint}")));
        let mut checks = Vec::from_iter(fault);
        if let Some(why) = self.why_idle() {
            let text = format!("the echo probe does not give back what it is given: {why}");
            checks.push(Check::bad("server", Cause::Fixture, text));
            return checks;
        }
        let found = format!("echoes a value, results at `{}`", self.result_pointer);
        checks.extend([Check::good("server", found), Check::timeouts(&self.timeouts)]);
        let declared = self.capabilities();
        for probe in Probe::ALL.into_iter().filter(|probe| *probe != Probe::Echo) {
            let name = probe.capability();
            checks.push(match self.try_probe(probe).await {
                Some(Ok(outcome)) => Check::good(&name, outcome),
                Some(Err(why)) => Check::bad(&name, Cause::Fixture, format!("`{}`: {why}", probe.key())),
                None => Check::note(&name, NOT_DECLARED),
            });
        }
        for (name, what) in [
            ("root", "a context root"),
            ("root.none", "a server without a context root"),
            ("restart", "a restart"),
        ] {
            if !declared.contains(name) {
                checks.push(Check::note(
                    name,
                    format!("{what} cannot be had: what needs it will be not-applicable"),
                ));
            }
        }
        checks
    }

    /// Makes a plain call of a probe, and says what it did, or what is wrong with that; nothing where the manifest does
    /// not name the probe.
    async fn try_probe(&self, probe: Probe) -> Option<Result<String, String>> {
        probe.table(&self.table)?;
        let server = match self.server(RootKind::First, 0).await {
            Ok(server) => server,
            Err(why) => return Some(Err(why)),
        };
        let answer = self.try_call(&server, probe, &Value::Null, true, self.timeouts.answer).await;
        Some(self.judged(probe, &answer))
    }

    fn judged(&self, probe: Probe, answer: &Answer) -> Result<String, String> {
        let answered = || shorten(&answer.shown()).to_string();
        match (probe, answer) {
            (Probe::Fail, Answer::Success(_)) => {
                Err(format!("it succeeds, and it should fail: {}", answered()))
            }
            (Probe::Invalid, Answer::Success(_)) => {
                Err(format!("it is carried out, and its arguments should be invalid: {}", answered()))
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
                        answered()
                    ));
                }
                Ok("says what comes next".to_owned())
            }
            (Probe::Secret | Probe::BreakGlass | Probe::Large, Answer::Success(_)) => {
                let envelope = answer.envelope().unwrap_or_default();
                match envelope.pointer(&self.result_pointer) {
                    Some(result) if !is_empty(result) => Ok("gives something back".to_owned()),
                    _ => Err(format!("it gives nothing back, so nothing can be seen: {}", answered())),
                }
            }
            // A reader of the state may call an unknown key an error.
            (_, Answer::Success(_)) | (Probe::State, Answer::Error(_) | Answer::ToolError(_)) => {
                Ok("answers a plain call".to_owned())
            }
            _ => Err(format!("a plain call does not work: {}", answered())),
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
