//! A message as reports show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of the transcript, shortened for reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameExcerpt {
    /// Number of the message within the evidence, from 1.
    pub n: u32,
    /// Seen from the target.
    pub direction: Direction,
    /// The party that the suite played, for example `worker` or `card store`.
    pub party: String,
    /// Subject, or HTTP method and path.
    pub channel: String,
    /// Headers that matter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body, as JSON where it is JSON, else as text; long strings are cut.
    pub body: Value,
}

/// Direction of a message, seen from the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The suite sent it to the target.
    ToTarget,
    /// The target sent it.
    FromTarget,
    /// The suite, as a platform, sent it to others; or it was seen on the bus.
    Observed,
}
