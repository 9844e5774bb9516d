//! What the steps of a scenario take from elsewhere than its messages: recorded the first time, replayed the second.

use std::collections::VecDeque;
use std::sync::Mutex;

use callmark_reports::record::Direction;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::observations::{Observations, Recorder, Replaying, STEPS, Time, is_step};
use super::{Frame, Message, Transcript, lock};

impl Transcript {
    /// A transcript that keeps what steps see.
    pub fn kept(attempt: u32) -> Self {
        Self::looked_at(
            attempt,
            Recorder::Kept(Mutex::new(Observations { attempt, ..Observations::default() })),
        )
    }

    /// A transcript that is read again: its messages, and what steps saw of them.
    pub fn again(frames: Vec<Frame>, looks: Observations) -> Self {
        let ours = frames.iter().filter(|frame| frame.direction == Direction::ToTarget);
        let unsaid = ours.cloned().map(Message::from).collect();
        let again =
            Replaying { seen: looks.seen.into(), external: looks.external, unsaid, divergences: None };
        let transcript = Self::looked_at(looks.attempt, Recorder::Replaying(Mutex::new(again)));
        {
            let mut own = lock(&transcript.frames);
            own.seen = frames.len();
            own.kept = frames;
        }
        transcript
    }

    /// What steps saw, where it is kept.
    pub fn looks(&self) -> Option<Observations> {
        match &self.recorder {
            Recorder::Kept(looks) => Some(lock(looks).clone()),
            Recorder::Free | Recorder::Replaying(_) => None,
        }
    }

    /// How the second time differed from the first.
    pub fn divergences(&self) -> Option<String> {
        let Recorder::Replaying(again) = &self.recorder else { return None };
        let again = lock(again);
        let unseen =
            (!again.seen.is_empty()).then(|| "a step looks at messages less often than it did".to_owned());
        let unread = again.external.iter().find(|(_, left)| !left.is_empty());
        let unread = unread.map(|(what, _)| format!("a step asks for `{what}` less often than it did"));
        again.divergences.clone().or(unseen).or(unread)
    }

    /// What a step takes from elsewhere than a message: the first time from `live`, then as it was recorded.
    ///
    /// Not for what is looked up while a wait tries its condition: that is asked an unknown number of times.
    pub fn record_external<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        live: impl FnOnce() -> T,
    ) -> T {
        self.replay_external(what).unwrap_or_else(|| self.keep(what, live()))
    }

    /// As [`Transcript::record_external`], where it has to be waited for.
    pub async fn record_external_async<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        live: impl Future<Output = T>,
    ) -> T {
        match self.replay_external(what) {
            Some(value) => value,
            None if is_step() => self.keep(what, STEPS.scope(Time::Aside, live).await),
            None => live.await,
        }
    }

    fn replay_external<T: DeserializeOwned>(&self, what: &str) -> Option<T> {
        let Recorder::Replaying(again) = &self.recorder else { return None };
        if !is_step() {
            return None;
        }
        let mut again = lock(again);
        let value = again.external.get_mut(what).and_then(VecDeque::pop_front);
        let value = value.and_then(|value| serde_json::from_value(value).ok());
        if value.is_none() {
            again.stray(format!("a step asks for `{what}` once more than it did"));
        }
        value
    }

    fn keep<T: Serialize>(&self, what: &str, value: T) -> T {
        if let Recorder::Kept(looks) = &self.recorder
            && is_step()
            && let Ok(json) = serde_json::to_value(&value)
        {
            lock(looks).external.entry(what.to_owned()).or_default().push_back(json);
        }
        value
    }
}
