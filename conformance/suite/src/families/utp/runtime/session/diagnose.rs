//! What the doctor asks of an agent runtime.

use super::RuntimeSession;
use crate::engine::diagnosis::Check;
use crate::engine::judge::Cause;
use crate::families::utp::runtime::reach::below;

impl RuntimeSession {
    /// What the calibration of a session with an agent runtime found.
    pub(super) fn checks(&self) -> Vec<Check> {
        if !self.works() {
            let message = format!(
                "it is up, and neither a tool call of its model came out as a command nor, where it has no worker, a \
                 report was taken: check that it takes turns and reports below `{}` and its model from \
                 `CALLMARK_MODEL_URL`",
                below(self.revision())
            );
            let elsewhere = self.elsewhere().unwrap_or_default();
            let refused = self.refusal().map(|reason| format!("; {reason}")).unwrap_or_default();
            let check = Check::bad("runtime", Cause::Fixture, format!("{message}{elsewhere}{refused}"));
            return vec![if self.refusal().is_none() { check.about_silence() } else { check }];
        }
        let makes_calls = self.calls() || self.resumes();
        let found =
            if makes_calls { "turns a tool call of its model into a command" } else { "takes a report" };
        let mut checks = vec![Check::good("runtime", found), Check::timeouts(&self.timeouts)];
        if self.resumes() {
            for (name, behaviour) in
                [("suspend", self.baseline.suspend), ("terminate", self.baseline.terminate)]
            {
                checks.push(Check::good(name, format!("after the result {}", behaviour.text())));
            }
        }
        for (is_there, name, what) in [
            (
                self.baseline.parallel != Some(false),
                "parallel",
                "it makes the calls of one answer one by one",
            ),
            (self.baseline.keeps_consumed, "inbox", "it shows no record that a turn has gone on with"),
        ] {
            if !is_there {
                checks.push(Check::note(name, format!("{what}: what needs it will be not-applicable")));
            }
        }
        checks.extend(self.capabilities.iter().map(|name| Check::untried(name)));
        checks
    }
}
