//! `breadcrumb-create`, `breadcrumb-update` and `breadcrumb-search`: the store as tools.
//!
//! A failure is an error of the call; no output says `success: false` (Standard, "Error handling").

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::parts::{definition, text};
use crate::breadcrumb::client::{Breadcrumb, ListQuery, SearchQuery, StoreClient, StoreClientError};
use crate::breadcrumb::tool::{Tool, ToolCall, ToolDefinition, ToolFailure};

/// How many breadcrumbs a search may find.
const MOST_FOUND: u32 = 100;
const FOUND: u32 = 10;

/// Stores a breadcrumb.
#[derive(Debug)]
pub struct Create {
    definition: ToolDefinition,
    store: StoreClient,
}

impl Create {
    /// The tool `breadcrumb-create` of this store.
    pub fn new(store: StoreClient) -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "schema_name": {"type": "string", "description": "what its context is, for instance `memo.v1`"},
                "title": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                "context": {"type": "object", "default": {}, "description": "what it says"},
            },
            "required": ["title"],
        });
        let output = json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "success": {"const": true}},
            "required": ["id", "success"],
        });
        let description = "Stores a new breadcrumb and gives its id.";
        Self { definition: definition("breadcrumb-create", "breadcrumb", description, input, output), store }
    }
}

impl Tool for Create {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(async move {
            let mut breadcrumb = call.input;
            breadcrumb.entry("tags").or_insert_with(|| json!([]));
            breadcrumb.entry("context").or_insert_with(|| json!({}));
            let id = self.store.create(&Value::Object(breadcrumb)).await.map_err(|error| failure(&error))?;
            Ok(json!({"id": id, "success": true}))
        })
    }
}

/// Changes a breadcrumb.
#[derive(Debug)]
pub struct Update {
    definition: ToolDefinition,
    store: StoreClient,
}

impl Update {
    /// The tool `breadcrumb-update` of this store.
    pub fn new(store: StoreClient) -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "breadcrumb_id": {"type": "string", "minLength": 1},
                "updates": {
                    "type": "object",
                    "properties": {
                        "schema_name": {"type": "string"},
                        "title": {"type": "string"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "context": {"type": "object"},
                    },
                    "description": "the members that get another value",
                },
                "version": {
                    "type": "integer", "minimum": 1,
                    "description": "the version to be changed; it is an error when there is a newer one",
                },
            },
            "required": ["breadcrumb_id", "updates"],
        });
        let output = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "success": {"const": true},
                "new_version": {"type": "integer"},
            },
            "required": ["id", "success", "new_version"],
        });
        let description = "Changes some members of a breadcrumb and gives its new version.";
        Self { definition: definition("breadcrumb-update", "breadcrumb", description, input, output), store }
    }
}

impl Tool for Update {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(async move {
            let id = text(&call.input, "breadcrumb_id");
            let updates = call.input.get("updates").cloned().unwrap_or_else(|| json!({}));
            let version = call.input.get("version").and_then(Value::as_i64);
            self.store.patch(id, &updates, version).await.map_err(|error| match error.status() {
                Some(404) => ToolFailure::new(format!("there is no breadcrumb `{id}`")),
                Some(412) => ToolFailure::new(format!("the breadcrumb `{id}` has another version")),
                _ => failure(&error),
            })?;
            // What the store has now, which someone else may have changed in between.
            let version = self.store.full(id).await.map_err(|error| failure(&error))?.version;
            Ok(json!({"id": id, "success": true, "new_version": version}))
        })
    }
}

/// Finds breadcrumbs.
#[derive(Debug)]
pub struct Search {
    definition: ToolDefinition,
    store: StoreClient,
}

impl Search {
    /// The tool `breadcrumb-search` of this store.
    pub fn new(store: StoreClient) -> Self {
        let input = json!({
            "type": "object",
            "properties": {
                "tag": {"type": "string", "description": "only breadcrumbs with this tag"},
                "schema_name": {"type": "string", "description": "only breadcrumbs of this schema"},
                "query": {"type": "string", "description": "words to be found; the best come first"},
                "nn": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "description": "as `limit`, for a `query`"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FOUND},
            },
        });
        let output = json!({
            "type": "object",
            "properties": {
                "breadcrumbs": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string"},
                            "title": {"type": "string"},
                            "tags": {"type": "array", "items": {"type": "string"}},
                            "schema_name": {"type": ["string", "null"]},
                            "version": {"type": "integer"},
                            "context": {"type": "object"},
                        },
                        "required": ["id", "title", "tags"],
                    },
                },
                "count": {"type": "integer", "minimum": 0},
            },
            "required": ["breadcrumbs", "count"],
        });
        let description = "Finds breadcrumbs by tag, schema or words; without words the newest come first.";
        Self { definition: definition("breadcrumb-search", "breadcrumb", description, input, output), store }
    }

    async fn found(&self, input: &Map<String, Value>) -> Result<Vec<Breadcrumb>, StoreClientError> {
        let given = |name: &str| Some(text(input, name)).filter(|text| !text.is_empty()).map(str::to_owned);
        let number = |name: &str| {
            input.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
        };
        let (tag, schema_name) = (given("tag"), given("schema_name"));
        if let Some(text) = given("query") {
            let nearest = number("nn").or(number("limit")).or(Some(FOUND));
            self.store.search(&SearchQuery { text, nearest, tag, schema_name }).await
        } else {
            let limit = number("limit").or(number("nn")).or(Some(FOUND));
            self.store.list(&ListQuery { tag, schema_name, limit, offset: 0 }).await
        }
    }
}

impl Tool for Search {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(async move {
            let found = self.found(&call.input).await.map_err(|error| failure(&error))?;
            let breadcrumbs: Vec<_> = found
                .into_iter()
                .map(|found| {
                    json!({
                        "id": found.id,
                        "title": found.title,
                        "tags": found.tags,
                        "schema_name": found.schema_name,
                        "version": found.version,
                        "context": found.context,
                    })
                })
                .collect();
            Ok(json!({"count": breadcrumbs.len(), "breadcrumbs": breadcrumbs}))
        })
    }
}

fn failure(error: &StoreClientError) -> ToolFailure {
    ToolFailure::new(error.to_string())
}
