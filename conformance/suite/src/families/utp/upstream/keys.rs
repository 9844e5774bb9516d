//! The keys in an executor's environment (`docs/bindings.md`): made up for the run, or said by the manifest.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::spec::library::hex;

/// How generated keys begin.
const GENERATED: &str = "cmk_";

/// A variable that holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Variable {
    /// The default key.
    Default,
    /// The key that `auth_env` names.
    Named,
    /// The value of a parameter under `envs`.
    Parameter,
    /// What the service's own configuration puts in its place.
    Service,
}

impl Variable {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Default, Self::Named, Self::Parameter, Self::Service];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "JINA_API_KEY",
            Self::Named => "CALLMARK_ALT_KEY",
            Self::Parameter => "CALLMARK_PARAM_KEY",
            Self::Service => "CALLMARK_SERVICE_KEY",
        }
    }
}

/// A key and the variable that holds it. It does not show itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The variable.
    pub variable: Variable,
    value: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl Key {
    /// A key with this value.
    pub fn new(variable: Variable, value: impl Into<String>) -> Self {
        Self { variable, value: value.into() }
    }

    /// The value itself, for where it is looked for and redacted.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// What shows that it was written down, however it was encoded: its forms, the part of a generated key that looks the same
    /// in every encoding of text, and all of it but its first or last quarter, which is more than masking leaves.
    pub fn traces(&self) -> Vec<String> {
        let mut all = self.forms();
        if self.value.starts_with(GENERATED) {
            let end = self.value.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            all.push(self.value[..end.unwrap_or(self.value.len())].to_owned());
            let quarter = self.value.len() / 4;
            let most = [self.value.get(..self.value.len() - quarter), self.value.get(quarter..)];
            all.extend(most.into_iter().flatten().map(str::to_owned));
        }
        all
    }

    /// The forms in which it may be written down: as it is, in an address, in hexadecimal, and within Base64.
    pub fn forms(&self) -> Vec<String> {
        let encoded = (0..3).map(|offset| {
            // What stands before a text shifts its Base64; the characters that do not depend on it are compared.
            let text = format!("{}{}", &"xxx"[..offset], self.value);
            let all = STANDARD.encode(&text);
            let from = (offset * 8).div_ceil(6);
            let to = text.len() * 8 / 6;
            all[from..to].to_owned()
        });
        let escaped: String = url::form_urlencoded::byte_serialize(self.value.as_bytes()).collect();
        let hexed = hex(self.value.as_bytes());
        let plain = [self.value.clone(), escaped, hexed.to_uppercase(), hexed];
        let mut forms: Vec<String> =
            plain.into_iter().chain(encoded).filter(|form| form.len() >= 4).collect();
        forms.dedup();
        forms
    }
}

/// The keys of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Keys(Vec<Key>);

impl Keys {
    /// Made up, different in every run.
    pub fn generated() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let made = |variable: Variable| {
            let seed = format!("{now}/{}/{}", std::process::id(), variable.name());
            let random = &hex(&Sha256::digest(seed.as_bytes()))[..24];
            // Real keys have such characters too: what travels in an address or a form has to be encoded. A header takes
            // those of Base64.
            let end = match variable {
                Variable::Default | Variable::Named => "+/=",
                Variable::Parameter | Variable::Service => "+/=&%41",
            };
            Key::new(variable, format!("{GENERATED}{random}{end}"))
        };
        Self(Variable::ALL.into_iter().map(made).collect())
    }

    /// As the manifest says; what it does not say is not known.
    pub fn declared(environment: &BTreeMap<String, String>) -> Self {
        let declared = |variable: Variable| {
            let value = environment.get(variable.name()).filter(|value| value.len() >= 4)?;
            Some(Key::new(variable, value.clone()))
        };
        Self(Variable::ALL.into_iter().filter_map(declared).collect())
    }

    /// As the manifest says, the others made up.
    pub fn completed(environment: &BTreeMap<String, String>) -> Self {
        let declared = Self::declared(environment);
        let generated = Self::generated();
        Self(generated.0.into_iter().map(|key| declared.of(key.variable).cloned().unwrap_or(key)).collect())
    }

    /// The key in a variable.
    pub fn of(&self, variable: Variable) -> Option<&Key> {
        self.0.iter().find(|key| key.variable == variable)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.iter()
    }

    /// Variables and values, for the environment of a target that is started.
    pub fn environment(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.0.iter().map(|key| (key.variable.name().to_owned(), key.value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_within_base64_wherever_it_begins() {
        let key = Key::new(Variable::Default, "cmk_0123456789ab");
        for before in ["", "a", "ab", "user:", "Bearer "] {
            let encoded = STANDARD.encode(format!("{before}cmk_0123456789ab and more"));
            assert!(key.forms().iter().any(|form| encoded.contains(form)), "{before}: {encoded}");
        }
        let other = STANDARD.encode("cmk_ba9876543210");
        assert!(!key.forms().iter().any(|form| other.contains(form)), "{other}");
    }

    #[test]
    fn a_key_is_found_as_it_stands_in_an_address_and_in_hexadecimal() {
        let forms = Key::new(Variable::Default, "a/b c+d").forms();
        for written in ["a%2Fb+c%2Bd", "612f6220632b64", "612F6220632B64"] {
            assert!(forms.iter().any(|form| form == written), "{written}: {forms:?}");
        }
    }

    #[test]
    fn a_generated_key_leaves_a_trace_in_every_encoding_of_text() {
        for key in Keys::generated().iter() {
            let twice = key.expose().replace('+', "%252B").replace('/', "\\/").replace('=', "%253D");
            assert!(key.traces().iter().any(|trace| twice.contains(trace)), "{twice}");
            assert!(!key.forms().iter().any(|form| twice.contains(form)), "{twice}");
        }
    }

    #[test]
    fn keys_differ_and_do_not_show_themselves() {
        let keys = Keys::completed(&BTreeMap::from([("JINA_API_KEY".to_owned(), "said-key".to_owned())]));
        let values: std::collections::BTreeSet<&str> = keys.iter().map(Key::expose).collect();
        assert_eq!(values.len(), 4);
        assert!(values.contains("said-key"));
        assert!(!format!("{keys:?}").contains("said-key"));
    }
}
