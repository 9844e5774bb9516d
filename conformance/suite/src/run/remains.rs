//! What a scenario leaves behind for the verdict, the evidence and the transcript.

use std::sync::Arc;

use serde_json::Value;

use super::evidence::Names;
use crate::judge::late::Late;
use crate::platform::Project;
use crate::transcript::Frame;

/// What a World leaves behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    /// The scenario's project, with its transcript.
    pub project: Option<Arc<Project>>,
    /// In place of its frames: those at which a late judgement was made.
    pub judged: Option<Vec<Frame>>,
    pub notes: Vec<String>,
    /// What is judged again at the end.
    pub late: Vec<Late>,
    /// The command under test.
    pub command: Option<Value>,
}

impl Remains {
    /// The messages that the scenario is about.
    pub(super) fn frames(&self) -> Vec<Frame> {
        let own = || self.project.as_ref().map(|project| project.transcript.frames()).unwrap_or_default();
        self.judged.clone().unwrap_or_else(own)
    }
}

/// Frames as they may be stored.
pub(super) fn without_secrets(mut frames: Vec<Frame>, secrets: &[String]) -> Vec<Frame> {
    if secrets.is_empty() {
        return frames;
    }
    let parts = secrets.iter().map(|secret| (secret.clone(), "***".to_owned())).collect();
    let names = Names { parts, ..Names::default() };
    for frame in &mut frames {
        frame.body = names.rename(&frame.body);
        for value in frame.headers.values_mut() {
            *value = names.text(value);
        }
    }
    frames
}
