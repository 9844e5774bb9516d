//! What `mcp_state` and `store_as` keep: values by key, in two scopes (contract, Request).
//!
//! `session` lives as long as the MCP session: the process over stdio, the session id over HTTP. Revisions of MCP without
//! sessions forbid taking either for one; there a caller names its session by what `session_open` returned. Those are in
//! memory, or in a folder where all servers that share it find them.
//! `persistent` is one file per key, so that a restart finds it and two servers on one folder do not undo each
//! other. Without a folder nothing can be stored there: a scope of that name that forgets would be a lie.
//! Values are redacted before they come here. The bounds are per value and per scope; a value that is too large is
//! refused rather than cut, since its reader could not notice.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::bound::{DEPTH, depth, size};
use super::failure::Failure;
use super::files::{folder, read_bounded, safe_name, write_whole};
use super::ids::random_hex;
use crate::sync::locked;

/// The argument that names a session where MCP has none.
pub(crate) const SESSION: &str = "session";
/// The longest key, in bytes.
pub(crate) const KEY_BYTES: usize = 256;
/// The largest value, in bytes of JSON.
const VALUE_BYTES: usize = 1024 * 1024;
/// The most keys of a scope.
const KEYS: usize = 1000;
/// The most values of a session together, in bytes of JSON.
const SESSION_BYTES: usize = 8 * 1024 * 1024;
/// The most sessions that callers opened.
const SESSIONS: usize = 256;
/// What a file holds beside its value: the key, escaped, and two names.
const FILE_OVERHEAD: usize = 8 * KEY_BYTES;

/// How long a stored value lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Session,
    Persistent,
}

impl Scope {
    pub(crate) const NAMES: [&'static str; 2] = ["session", "persistent"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "session" => Some(Self::Session),
            "persistent" => Some(Self::Persistent),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[usize::from(self == Self::Persistent)]
    }
}

/// Both scopes, as one call sees them.
pub(crate) struct States<'a> {
    pub(crate) session: &'a SessionStore,
    pub(crate) persistent: &'a PersistentStore,
    pub(crate) opened: &'a OpenedSessions,
}

impl States<'_> {
    pub(crate) fn value(&self, scope: Scope, key: &str) -> Result<Option<Value>, Failure> {
        match scope {
            Scope::Session => self.session.value(key),
            Scope::Persistent => self.persistent.value(key),
        }
    }

    pub(crate) fn set(&self, scope: Scope, key: &str, value: Value) -> Result<(), Failure> {
        let bytes = size(&value);
        if bytes > VALUE_BYTES || depth(&value) > DEPTH {
            return Err(Failure::internal(format!(
                "a value of {bytes} bytes and {} levels cannot be stored",
                depth(&value)
            ))
            .hint(format!("at most {VALUE_BYTES} bytes of JSON and {DEPTH} levels; `output` takes a part")));
        }
        match scope {
            Scope::Session => self.session.set(key, value, bytes),
            Scope::Persistent => self.persistent.set(key, &value),
        }
    }

    /// Removes a value; says whether there was one.
    pub(crate) fn delete(&self, scope: Scope, key: &str) -> Result<bool, Failure> {
        match scope {
            Scope::Session => self.session.delete(key),
            Scope::Persistent => self.persistent.delete(key),
        }
    }

    /// The keys there are, sorted.
    pub(crate) fn keys(&self, scope: Scope) -> Result<Vec<String>, Failure> {
        match scope {
            Scope::Session => self.session.keys(),
            Scope::Persistent => self.persistent.keys(),
        }
    }
}

fn full(what: &str) -> Failure {
    Failure::internal(format!("the scope holds {what} and takes no more"))
        .hint("`mcp_state` with `action` `delete` makes room")
}

/// The values of one session.
#[derive(Debug)]
pub(crate) enum SessionStore {
    /// Of a process.
    Memory(Mutex<Held>),
    /// In a folder that several processes share.
    Files(PersistentStore),
}

impl Default for SessionStore {
    fn default() -> Self {
        Self::Memory(Mutex::default())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Held {
    values: BTreeMap<String, Value>,
    /// Of all values, as JSON.
    bytes: usize,
}

impl SessionStore {
    fn value(&self, key: &str) -> Result<Option<Value>, Failure> {
        match self {
            Self::Memory(held) => Ok(locked(held).values.get(key).cloned()),
            Self::Files(files) => files.value(key),
        }
    }

    fn set(&self, key: &str, value: Value, bytes: usize) -> Result<(), Failure> {
        match self {
            Self::Memory(held) => locked(held).set(key, value, bytes),
            Self::Files(files) => files.set(key, &value),
        }
    }

    fn delete(&self, key: &str) -> Result<bool, Failure> {
        match self {
            Self::Memory(held) => Ok(locked(held).delete(key)),
            Self::Files(files) => files.delete(key),
        }
    }

    fn keys(&self) -> Result<Vec<String>, Failure> {
        match self {
            Self::Memory(held) => Ok(locked(held).values.keys().cloned().collect()),
            Self::Files(files) => files.keys(),
        }
    }
}

impl Held {
    fn set(&mut self, key: &str, value: Value, bytes: usize) -> Result<(), Failure> {
        let replaced = self.values.get(key).map(size);
        if replaced.is_none() && self.values.len() >= KEYS {
            return Err(full(&format!("{KEYS} keys")));
        }
        let total = self.bytes - replaced.unwrap_or_default() + bytes;
        if total > SESSION_BYTES {
            return Err(full(&format!("close to {SESSION_BYTES} bytes")));
        }
        self.bytes = total;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    fn delete(&mut self, key: &str) -> bool {
        let removed = self.values.remove(key);
        self.bytes -= removed.as_ref().map(size).unwrap_or_default();
        removed.is_some()
    }
}

/// The sessions that callers opened themselves.
#[derive(Debug)]
pub(crate) enum OpenedSessions {
    /// Those of this process, the oldest first.
    Memory(Mutex<VecDeque<(String, Arc<SessionStore>)>>),
    /// Those of all servers on one folder, each a folder in it.
    Shared(Place),
}

impl Default for OpenedSessions {
    fn default() -> Self {
        Self::Memory(Mutex::default())
    }
}

impl OpenedSessions {
    /// The name of a new one. The oldest ends where there are as many as there may be.
    pub(crate) fn open(&self) -> Result<String, Failure> {
        let name = random_hex(2);
        match self {
            Self::Memory(held) => {
                let mut held = locked(held);
                if held.len() >= SESSIONS {
                    held.pop_front();
                }
                held.push_back((name.clone(), Arc::default()));
            }
            Self::Shared(place) => {
                let opened = place.create().and_then(|folder| {
                    end_oldest(&folder)?;
                    place.within(&name).create()
                });
                opened.map_err(|error| unusable(&error))?;
            }
        }
        Ok(name)
    }

    /// The values of the one of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<SessionStore>, Failure> {
        let found = match self {
            Self::Memory(held) => {
                locked(held).iter().find(|(own, _)| own == name).map(|(_, store)| Arc::clone(store))
            }
            Self::Shared(place) => {
                // A name that was not made here may lead anywhere.
                let own = place.within(&safe_name(name));
                let is_there = own.path().symlink_metadata().is_ok_and(|about| about.is_dir());
                is_there.then(|| Arc::new(SessionStore::Files(PersistentStore::new(Some(own)))))
            }
        };
        found.ok_or_else(|| {
            Failure::argument(SESSION, "there is no such session".to_owned())
                .hint("`session_open` opens one and returns its name")
        })
    }
}

/// Ends the sessions in this folder that are too many, the oldest first.
fn end_oldest(folder: &Path) -> io::Result<()> {
    let mut all: Vec<_> = std::fs::read_dir(folder)?
        .filter_map(Result::ok)
        .filter_map(|own| Some((own.metadata().ok()?.modified().ok()?, own.path())))
        .collect();
    all.sort();
    for (_, oldest) in all.iter().take((all.len() + 1).saturating_sub(SESSIONS)) {
        match std::fs::remove_dir_all(oldest) {
            // Another server was faster.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A folder for the values that outlive the process: some names below a configured root.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) below: Vec<String>,
}

impl Place {
    /// The folder of this name in it.
    pub(crate) fn within(&self, name: &str) -> Self {
        let below = self.below.iter().cloned().chain([name.to_owned()]).collect();
        Self { root: self.root.clone(), below }
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.below.iter().collect::<PathBuf>())
    }

    /// The folder, made where it is not there.
    fn create(&self) -> io::Result<PathBuf> {
        let names: Vec<&str> = self.below.iter().map(String::as_str).collect();
        folder(&self.root, &names)
    }
}

/// The values that outlive the process.
#[derive(Debug)]
pub(crate) struct PersistentStore {
    place: Option<Place>,
    /// Held while something is written, so that the count of keys stays below its bound.
    writing: Mutex<()>,
}

impl PersistentStore {
    pub(crate) fn new(place: Option<Place>) -> Self {
        Self { place, writing: Mutex::new(()) }
    }

    fn value(&self, key: &str) -> Result<Option<Value>, Failure> {
        let Some(path) = self.path(key) else {
            return Ok(None);
        };
        Ok(entry(&path).map_err(|error| unusable(&error))?.map(|(_, value)| value))
    }

    fn set(&self, key: &str, value: &Value) -> Result<(), Failure> {
        let Some(place) = &self.place else {
            return Err(Failure::internal("this server has no folder for the scope `persistent`")
                .hint("start it with a context root, or use the scope `session`"));
        };
        let _writing = locked(&self.writing);
        let name = file_name(key);
        let set = || -> io::Result<bool> {
            let folder = place.create()?;
            if !folder.join(&name).exists() && std::fs::read_dir(&folder)?.count() >= KEYS {
                return Ok(false);
            }
            let bytes = serde_json::to_vec(&json!({"key": key, "value": value}))?;
            write_whole(&folder, &name, &bytes).map(|()| true)
        };
        match set() {
            Ok(true) => Ok(()),
            Ok(false) => Err(full(&format!("{KEYS} keys"))),
            Err(error) => Err(unusable(&error)),
        }
    }

    fn delete(&self, key: &str) -> Result<bool, Failure> {
        let Some(path) = self.path(key) else {
            return Ok(false);
        };
        match std::fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unusable(&error)),
        }
    }

    fn keys(&self) -> Result<Vec<String>, Failure> {
        let Some(place) = &self.place else {
            return Ok(Vec::new());
        };
        let files = match std::fs::read_dir(place.path()) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unusable(&error)),
        };
        // Files that are not ours, or broken, have no key to show.
        let mut keys: Vec<String> = files
            .filter_map(Result::ok)
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter_map(|path| entry(&path).ok().flatten().map(|(key, _)| key))
            .take(KEYS)
            .collect();
        keys.sort();
        Ok(keys)
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.place.as_ref()?.path().join(file_name(key)))
    }
}

fn file_name(key: &str) -> String {
    format!("{}.json", safe_name(key))
}

/// Key and value of a file.
fn entry(path: &std::path::Path) -> io::Result<Option<(String, Value)>> {
    let Some(bytes) = read_bounded(path, (VALUE_BYTES + FILE_OVERHEAD) as u64)? else {
        return Ok(None);
    };
    let mut entry: Value = serde_json::from_slice(&bytes)?;
    let key = entry["key"].as_str().map(str::to_owned);
    let key = key.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no key in it"))?;
    Ok(Some((key, entry["value"].take())))
}

fn unusable(error: &io::Error) -> Failure {
    // The kind only: the system's text can hold paths, which are not the caller's business.
    Failure::internal(format!("the folder of the scope `persistent` cannot be used: {}", error.kind()))
        .hint("look at the folder that the server was started with, or use the scope `session`")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        KEYS, OpenedSessions, PersistentStore, Place, SESSIONS, Scope, SessionStore, States, VALUE_BYTES,
    };

    /// What both scopes must do.
    fn check_scope(states: &States<'_>, scope: Scope) {
        assert_eq!(states.value(scope, "a").expect("no failure"), None);
        assert_eq!(states.keys(scope).expect("no failure"), [""; 0]);
        states.set(scope, "a", json!(1)).expect("no failure");
        states.set(scope, "a", json!({"b": [2]})).expect("no failure");
        states.set(scope, "../x", Value::Null).expect("no failure");
        assert_eq!(states.value(scope, "a").expect("no failure"), Some(json!({"b": [2]})));
        assert_eq!(states.value(scope, "../x").expect("no failure"), Some(Value::Null));
        assert_eq!(states.keys(scope).expect("no failure"), ["../x", "a"]);
        assert!(states.delete(scope, "a").expect("no failure"));
        assert!(!states.delete(scope, "a").expect("no failure"));
        let large = json!("x".repeat(VALUE_BYTES));
        assert!(states.set(scope, "large", large).is_err());
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(states.set(scope, "deep", deep).is_err());
        assert_eq!(states.keys(scope).expect("no failure"), ["../x"]);
    }

    #[test]
    fn both_scopes_do_the_same_and_only_one_survives() -> std::io::Result<()> {
        let directory = tempfile::tempdir()?;
        let persistent = || {
            PersistentStore::new(Some(Place {
                root: directory.path().to_owned(),
                below: vec!["state".to_owned()],
            }))
        };
        let (session, first) = (SessionStore::default(), persistent());
        let states = States { session: &session, persistent: &first, opened: &OpenedSessions::default() };
        check_scope(&states, Scope::Session);
        check_scope(&states, Scope::Persistent);
        let (session, second) = (SessionStore::default(), persistent());
        let states = States { session: &session, persistent: &second, opened: &OpenedSessions::default() };
        assert_eq!(states.keys(Scope::Session).expect("no failure"), [""; 0]);
        assert_eq!(states.keys(Scope::Persistent).expect("no failure"), ["../x"]);
        assert_eq!(std::fs::read_dir(directory.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn sessions_that_callers_open_share_nothing_and_end_in_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let shared = Place { root: directory.path().to_owned(), below: vec!["sessions".to_owned()] };
        for opened in [OpenedSessions::default(), OpenedSessions::Shared(shared.clone())] {
            let open = || opened.open().expect("a session");
            let (first, second) = (open(), open());
            let (one, other) = (opened.named(&first).expect("it is"), opened.named(&second).expect("it is"));
            other.set("a", json!(2), 1).expect("there is room");
            one.set("a", json!(1), 1).expect("there is room");
            assert_eq!(other.value("a").expect("no failure"), Some(json!(2)));
            assert_eq!(opened.named(&first).expect("it is").value("a").expect("no failure"), Some(json!(1)));
            for nobody in ["nobody", "", "..", "../sessions"] {
                assert!(opened.named(nobody).is_err(), "{nobody}");
            }
            for _ in 2..=SESSIONS {
                open();
            }
            // Folders that were made in one moment may end in any order.
            let is_shared = matches!(opened, OpenedSessions::Shared(_));
            assert!(is_shared || (opened.named(&first).is_err() && opened.named(&second).is_ok()));
        }
        assert_eq!(std::fs::read_dir(shared.path()).expect("a folder").count(), SESSIONS);
    }

    #[test]
    fn sessions_in_a_folder_are_those_of_all_servers_on_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = Place { root: directory.path().to_owned(), below: vec!["sessions".to_owned()] };
        let [one, other] = [place.clone(), place].map(OpenedSessions::Shared);
        let name = one.open().expect("a session");
        one.named(&name).expect("it is").set("a", json!(1), 1).expect("there is room");
        let found = other.named(&name).expect("it is");
        assert_eq!(found.value("a").expect("no failure"), Some(json!(1)));
        assert!(found.delete("a").expect("no failure"));
        assert_eq!(one.named(&name).expect("it is").keys().expect("no failure"), [""; 0]);
    }

    #[test]
    fn a_session_is_bounded() {
        let (session, persistent) = (SessionStore::default(), PersistentStore::new(None));
        let states =
            States { session: &session, persistent: &persistent, opened: &OpenedSessions::default() };
        for key in 0..KEYS {
            states.set(Scope::Session, &key.to_string(), json!(1)).expect("there is room");
        }
        assert!(states.set(Scope::Session, "more", json!(1)).is_err());
        states.set(Scope::Session, "5", json!(2)).expect("it replaces");
        let large = json!("x".repeat(VALUE_BYTES - 2));
        let stored =
            (0..KEYS).take_while(|key| states.set(Scope::Session, &key.to_string(), large.clone()).is_ok());
        assert!(stored.count() < 9);
    }

    #[test]
    fn without_a_folder_nothing_persists() {
        let (session, persistent) = (SessionStore::default(), PersistentStore::new(None));
        let states =
            States { session: &session, persistent: &persistent, opened: &OpenedSessions::default() };
        let failure = states.set(Scope::Persistent, "a", json!(1)).expect_err("no folder");
        assert!(failure.data["hint"].is_string());
        assert_eq!(states.value(Scope::Persistent, "a").expect("no failure"), None);
    }
}
