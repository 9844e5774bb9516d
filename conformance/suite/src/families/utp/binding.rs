//! Over what a target gets its commands and reaches the platform.

use serde::{Deserialize, Serialize};

/// How commands and events travel on the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Commands {
    /// As messages that nobody keeps.
    #[default]
    Core,
    /// In the JetStream streams `cg_cmd_<ver>` and `cg_evt_<ver>`.
    JetStream,
}

/// How a target reaches the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformKind {
    /// Request and reply on the bus.
    #[default]
    Nats,
    /// HTTP below `CALLMARK_PLATFORM_URL`.
    Http,
}
