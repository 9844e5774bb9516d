//! The run record, and everything that is rendered from it.
//!
//! [`record`] is the contract: plain data that `suite` writes and others read.
//! [`Baseline`] distinguishes known failures of a record from new ones, [`Diff`] compares two records.
//! [`matrix`] is the other proof: what mutants broke, and which rules noticed.
//! [`live`] shows traffic while it passes. [`load`] says what a target does under load.
//! [`coverage`] counts what a run judged and what it left out. [`certificate`] says who conformed, signed with a key.
//! [`site`] renders the specification itself, with a record and a matrix where there are such.
//! Each other module renders one for one kind of reader and is a pure function of the record:
//! no clock, no environment, no files, so the same record always gives the same bytes.
//! What a target said is hostile text; `text` is the only way by which it enters a report.
//!
//! Deliberately absent: judging (`suite`), writing files and printing (`cli`).

pub mod certificate;
pub mod chaos;
pub mod coverage;
pub mod live;
pub mod load;
pub mod matrix;
pub mod record;
pub mod recording;
pub mod site;

mod badge;
mod baseline;
mod diff;
mod format;
mod frame;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod messages;
mod plain;
mod sarif;
mod sequence;
mod text;
mod view;

pub use badge::{badge, badge_json};
pub use baseline::{Baseline, BaselineError, Date, Known, RuleScenario, ScenariosOf, Stale, StaleCause};
pub use diff::{
    Change, ChangeKind, DIFF_SCHEMA, Diff, ScenarioChange, Side, diff_human, diff_json, diff_markdown,
};
pub use format::{Format, UnknownFormat};
pub use html::html;
pub use human::{Style, human};
pub use json::{json, pretty_json};
pub use junit::junit;
pub use markdown::markdown;
pub use messages::{FeatureText, messages};
pub use sarif::sarif;
pub use text::inert;
