//! The manifest `callmark.toml`: one file that describes a target (DESIGN: target manifest).
//!
//! Unknown keys are errors with a suggestion, and all faults of a file are reported at once.
//! The shape itself is `schemas/callmark/manifest.schema.json`; here it becomes typed.

mod commands;
pub(crate) mod durations;
pub(crate) mod environment;
pub(crate) mod headers;
mod keys;
pub(crate) mod launch;
mod places;
pub mod target;

use std::any::Any;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use callmark_schemas::SchemaName;
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::engine::{files, secrets};
use crate::spec::edition::{self, UnknownEdition};

pub use commands::{Command, CommandLine};
pub use launch::LaunchTable;
pub use target::TargetTable;

/// Largest manifest that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The table of a protocol in the manifest, and how it is read.
pub trait ManifestTable: Sync {
    /// Its name, and the first part of the ids of the protocol's profiles; for example `hub`.
    fn name(&self) -> &'static str;

    /// Reads it.
    ///
    /// # Errors
    /// It has not the shape of such a table.
    fn section(&self, table: Value) -> Result<Box<dyn Section>, serde_json::Error>;

    /// Whether the table's own [contradictions](Section::contradictions) explain better than the schema what is wrong
    /// at this pointer, from the root of the manifest.
    fn explains(&self, _pointer: &str, _table: &Value) -> bool {
        false
    }
}

/// A target, as its author describes it.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Who it is.
    pub target: TargetTable,
    /// The edition whose checks count; nothing where all of the suite do.
    pub edition: Option<String>,
    /// The table of each protocol that the target speaks, and its name.
    sections: Vec<(&'static str, Box<dyn Section>)>,
    /// The directory that relative paths and `start` refer to.
    pub directory: PathBuf,
}

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.sections.len() + 1 + usize::from(self.edition.is_some());
        let mut map = serializer.serialize_map(Some(members))?;
        if let Some(edition) = &self.edition {
            map.serialize_entry("edition", edition)?;
        }
        map.serialize_entry("target", &self.target)?;
        for (name, section) in &self.sections {
            map.serialize_entry(name, &section.value())?;
        }
        map.end()
    }
}

/// The table of one protocol.
pub trait Section: Table + Debug + Send + Sync {
    /// The profiles that it describes.
    fn profiles(&self) -> Vec<&'static str>;

    /// The table within it that a profile cannot do without, where it is not there.
    fn missing_table(&self, _profile: &str) -> Option<&'static str> {
        None
    }

    /// Values that must not be stored: credentials, the target's environment, its HTTP headers. Files that it names lie in
    /// this directory.
    fn secrets(&self, directory: &Path) -> Vec<String>;

    /// Whether the scenarios are to run one by one.
    fn is_serial(&self) -> bool;

    /// What is run where the selected profiles are certified.
    fn commands(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<Command<'_>>;

    /// What the schema cannot say, of a table of this target.
    fn contradictions(&self, target: &TargetTable) -> Vec<String>;
}

/// What a table is able to do because of its type.
pub trait Table: Any {
    /// As it stands in the file.
    fn value(&self) -> Value;

    /// A copy.
    fn boxed(&self) -> Box<dyn Section>;
}

impl<T: Section + Clone + Serialize> Table for T {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn boxed(&self) -> Box<dyn Section> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Section> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// Reads the table of a protocol.
///
/// # Errors
/// It has not the shape of such a table.
pub fn section<T: Section + DeserializeOwned>(table: Value) -> Result<Box<dyn Section>, serde_json::Error> {
    serde_json::from_value::<T>(table).map(|table| Box::new(table) as Box<dyn Section>)
}

impl Manifest {
    /// Reads and checks a manifest file that describes targets of these families.
    ///
    /// # Errors
    /// All faults at once, each with the key that it is about.
    pub fn read_for(tables: &[&dyn ManifestTable], path: &Path) -> Result<Self, ManifestError> {
        let shown = path.display().to_string();
        let fault = |message: String| ManifestError { path: shown.clone(), faults: vec![message] };
        let text = files::read_text(path, MAX_BYTES).map_err(|error| fault(error.to_string()))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self::parse_for(tables, &shown, &text, directory.unwrap_or(Path::new(".")))
    }

    /// Checks the text of a manifest.
    ///
    /// # Errors
    /// As [`read_for`](Self::read_for).
    pub fn parse_for(
        tables: &[&dyn ManifestTable],
        path: &str,
        text: &str,
        directory: &Path,
    ) -> Result<Self, ManifestError> {
        let error = |faults: Vec<String>| ManifestError { path: path.to_owned(), faults };
        let table: toml::Table = toml::from_str(text).map_err(|fault| error(vec![syntax(text, &fault)]))?;
        let value = serde_json::to_value(&table).map_err(|fault| error(vec![fault.to_string()]))?;
        let mut faults = keys::unknown(&value);
        if faults.is_empty() {
            let is_explained =
                |pointer: &str| tables.iter().any(|table| table.explains(pointer, &value[table.name()]));
            faults = callmark_schemas::violations(SchemaName::Manifest, &value)
                .into_iter()
                .filter(|violation| !is_explained(&violation.pointer))
                .map(|violation| at(&violation.pointer, &violation.message))
                .chain(keys::with_nul(&value))
                .collect();
        }
        if !faults.is_empty() {
            return Err(error(faults));
        }
        let mut manifest = Self::of(tables, value).map_err(|fault| error(vec![fault]))?;
        directory.clone_into(&mut manifest.directory);
        let faults = manifest.contradictions();
        if faults.is_empty() { Ok(manifest) } else { Err(error(faults)) }
    }

    /// A manifest as it was kept beside a certificate.
    ///
    /// # Errors
    /// A member that is none of a manifest, or has another shape.
    pub fn of(tables: &[&dyn ManifestTable], mut value: Value) -> Result<Self, String> {
        let members = value.as_object_mut().ok_or("a manifest is a table")?;
        let target = members.remove("target").unwrap_or_default();
        let target = serde_json::from_value(target).map_err(|error| format!("`target`: {error}"))?;
        let edition = members.remove("edition").map(serde_json::from_value).transpose();
        let edition = edition.map_err(|error| format!("`edition`: {error}"))?;
        let mut sections = Vec::new();
        for table in tables {
            let Some(value) = members.remove(table.name()).filter(|value| !value.is_null()) else {
                continue;
            };
            let section = table.section(value).map_err(|error| format!("`{}`: {error}", table.name()))?;
            sections.push((table.name(), section));
        }
        match members.keys().next() {
            Some(unknown) => Err(format!("unknown table `{unknown}`")),
            None => Ok(Self { target, edition, sections, directory: PathBuf::new() }),
        }
    }

    /// Checks again what can be changed after reading.
    pub fn check(&self, path: &str) -> Result<(), ManifestError> {
        let faults = self.contradictions();
        if faults.is_empty() { Ok(()) } else { Err(ManifestError { path: path.to_owned(), faults }) }
    }

    /// The table of this type.
    pub fn get<T: Section>(&self) -> Option<&T> {
        self.sections.iter().find_map(|(_, section)| (&**section as &dyn Any).downcast_ref())
    }

    /// The table of this type, to change it.
    pub fn get_mut<T: Section>(&mut self) -> Option<&mut T> {
        self.sections.iter_mut().find_map(|(_, section)| (&mut **section as &mut dyn Any).downcast_mut())
    }

    /// The profiles whose tables are there, in the order of reports.
    pub fn profiles(&self) -> Vec<&'static str> {
        self.sections().flat_map(Section::profiles).collect()
    }

    /// The table that a profile cannot do without, where it is not there. Within its protocol's table a profile may be
    /// asked for without one of its own.
    pub fn missing_table<'a>(&self, profile: &'a str) -> Option<&'a str> {
        let protocol = profile.split('.').next().unwrap_or_default();
        match self.sections.iter().find(|(name, _)| *name == protocol) {
            Some((_, section)) => section.missing_table(profile),
            None => Some(protocol),
        }
    }

    /// Whether the scenarios are to run one by one.
    pub fn is_serial(&self) -> bool {
        self.sections().any(Section::is_serial)
    }

    /// Values of the manifest that must not be stored: what may be a secret of the target's environment, its HTTP headers
    /// and tokens, and credentials of the broker.
    pub fn secrets(&self) -> Vec<String> {
        let all = self.sections().flat_map(|section| section.secrets(&self.directory));
        let all = all.chain(self.target.secrets());
        all.filter(|value| value.len() >= secrets::SHORTEST).collect()
    }

    fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        self.sections.iter().map(|(_, section)| &**section)
    }

    /// What the schema cannot say.
    fn contradictions(&self) -> Vec<String> {
        let sections = self.sections().flat_map(|section| section.contradictions(&self.target));
        let known = edition::names();
        let unknown = self.edition.as_deref().filter(|name| !known.contains(name));
        let unknown =
            unknown.map(|name| format!("`edition`: {}", UnknownEdition::new(name, known.into_iter())));
        let mut commands = self.sections().flat_map(|section| section.commands(&|_| true));
        let starts_something = commands.any(|command| command.words.is_some());
        let of_target = self.target.contradictions(starts_something);
        let of_addresses = self.credentials_in_addresses().chain(self.unknown_hosts_in_addresses());
        unknown.into_iter().chain(of_target).chain(of_addresses).chain(sections).collect()
    }
}

/// A manifest that cannot be used.
#[derive(Debug, Error)]
#[error("`{path}` cannot be used: {}", faults.join("; "))]
pub struct ManifestError {
    /// The file.
    pub path: String,
    /// One fault each, with its key.
    pub faults: Vec<String>,
}

/// A syntax error with its line.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
    format!("line {line}: {}", error.message().lines().next().unwrap_or_default())
}

/// A fault with the key that it is about, if any.
fn at(pointer: &str, message: &str) -> String {
    match dotted(pointer).as_str() {
        "" => message.to_owned(),
        key => format!("`{key}`: {message}"),
    }
}

/// `/utp/nats` as `utp.nats`.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        Manifest::parse("callmark.toml", text, Path::new("."))
            .err()
            .map(|error| error.faults)
            .unwrap_or_default()
    }

    #[test]
    fn a_typo_is_reported_with_what_was_meant() {
        let text = "[target]\nname = \"a\"\n[utp]\nplatfrom = \"nats\"\nnast = \"embedded\"\n";
        assert_eq!(
            faults(text),
            [
                "unknown key `utp.nast`; did you mean `nats`?",
                "unknown key `utp.platfrom`; did you mean `platform`?",
            ]
        );
    }

    #[test]
    fn a_value_that_nothing_can_be_started_with_is_refused() {
        let text = "[target]\nname = \"a\"\n[toolbus]\ncommand = [\"bus\", \"a\\u0000b\"]\n";
        assert_eq!(faults(text), ["`toolbus.command` holds a NUL character (`\\u0000`): leave it out"]);
    }

    #[test]
    fn a_wildcard_subject_is_refused() {
        let text = "[target]\nname = \"a\"\n[utp.tool-service.probes.echo]\ntool_name = \"e\"\ntarget_subject = \"cg.v1r3.*.x\"\n";
        assert!(faults(text)[0].contains("wildcard"), "{:?}", faults(text));
    }

    #[test]
    fn a_subject_of_another_revision_than_that_of_the_target_is_refused() {
        let of = |version: &str, subject: &str| {
            faults(&format!(
                "[target]\nname = \"x\"\n[utp]\nprotocol_version = {version}\n[utp.tool-service.probes.echo]\n\
                 tool_name = \"e\"\ntarget_subject = \"cg.{subject}.{{project_id}}.{{channel_id}}.cmd.tool.x\"\n"
            ))
        };
        for (version, subject) in
            [("\"v1r3\"", "v1r3"), ("\"v1r4\"", "v1r4"), ("\"v1r4\"", "{version}"), ("\"v7\"", "v1r3")]
        {
            assert_eq!(of(version, subject), [""; 0], "{version} {subject}");
        }
        let wrong = of("\"v1r4\"", "v1r3");
        assert!(wrong.len() == 1 && wrong[0].ends_with("or `protocol_version = \"v1r3\"`"), "{wrong:?}");
        assert_eq!(of("[\"v1r3\", \"v1r4\"]", "v1r3").len(), 1);
    }

    #[test]
    fn a_broker_that_is_none_is_reported_with_what_was_meant() {
        let check = |nats: &str, expect: &[&str]| {
            let text = format!("[target]\nname = \"a\"\n[utp]\nnats = \"{nats}\"\n");
            assert_eq!(faults(&text), expect, "{nats}");
        };
        let other = "`utp.nats` is `http://h:4222`; the suite speaks NATS, plain or with TLS: did you mean \
                     `nats://h:4222` or `tls://h:4222`?";
        check("http://h:4222", &[other]);
        check("embeded", &["`utp.nats` is `embeded`; did you mean `embedded`?"]);
        let known = "known are `embedded`, `server`, `container`, `nats://host:port` and `tls://host:port`";
        check("nats://", &[&format!("`utp.nats` is `nats://`; {known}")]);
        check("nats://h:4222", &[]);
        check("tls://h:4222", &[]);
        check("wss://h:4222", &[]);
    }

    #[test]
    fn several_servers_are_a_list() {
        let check = |nats: &str, expect: &[&str]| {
            let text = format!("[target]\nname = \"a\"\n[utp]\nnats = {nats}\n");
            let faults = faults(&text);
            assert_eq!(faults.len(), expect.len(), "{nats}: {faults:?}");
            assert!(faults.iter().zip(expect).all(|(fault, expect)| fault.contains(expect)), "{faults:?}");
        };
        check("[\"tls://a:4222\", \"tls://b:4222\"]", &[]);
        check("[\"tls://a:4222\", \"http://b:4222\"]", &["did you mean `nats://b:4222`"]);
        check("[\"tls://a:4222\", \"embedded\"]", &["`utp.nats.1`"]);
        check("[]", &["`utp.nats`"]);
        check("[4222]", &["`utp.nats.0`"]);
    }

    #[test]
    fn a_system_with_a_store_of_its_own_is_not_started() {
        let text = "[target]\nname = \"a\"\n[breadcrumb]\nstart = [\"x\"]\nstore = \"http://h\"\n\
                    catalog = [\"calculator\"]\n[breadcrumb.runner]\n";
        assert_eq!(faults(text).len(), 1, "{:?}", faults(text));
        assert!(faults(text)[0].contains("`start` would never be run"), "{:?}", faults(text));
    }

    #[test]
    fn tables_select_profiles() {
        let text = "[target]\nname = \"a\"\n[utp.tool-service]\n[utp.schema]\ncapture = \"bus.jsonl\"\n";
        let manifest = Manifest::parse("callmark.toml", text, Path::new(".")).expect("a sound manifest");
        assert_eq!(manifest.profiles(), ["utp.tool-service", "utp.schema"]);
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        assert!(
            faults("[target]\nname = \n")[0].starts_with("line 2"),
            "{:?}",
            faults("[target]\nname = \n")
        );
    }
}
