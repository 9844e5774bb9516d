//! The scenario that a request belongs to.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::transcript::Transcript;

/// Who makes a request, and where that is written down.
#[derive(Clone, Debug)]
pub struct McpClient {
    /// The scenario.
    pub scenario: String,
    /// Its transcript.
    pub transcript: Arc<Transcript>,
    /// Which replica of a server is asked next, counted on without end. A session stays with its replica.
    pub turn: Arc<AtomicUsize>,
}

impl McpClient {
    /// A client that begins at this turn.
    pub fn new(scenario: String, transcript: Arc<Transcript>, turn: usize) -> Self {
        Self { scenario, transcript, turn: Arc::new(AtomicUsize::new(turn)) }
    }
}
