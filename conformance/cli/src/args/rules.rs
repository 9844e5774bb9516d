//! Flags of what lists and explains rules.

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFormat {
    /// Text for people
    #[default]
    Human,
    /// One JSON object a rule, in a list
    Json,
    /// A table
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct RulesArguments {
    /// Only rules of this profile
    #[arg(long, value_name = "P")]
    pub(crate) profile: Option<String>,
    /// Only what has this word, or a synonym, in its id, its statement or a scenario; several words have to be there all
    #[arg(long, value_name = "WORD", num_args = 1..)]
    pub(crate) search: Vec<String>,
    /// How they are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: RulesFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Rule, e.g. UTP-4.1-35 (or loosely `utp 4.1 35`, `hub5`); or a scenario: its id or its title as a report has them, or
    /// FILE:LINE (of one of its steps, too)
    #[arg(value_name = "RULE|SCENARIO", required = true)]
    pub(crate) what: Vec<String>,
}
