//! What a manifest says of a program that the suite is to start, in the table of whichever party it is.
//!
//! `Launch::of` makes of it what can be run.
//!
//! Deliberately absent: what only some parties have, such as `serial`, or the second command line of an agent's `drive`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::commands::Command;
use super::{durations, environment};

/// How a party is started. Flattened into that party's table: its keys stand beside the table's own.
///
/// The table itself refuses keys that neither of the two has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LaunchTable {
    /// Command line, when the suite is to start it.
    #[serde(default)]
    pub start: Option<Vec<String>>,
    /// Where its command lines run; the manifest's directory when absent.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Further environment of its command lines; in some tables `{placeholders}` are filled in. What may be a secret is
    /// never stored.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long it may take until it answers when it was started; 30 seconds when absent.
    #[serde(default)]
    pub start_timeout_seconds: Option<f64>,
}

/// The same in the tables of UTP, which call the directory `working_dir`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LaunchTable")]
pub(crate) struct InWorkingDir {
    #[serde(default)]
    start: Option<Vec<String>>,
    #[serde(default, rename = "working_dir")]
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    start_timeout_seconds: Option<f64>,
}

impl LaunchTable {
    /// Whether the suite starts it.
    pub fn is_started(&self) -> bool {
        self.start.is_some()
    }

    /// How long it may take until it answers when it was started.
    pub fn start_timeout(&self) -> Duration {
        durations::or(self.start_timeout_seconds, durations::START)
    }

    /// What is run to start it.
    pub(crate) fn command(&self) -> Command<'_> {
        self.command_of(self.start.as_ref())
    }

    /// A command line of its, wherever in its table that stands.
    pub(crate) fn command_of<'a>(&'a self, words: Option<&'a Vec<String>>) -> Command<'a> {
        Command { words, cwd: self.cwd.as_ref(), environment: &self.env }
    }

    /// Values of its environment that may be secrets. One that holds a placeholder is the suite's own.
    pub(crate) fn secrets(&self, placeholders: &[&str]) -> impl Iterator<Item = &String> {
        let is_own =
            |value: &&String| !placeholders.iter().any(|word| value.contains(&format!("{{{word}}}")));
        environment::secrets(&self.env).filter(is_own)
    }

    /// Where its command lines run, for a manifest in this directory.
    pub(crate) fn directory(&self, manifest: &Path) -> PathBuf {
        self.cwd.as_ref().map_or_else(|| manifest.to_owned(), |own| manifest.join(own))
    }
}

/// A text with the values of placeholders in their place.
pub(crate) fn filled(text: &str, words: &[(&str, &str)]) -> String {
    words.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Party {
        name: String,
        #[serde(flatten)]
        launch: LaunchTable,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct UtpParty {
        name: String,
        #[serde(flatten, with = "InWorkingDir")]
        launch: LaunchTable,
    }

    #[test]
    fn its_keys_stand_in_the_table_of_the_party() {
        let written = json!({
            "name": "a", "start": ["serve"], "cwd": "bus", "env": {"A": "b"}, "start_timeout_seconds": 2.0,
        });
        let party: Party = serde_json::from_value(written.clone()).expect("a table");
        assert_eq!(party.launch.directory(Path::new("/home")), Path::new("/home/bus"));
        assert_eq!(party.launch.start_timeout(), Duration::from_secs(2));
        assert_eq!(serde_json::to_value(&party).expect("JSON"), written);

        let written = json!({
            "name": "a", "start": null, "working_dir": "bus", "env": {}, "start_timeout_seconds": null,
        });
        let party: UtpParty = serde_json::from_value(written.clone()).expect("a table");
        assert_eq!(party.launch.directory(Path::new("/home")), Path::new("/home/bus"));
        assert_eq!(serde_json::to_value(&party).expect("JSON"), written);
    }

    #[test]
    fn each_table_has_its_own_key_for_the_directory() {
        let refused = |error: serde_json::Error, key: &str| {
            assert!(error.to_string().contains(&format!("unknown field `{key}`")), "{error}");
        };
        let of = |key: &str| json!({"name": "a", key: "bus"});
        refused(
            serde_json::from_value::<Party>(of("working_dir")).expect_err("a strange key"),
            "working_dir",
        );
        refused(serde_json::from_value::<UtpParty>(of("cwd")).expect_err("a strange key"), "cwd");
        refused(serde_json::from_value::<Party>(of("strat")).expect_err("a typo"), "strat");
    }

    #[test]
    fn a_value_with_a_placeholder_is_filled_in_and_no_secret() {
        let env = json!({"SERVICE_KEY": "{secret}", "API_KEY": "hush-0123"});
        let table: LaunchTable = serde_json::from_value(json!({ "env": env })).expect("a table");
        assert_eq!(table.secrets(&["secret"]).collect::<Vec<_>>(), ["hush-0123"]);
        assert_eq!(table.secrets(&[]).count(), 2);
        let words = [("listen", "127.0.0.1:1"), ("secret", "s3cr3t")];
        assert_eq!(filled("http://{listen}/{secret}/{other}", &words), "http://127.0.0.1:1/s3cr3t/{other}");
    }

    #[test]
    fn an_absent_table_starts_nothing() {
        let table: LaunchTable =
            serde_json::from_value(Value::Object(serde_json::Map::new())).expect("a table");
        assert!(!table.is_started() && table.command().words.is_none());
        assert_eq!(table.start_timeout(), Duration::from_secs(30));
    }
}
