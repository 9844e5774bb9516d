//! A breadcrumb as the store keeps it, what a client may send of one, and the forms in which it is answered.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What only the store says; a client's own are passed over.
const RESERVED: [&str; 6] = ["id", "version", "owner_id", "created_at", "updated_at", "type"];

/// An id for a breadcrumb or an owner.
pub(super) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// One version of a breadcrumb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(super) id: String,
    pub(super) version: i64,
    pub(super) parts: Parts,
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

/// What its writers decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    pub(super) schema_name: Option<String>,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    pub(super) context: Map<String, Value>,
    /// All other members, in their order.
    pub(super) more: Map<String, Value>,
}

impl Parts {
    /// Reads the body of a creation; the error says what is wrong with it.
    pub(super) fn read(body: Map<String, Value>) -> Result<Self, String> {
        let missing = |name: &str| format!("`{name}` is missing");
        for name in ["title", "tags", "context"] {
            if !body.contains_key(name) {
                return Err(missing(name));
            }
        }
        let mut parts = Self {
            schema_name: None,
            title: String::new(),
            tags: Vec::new(),
            context: Map::new(),
            more: Map::new(),
        };
        parts.change(body)?;
        Ok(parts)
    }

    /// Puts these members in the place of its own; after an error it is not to be used.
    pub(super) fn change(&mut self, members: Map<String, Value>) -> Result<(), String> {
        for (name, value) in members {
            match (name.as_str(), value) {
                (name, _) if RESERVED.contains(&name) => {}
                ("title", Value::String(title)) => self.title = title,
                ("title", _) => return Err("`title` is no string".to_owned()),
                ("schema_name", Value::String(schema_name)) => self.schema_name = Some(schema_name),
                ("schema_name", Value::Null) => self.schema_name = None,
                ("schema_name", _) => return Err("`schema_name` is no string".to_owned()),
                ("tags", tags) => {
                    self.tags = strings(tags).ok_or("`tags` is no array of strings")?;
                }
                ("context", Value::Object(context)) => self.context = context,
                ("context", _) => return Err("`context` is no object".to_owned()),
                (_, value) => {
                    self.more.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// The text in which it is searched: title, tags, and every string of the context with the names of its members.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut add = |part: &str| {
            text.push_str(part);
            text.push('\n');
        };
        add(&self.title);
        self.tags.iter().for_each(|tag| add(tag));
        let mut open: Vec<&Value> = Vec::new();
        for (name, value) in &self.context {
            add(name);
            open.push(value);
        }
        // A loop, so that deep nesting costs no stack.
        while let Some(value) = open.pop() {
            match value {
                Value::String(string) => add(string),
                Value::Number(number) => add(&number.to_string()),
                Value::Array(items) => open.extend(items),
                Value::Object(members) => {
                    for (name, member) in members {
                        add(name);
                        open.push(member);
                    }
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
        text
    }
}

fn strings(value: Value) -> Option<Vec<String>> {
    let Value::Array(items) = value else { return None };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(string) => Some(string),
            _ => None,
        })
        .collect()
}

impl Record {
    /// With all its members.
    pub(super) fn full(&self) -> Value {
        let mut full = self.listed(true);
        if let Some(members) = full.as_object_mut() {
            members.insert("created_at".to_owned(), json!(self.created_at));
            for (name, value) in &self.parts.more {
                members.insert(name.clone(), value.clone());
            }
        }
        full
    }

    /// As an entry of a list.
    pub(super) fn listed(&self, with_context: bool) -> Value {
        let mut listed = json!({
            "id": self.id,
            "title": self.parts.title,
            "tags": self.parts.tags,
            "schema_name": self.parts.schema_name,
            "version": self.version,
            "updated_at": self.updated_at,
        });
        if with_context {
            listed["context"] = Value::Object(self.parts.context.clone());
        }
        listed
    }

    /// As the event that is published when it is new or changed.
    pub(super) fn event(&self, owner_id: &str) -> Value {
        json!({
            "type": "breadcrumb.updated",
            "breadcrumb_id": self.id,
            "owner_id": owner_id,
            "version": self.version,
            "tags": self.parts.tags,
            "schema_name": self.parts.schema_name,
            "updated_at": self.updated_at,
            "context": self.parts.context,
        })
    }
}

/// Now, in the form of `updated_at`.
pub(super) fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Parts;

    fn members(value: Value) -> serde_json::Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn what_a_breadcrumb_needs_has_its_type() {
        fn check(body: Value, expect: Option<&str>) {
            let read = Parts::read(members(body));
            match expect {
                None => assert!(read.is_ok(), "{read:?}"),
                Some(name) => assert!(read.as_ref().is_err_and(|text| text.contains(name)), "{read:?}"),
            }
        }
        check(json!({"title": "", "tags": [], "context": {}}), None);
        check(json!({"title": "t", "tags": ["a"], "context": {}, "schema_name": "memo.v1", "ttl": 3}), None);
        check(json!({"tags": [], "context": {}}), Some("title"));
        check(json!({"title": 1, "tags": [], "context": {}}), Some("title"));
        check(json!({"title": "t", "context": {}}), Some("tags"));
        check(json!({"title": "t", "tags": "a", "context": {}}), Some("tags"));
        check(json!({"title": "t", "tags": [1], "context": {}}), Some("tags"));
        check(json!({"title": "t", "tags": []}), Some("context"));
        check(json!({"title": "t", "tags": [], "context": "c"}), Some("context"));
        check(json!({"title": "t", "tags": [], "context": {}, "schema_name": 1}), Some("schema_name"));
    }

    #[test]
    fn a_change_leaves_the_rest_and_what_only_the_store_says() {
        let body = json!({"title": "t", "tags": ["a"], "context": {"n": 1}, "ttl": 3});
        let mut parts = Parts::read(members(body)).expect("parts");
        parts.change(members(json!({"title": "u", "version": 9, "ttl": null}))).expect("a change");
        assert_eq!((parts.title.as_str(), parts.tags.len()), ("u", 1));
        assert_eq!(Value::Object(parts.context), json!({"n": 1}));
        assert_eq!(Value::Object(parts.more), json!({"ttl": null}));
    }
}
