//! `[utp] protocol_version`: the version token of the subjects, or a list of those that a target serves, one for each
//! revision.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::revision::Revision;

/// What stands for the version in a `target_subject`.
pub(super) const VERSION: &str = "{version}";
/// The token of the revision that the five documents describe.
const V1R3: &str = "v1r3";

/// The version tokens that a target serves, oldest revision first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(Vec<String>);

impl Default for Versions {
    fn default() -> Self {
        Self(vec![V1R3.to_owned()])
    }
}

impl Versions {
    /// The token of a revision, if the target serves it.
    pub fn of(&self, revision: Revision) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|token| Revision::of(token) == revision)
    }

    /// The token of the oldest revision.
    pub fn oldest(&self) -> &str {
        self.0.first().map_or(V1R3, String::as_str)
    }

    /// All of them, oldest revision first.
    pub fn all(&self) -> Vec<String> {
        self.0.clone()
    }

    /// This token alone.
    pub(super) fn only(token: &str) -> Self {
        Self(vec![token.to_owned()])
    }

    /// Whether the target serves several revisions.
    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// What is wrong with the version of a subject that the manifest has under this key.
    pub(super) fn fault_of_subject(&self, key: &str, subject: &str) -> Option<String> {
        let own = subject.split('.').nth(1).filter(|own| *own != VERSION)?;
        if self.are_several() {
            return Some(format!(
                "`{key}.target_subject` is `{subject}`, and `utp.protocol_version` names several versions: write \
                 `{VERSION}` for the version"
            ));
        }
        self.of(Revision::of(own)).is_none().then(|| {
            format!(
                "`{key}.target_subject` is `{subject}`, and `utp.protocol_version` is `{}`: write `{VERSION}` for the \
                 version, or `protocol_version = \"{own}\"`",
                self.oldest()
            )
        })
    }

    /// What is wrong with one start for all of them, where the manifest asks for that.
    pub(super) fn at_once_fault(&self, both_at_once: bool) -> Option<String> {
        (both_at_once && !self.are_several()).then(|| {
            "`utp.both_at_once` is for a target that serves several versions, and `utp.protocol_version` names one: write \
             `protocol_version = [\"v1r3\", \"v1r4\"]`, or leave it out"
                .to_owned()
        })
    }

    /// What is wrong with them.
    pub(super) fn faults(&self) -> Vec<String> {
        let is_token = |token: &String| !token.is_empty() && !token.contains(['.', ' ', '*', '>']);
        let mut faults = Vec::new();
        if self.0.is_empty() || !self.0.iter().all(is_token) {
            faults.push("`utp.protocol_version` is one subject token, for example `v1r3`".to_owned());
        }
        let mut revisions: Vec<Revision> = self.0.iter().map(|token| Revision::of(token)).collect();
        revisions.dedup();
        if revisions.len() < self.0.len() {
            faults.push(format!(
                "`utp.protocol_version` names {}: a list is one of `v1r3` and `v1r4`",
                self.0.iter().map(|token| format!("`{token}`")).collect::<Vec<_>>().join(" and ")
            ));
        }
        faults
    }
}

impl Serialize for Versions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = || D::Error::custom("`protocol_version` is a text, or a list of texts");
        let mut all = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(one) => vec![one],
            serde_json::Value::Array(several) => several
                .into_iter()
                .map(|token| token.as_str().map(str::to_owned).ok_or_else(expected))
                .collect::<Result<_, _>>()?,
            _ => return Err(expected()),
        };
        all.sort_by_key(|token| Revision::of(token));
        Ok(Self(all))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: Value) -> Versions {
        serde_json::from_value(value).expect("versions")
    }

    #[test]
    fn one_is_a_text_and_several_are_a_list() {
        for (written, kept) in [
            (json!("v1r3"), json!("v1r3")),
            (json!(["v1r4"]), json!("v1r4")),
            (json!(["v1r4", "v1r3"]), json!(["v1r3", "v1r4"])),
        ] {
            assert_eq!(serde_json::to_value(read(written)).expect("JSON"), kept);
        }
        assert!(serde_json::from_value::<Versions>(json!([1])).is_err());
    }

    #[test]
    fn each_revision_has_one_token() {
        let both = read(json!(["v1r4", "v1r3"]));
        assert_eq!(both.of(Revision::V1r4), Some("v1r4"));
        assert_eq!(both.oldest(), "v1r3");
        assert_eq!(read(json!("v1r3")).of(Revision::V1r4), None);
        assert_eq!(both.faults(), [""; 0]);
        for wrong in [json!([]), json!("a.b"), json!(["v1r3", "v9"]), json!(["v1r4", "v1r4"])] {
            assert_eq!(read(wrong.clone()).faults().len(), 1, "{wrong}");
        }
    }
}
