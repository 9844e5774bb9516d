//! What the steps of a scenario take from elsewhere than its messages: recorded the first time, replayed the second.

use std::collections::VecDeque;
use std::sync::Mutex;

use callmark_reports::record::Direction;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::observations::{Again, Observations, Recorder, STEPS, Time, is_step};
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
        let again = Again { seen: looks.seen.into(), told: looks.told, unsaid, divergences: None };
        let transcript = Self::looked_at(looks.attempt, Recorder::Again(Mutex::new(again)));
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
            Recorder::Free | Recorder::Again(_) => None,
        }
    }

    /// How the second time differed from the first.
    pub fn divergences(&self) -> Option<String> {
        let Recorder::Again(again) = &self.recorder else { return None };
        let again = lock(again);
        let unseen =
            (!again.seen.is_empty()).then(|| "a step looks at messages less often than it did".to_owned());
        let untold = again.told.iter().find(|(_, left)| !left.is_empty());
        let untold = untold.map(|(what, _)| format!("a step asks for `{what}` less often than it did"));
        again.divergences.clone().or(unseen).or(untold)
    }

    /// What a step takes from elsewhere than a message: the first time from `live`, then as it was recorded.
    ///
    /// Not for what is looked up while a wait tries its condition: that is asked an unknown number of times.
    pub fn record_external<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        live: impl FnOnce() -> T,
    ) -> T {
        self.retold(what).unwrap_or_else(|| self.keep(what, live()))
    }

    /// As [`Transcript::record_external`], where it has to be waited for.
    pub async fn record_external_async<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        live: impl Future<Output = T>,
    ) -> T {
        match self.retold(what) {
            Some(told) => told,
            None if is_step() => self.keep(what, STEPS.scope(Time::Aside, live).await),
            None => live.await,
        }
    }

    fn retold<T: DeserializeOwned>(&self, what: &str) -> Option<T> {
        let Recorder::Again(again) = &self.recorder else { return None };
        if !is_step() {
            return None;
        }
        let mut again = lock(again);
        let told = again.told.get_mut(what).and_then(VecDeque::pop_front);
        let told = told.and_then(|told| serde_json::from_value(told).ok());
        if told.is_none() {
            again.stray(format!("a step asks for `{what}` once more than it did"));
        }
        told
    }

    fn keep<T: Serialize>(&self, what: &str, told: T) -> T {
        if let Recorder::Kept(looks) = &self.recorder
            && is_step()
            && let Ok(value) = serde_json::to_value(&told)
        {
            lock(looks).told.entry(what.to_owned()).or_default().push_back(value);
        }
        told
    }
}
