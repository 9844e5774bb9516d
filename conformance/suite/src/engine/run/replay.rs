//! What becomes of what the steps of a run see: it is not kept, it is recorded, or it is replayed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::transcript;
use crate::transcript::{Frame, Observations, Transcript, lock};

/// What becomes of what the steps see.
#[derive(Debug, Default)]
pub enum ReplayMode {
    /// It is not kept.
    #[default]
    Off,
    /// It is kept.
    Record,
    /// It is seen again.
    Replay(Replay),
}

/// The scenarios of a run that is judged again.
#[derive(Debug, Default)]
pub struct Replay {
    recorded: Mutex<BTreeMap<String, (Vec<Frame>, Observations)>>,
    read: Mutex<BTreeMap<String, Arc<Transcript>>>,
}

impl ReplayMode {
    /// What a scenario writes down, or finds written down.
    ///
    /// `attempt` is how often it was run before.
    pub(super) fn transcript(&self, scenario: &str, attempt: u32) -> Arc<Transcript> {
        match self {
            Self::Off => Arc::new(Transcript::of_attempt(attempt)),
            Self::Record => Arc::new(Transcript::kept(attempt)),
            Self::Replay(again) => {
                let (frames, looks) = lock(&again.recorded).remove(scenario).unwrap_or_default();
                let transcript = Arc::new(Transcript::again(frames, looks));
                lock(&again.read).insert(scenario.to_owned(), Arc::clone(&transcript));
                transcript
            }
        }
    }

    /// Runs what belongs to steps.
    pub(super) async fn steps<T>(&self, work: impl Future<Output = T>) -> T {
        match self {
            Self::Off => work.await,
            Self::Record => transcript::by_steps(work).await,
            Self::Replay(_) => transcript::again(work).await,
        }
    }

    /// Where the second time went another way than the first: the scenario, and how.
    pub fn divergences(&self) -> Vec<(String, String)> {
        let Self::Replay(again) = self else { return Vec::new() };
        let never = lock(&again.recorded);
        let never = never.keys().map(|id| (id.clone(), "it does not run again".to_owned()));
        let read = lock(&again.read);
        let divergences =
            read.iter().filter_map(|(id, transcript)| Some((id.clone(), transcript.divergences()?)));
        never.chain(divergences).collect()
    }
}

impl Replay {
    /// The messages of each scenario, and what its steps saw.
    pub fn new(frames: BTreeMap<String, Vec<Frame>>, mut looks: BTreeMap<String, Observations>) -> Self {
        let mut recorded: BTreeMap<String, (Vec<Frame>, Observations)> = frames
            .into_iter()
            .map(|(id, frames)| {
                let own = looks.remove(&id).unwrap_or_default();
                (id, (frames, own))
            })
            .collect();
        recorded.extend(looks.into_iter().map(|(id, looks)| (id, (Vec::new(), looks))));
        Self { recorded: Mutex::new(recorded), read: Mutex::default() }
    }
}
