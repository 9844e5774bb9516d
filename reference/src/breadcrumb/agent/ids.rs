//! Ids of requests: the tool's name, a hyphen, and what no other request of the agent has (Standard, `requestId`).

use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a tool's name is in an id.
const NAME_CHARS: usize = 40;

/// Gives ids that differ, within one process by their number and between processes by its salt.
#[derive(Debug)]
pub(super) struct IdGenerator {
    salt: String,
    next: AtomicU64,
}

impl IdGenerator {
    /// The salt is a few random letters and digits.
    pub(super) fn new(salt: impl Into<String>) -> Self {
        Self { salt: salt.into(), next: AtomicU64::new(1) }
    }

    /// One with a random salt.
    pub(super) fn random() -> Self {
        let random = uuid::Uuid::new_v4().simple().to_string();
        Self::new(&random[..8])
    }

    /// An id for a call of this tool.
    pub(super) fn id(&self, tool: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // The salt is of one length and comes first, so that no two pairs make one text.
        format!("{}-{}{number}", name(tool), self.salt)
    }
}

/// The tool's name where it is fit for an id, and otherwise what of it is.
fn name(tool: &str) -> String {
    let fit = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let name: String = tool
        .chars()
        .filter(fit)
        .skip_while(|letter| !letter.is_ascii_alphabetic())
        .take(NAME_CHARS)
        .collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::IdGenerator;

    #[test]
    fn ids_have_the_form_of_the_standard() {
        let ids = IdGenerator::new("7f3a");
        assert_eq!(ids.id("calculator"), "calculator-7f3a1");
        assert_eq!(ids.id("calculator"), "calculator-7f3a2");
        assert_eq!(ids.id("breadcrumb-create"), "breadcrumb-create-7f3a3");
        assert_eq!(ids.id("7.web notes"), "webnotes-7f3a4");
        assert_eq!(ids.id("时钟"), "tool-7f3a5");
        assert_ne!(IdGenerator::random().id("echo"), IdGenerator::random().id("echo"));
    }
}
