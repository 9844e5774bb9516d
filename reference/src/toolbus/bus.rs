//! One call, from its arguments to its envelope. No MCP here: `server` translates.
//!
//! The order is the contract's promise: check, run, **redact, then shape**, store, bound, envelope, artifacts.
//! Redaction comes first because shaping cuts off the keys by which secrets are known. What is stored is the
//! shaped result before it is bounded; what is shown and kept on disk is bounded. A call that fails stores nothing.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::arguments::{self, Arguments, Semantic};
use super::artifacts::ArtifactStore;
use super::bound::{RESULT_BYTES, bound};
use super::config::Config;
use super::envelope::{CallEnding, Envelope, Uris};
use super::failure::{Failure, NextAction, nearest, shown_name};
use super::ids::random_hex;
use super::redact::{REDACTED, redact, redact_arguments};
use super::state::{OpenedSessions, PersistentStore, Place, SESSION, SessionStore, States};
use super::tools;
use super::tools::tool::{BusTool, Call};

/// The most of the arguments that the text artifact shows, in bytes of JSON.
const ARGUMENTS_BYTES: usize = 32 * 1024;
/// The most of an error's data that is sent and kept, in bytes of JSON.
const ERROR_BYTES: usize = 16 * 1024;
/// The folder of the scope `persistent` below the root, where none is configured.
const STATE_FOLDER: &str = "state";
/// The folder in that one of the sessions that several servers share.
const SESSIONS_FOLDER: &str = "sessions";

/// What all sessions of a server share.
pub(crate) struct Bus {
    tools: Vec<Box<dyn BusTool>>,
    artifacts: Option<ArtifactStore>,
    persistent: PersistentStore,
    opened: OpenedSessions,
}

/// A result on its way to the envelope.
struct Done {
    /// What the artifacts show.
    kept: Value,
    /// What the caller sees when the tool's break-glass flag was set.
    revealed: Option<Value>,
    next_actions: Vec<NextAction>,
}

impl Bus {
    pub(crate) fn new(config: &Config) -> Self {
        let configured = config.state_dir.clone().map(|root| Place { root, below: Vec::new() });
        let below_root = || Some(Place { root: config.root.clone()?, below: vec![STATE_FOLDER.to_owned()] });
        let place = configured.or_else(below_root);
        let shared = place.as_ref().filter(|_| config.shares_sessions);
        Self {
            tools: tools::all(),
            artifacts: config.root.clone().map(|root| ArtifactStore::new(root, Arc::clone(&config.log))),
            opened: match shared {
                Some(place) => OpenedSessions::Shared(place.within(SESSIONS_FOLDER)),
                None => OpenedSessions::default(),
            },
            persistent: PersistentStore::new(place),
        }
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &dyn BusTool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// Serves one call: the envelope, or the failure with the call's trace and artifacts in its data.
    ///
    /// It waits for the tool and for the disk.
    pub(crate) fn call(
        &self,
        session: &SessionStore,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Value, Failure> {
        let started = Instant::now();
        let tool = self.tools().find(|tool| tool.definition().name == name);
        let outcome = match tool {
            Some(tool) => self.run(session, tool, arguments),
            None => Err(self.unknown(name)),
        };
        let mut envelope = Envelope {
            tool: tool.map_or_else(|| shown_name(name), |tool| tool.definition().name.to_owned()),
            action: tool.and_then(|tool| action(tool, arguments)),
            trace: arguments::trace(arguments, random_hex),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            ending: CallEnding::Error(Value::Null),
        };
        match outcome {
            Ok(done) => {
                envelope.ending = ending(done.kept, &done.next_actions);
                let uris = self.keep(&envelope, tool, arguments);
                if let Some(revealed) = done.revealed {
                    envelope.ending = ending(revealed, &done.next_actions);
                }
                Ok(envelope.to_json(&uris))
            }
            Err(failure) => {
                let data = bounded_data(&failure);
                envelope.ending = CallEnding::Error(
                    json!({"code": failure.code, "message": failure.message, "data": data}),
                );
                let uris = self.keep(&envelope, tool, arguments);
                let Value::Object(data) = data else { return Err(failure) };
                Err(Failure { data, ..failure }
                    .with("trace", envelope.trace.to_json())
                    .with("artifact_uri_context", json!(uris.context))
                    .with("artifact_uri_json", json!(uris.json)))
            }
        }
    }

    fn run(
        &self,
        session: &SessionStore,
        tool: &dyn BusTool,
        arguments: &Arguments,
    ) -> Result<Done, Failure> {
        let definition = tool.definition();
        arguments::check(definition.arguments, arguments)?;
        let semantic = Semantic::read(arguments)?;
        let named = arguments::text(arguments, SESSION).map(|name| self.opened.named(name)).transpose()?;
        let session = named.as_deref().unwrap_or(session);
        let states = States { session, persistent: &self.persistent, opened: &self.opened };
        let output = tool.run(&Call { arguments, states: &states })?;
        let shaped = |value: Value| match &semantic.output {
            Some(output) => output.apply(value),
            None => Ok(value),
        };
        let mut result = output.result;
        let revealed = reveals(tool, arguments).then(|| shaped(result.clone())).transpose()?;
        redact(&mut result);
        let kept = shaped(result)?;
        if let Some((key, scope)) = &semantic.store {
            states.set(*scope, key, kept.clone())?;
        }
        Ok(Done { kept, revealed, next_actions: output.next_actions })
    }

    fn keep(&self, envelope: &Envelope, tool: Option<&dyn BusTool>, arguments: &Arguments) -> Uris {
        let Some(artifacts) = &self.artifacts else {
            return Uris::default();
        };
        let mut shown = arguments.clone();
        redact_arguments(&mut shown);
        for argument in
            tool.iter().flat_map(|tool| tool.definition().arguments).filter(|argument| argument.secret)
        {
            if let Some(value) = shown.get_mut(argument.name) {
                *value = json!(REDACTED);
            }
        }
        artifacts.write(envelope, &bound(Value::Object(shown), ARGUMENTS_BYTES).0)
    }

    fn unknown(&self, name: &str) -> Failure {
        let names = || self.tools().map(|tool| tool.definition().name);
        let failure = Failure::invalid(format!("there is no tool `{}`", shown_name(name)))
            .with("tools", names().collect());
        match nearest(name, names()) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`tools/list` names the tools there are"),
        }
    }
}

/// The action of a call of a tool that has actions.
fn action(tool: &dyn BusTool, arguments: &Arguments) -> Option<String> {
    let actions = tool.definition().actions();
    arguments::text(arguments, "action").filter(|action| actions.contains(action)).map(str::to_owned)
}

fn reveals(tool: &dyn BusTool, arguments: &Arguments) -> bool {
    tool.definition().break_glass.is_some_and(|flag| arguments.get(flag) == Some(&Value::Bool(true)))
}

fn ending(result: Value, next_actions: &[NextAction]) -> CallEnding {
    let (result, truncation) = bound(result, RESULT_BYTES);
    let next_actions =
        (!next_actions.is_empty()).then(|| next_actions.iter().map(NextAction::to_json).collect());
    CallEnding::Result { result, truncation, next_actions }
}

fn bounded_data(failure: &Failure) -> Value {
    let mut data = Value::Object(failure.data.clone());
    redact(&mut data);
    bound(data, ERROR_BYTES).0
}
