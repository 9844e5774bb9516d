//! A breadcrumb: named, tagged, versioned JSON.

use serde_json::{Map, Value, json};

/// `schema_name` of an invocation.
pub const INVOCATION: &str = "agent.response.v1";
/// `schema_name` of a tool's answer.
pub const RESPONSE: &str = "tool.response.v1";
/// `schema_name` of a single call behind a translator.
pub const REQUEST: &str = "tool.request.v1";
/// `schema_name` of what a user says.
pub const USER_MESSAGE: &str = "user.message.v1";
/// `schema_name` of a configuration.
pub const CONFIG: &str = "tool.config.v1";
/// `schema_name` of the catalog.
pub const CATALOG: &str = "tool.catalog.v1";

/// How the tag with the session begins.
pub const SESSION: &str = "session:";

/// A breadcrumb as a store holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Crumb {
    /// UUID.
    pub id: String,
    /// From 1; one more with each change.
    pub version: u64,
    /// RFC 3339.
    pub updated_at: String,
    /// `schema_name`, `title`, `tags`, `context` and whatever else its author gave it.
    pub members: Map<String, Value>,
}

impl Crumb {
    /// The name of its schema.
    pub fn schema_name(&self) -> Option<&str> {
        self.members.get("schema_name")?.as_str()
    }

    /// Its tags.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.members.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// All of it.
    pub fn full(&self) -> Value {
        let mut all = Map::new();
        all.insert("id".to_owned(), Value::from(self.id.clone()));
        all.insert("version".to_owned(), Value::from(self.version));
        all.insert("updated_at".to_owned(), Value::from(self.updated_at.clone()));
        // The store keeps these three out of the members.
        all.extend(self.members.clone());
        Value::Object(all)
    }

    /// As lists show it.
    pub fn outline(&self, with_context: bool) -> Value {
        let mut outline = json!({
            "id": self.id, "title": self.members.get("title"), "tags": self.members.get("tags"),
            "schema_name": self.members.get("schema_name"), "version": self.version, "updated_at": self.updated_at,
        });
        if with_context && let Some(context) = self.members.get("context") {
            outline["context"] = context.clone();
        }
        outline
    }

    /// As the event stream reports it.
    pub fn event(&self, owner_id: &str) -> Value {
        json!({
            "type": "breadcrumb.updated", "breadcrumb_id": self.id, "owner_id": owner_id, "version": self.version,
            "tags": self.members.get("tags"), "schema_name": self.members.get("schema_name"),
            "updated_at": self.updated_at, "context": self.members.get("context"),
        })
    }
}
