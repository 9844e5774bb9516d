//! No key in a card: every occurrence of a secret in what the upstream says is replaced.
//!
//! A secret is found as it is, percent-encoded and escaped as in JSON. One of a few characters would take ordinary text
//! apart, so it is replaced only where a value is nothing else.

use serde_json::{Map, Value};
use url::form_urlencoded::byte_serialize;

use super::request::percent_encoded;
use crate::secret::Secret;

/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";

/// Secrets shorter than this are not looked for inside of texts.
const SHORT: usize = 6;

/// Knows the secrets of one call; it has no `Debug`, since it holds them in the clear.
pub(super) struct Redactor {
    whole: Vec<Secret>,
    /// The forms of the longer ones, longest first, so that no form hides a part of a longer one.
    forms: Vec<String>,
}

impl Redactor {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let whole: Vec<Secret> = secrets.into_iter().cloned().collect();
        let mut forms = Vec::new();
        for secret in whole.iter().filter(|secret| secret.expose().len() >= SHORT) {
            let text = secret.expose();
            let json = Value::from(text).to_string();
            let escaped = json[1..json.len() - 1].to_owned();
            let query: String = byte_serialize(text.as_bytes()).collect();
            for form in [text.to_owned(), escaped, percent_encoded(text), query] {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self { whole, forms }
    }

    pub(super) fn text(&self, text: &str) -> String {
        if self.is_secret(text) {
            return REDACTED.to_owned();
        }
        self.forms.iter().fold(text.to_owned(), |text, form| text.replace(form, REDACTED))
    }

    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(self.object(members)),
            Value::Number(number) => {
                let text = number.to_string();
                let redacted = self.text(&text);
                if redacted == text { Value::Number(number) } else { Value::String(redacted) }
            }
            other => other,
        }
    }

    pub(super) fn object(&self, members: Map<String, Value>) -> Map<String, Value> {
        members.into_iter().map(|(name, value)| (self.text(&name), self.value(value))).collect()
    }

    fn is_secret(&self, text: &str) -> bool {
        self.whole.iter().any(|secret| secret.expose() == text)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::Redactor;
    use crate::environment::Environment;
    use crate::secret::Secret;

    pub(in crate::utp::openapi) fn secret(value: &str) -> Secret {
        let environment: Environment = [("KEY", value)].into_iter().collect();
        environment.get("KEY").expect("a secret")
    }

    #[test]
    fn a_secret_is_found_in_every_form_and_place() {
        fn check(value: &Value, expect: &Value) {
            let secrets = [secret("k\"y /77+"), secret("991199119"), secret("ab")];
            assert_eq!(Redactor::new(&secrets).value(value.clone()), *expect);
        }
        check(&json!("you sent k\"y /77+!"), &json!("you sent [redacted]!"));
        check(&json!("{\"key\":\"k\\\"y /77+\"}"), &json!("{\"key\":\"[redacted]\"}"));
        check(&json!("?k=k%22y+%2F77%2B&x"), &json!("?k=[redacted]&x"));
        check(&json!("/k%22y%20%2F77%2B"), &json!("/[redacted]"));
        check(
            &json!({"k\"y /77+": [{"deep": 991_199_119}]}),
            &json!({"[redacted]": [{"deep": "[redacted]"}]}),
        );
        check(&json!(["ab", "about", 1, true, null]), &json!(["[redacted]", "about", 1, true, null]));
    }

    #[test]
    fn without_secrets_nothing_changes() {
        let value = json!({"a": ["b", 1.5]});
        assert_eq!(Redactor::new(&[]).value(value.clone()), value);
    }
}
