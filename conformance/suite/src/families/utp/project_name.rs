//! What the ids of one scenario are made of.

use crate::engine::digest::hash;

/// What the ids of one scenario are made of.
///
/// A target that remembers calls must not take one for another, not from scenario to scenario nor from run
/// to run; reports must be the same in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectName {
    /// What every id begins with that the suite makes in the project; mostly nothing.
    pub prefix: String,
    /// Part of every id that the suite makes in the project; different in every run.
    pub unique: String,
    /// Stands for `unique` in reports; the same in every run.
    pub stable: String,
    /// End of the project's id.
    pub suffix: String,
}

impl ProjectName {
    /// What the run adds to the stable part.
    pub fn nonce(&self) -> &str {
        self.unique.strip_prefix(&self.stable).unwrap_or(&self.unique)
    }

    /// Something that the suite makes up in the project, other than the project itself.
    pub(super) fn made(&self, what: &str) -> String {
        format!("{}{what}_{}", self.prefix, self.unique)
    }

    /// An id that is nothing but digits; different in every run as well.
    pub(super) fn number(&self) -> String {
        let digits = hash(&["number", &self.unique, &self.suffix]);
        u64::from_str_radix(&digits[..12], 16).unwrap_or_default().to_string()
    }

    /// `<project_id>`.
    pub(super) fn id(&self) -> String {
        format!("{}prj_{}{}", self.prefix, self.unique, self.suffix)
    }
}
