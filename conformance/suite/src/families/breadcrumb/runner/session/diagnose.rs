//! What the doctor asks of a runner.

use std::sync::Arc;

use super::RunnerSession;
use crate::engine::diagnosis::Check;
use crate::engine::judge::Cause;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::fixtures::Act;
use crate::families::breadcrumb::runner::scene::Scene;
use crate::transcript::shorten;

impl RunnerSession {
    /// What the calibration of a session with a tool runner found, and what each of its tools answers.
    pub(super) async fn checks(self: &Arc<Self>) -> Vec<Check> {
        if !self.works() {
            let message = "it answers the first call without the output of the tool: check its `tool.response.v1`, and \
                           `breadcrumb.inputs` if the tool takes another input";
            return vec![Check::bad("runner", Cause::Implementation, message)];
        }
        let mut checks = vec![
            Check::good("runner", "executes a call, and answers it by its id"),
            Check::timeouts(&self.timeouts),
        ];
        for tool in &self.table.catalog {
            checks.push(match self.try_tool(tool).await {
                Some(Ok(outcome)) => Check::good(tool, outcome),
                Some(Err(why)) => Check::bad(tool, Cause::Fixture, why),
                None => Check::note(tool, "not tried: the suite has not what it needs"),
            });
        }
        checks
    }

    /// Makes a usual call of a tool, with what it needs beside its input, and says what came of it; nothing where the
    /// suite has not what the tool needs.
    ///
    /// # Errors
    /// What came in place of a success.
    async fn try_tool(self: &Arc<Self>, tool: &str) -> Option<Result<String, String>> {
        let mut scene = Scene::new(self, &format!("doctor {tool}"), Arc::default());
        let act = if tool == "astral" { "astral navigate" } else { tool };
        let call = match act.parse::<Act>() {
            Ok(act) if act.is_model() && !self.can_configure() => return None,
            Ok(act) if !self.table.extra.contains_key(tool) => scene.valid_call(&act).await.ok()?,
            _ => scene.usual_call(tool),
        };
        scene.calls.push(call);
        if let Err(why) = scene.make().await {
            return Some(Err(why));
        }
        scene.wait().await;
        let frames = scene.frames();
        Some(match Answer::of(&frames, &scene.calls[0]) {
            Some(answer) if answer.succeeded() => Ok("executes a call".to_owned()),
            Some(answer) => {
                let error = answer.error().map(|error| format!(": {}", shorten(error))).unwrap_or_default();
                Err(format!("it answers a usual call with the status `{}`{error}", answer.status()))
            }
            None => Err("a call of it is not answered".to_owned()),
        })
    }
}
