//! What a `config_id` stands for: a `tool.config.v1` breadcrumb, its key decrypted (`docs/breadcrumbs.md`, "Language
//! models").
//!
//! What cannot be resolved is a failure of the call. Nothing else is used in its place, since that would be somebody
//! else's key.

use serde_json::Value;

use crate::breadcrumb::client::{StoreClient, StoreClientError};
use crate::breadcrumb::tool::{ToolConfig, ToolFailure, shorten};
use crate::breadcrumb::workflow;

const SCHEMA: &str = "tool.config.v1";
const KEY: &str = "apiKeySecretId";
const MODEL: &str = "defaultModel";

/// The configuration of this id, for a call of this tool.
pub(super) async fn resolve(store: &StoreClient, id: &str, tool: &str) -> Result<ToolConfig, ToolFailure> {
    let shown = shorten(id);
    let failure = |text: String| ToolFailure::new(text);
    let breadcrumb = store.full(id).await.map_err(|error| match error.status() {
        Some(404) => failure(format!("there is no configuration `{shown}`")),
        _ => failure(format!("the configuration `{shown}` cannot be had: {error}")),
    })?;
    if breadcrumb.schema_name.as_deref() != Some(SCHEMA) {
        return Err(failure(format!("the breadcrumb `{shown}` is no `{SCHEMA}`")));
    }
    let mut context = breadcrumb.context;
    let mut config = ToolConfig::default();
    if let Some(Value::String(owner)) = context.remove("toolName") {
        if owner != tool && tool != workflow::NAME {
            let owner = shorten(&owner);
            return Err(failure(format!("the configuration `{shown}` is for `{owner}`, not for `{tool}`")));
        }
        config.tool = Some(owner);
    }
    let Some(Value::Object(mut settings)) = context.remove("config") else {
        return Err(failure(format!("the configuration `{shown}` has no `config`")));
    };
    config.model = match settings.remove(MODEL) {
        None | Some(Value::Null) => None,
        Some(Value::String(model)) => Some(model),
        Some(_) => return Err(failure(format!("`{MODEL}` of the configuration `{shown}` is no name"))),
    };
    config.key = match settings.remove(KEY) {
        None | Some(Value::Null) => None,
        Some(Value::String(secret_id)) => {
            let asked = store.secret(&secret_id, &format!("a call of {tool}")).await;
            Some(asked.map_err(|error| failure(without_key(&shown, &error)))?)
        }
        Some(_) => return Err(failure(format!("`{KEY}` of the configuration `{shown}` is no id"))),
    };
    config.settings = settings;
    Ok(config)
}

/// The store's own words are left out: they were said about a secret.
fn without_key(id: &str, error: &StoreClientError) -> String {
    match error.status() {
        Some(status) => format!("the key of the configuration `{id}` cannot be had (status {status})"),
        None => format!("the key of the configuration `{id}` cannot be had"),
    }
}
