//! Writes YAML: plainly, or in one of the ways that JSON does not have.
//!
//! What it writes means the same to a reader of YAML 1.1 and of YAML 1.2: words that one of them takes for something
//! else than a text stand in quotes.

use serde_json::Value;

/// How a document is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// One member a line, nested by indentation.
    #[default]
    Block,
    /// In braces, as JSON has it, but with names and words that are not quoted.
    Flow,
    /// As [`Writing::Block`], with comments.
    Comments,
    /// As [`Writing::Block`]; a text of several lines stands on several lines.
    Lines,
    /// As [`Writing::Block`]; texts of plain words are not quoted.
    Plain,
    /// As [`Writing::Block`]; texts and names are in single quotes.
    SingleQuoted,
    /// As [`Writing::Block`], with the line ends of Windows.
    Windows,
}

impl Writing {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Block,
        Self::Flow,
        Self::Comments,
        Self::Lines,
        Self::Plain,
        Self::SingleQuoted,
        Self::Windows,
    ];

    /// The words of the features.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "in block style",
            Self::Flow => "in flow style",
            Self::Comments => "with comments",
            Self::Lines => "with a text over several lines",
            Self::Plain => "with texts that are not quoted",
            Self::SingleQuoted => "with texts in single quotes",
            Self::Windows => "with the line ends of Windows",
        }
    }
}

/// A document.
pub fn write(value: &Value, writing: Writing) -> String {
    let mut out = String::new();
    if writing == Writing::Comments {
        out.push_str("# A definition with comments: they are no part of it.\n---\n");
    }
    if writing == Writing::Flow || !is_nested(value) {
        out.push_str(&flow(value));
        out.push('\n');
    } else {
        block(&mut out, value, 0, writing);
    }
    if writing == Writing::Windows { out.replace('\n', "\r\n") } else { out }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A container that is not empty, one entry a line.
fn block(out: &mut String, value: &Value, depth: usize, writing: Writing) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if writing == Writing::Comments && depth == 0 {
                    out.push_str("\n# \"next\": [a member\n");
                }
                out.extend([indent.as_str(), &name_of(name, writing), ":"]);
                entry(out, member, depth, writing);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&indent);
                out.push('-');
                entry(out, item, depth, writing);
            }
        }
        _ => {}
    }
}

/// What comes after a name or a hyphen, to the end of the line and beyond.
fn entry(out: &mut String, value: &Value, depth: usize, writing: Writing) {
    if is_nested(value) {
        out.push('\n');
        return block(out, value, depth + 1, writing);
    }
    if let Some(text) = value.as_str().filter(|text| writing == Writing::Lines && is_literal(text)) {
        let indent = "  ".repeat(depth + 1);
        out.push_str(" |-\n");
        text.split('\n').for_each(|line| out.extend([indent.as_str(), line, "\n"]));
    } else {
        out.extend([" ", &scalar(value, writing)]);
        out.push_str(if writing == Writing::Comments { "  # so it is\n" } else { "\n" });
    }
}

/// A value that is not nested, in the place of a member or an item.
fn scalar(value: &Value, writing: Writing) -> String {
    match (value.as_str(), writing) {
        (Some(text), Writing::Plain) if is_of_words(text) => text.to_owned(),
        (Some(text), Writing::SingleQuoted) => single_quoted(text),
        _ => flow(value),
    }
}

fn name_of(name: &str, writing: Writing) -> String {
    if writing == Writing::SingleQuoted { single_quoted(name) } else { word(name) }
}

/// Whether a text is several words, or one with a dot, that no reader takes for anything else.
fn is_of_words(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.,/".contains(&byte))
    };
    text.contains([' ', '.']) && text.split(' ').all(is_word)
}

/// A text in single quotes, where nothing in it needs an escape.
fn single_quoted(text: &str) -> String {
    if text.contains(char::is_control) {
        return word(text);
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a text can stand on lines of its own as it is.
fn is_literal(text: &str) -> bool {
    let sound =
        |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']) && !line.ends_with([' ', '\t']);
    text.contains('\n')
        && text.split('\n').all(sound)
        && !text.contains(|own: char| own != '\n' && own.is_control())
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, member)| format!("{}: {}", word(name), flow(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => word(text),
        // Numbers, booleans and null are written alike; texts in quotes have the escapes of JSON.
        plain => plain.to_string(),
    }
}

/// A text, without quotes where no reader can take it for anything else.
fn word(text: &str) -> String {
    let is_plain = text.len() >= 4
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        && !["true", "false", "null"].contains(&text);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~äß潮\n#:]{0,12}".prop_map(Value::from),
            prop_oneof![
                Just("yes"),
                Just("null"),
                Just("true"),
                Just("12:30"),
                Just("2026-01-01"),
                Just("~")
            ]
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z:# -]{1,6}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_means_what_was_meant(value in values()) {
            for writing in Writing::ALL {
                let text = write(&value, writing);
                let read: Result<Value, _> = serde_yaml_ng::from_str(&text);
                prop_assert_eq!(read.ok(), Some(value.clone()), "{}", text);
            }
        }
    }

    #[test]
    fn each_way_of_writing_shows() {
        let value = json!({"name": "x", "note": "one\ntwo", "list": [{"deep": []}]});
        let texts = Writing::ALL.map(|writing| write(&value, writing));
        assert_eq!(texts[0], "name: \"x\"\nnote: \"one\\ntwo\"\nlist:\n  -\n    deep: []\n");
        assert_eq!(texts[1], "{name: \"x\", note: \"one\\ntwo\", list: [{deep: []}]}\n");
        assert!(texts[2].contains("name: \"x\"  # so it is\n"), "{}", texts[2]);
        assert!(texts[3].contains("note: |-\n  one\n  two\n"), "{}", texts[3]);
        assert!(texts[5].contains("'name': 'x'\n"), "{}", texts[5]);
        assert!(texts[6].contains("name: \"x\"\r\n"), "{}", texts[6]);
        assert_eq!(
            write(&json!({"note": "Tides of 2 ports, as ever"}), Writing::Plain),
            "note: \"Tides of 2 ports, as ever\"\n"
        );
        assert_eq!(write(&json!({"note": "Tides, as ever"}), Writing::Plain), "note: Tides, as ever\n");
    }
}
