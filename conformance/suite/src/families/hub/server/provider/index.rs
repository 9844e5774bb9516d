//! The words of a mail, by which it is found.

use super::mime_message::MimeMessage;

/// Bytes of a text whose words can be found.
const MAX_TEXT: usize = 64 * 1024;

/// The words of a mail.
pub(super) struct Index {
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    pub(super) cc: Vec<String>,
    pub(super) bcc: Vec<String>,
    pub(super) subject: Vec<String>,
    pub(super) all: Vec<String>,
}

impl Index {
    /// Of a letter.
    pub(super) fn of(mime_message: &MimeMessage) -> Self {
        let people = |addresses: &[String], names: &str| words(&format!("{} {names}", addresses.join(" ")));
        let all = mime_message.everything();
        let end =
            (0..=MAX_TEXT.min(all.len())).rev().find(|at| all.is_char_boundary(*at)).unwrap_or_default();
        Self {
            from: people(&mime_message.from, &mime_message.names[0]),
            to: people(&mime_message.to, &mime_message.names[1]),
            cc: people(&mime_message.cc, ""),
            bcc: people(&mime_message.bcc, ""),
            subject: words(&mime_message.subject),
            all: words(&all[..end]),
        }
    }
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
