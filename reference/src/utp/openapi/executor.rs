//! One call of a Jina tool: row, options, keys, exchange, answer.
//!
//! Everything around it, from the command to the report, is `tool_service`'s.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::environment::Environment;
use crate::log::Log;
use crate::secret::Secret;
use crate::utp::message::{ErrorCode, ToolRow};
use crate::utp::platform::{Platform, PlatformError, attempt};
use crate::utp::subject::{CommandSubject, ProjectId};
use crate::utp::tool_service::{Call, Executor, Form, ToolFailure, ToolOutput};

use super::options::{JinaOptions, KeyVariable};
use super::redact::Redactor;
use super::upstream::Exchange;
use super::{answer, request};

const AUTHOR: &str = "tool.openapi";

/// What all calls share.
pub(super) struct Parts {
    pub(super) platform: Arc<dyn Platform>,
    pub(super) delivery_deadline: Duration,
    pub(super) exchange: Exchange,
    pub(super) environment: Environment,
    pub(super) env_overrides: BTreeMap<String, String>,
    pub(super) log: Log,
}

/// Runs Jina tools.
pub(super) struct Jina {
    parts: Arc<Parts>,
}

impl Jina {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }
}

impl Executor for Jina {
    fn author(&self) -> &'static str {
        AUTHOR
    }

    fn form(&self) -> Form {
        Form::TOOL
    }

    fn tool_name(&self, subject: &CommandSubject) -> String {
        subject.rest.clone()
    }

    fn run(&self, call: Call) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let parts = Arc::clone(&self.parts);
        async move { parts.run(call).await }.boxed()
    }
}

impl Parts {
    async fn run(&self, call: Call) -> Result<ToolOutput, ToolFailure> {
        let row = self.row(&call.subject.project_id, &call.tool_name).await?;
        let options = JinaOptions::read(&row.options)?;
        let key = self.key(&options.key)?;
        let injected = self.injected(&options.envs)?;
        let redactor = Redactor::new(key.iter().chain(injected.iter().map(|(_, secret)| secret)));
        let ask = request::ask(&options, call.arguments, injected, key)?;
        let host = ask.address.host_str().unwrap_or_default();
        let answer = self.exchange.send(&ask).await.inspect_err(|failure| {
            (self.log)(&format!("`{host}`: {}", failure.message));
        })?;
        (self.log)(&format!("`{host}` answered {} in {} ms", answer.status, answer.latency.as_millis()));
        answer::read(&answer, &redactor)
    }

    async fn row(&self, project_id: &ProjectId, tool_name: &str) -> Result<ToolRow, ToolFailure> {
        attempt(self.delivery_deadline, || self.platform.tool(project_id, tool_name)).await.map_err(|error| {
            match error {
                PlatformError::Refused { status: 404, .. } => ToolFailure::new(
                    ErrorCode::BadRequest,
                    format!("the tool `{tool_name}` is not registered"),
                )
                .with_detail(json!({"field": "tool_name"})),
                error => ToolFailure::new(
                    ErrorCode::UpstreamUnavailable,
                    format!("the tool's row cannot be read: {error}"),
                ),
            }
        })
    }

    /// The key of the upstream; `None` where none is required.
    fn key(&self, variable: &KeyVariable) -> Result<Option<Secret>, ToolFailure> {
        match self.environment.get(&variable.name) {
            None if variable.is_named => Err(unset("options.jina.auth_env", &variable.name)),
            key => Ok(key),
        }
    }

    /// The values of `options.envs`, the service's own variable in the place of the row's where it names one.
    fn injected(&self, envs: &BTreeMap<String, String>) -> Result<Vec<(String, Secret)>, ToolFailure> {
        let value = |(parameter, registered): (&String, &String)| {
            let variable = self.env_overrides.get(parameter).unwrap_or(registered);
            let secret = self
                .environment
                .get(variable)
                .ok_or_else(|| unset(&format!("options.envs.{parameter}"), variable))?;
            Ok((parameter.clone(), secret))
        };
        envs.iter().map(value).collect()
    }
}

fn unset(field: &str, variable: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::AuthFailed, format!("the variable `{variable}` is not set"))
        .with_detail(json!({"field": field, "variable": variable}))
}
