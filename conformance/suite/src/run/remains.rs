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

impl Remains {
    /// All messages of the scenario, for whoever writes them down.
    pub(super) fn written(&self) -> Vec<Frame> {
        self.world.transcript.as_ref().map(|transcript| transcript.all()).unwrap_or_default()
    }
}

/// What stands in place of secrets where they must stay apart, so that a judgement can tell them from each other.
pub(super) fn numbered(secrets: &[String]) -> Names {
    let parts = secrets.iter().zip(1..).map(|(secret, number)| (secret.clone(), stand_in(number)));
    Names { parts: Parts::new(parts), ..Names::default() }
}

/// What stands for the secret with this number, from 1.
pub(super) fn stand_in(number: usize) -> String {
    format!("***{number:04}***")
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
