//! What a server needs to know.

use std::path::PathBuf;

use crate::log::{Log, no_log};

/// The variables that name the context root, in the order in which they are asked (Response, Artifacts).
const ROOT_VARIABLES: [&str; 2] = ["SF_CONTEXT_REPO_ROOT", "SENTRYFROGG_CONTEXT_REPO_ROOT"];

/// What a server needs to know.
#[derive(Clone)]
pub struct Config {
    /// The context root, below which artifacts are written; it is made when it is not there.
    /// Without one there are no artifacts and their uris are null.
    pub root: Option<PathBuf>,
    /// Where the scope `persistent` of `mcp_state` is kept. Without it: `state` below the root.
    /// Without either nothing can be stored in that scope, and trying is an error.
    pub state_dir: Option<PathBuf>,
    /// Whether sessions that callers open (`session_open`) are kept where the scope `persistent` is, so that all servers on
    /// one folder serve them. Without it, or without a folder, each server knows its own.
    pub shares_sessions: bool,
    /// Values of `Host` that are served over HTTP, with or without a port. Default: the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are served over HTTP; `:*` is any port. Default: the loopback names.
    /// Requests without `Origin` do not come from a page and are served.
    pub allowed_origins: Vec<String>,
    /// Where log lines go. Nothing secret is passed to it.
    pub log: Log,
}

impl Default for Config {
    fn default() -> Self {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Self {
            root: None,
            state_dir: None,
            shares_sessions: false,
            allowed_hosts: texts(&["localhost", "127.0.0.1", "::1"]),
            allowed_origins: texts(&[
                "http://localhost:*",
                "http://127.0.0.1:*",
                "http://[::1]:*",
                "https://localhost:*",
                "https://127.0.0.1:*",
                "https://[::1]:*",
            ]),
            log: no_log(),
        }
    }
}

impl Config {
    /// The default with the root that the environment names: `SF_CONTEXT_REPO_ROOT`, else
    /// `SENTRYFROGG_CONTEXT_REPO_ROOT`. An empty value counts as none.
    pub fn from_env() -> Self {
        let root = ROOT_VARIABLES
            .into_iter()
            .filter_map(std::env::var_os)
            .find(|value| !value.is_empty())
            .map(PathBuf::from);
        Self { root, ..Self::default() }
    }
}
