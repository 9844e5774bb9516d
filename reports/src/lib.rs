//! The run record, and everything that is rendered from it.
//!
//! [`record`] is the contract: plain data that `suite` writes and others read.
//! [`site`] renders the specification itself, with a record where there is one.
//! Each other module renders a record for one kind of reader and is a pure function of it:
//! no clock, no environment, no files, so the same record always gives the same bytes.
//! What a target said is hostile text; `text` is the one door through which it enters a report.
//!
//! Deliberately absent: judging (`suite`), writing files and printing (`cli`).

pub mod record;
pub mod site;

mod format;
mod html;
mod human;
mod json;
mod junit;
mod markdown;
mod plain;
mod text;
mod view;

pub use format::{Format, UnknownFormat};
pub use html::html;
pub use human::{Style, human};
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
