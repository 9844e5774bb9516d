//! Command lines that send a message by hand, for whoever reads a finding: they work as they are pasted.

use std::sync::Arc;

use serde_json::Value;

use crate::transcript::Frame;
use crate::transcript::bounds;

/// How a message of a scenario is sent by hand, given all messages and that one.
#[derive(Clone)]
pub struct ByHand(Arc<Line>);

type Line = dyn Fn(&[Frame], &Frame) -> String + Send + Sync;

impl ByHand {
    /// By the command line that `line` makes.
    pub fn new(line: impl Fn(&[Frame], &Frame) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(line))
    }

    /// The command line for a message; a remark in place of one whose body was not kept in whole.
    pub fn line(&self, frames: &[Frame], frame: &Frame) -> String {
        if bounds::is_cut(&frame.body) {
            return "# the message is too large to be kept in whole: use the command that reruns the rule"
                .to_owned();
        }
        (self.0)(frames, frame)
    }
}

impl std::fmt::Debug for ByHand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ByHand")
    }
}

/// A word of a POSIX shell, whatever bytes it holds.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A word of a POSIX shell in which an environment variable stands in the place of a secret.
pub fn quoted_without(text: &str, secret: &str, variable: &str) -> String {
    if secret.is_empty() || !text.contains(secret) {
        return quoted(text);
    }
    let parts: Vec<String> =
        text.split(secret).map(|part| if part.is_empty() { String::new() } else { quoted(part) }).collect();
    parts.join(&format!("\"${{{variable}}}\""))
}

/// A header of `curl` whose value is in an environment variable that is named after it.
pub fn header_of_environment(prefix: &str, name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    let variable: String = name.chars().map(letter).collect();
    format!(" -H {}\"${{{prefix}_{variable}}}\"", quoted(&format!("{name}: ")))
}

/// The text of a body as it is sent.
pub fn body_text(body: &Value) -> String {
    body.as_str().map_or_else(|| body.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn echoed(word: &str) -> String {
        let script = format!("SECRET='s e\"c' ; printf %s {word}");
        let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        let every: String = (1..=0x17f_u32).filter_map(char::from_u32).collect();
        for text in ["", "'", "''", "$HOME `id` \\ \" ! \n\t", "@file", "-n", &every] {
            assert_eq!(echoed(&quoted(text)), text);
        }
    }

    #[test]
    fn a_variable_stands_in_the_place_of_a_secret() {
        let check = |text: &str, expect: &str| {
            let word = quoted_without(text, "hush'1", "SECRET");
            assert!(!word.contains("hush"), "{word}");
            assert_eq!(echoed(&word), expect);
        };
        check("ServiceSecret hush'1", "ServiceSecret s e\"c");
        check("hush'1", "s e\"c");
        check("'hush'1' $x hush'1 `", "'s e\"c' $x s e\"c `");
    }

    #[test]
    fn a_header_names_its_variable() {
        let header = header_of_environment("CALLMARK_HEADER", "X-Api-Key");
        assert_eq!(header, " -H 'X-Api-Key: '\"${CALLMARK_HEADER_X_API_KEY}\"");
    }
}
