//! What a scenario leaves behind for the verdict, the evidence and the transcript.

use super::evidence::Names;
use super::parts::Parts;
use crate::transcript::Frame;
use crate::world;

/// What a World left, and what the end of the run added.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    /// Of the World.
    pub world: world::Remains,
    /// What MAY rules recorded.
    pub notes: Vec<String>,
    /// In place of its frames: those of another scenario, where a late judgement was made at them.
    pub judged: Option<Vec<Frame>>,
}

impl Remains {
    /// The messages that the scenario is about.
    pub(super) fn frames(&self) -> Vec<Frame> {
        let own = || self.world.transcript.as_ref().map(|transcript| transcript.frames()).unwrap_or_default();
        self.judged.clone().unwrap_or_else(own)
    }
}

/// What stands in place of secrets.
pub(super) fn secrets(secrets: &[String]) -> Names {
    let parts = secrets.iter().map(|secret| (secret.clone(), "***".to_owned()));
    Names { parts: Parts::new(parts), ..Names::default() }
}

/// Frames as they may be stored.
pub(super) fn without_secrets(mut frames: Vec<Frame>, names: &Names) -> Vec<Frame> {
    if names.parts.is_empty() {
        return frames;
    }
    for frame in &mut frames {
        frame.body = names.rename(&frame.body);
        frame.channel = names.text(&frame.channel);
        for value in frame.headers.values_mut() {
            *value = names.text(value);
        }
    }
    frames
}
