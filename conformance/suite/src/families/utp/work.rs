//! What the `work` probe gives for each of its two argument objects: found out before anything else, since nothing that it
//! returns repeats a word of the suite.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::call::Call;
use super::error::SessionError;
use super::judge::seen;
use super::message;
use super::proof::WorkResult;
use super::scene::Scene;
use super::session::UtpSession;
use super::tool::Tool;
use crate::transcript::{Frame, shorten};

/// Time until a call is made again that may have come before the target listened.
const RESEND: Duration = Duration::from_secs(8);

impl UtpSession {
    /// Calls the `work` probe with its first arguments, with the others, and with the first again.
    pub(super) async fn learn_work(&mut self, within: Duration) -> Result<(), SessionError> {
        let Some(table) = self.tools.get(&Tool::Echo).filter(|table| table.work.is_some()).cloned() else {
            return Ok(());
        };
        let project = self.test_environment.project(&format!("work of {}", self.role.profile()));
        let mut scene = Scene::bare(self, Arc::clone(&project));
        self.wake_target(&mut scene, within).await?;
        let began = Instant::now();
        let pointer = table.result_pointer.clone().unwrap_or_default();
        let results = loop {
            // Scenes alternate between the two.
            scene.begin_with_first_arguments();
            let calls: [Call; 3] = std::array::from_fn(|_| scene.prepare(Tool::Echo));
            for call in &calls {
                scene.send(self, call).await;
            }
            let all = |frames: &[Frame]| {
                let found: Vec<Value> = calls.iter().filter_map(|call| result_card(frames, call)).collect();
                (found.len() == calls.len()).then_some(found)
            };
            let left = within.saturating_sub(began.elapsed());
            match project.transcript.wait(left.min(RESEND), all).await {
                Some(found) => break found,
                None if left.is_zero() => {
                    let why = "it does not answer each call with a tool.result card that names it".to_owned();
                    return Err(SessionError::Work(why));
                }
                None => self.still_runs().await?,
            }
        };
        let parts = results.iter().map(|card| {
            let result = card.pointer("/content/result").unwrap_or(&Value::Null);
            let status = card.pointer("/content/status").and_then(Value::as_str).unwrap_or_default();
            if status != "success" {
                let error = shorten(card.get("content").unwrap_or(&Value::Null));
                return Err(SessionError::Work(format!("a plain call of it ends with `{status}`: {error}")));
            }
            WorkResult::part(result, &pointer, &table.volatile).ok_or_else(|| {
                let result = shorten(result);
                SessionError::Work(format!(
                    "nothing is at `{pointer}` of its result (`result_pointer`): {result}"
                ))
            })
        });
        let parts: Vec<Value> = parts.collect::<Result<_, _>>()?;
        let [first, other, again] = parts.as_slice() else { return Ok(()) };
        if first != again {
            let why = "it gives two results for the same arguments: name in `volatile` what differs each time, or in \
                       `result_pointer` what does not";
            return Err(SessionError::Work(format!("{why} ({} and {})", shorten(first), shorten(again))));
        }
        if first == other {
            let why = "it gives the same result for `arguments` and for `other_arguments`, so its work does not show";
            return Err(SessionError::Work(format!("{why} ({})", shorten(first))));
        }
        if let Some(work) = self.tools.get_mut(&Tool::Echo).and_then(|table| table.work.as_mut()) {
            work.results = Some([first.clone(), other.clone()]);
        }
        Ok(())
    }
}

/// The last tool.result card of a call that holds its outcome.
fn result_card(frames: &[Frame], call: &Call) -> Option<Value> {
    let own = |card: &&Value| {
        message::call_id(card) == Some(call.tool_call_id.as_str()) && seen::holds_outcome(card)
    };
    seen::result_cards(frames).map(|(_, card)| card).filter(own).last().cloned()
}
