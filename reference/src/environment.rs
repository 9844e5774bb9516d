//! Where keys come from: the process environment, or a map in its place (UTP, Guide §4).
//!
//! A card names a variable and never its value, so the value is a [`Secret`].
//! Nothing here lists the variables: a caller must know the name.

use std::collections::BTreeMap;
use std::fmt;

use crate::secret::Secret;

/// The variables that a component may read.
#[derive(Clone, Default)]
pub enum Environment {
    /// Those of this process.
    #[default]
    Process,
    /// These alone.
    Map(BTreeMap<String, String>),
}

impl Environment {
    /// The value of a variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<Secret> {
        let value = match self {
            Self::Process => std::env::var(name).ok(),
            Self::Map(variables) => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty()).map(Secret::from)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self::Map(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process => formatter.write_str("Process"),
            Self::Map(variables) => formatter.debug_tuple("Map").field(&variables.keys()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Environment;

    #[test]
    fn values_are_found_and_never_shown() {
        let environment: Environment = [("KEY", "s3cr3t"), ("EMPTY", "")].into_iter().collect();
        let secret = environment.get("KEY").expect("a value");
        assert_eq!(secret.expose(), "s3cr3t");
        assert!(!format!("{environment:?} {secret:?}").contains("s3cr3t"));
        assert_eq!(environment.get("EMPTY"), None);
        assert_eq!(environment.get("OTHER"), None);
    }
}
