//! What the steps of a scenario saw of its transcript, so that they can be run again over it.
//!
//! A step acts, waits and judges in one, and what it concludes depends on how much was there when it looked. So a run
//! that is to be judged again keeps, beside the messages, how many of them each look found, in order, and what else
//! its steps took from elsewhere ([`Transcript::record_external`]). With both, the same steps come to the same
//! judgement without a target, a socket or a clock.
//!
//! Only looks of steps are kept. Parties that the suite plays look too, from tasks of their own, and do not play when a
//! run is judged again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use callmark_reports::record::Direction;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds;
use super::excerpt::shorten_text;
use super::frame::{LATE_MESSAGE, MAX_TEXT, Message, lock};

tokio::task_local! {
    /// Whether this task runs steps, and whether for the second time.
    pub(super) static STEPS: Time;
}

/// How often steps have been run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    First,
    Replaying,
    /// What happens now is recorded as a whole.
    Aside,
}

/// Runs steps: what they see is kept, in transcripts that keep it.
pub async fn by_steps<T>(steps: impl Future<Output = T>) -> T {
    STEPS.scope(Time::First, steps).await
}

/// Runs steps once more, over transcripts that know what they saw.
pub async fn again<T>(steps: impl Future<Output = T>) -> T {
    STEPS.scope(Time::Replaying, steps).await
}

/// Whether a task runs steps, for a thread that does part of its work.
#[derive(Clone, Copy, Debug)]
pub struct StepContext(Option<Time>);

impl StepContext {
    /// That of this task.
    pub fn current() -> Self {
        Self(STEPS.try_with(|time| *time).ok())
    }

    /// Works as this task does.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        match self.0 {
            Some(time) => STEPS.sync_scope(time, work),
            None => work(),
        }
    }
}

/// Waits for time to pass; for steps that run again it has passed.
pub async fn sleep_unless_replaying(time: Duration) {
    if STEPS.try_with(|time| *time) != Ok(Time::Replaying) {
        tokio::time::sleep(time).await;
    }
}

pub(super) fn is_step() -> bool {
    STEPS.try_with(|time| *time != Time::Aside).unwrap_or_default()
}

/// What the steps of one scenario saw, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observations {
    /// How often the scenario was run before this time.
    #[serde(default, skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// Messages that were there at each look.
    pub seen: Vec<u32>,
    /// What steps took from elsewhere than messages, by what it is about.
    #[serde(rename = "told", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub external: BTreeMap<String, VecDeque<Value>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_first(attempt: &u32) -> bool {
    *attempt == 0
}

/// What becomes of looks.
#[derive(Debug, Default)]
pub(super) enum Recorder {
    /// Nothing.
    #[default]
    Free,
    /// They are kept.
    Kept(Mutex<Observations>),
    /// They are made again.
    Replaying(Mutex<Replaying>),
}

/// What is left of the looks of a first time.
#[derive(Debug)]
pub(super) struct Replaying {
    pub(super) seen: VecDeque<u32>,
    pub(super) external: BTreeMap<String, VecDeque<Value>>,
    /// Messages of the suite that have not been sent again yet.
    pub(super) unsaid: Vec<Message>,
    /// Where the second time went another way.
    pub(super) divergences: Option<String>,
}

impl Replaying {
    pub(super) fn stray(&mut self, how: String) {
        self.divergences.get_or_insert(how);
    }
}

/// A wait, of which the last look is kept.
pub(super) struct Wait<'a> {
    recorder: &'a Recorder,
    last: Option<usize>,
}

impl Wait<'_> {
    pub(super) fn saw(&mut self, frames: usize) {
        self.last = Some(frames);
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(last) = self.last {
            self.recorder.look(last);
        }
    }
}

impl Recorder {
    pub(super) fn is_again(&self) -> bool {
        matches!(self, Self::Replaying(_))
    }

    pub(super) fn wait(&self) -> Wait<'_> {
        Wait { recorder: self, last: None }
    }

    /// How many of the messages that there are a look sees.
    pub(super) fn look(&self, frames: usize) -> usize {
        match self {
            Self::Kept(looks) if is_step() => {
                lock(looks).seen.push(u32::try_from(frames).unwrap_or(u32::MAX));
                frames
            }
            Self::Replaying(again) if is_step() => {
                let mut again = lock(again);
                match again.seen.pop_front().map(|seen| usize::try_from(seen).unwrap_or(usize::MAX)) {
                    Some(seen) if seen <= frames => seen,
                    Some(seen) => {
                        again.stray(format!("{seen} messages were looked at, and {frames} are there"));
                        frames
                    }
                    None => {
                        again.stray("a step looks at messages once more than it did".to_owned());
                        frames
                    }
                }
            }
            _ => frames,
        }
    }

    /// A message of the suite, said for the second time.
    pub(super) fn said(&self, message: &Message) {
        let Self::Replaying(again) = self else { return };
        if message.direction != Direction::ToTarget {
            return;
        }
        let mut again = lock(again);
        let channel = bounds::cut(&message.channel, MAX_TEXT);
        // How much was kept of it depends on what was said before.
        let outlines = [message.kind.budget(), LATE_MESSAGE].map(|budget| {
            let mut body = message.body.clone();
            bounds::bound(&mut body, budget);
            body
        });
        let same = |own: &Message| {
            own.kind == message.kind && own.channel == channel && outlines.contains(&own.body)
        };
        match again.unsaid.iter().position(same) {
            Some(place) => drop(again.unsaid.remove(place)),
            None => again.stray(format!(
                "this suite would say on `{}` what the transcript does not hold",
                shorten_text(&message.channel)
            )),
        }
    }
}
