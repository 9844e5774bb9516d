//! The words of a mail, by which it is found.

use super::letter::Letter;

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
    pub(super) fn of(letter: &Letter) -> Self {
        let people = |addresses: &[String], names: &str| words(&format!("{} {names}", addresses.join(" ")));
        let all = letter.everything();
        let end =
            (0..=MAX_TEXT.min(all.len())).rev().find(|at| all.is_char_boundary(*at)).unwrap_or_default();
        Self {
            from: people(&letter.from, &letter.names[0]),
            to: people(&letter.to, &letter.names[1]),
            cc: people(&letter.cc, ""),
            bcc: people(&letter.bcc, ""),
            subject: words(&letter.subject),
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
