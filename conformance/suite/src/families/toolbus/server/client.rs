//! The scenario that a request belongs to.

use std::sync::Arc;

use crate::transcript::Transcript;

/// Who makes a request, and where that is written down.
#[derive(Clone, Debug)]
pub struct McpClient {
    /// The scenario.
    pub scenario: String,
    /// Its transcript.
    pub transcript: Arc<Transcript>,
}
