//! Names in place of what a run made up, and of secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::engine::parts::Parts;
use crate::engine::secrets::Redactor;
use crate::engine::world::STABLE;

/// What stands in reports in place of what a run made up, and of secrets.
#[derive(Default)]
pub(super) struct Names {
    /// Secrets, in all their forms.
    pub secrets: Arc<Redactor>,
    /// Whole strings.
    pub whole: BTreeMap<String, String>,
    /// Parts of strings.
    pub parts: Parts,
    /// End of the unique part of every id of the run; without one, ids and times stay as they are.
    pub nonce: Option<String>,
}

impl Names {
    pub(super) fn text(&self, text: &str) -> String {
        if let Some(name) = self.whole.get(text) {
            return name.clone();
        }
        let text = self.secrets.text(text);
        let text = match &self.nonce {
            Some(nonce) => without_nonce(&text, nonce),
            None => text,
        };
        self.parts.replace(text)
    }

    /// A command line. What the target made up stands in single quotes in it, and becomes a variable.
    pub(super) fn line(&self, line: &str) -> String {
        let whole = self.whole.iter().fold(line.to_owned(), |line, (id, name)| line.replace(id, name));
        with_variables(&self.text(&whole))
    }

    /// A subject, or an HTTP method and path whose segments may be ids.
    pub(super) fn channel(&self, channel: &str) -> String {
        let segment = |segment: &str| match self.whole.get(&*percent_decode_str(segment).decode_utf8_lossy())
        {
            Some(name) => name.clone(),
            None => self.text(segment),
        };
        channel.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    pub(super) fn rename(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.rename(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| {
                        let time =
                            matches!(name.as_str(), "created_at" | "updated_at" | "timestamp" | "latency_ms");
                        let stamped = time && !member.is_null() && self.nonce.is_some();
                        let member = if stamped { Value::from("<time>") } else { self.rename(member) };
                        (self.text(name), member)
                    })
                    .collect(),
            ),
            // A number that the run made up, or what a target calculates from one, is shown as its name.
            Value::Number(number) => {
                let text = number.to_string();
                let name = self.secrets.parts().name(&text).or_else(|| self.parts.name(&text));
                name.map_or_else(|| value.clone(), Value::from)
            }
            plain => plain.clone(),
        }
    }
}

/// A command line with a variable in the place of each name such as `<id 1>`: the id differs from run to run, and who
/// pastes the line knows one that is there.
fn with_variables(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..].split_once('>').and_then(|(name, _)| {
            let (kind, number) = name.split_once(' ')?;
            let is_kind = ["id", "card", "child"].contains(&kind);
            (is_kind && number.parse::<u32>().is_ok()).then_some((kind, number, name.len() + 2))
        });
        let Some((kind, number, length)) = name else {
            kept.push('<');
            rest = &rest[1..];
            continue;
        };
        // Writing to a string cannot fail.
        let _ = write!(kept, "'\"${{{}_{number}:-{kind}-{number}}}\"'", kind.to_uppercase());
        rest = &rest[length..];
    }
    kept + rest
}

/// Takes the nonce of a run out of every unique part, of whatever project: what stays is the stable part.
fn without_nonce(text: &str, nonce: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(nonce) {
        kept.push_str(&rest[..at]);
        let stable = kept.bytes().rev().take_while(u8::is_ascii_hexdigit).count();
        if stable < STABLE {
            kept.push_str(nonce);
        }
        rest = &rest[at + nonce.len()..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let whole = BTreeMap::from([("a/b ü".to_owned(), "<card 1>".to_owned())]);
        Names { whole, nonce: Some("c0ffee".to_owned()), ..Names::default() }
    }

    #[test]
    fn ids_of_every_project_lose_what_differs_from_run_to_run() {
        let check = |text: &str, expect: &str| assert_eq!(names().text(text), expect, "{text}");
        check("cg.v1r3.prj_0123456789c0ffee.public", "cg.v1r3.prj_0123456789.public");
        check("call_1_9876543210c0ffee-other", "call_1_9876543210-other");
        check("call_0123456789c0ffee_0123456789c0ffee", "call_0123456789_0123456789");
        check("a cup of c0ffee, 12c0ffee", "a cup of c0ffee, 12c0ffee");
        check("a/b ü", "<card 1>");
    }

    #[test]
    fn a_command_line_asks_the_environment_for_ids() {
        let check = |text: &str, expect: &str| assert_eq!(names().line(text), expect, "{text}");
        check(r#"curl -d '{"card":"a/b ü"}'"#, r#"curl -d '{"card":"'"${CARD_1:-card-1}"'"}'"#);
        check("x '<id 12>/<unique>' <<'E'", r#"x ''"${ID_12:-id-12}"'/<unique>' <<'E'"#);
        check("printf '%s' '1 < 2 > 1'", "printf '%s' '1 < 2 > 1'");
    }

    #[test]
    fn an_id_in_a_path_is_renamed_too() {
        let check = |channel: &str, expect: &str| assert_eq!(names().channel(channel), expect, "{channel}");
        check(
            "PUT /projects/prj_0123456789c0ffee/cards/a%2Fb%20%C3%BC",
            "PUT /projects/prj_0123456789/cards/<card 1>",
        );
        check("l0.v1.prj_0123456789c0ffee.cards.save", "l0.v1.prj_0123456789.cards.save");
    }
}
