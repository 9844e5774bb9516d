//! What a call may have done.

/// What a Hub-proxied tool does to the customer's data, for when its answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks.
    Reads,
    /// It changes or sends something, which must not happen twice.
    Writes,
}

impl Effect {
    /// What a message adds when the answer is lost.
    pub(super) fn uncertainty(self) -> &'static str {
        match self {
            Self::Reads => "",
            Self::Writes => "; it is not known whether the action was carried out",
        }
    }
}
