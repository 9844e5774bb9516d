//! What several commands let one choose.

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
