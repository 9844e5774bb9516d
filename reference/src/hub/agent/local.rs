//! The local tools: tasks and documents of each customer, kept by the agent itself. No Hub has a part in them.
//!
//! What one customer has is one JSON document, in memory or in a file of its own below `data_dir`.
//! Deliberately absent: a lock between processes that share the directory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::sync::Mutex;

use super::error::AgentError;
use super::failure::CallFailure;
use super::ids::{Uuid, new_id};
use super::tool::LocalTool;

/// How much a customer may keep, written as JSON.
const WORKSPACE_BYTES: usize = 4 * 1024 * 1024;
/// For how many customers something is kept in memory.
const WORKSPACES: usize = 1000;
/// Who owns what is kept for no customer; it is no UUID.
const NOBODY: &str = "default";

/// What a customer has.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Workspace {
    tasks: Vec<MissionTask>,
    documents: Vec<Document>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MissionTask {
    #[serde(rename = "task_id")]
    id: String,
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_date: Option<String>,
    status: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    #[serde(rename = "document_id")]
    id: String,
    title: String,
    content: String,
}

/// Everything that local tools keep.
pub(super) struct Workspaces {
    directory: Option<PathBuf>,
    /// Workspaces as JSON where there is no directory; locked while a tool works, in both cases.
    kept: Mutex<HashMap<String, Vec<u8>>>,
}

impl Workspaces {
    pub(super) fn new(directory: Option<PathBuf>) -> Result<Self, AgentError> {
        if let Some(directory) = &directory {
            std::fs::create_dir_all(directory)
                .map_err(|source| AgentError::Store { directory: directory.clone(), source })?;
        }
        Ok(Self { directory, kept: Mutex::default() })
    }

    /// Runs a local tool for a customer, whose inputs were checked.
    pub(super) async fn run(
        &self,
        tool: LocalTool,
        customer: Option<&Uuid>,
        inputs: &Map<String, Value>,
    ) -> Result<Value, CallFailure> {
        // Two spellings of a UUID are one customer; only hexadecimal digits and hyphens get into a file name.
        let owner = customer.map_or(NOBODY.to_owned(), |customer| customer.as_str().to_ascii_lowercase());
        let mut kept = self.kept.lock().await;
        let mut workspace = self.load(&kept, &owner).await?;
        match tool {
            LocalTool::ListTasks => Ok(json!({"tasks": workspace.tasks})),
            LocalTool::ReadDocument => workspace.document(&text(inputs, "document_id").unwrap_or_default()),
            LocalTool::CreateTask => {
                let result = workspace.add_task(inputs);
                self.save(&mut kept, &owner, &workspace).await?;
                Ok(result)
            }
            LocalTool::CreateDocument => {
                let result = workspace.add_document(inputs);
                self.save(&mut kept, &owner, &workspace).await?;
                Ok(result)
            }
        }
    }

    async fn load(&self, kept: &HashMap<String, Vec<u8>>, owner: &str) -> Result<Workspace, CallFailure> {
        let bytes = match &self.directory {
            None => kept.get(owner).map(|bytes| Ok(bytes.as_slice().into())),
            Some(directory) => read_file(&directory.join(file_name(owner))).await.transpose(),
        };
        match bytes {
            None => Ok(Workspace::default()),
            Some(bytes) => {
                let bytes: Cow<'_, [u8]> = bytes.map_err(|error| failed(&error))?;
                serde_json::from_slice(&bytes).map_err(|error| failed(&error))
            }
        }
    }

    async fn save(
        &self,
        kept: &mut HashMap<String, Vec<u8>>,
        owner: &str,
        workspace: &Workspace,
    ) -> Result<(), CallFailure> {
        let bytes = serde_json::to_vec(workspace).map_err(|error| failed(&error))?;
        if bytes.len() > WORKSPACE_BYTES {
            return Err(CallFailure::Full { limit: WORKSPACE_BYTES });
        }
        let Some(directory) = &self.directory else {
            if kept.len() >= WORKSPACES && !kept.contains_key(owner) {
                return Err(CallFailure::Store { reason: "there are too many customers".to_owned() });
            }
            kept.insert(owner.to_owned(), bytes);
            return Ok(());
        };
        // Written beside and moved into place, so that no reader and no crash meets half a file.
        let (path, beside) = (directory.join(file_name(owner)), directory.join(format!("{owner}.new")));
        tokio::fs::write(&beside, bytes).await.map_err(|error| failed(&error))?;
        tokio::fs::rename(&beside, &path).await.map_err(|error| failed(&error))
    }
}

impl Workspace {
    fn add_task(&mut self, inputs: &Map<String, Value>) -> Value {
        let task = MissionTask {
            id: new_id("task"),
            title: text(inputs, "title").unwrap_or_default(),
            description: text(inputs, "description"),
            due_date: text(inputs, "due_date"),
            status: "open".to_owned(),
        };
        let result = json!(task);
        self.tasks.push(task);
        result
    }

    fn add_document(&mut self, inputs: &Map<String, Value>) -> Value {
        let document = Document {
            id: new_id("doc"),
            title: text(inputs, "title").unwrap_or_default(),
            content: text(inputs, "content").unwrap_or_default(),
        };
        let result = json!({"document_id": document.id, "title": document.title});
        self.documents.push(document);
        result
    }

    fn document(&self, document_id: &str) -> Result<Value, CallFailure> {
        let found = self.documents.iter().find(|document| document.id == document_id);
        found.map(|document| json!(document)).ok_or(CallFailure::NotFound { what: "document" })
    }
}

/// A workspace's file, where there is one. A larger one than we write is cut, and then no JSON.
async fn read_file(path: &Path) -> std::io::Result<Option<Cow<'static, [u8]>>> {
    let file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(WORKSPACE_BYTES as u64).read_to_end(&mut bytes).await?;
    Ok(Some(bytes.into()))
}

fn text(inputs: &Map<String, Value>, name: &str) -> Option<String> {
    inputs.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn file_name(owner: &str) -> String {
    format!("{owner}.json")
}

fn failed(error: &dyn std::error::Error) -> CallFailure {
    CallFailure::Store { reason: error.to_string() }
}
