//! What the suite's store holds: breadcrumbs with their versions, secrets, and who listens.
//!
//! No I/O: `store` serves it over HTTP, `lines` on standard input and output.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::crumb::Crumb;
use crate::transcript::lock;

/// Owner of everything in the suite's store.
pub const OWNER: &str = "0b6d2b1f-7e11-4c0e-9a58-3f0c1b6e5d1a";
/// Breadcrumbs that are kept; older ones make room.
const MAX_CRUMBS: usize = 20_000;
/// Earlier versions of a breadcrumb that are kept.
const MAX_EARLIER: usize = 100;
/// Events that a slow listener may be behind.
const BACKLOG: usize = 4_096;

/// Why the store refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `title`, `tags` or `context` is missing or of another type.
    Shape(&'static str),
    /// The idempotency key was used.
    Repeated,
    /// There is no such breadcrumb.
    Unknown,
    /// It has another version.
    Version,
}

/// Which breadcrumbs a list is of.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// With this tag.
    pub tag: Option<String>,
    /// Of this schema.
    pub schema_name: Option<String>,
    /// With one of these words, best first.
    pub words: Vec<String>,
    /// Not these many first ones.
    pub offset: usize,
    /// At most these many.
    pub limit: usize,
}

/// The store's content.
pub struct InMemoryStore {
    held: Mutex<Held>,
    events: broadcast::Sender<Arc<Crumb>>,
    listeners: watch::Sender<usize>,
    ids: AtomicU64,
}

#[derive(Default)]
struct Held {
    /// Shared with whoever listens.
    crumbs: HashMap<String, Arc<Crumb>>,
    order: VecDeque<String>,
    /// Earlier versions of those that were changed, oldest first.
    earlier: HashMap<String, VecDeque<Arc<Crumb>>>,
    keys: BTreeMap<String, String>,
    secrets: BTreeMap<String, (String, String)>,
}

impl Default for InMemoryStore {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            events: broadcast::Sender::new(BACKLOG),
            listeners: watch::Sender::new(0),
            ids: AtomicU64::new(1),
        }
    }
}

impl InMemoryStore {
    /// A fresh UUID.
    pub fn fresh_id(&self) -> String {
        let number = self.ids.fetch_add(1, Ordering::Relaxed);
        let now = Timestamp::now().as_nanosecond().unsigned_abs();
        format!("{:08x}-{:04x}-4a11-8b0c-{number:012x}", (now >> 16) & 0xffff_ffff, now & 0xffff)
    }

    /// Stores a breadcrumb under an id, and sends it to whoever listens.
    ///
    /// # Errors
    /// What is wrong with it, or that its key was used.
    pub fn put(&self, id: String, body: &Value, key: Option<&str>) -> Result<Arc<Crumb>, Refused> {
        let members = body.as_object().ok_or(Refused::Shape("the body is no JSON object"))?;
        check(members, true)?;
        let mut members = members.clone();
        for name in ["id", "version", "updated_at"] {
            members.shift_remove(name);
        }
        let crumb = Arc::new(Crumb { id, version: 1, updated_at: Timestamp::now().to_string(), members });
        {
            let mut held = lock(&self.held);
            if let Some(key) = key {
                if held.keys.contains_key(key) {
                    return Err(Refused::Repeated);
                }
                held.keys.insert(key.to_owned(), crumb.id.clone());
            }
            held.crumbs.insert(crumb.id.clone(), Arc::clone(&crumb));
            held.order.push_back(crumb.id.clone());
            if held.order.len() > MAX_CRUMBS
                && let Some(oldest) = held.order.pop_front()
            {
                held.crumbs.remove(&oldest);
                held.earlier.remove(&oldest);
            }
        }
        // Nobody may be listening.
        let _ = self.events.send(Arc::clone(&crumb));
        Ok(crumb)
    }

    /// Whether something was stored under an idempotency key.
    pub fn knows_key(&self, key: &str) -> bool {
        lock(&self.held).keys.contains_key(key)
    }

    /// Changes a breadcrumb.
    ///
    /// # Errors
    /// It is not there, has another version, or would lose its shape.
    pub fn patch(&self, id: &str, changes: &Value, version: Option<u64>) -> Result<Arc<Crumb>, Refused> {
        self.update(id, version, |_| Ok(changes.clone()))
    }

    /// As [`InMemoryStore::patch`], with changes that follow from what the breadcrumb is at that moment.
    ///
    /// # Errors
    /// Likewise.
    pub fn update(
        &self,
        id: &str,
        version: Option<u64>,
        changes: impl FnOnce(&Crumb) -> Result<Value, Refused>,
    ) -> Result<Arc<Crumb>, Refused> {
        let crumb = {
            let mut guard = lock(&self.held);
            let held = &mut *guard;
            let stored = held.crumbs.get_mut(id).ok_or(Refused::Unknown)?;
            if version.is_some_and(|version| version != stored.version) {
                return Err(Refused::Version);
            }
            let changes = changes(stored)?;
            let changes = changes.as_object().ok_or(Refused::Shape("the body is no JSON object"))?;
            check(changes, false)?;
            let earlier = held.earlier.entry(id.to_owned()).or_default();
            earlier.push_back(Arc::clone(stored));
            if earlier.len() > MAX_EARLIER {
                earlier.pop_front();
            }
            let crumb = Arc::make_mut(stored);
            for (name, value) in changes {
                if !["id", "version", "updated_at"].contains(&name.as_str()) {
                    crumb.members.insert(name.clone(), value.clone());
                }
            }
            crumb.version += 1;
            crumb.updated_at = Timestamp::now().to_string();
            Arc::clone(stored)
        };
        let _ = self.events.send(Arc::clone(&crumb));
        Ok(crumb)
    }

    /// Takes a breadcrumb out. No event is sent.
    ///
    /// # Errors
    /// It is not there.
    pub fn remove(&self, id: &str) -> Result<(), Refused> {
        let mut held = lock(&self.held);
        held.crumbs.remove(id).ok_or(Refused::Unknown)?;
        held.earlier.remove(id);
        held.order.retain(|own| own != id);
        Ok(())
    }

    /// The versions of a breadcrumb that are kept, oldest first and the present one last; none where it is not there.
    pub fn history(&self, id: &str) -> Vec<Arc<Crumb>> {
        let held = lock(&self.held);
        let Some(present) = held.crumbs.get(id) else { return Vec::new() };
        held.earlier.get(id).into_iter().flatten().chain([present]).cloned().collect()
    }

    /// A breadcrumb.
    pub fn find(&self, id: &str) -> Option<Arc<Crumb>> {
        lock(&self.held).crumbs.get(id).cloned()
    }

    /// Newest first, or best first where words are looked for.
    pub fn list(&self, filter: &Filter) -> Vec<Arc<Crumb>> {
        let held = lock(&self.held);
        let fits = |crumb: &&Arc<Crumb>| {
            filter.tag.as_ref().is_none_or(|tag| crumb.tags().any(|own| own == tag))
                && filter.schema_name.as_deref().is_none_or(|name| crumb.schema_name() == Some(name))
        };
        let newest = held.order.iter().rev().filter_map(|id| held.crumbs.get(id)).filter(fits);
        if filter.words.is_empty() {
            return newest.skip(filter.offset).take(filter.limit).cloned().collect();
        }
        let mut ranked: Vec<(usize, &Arc<Crumb>)> = newest
            .filter_map(|crumb| {
                let text = crumb.full().to_string().to_lowercase();
                let hits = filter.words.iter().filter(|word| text.contains(word.as_str())).count();
                (hits > 0).then_some((hits, crumb))
            })
            .collect();
        ranked.sort_by_key(|(hits, _)| std::cmp::Reverse(*hits));
        ranked
            .into_iter()
            .skip(filter.offset)
            .take(filter.limit)
            .map(|(_, crumb)| Arc::clone(crumb))
            .collect()
    }

    /// Keeps a secret.
    pub fn keep_secret(&self, id: &str, name: &str, value: &str) {
        lock(&self.held).secrets.insert(id.to_owned(), (name.to_owned(), value.to_owned()));
    }

    /// A secret's value.
    pub fn secret(&self, id: &str) -> Option<String> {
        lock(&self.held).secrets.get(id).map(|(_, value)| value.clone())
    }

    /// Ids and names of all secrets.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let held = lock(&self.held);
        held.secrets.iter().map(|(id, (name, _))| (id.clone(), name.clone())).collect()
    }

    /// Everything that happens from now on. The listener counts until it is dropped.
    pub fn listen(self: &Arc<Self>) -> Listener {
        let events = self.events.subscribe();
        self.listeners.send_modify(|count| *count += 1);
        Listener { events, contents: Arc::clone(self) }
    }

    /// How many listen.
    pub fn listeners(&self) -> watch::Receiver<usize> {
        self.listeners.subscribe()
    }
}

/// Somebody who listens.
pub struct Listener {
    events: broadcast::Receiver<Arc<Crumb>>,
    contents: Arc<InMemoryStore>,
}

impl Listener {
    /// The next new or changed breadcrumb; nothing for a listener that fell too far behind.
    pub async fn next(&mut self) -> Option<Arc<Crumb>> {
        self.events.recv().await.ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.contents.listeners.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Whether members have the types that a store asks for.
fn check(members: &Map<String, Value>, all: bool) -> Result<(), Refused> {
    let there = |name: &str| members.get(name);
    let is_text = |value: &Value| value.is_string();
    let is_list = |value: &Value| value.as_array().is_some_and(|tags| tags.iter().all(Value::is_string));
    if !there("title").map_or(!all, is_text) {
        return Err(Refused::Shape("`title` must be a string"));
    }
    if !there("tags").map_or(!all, is_list) {
        return Err(Refused::Shape("`tags` must be an array of strings"));
    }
    if all && there("context").is_none() {
        return Err(Refused::Shape("`context` is missing"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn memo(title: &str) -> Value {
        json!({"schema_name": "memo.v1", "title": title, "tags": ["memo"], "context": {"text": "ok"}})
    }

    #[tokio::test]
    async fn a_listener_receives_what_comes_after_it() {
        let contents = Arc::new(InMemoryStore::default());
        contents.put(contents.fresh_id(), &memo("before"), None).expect("a sound breadcrumb");
        let mut listener = contents.listen();
        assert_eq!(*contents.listeners().borrow(), 1);
        let after = contents.put(contents.fresh_id(), &memo("after"), None).expect("a sound breadcrumb");
        assert_eq!(listener.next().await, Some(after.clone()));
        let changed = contents.patch(&after.id, &json!({"title": "later"}), Some(1)).expect("a sound change");
        assert_eq!((changed.version, listener.next().await), (2, Some(changed.clone())));
        drop(listener);
        assert_eq!(*contents.listeners().borrow(), 0);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let contents = InMemoryStore::default();
        let put = |body: &Value, key| contents.put(contents.fresh_id(), body, key).map(|_| ());
        assert_eq!(put(&memo("a"), Some("key")), Ok(()));
        assert_eq!(put(&memo("a"), Some("key")), Err(Refused::Repeated));
        assert!(matches!(put(&json!({"title": "a", "tags": []}), None), Err(Refused::Shape(_))));
        assert!(matches!(put(&json!([]), None), Err(Refused::Shape(_))));
        assert_eq!(contents.patch("none", &json!({}), None), Err(Refused::Unknown));
        let id = contents.list(&Filter { limit: 1, ..Filter::default() })[0].id.clone();
        assert_eq!(contents.patch(&id, &json!({}), Some(7)), Err(Refused::Version));
    }

    #[test]
    fn a_breadcrumb_has_a_history_until_it_is_taken_out() {
        let contents = InMemoryStore::default();
        let id =
            contents.put("given-id".to_owned(), &memo("first"), None).expect("a sound breadcrumb").id.clone();
        contents.patch(&id, &json!({"title": "second"}), None).expect("a sound change");
        let titles = |id: &str| -> Vec<(u64, Value)> {
            contents.history(id).iter().map(|crumb| (crumb.version, crumb.members["title"].clone())).collect()
        };
        assert_eq!((id.as_str(), titles(&id)), ("given-id", vec![(1, json!("first")), (2, json!("second"))]));
        assert_eq!(contents.remove(&id), Ok(()));
        assert_eq!((titles(&id), contents.remove(&id)), (Vec::new(), Err(Refused::Unknown)));
    }

    #[test]
    fn lists_are_newest_first_and_searches_best_first() {
        let contents = InMemoryStore::default();
        for title in ["pump log", "pump", "log of the pump room"] {
            contents.put(contents.fresh_id(), &memo(title), None).expect("a sound breadcrumb");
        }
        let titles = |filter: &Filter| -> Vec<String> {
            contents
                .list(filter)
                .iter()
                .map(|crumb| crumb.members["title"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let all = Filter { tag: Some("memo".to_owned()), limit: 10, ..Filter::default() };
        assert_eq!(titles(&all), ["log of the pump room", "pump", "pump log"]);
        let words =
            Filter { words: vec!["pump".to_owned(), "room".to_owned()], limit: 2, ..Filter::default() };
        assert_eq!(titles(&words), ["log of the pump room", "pump"]);
    }
}
