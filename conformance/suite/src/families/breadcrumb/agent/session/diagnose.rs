//! What the doctor asks of an agent that writes invocations.

use super::CrumbAgentSession;
use crate::engine::diagnosis::Check;
use crate::engine::judge::Cause;

impl CrumbAgentSession {
    /// What the calibration of a session with an agent that writes invocations found.
    pub(super) fn checks(&self) -> Vec<Check> {
        if !self.works() {
            let message = "its user asked it to use a tool, and no invocation with that tool came in their session: check \
                           that it takes its store from `CALLMARK_STORE_URL` and its model from `CALLMARK_MODEL_URL`";
            return vec![Check::bad("agent", Cause::Fixture, message)];
        }
        vec![Check::good("agent", "writes an invocation with the tool that its user asks for")]
    }
}
