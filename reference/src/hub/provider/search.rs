//! Gmail's query language, as far as people use it: `from:`, `to:`, `subject:`, `has:attachment`, `is:unread`,
//! `in:`, words and "phrases"; all of them must hold, and `-` turns one around.
//!
//! What is not known is looked for as a word, as Gmail does.

use super::letters::StoredMessage;

/// Whether the message is what the query asks for.
pub(super) fn matches(query: &str, message: &StoredMessage) -> bool {
    terms(&query.to_lowercase()).iter().all(|term| match term.strip_prefix('-') {
        Some(unwanted) if !unwanted.is_empty() => !holds(unwanted, message),
        _ => holds(term, message),
    })
}

/// Splits at spaces outside of quotes, which are left out.
fn terms(query: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut quoted = false;
    for character in query.chars() {
        match character {
            '"' => quoted = !quoted,
            _ if character.is_whitespace() && !quoted => terms.push(String::new()),
            _ => terms.last_mut().into_iter().for_each(|term| term.push(character)),
        }
    }
    terms.retain(|term| !term.is_empty());
    terms
}

fn holds(term: &str, message: &StoredMessage) -> bool {
    let labelled = |label: &str| message.labels.iter().any(|known| known.eq_ignore_ascii_case(label));
    match term.split_once(':') {
        Some(("from", text)) => message.from.contains(text),
        Some(("to", text)) => message.to.contains(text),
        Some(("subject", text)) => message.subject.contains(text),
        Some(("has", "attachment")) => message.has_attachments(),
        Some(("is", "read")) => !labelled("unread"),
        Some(("in", "anywhere")) => true,
        Some(("is" | "in" | "label", label)) => labelled(label),
        _ => [&message.subject, &message.text, &message.from].into_iter().any(|text| text.contains(term)),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;
    use crate::hub::provider::seeds;

    #[test]
    fn every_term_must_hold() {
        fn check(query: &str, expect: &[&str]) {
            let messages = seeds::messages("me@orchid.example");
            let found: Vec<&str> = messages
                .iter()
                .filter(|message| matches(query, message))
                .map(|message| message.id.as_str())
                .collect();
            assert_eq!(found, expect, "{query}");
        }
        check("from:ana@orchid.example", &["msg-harvest-1", "msg-harvest-2", "msg-harvest-3", "msg-seeds-1"]);
        check("FROM:ana@orchid.example subject:Harvest has:attachment", &["msg-harvest-2"]);
        check("subject:\"harvest plan\" in:inbox -subject:re:", &["msg-harvest-1"]);
        check("subject:seeds -from:ana@orchid.example", &["msg-seeds-2"]);
        check("is:unread in:inbox from:cleo@orchid.example", &["msg-quiet-1"]);
        check("nothing like this", &[]);
    }
}
