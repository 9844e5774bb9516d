//! Where a signed statement and the one that the files give differ, by name.

use serde_json::Value;

use crate::text;

/// Longest value that is quoted.
const QUOTED: usize = 160;

/// Where two payloads differ; none where they are the same bytes.
pub(super) fn disagreement(signed: &[u8], computed: &[u8]) -> Option<String> {
    if signed == computed {
        return None;
    }
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let differs = member(&read(signed), &read(computed), "");
    Some(differs.unwrap_or_else(|| {
        "the certificate's statement is not written as Callmark writes it, so something in it was changed"
            .to_owned()
    }))
}

/// The first member that differs.
fn member(signed: &Value, computed: &Value, path: &str) -> Option<String> {
    match (signed, computed) {
        _ if signed == computed => None,
        (Value::Object(own), Value::Object(other)) => {
            let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let unknown = own.keys().find(|name| !other.contains_key(*name));
            if let Some(name) = unknown {
                return Some(format!("the certificate has a member `{}` too many", shown(&inner(name))));
            }
            other.iter().find_map(|(name, value)| {
                let Some(own) = own.get(name) else {
                    return Some(format!("the certificate has no member `{}`", inner(name)));
                };
                member(own, value, &inner(name))
            })
        }
        (Value::Array(own), Value::Array(other)) => list(own, other, path),
        _ => Some(format!(
            "the certificate says `{}` is {}, and the judged files give {}",
            shown(path),
            text::value_line(signed, QUOTED),
            text::value_line(computed, QUOTED)
        )),
    }
}

fn list(signed: &[Value], computed: &[Value], path: &str) -> Option<String> {
    let says = |verb: &str, value: &Value, gives: &str| {
        let value = text::value_line(value, QUOTED);
        Some(format!("the certificate's `{}` {verb} {value}, which the judged files {gives}", shown(path)))
    };
    if let Some(extra) =
        signed.iter().find(|value| !computed.contains(value) && !has_namesake(value, computed))
    {
        return says("names", extra, "do not give");
    }
    if let Some(missing) =
        computed.iter().find(|value| !signed.contains(value) && !has_namesake(value, signed))
    {
        return says("does not name", missing, "give");
    }
    if signed.len() != computed.len() {
        return Some(format!(
            "the certificate's `{}` has {} entries, and the judged files give {}",
            shown(path),
            signed.len(),
            computed.len()
        ));
    }
    let differs = signed.iter().zip(computed).find(|(own, other)| own != other);
    differs.and_then(|(own, other)| member(own, other, &format!("{path}.{}", name(other).unwrap_or("?"))))
}

/// What an entry is called, where it has a name.
fn name(value: &Value) -> Option<&str> {
    ["name", "profile", "reason"].into_iter().find_map(|member| value.get(member)?.as_str())
}

fn has_namesake(value: &Value, others: &[Value]) -> bool {
    name(value).is_some_and(|own| others.iter().any(|other| name(other) == Some(own)))
}

fn shown(path: &str) -> String {
    text::line(path, QUOTED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_named() {
        let check = |signed: Value, computed: Value, says: &str| {
            let said = disagreement(signed.to_string().as_bytes(), computed.to_string().as_bytes());
            assert_eq!(said.as_deref(), Some(says));
        };
        let result =
            |result: &str, passed: &[&str]| json!({"predicate": {"result": result, "passedTests": passed}});
        check(
            result("FAILED", &[]),
            result("PASSED", &[]),
            "the certificate says `predicate.result` is \"FAILED\", and the judged files give \"PASSED\"",
        );
        check(
            result("PASSED", &["a", "made-up"]),
            result("PASSED", &["a"]),
            "the certificate's `predicate.passedTests` names \"made-up\", which the judged files do not give",
        );
        check(
            result("PASSED", &[]),
            result("PASSED", &["a"]),
            "the certificate's `predicate.passedTests` does not name \"a\", which the judged files give",
        );
        check(
            result("PASSED", &["a", "a"]),
            result("PASSED", &["a"]),
            "the certificate's `predicate.passedTests` has 2 entries, and the judged files give 1",
        );
        check(
            json!({"subject": [{"name": "run.json", "digest": "1"}]}),
            json!({"subject": [{"name": "run.json", "digest": "2"}]}),
            "the certificate says `subject.run.json.digest` is \"1\", and the judged files give \"2\"",
        );
        check(
            json!({"a": 1, "\u{1b}b": 2}),
            json!({"a": 1}),
            "the certificate has a member `\\u{1b}b` too many",
        );
        check(json!({}), json!({"a": 1}), "the certificate has no member `a`");
    }

    #[test]
    fn another_form_of_the_same_differs() {
        assert_eq!(disagreement(b"{\"a\":1}", b"{\"a\":1}"), None);
        let said = disagreement(b"{ \"a\":1}", b"{\"a\":1}");
        assert!(said.is_some_and(|said| said.contains("not written as Callmark writes it")));
    }
}
