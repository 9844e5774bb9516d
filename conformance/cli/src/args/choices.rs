//! What several commands let one choose.

use std::convert::Infallible;
use std::str::FromStr;

use callmark_reference::postgres::{DatabaseUrl, DatabaseUrlError};
use clap::ValueEnum;

/// Where the reports go unless `--out` says so.
pub(super) const DEFAULT_OUT: &str = "reports/out";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Human,
    /// The record, and nothing else
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// Text for people, a line as soon as it is known
    #[default]
    Human,
    /// All checks, and nothing else
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixFormat {
    /// Text for people
    #[default]
    Human,
    /// The matrix, and nothing else
    Json,
    /// A summary for a CI job, with the whole matrix folded
    Markdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportChoice {
    /// Standard input and output
    Stdio,
    /// Streamable HTTP
    Http,
}

impl From<TransportChoice> for callmark_suite::families::toolbus::manifest::Transport {
    fn from(choice: TransportChoice) -> Self {
        match choice {
            TransportChoice::Stdio => Self::Stdio,
            TransportChoice::Http => Self::Http,
        }
    }
}

/// Where what is served keeps its state, beside memory and a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// utp: key-value buckets of NATS JetStream
    Nats,
    /// toolbus: files below the context root
    Files,
    /// Tables of a database
    Postgres(DatabaseUrl),
    /// Something else, and why it is none of these: whoever parses the command line would quote a password with it
    Invalid(String),
}

impl FromStr for StoreChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "nats" => Self::Nats,
            "files" => Self::Files,
            url if url.contains("://") => match url.parse() {
                Ok(url) => Self::Postgres(url),
                Err(error) => Self::Invalid(DatabaseUrlError::to_string(&error)),
            },
            _ => Self::Invalid("it is `nats`, `files` or a `postgres://` URL".to_owned()),
        })
    }
}

impl StoreChoice {
    /// The database, if it is one.
    pub(crate) fn database(&self) -> Option<&DatabaseUrl> {
        match self {
            Self::Postgres(url) => Some(url),
            Self::Nats | Self::Files | Self::Invalid(_) => None,
        }
    }
}
