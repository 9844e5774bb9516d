//! Why no session with an MCP server can be opened.

use thiserror::Error;

use crate::engine::judge::Cause;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ToolbusError {
    /// No place for context roots.
    #[error("no directory for context roots can be made: {0}")]
    Directory(String),
    /// No server.
    #[error("no MCP session with the server: {0}")]
    Connect(String),
    /// The manifest names no echo probe.
    #[error("the manifest names no `toolbus.probes.echo`, so nothing can show that the server works")]
    NoEcho,
    /// The context root is not there.
    #[error("`toolbus.root` is `{0}`, and there is no such directory on this machine")]
    NoRoot(String),
    /// No answer to any call.
    #[error("the server opens a session, and does not answer a call of `{tool}` within {seconds} s")]
    Silent {
        /// The echo probe's tool.
        tool: String,
        /// The deadline.
        seconds: u64,
    },
    /// The echo probe is refused.
    #[error("a plain call of `toolbus.probes.echo` does not work: {0}")]
    Refused(String),
    /// The echo probe answers elsewhere than the manifest says.
    #[error(
        "the echoed value is at `{found}` of the envelope, not at `{expected}`: correct `toolbus.result_pointer` or \
         `toolbus.path_base`"
    )]
    Pointer {
        /// Where it is.
        found: String,
        /// Where the manifest says that it is.
        expected: String,
    },
    /// Paths into the echoed value have a beginning that the manifest does not name.
    #[error(
        "a path reaches the key `alpha` of the echoed value as `{base}.alpha`, and not as `alpha`: say \
         {pointer}`path_base = \"{base}.\"` under `[toolbus]`"
    )]
    PathBase {
        /// What a path begins with.
        base: String,
        /// Where the results are, as the manifest has to say it; empty where they are in their usual place.
        pointer: String,
    },
    /// The tool is not there.
    #[error("the server lists no tool `{tool}`{hint}: correct `tool` of `{key}`")]
    NoTool {
        /// The manifest's name.
        tool: String,
        /// A name like it.
        hint: String,
        /// The key of the manifest.
        key: String,
    },
}

impl ToolbusError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Directory(_) => Cause::Suite,
            Self::Connect(_) => Cause::Reachability,
            Self::NoEcho | Self::NoRoot(_) => Cause::Config,
            Self::Silent { .. } => Cause::Implementation,
            Self::Pointer { .. } | Self::PathBase { .. } | Self::NoTool { .. } | Self::Refused(_) => {
                Cause::Fixture
            }
        }
    }
}
