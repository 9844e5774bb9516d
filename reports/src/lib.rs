//! The run record, and everything that is rendered from it.
//!
//! [`record`] is the contract: plain data that `suite` writes and others read.
//! Each other module renders it for one kind of reader and is a pure function of the record:
//! no clock, no environment, no files, so the same record always gives the same bytes.
//! What a target said is hostile text; `text` is the one door through which it enters a report.
//!
//! Deliberately absent: judging (`suite`), writing files and printing (`cli`).

pub mod record;

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
