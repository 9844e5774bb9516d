//! What is found out before the first scenario: whether the server works, where its results are, how fast it is, and
//! whether the calls of the manifest work at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ToolbusError, ToolbusSession};
use crate::engine::timing::Timeouts;
use crate::engine::volatile;
use crate::families::toolbus::answer;
use crate::families::toolbus::answer::Answer;
use crate::families::toolbus::call;
use crate::families::toolbus::call::{Filling, Markers, Probe};
use crate::families::toolbus::manifest::ToolbusTable;
use crate::families::toolbus::server::{McpClient, Server};

/// Where results are unless the manifest says otherwise.
const RESULT: &str = "/result";

impl ToolbusSession {
    pub(super) async fn calibrate(&mut self, server: &Server) -> Result<(), ToolbusError> {
        self.check_names(server).await?;
        server.revision.clone_into(&mut self.revision);
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        for round in 0..3 {
            let round_began = Instant::now();
            let sent =
                json!({"note": self.unique(&format!("readiness {round}")), "list": [1, {"deep": true}]});
            let deadline = self.plan.limits.scaled(self.plan.table.launch.start_timeout());
            let mut answer = self.try_call(server, Probe::Echo, &sent, false, deadline).await;
            if answer.is_failure() {
                // A tool that wants its semantic arguments is a finding, not a wrong manifest.
                answer = self.try_call(server, Probe::Echo, &sent, true, deadline).await;
            }
            match &answer {
                Answer::Missing => {
                    let tool = Probe::Echo.table(&self.table).map(|own| own.tool).unwrap_or_default();
                    return Err(ToolbusError::Silent { tool, seconds: deadline.as_secs() });
                }
                Answer::Error(_) | Answer::ToolError(_) => {
                    return Err(ToolbusError::Refused(
                        crate::transcript::shorten(&answer.shown()).to_string(),
                    ));
                }
                _ => {}
            }
            slowest = slowest.max(round_began.elapsed());
            self.echoed = self.locate(&answer, &sent)?;
            if self.echoed.is_err() || began.elapsed() > Duration::from_secs(5) {
                break;
            }
        }
        self.timeouts = Timeouts::calibrated(slowest, &self.plan.limits);
        if self.echoed.is_err() {
            return Ok(());
        }
        self.check_path_base(server).await?;
        let others = [Probe::Other(0), Probe::Other(1), Probe::Other(2)];
        let probes = others.into_iter().chain([Probe::State, Probe::Large, Probe::Secret, Probe::Partial]);
        for probe in probes {
            let Some(table) = probe.table(&self.table) else { continue };
            let bare = self.try_call(server, probe, &Value::Null, false, self.timeouts.answer).await;
            // A tool that wants its semantic arguments is a finding, not a wrong manifest.
            let answer = match bare {
                Answer::Success(_) => bare,
                _ => self.try_call(server, probe, &Value::Null, true, self.timeouts.answer).await,
            };
            let is_reader = probe == Probe::State;
            let outcome = match &answer {
                Answer::Success(_) => Ok(answer.envelope().unwrap_or_default()),
                // A reader may call an unknown key an error.
                Answer::Error(_) | Answer::ToolError(_) if is_reader => Ok(Value::Null),
                // The headers are right, so the server is at fault, and the scenarios of the probe show it.
                Answer::Error(error) if server.refuses_right_headers(&table.tool, error) => Ok(Value::Null),
                other => Err(crate::transcript::shorten(&other.shown()).to_string()),
            };
            self.baselines.insert(probe, outcome);
        }
        Ok(())
    }

    /// Names that the server does not list are a fault of the manifest, if it lists any and its tools do not work: a server
    /// may keep a tool out of its list.
    async fn check_names(&self, server: &Server) -> Result<(), ToolbusError> {
        if server.tools.is_empty() {
            return Ok(());
        }
        for probe in Probe::ALL {
            let Some(table) = probe.table(&self.table) else { continue };
            let set_up = table.before.iter().map(|own| &own.tool);
            let unlisted =
                std::iter::once(&table.tool).chain(set_up).find(|tool| !server.tools.contains(tool));
            let Some(tool) = unlisted else { continue };
            let deadline = self.plan.limits.scaled(self.plan.table.launch.start_timeout());
            let answer = self.try_call(server, probe, &Value::Null, true, deadline).await;
            if matches!(answer, Answer::Success(_)) {
                continue;
            }
            let near = crate::spec::registry::nearest(tool, server.tools.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            return Err(ToolbusError::NoTool { tool: tool.clone(), hint, key: probe.key() });
        }
        Ok(())
    }

    /// Finds the echoed value in an envelope.
    fn locate(&mut self, answer: &Answer, sent: &Value) -> Result<Result<(), String>, ToolbusError> {
        let shown = |answer: &Answer| crate::transcript::shorten(&answer.shown()).to_string();
        let pointers = Probe::Echo.table(&self.table).map(|own| own.volatile).unwrap_or_default();
        let envelope = match answer.envelope() {
            Ok(envelope) => volatile::without(envelope, &pointers),
            Err(why) => return Ok(Err(format!("{why}: {}", shown(answer)))),
        };
        let base = call::pointer(&call::base(&self.table));
        // Paths of a server may begin at the envelope (resolution A5): then the base is no part of the result.
        for value_base in [base.as_str(), ""] {
            let place = format!("{}{value_base}", self.result_pointer);
            if envelope.pointer(&place).is_some_and(|value| answer::same(value, sent)) {
                value_base.clone_into(&mut self.value_base);
                return Ok(Ok(()));
            }
        }
        let expected = format!("{}{base}", self.result_pointer);
        let Some(found) = answer::find_echo(&envelope, sent) else {
            return Ok(Err(format!("the value that was sent is nowhere in the envelope: {}", shown(answer))));
        };
        if self.table.result_pointer.is_some() {
            return Err(ToolbusError::Pointer { found, expected });
        }
        match found.strip_suffix(&base).filter(|pointer| !pointer.is_empty()) {
            Some(pointer) => {
                pointer.clone_into(&mut self.result_pointer);
                self.value_base = base;
            }
            None => self.result_pointer = found,
        }
        Ok(Ok(()))
    }

    /// Where the echoed value lies below the results and the manifest names no `path_base`: whether paths begin there.
    async fn check_path_base(&self, server: &Server) -> Result<(), ToolbusError> {
        let is_named = self.table.result_pointer.is_some() || !self.table.path_base.is_empty();
        let found = self.result_pointer.as_str();
        // The results are the usual member, or any that holds the value.
        let splits: Vec<(&str, &str)> = match found.strip_prefix(RESULT) {
            Some(below) => vec![(RESULT, below)],
            None => found.match_indices('/').skip(1).map(|(at, _)| found.split_at(at)).collect(),
        };
        let splits: Vec<_> = splits.into_iter().filter(|(_, below)| !is_named && !below.is_empty()).collect();
        if splits.is_empty() || self.reaches(server, "").await {
            return Ok(());
        }
        for (results, below) in splits {
            let base = below.trim_start_matches('/').replace('/', ".");
            if self.reaches(server, &base).await {
                let pointer = (results != RESULT).then(|| format!("`result_pointer = \"{results}\"` and "));
                return Err(ToolbusError::PathBase { base, pointer: pointer.unwrap_or_default() });
            }
        }
        Ok(())
    }

    /// Whether a path with this base gives one key of the echoed value and not the other.
    async fn reaches(&self, server: &Server, base: &str) -> bool {
        let (own, other) = (self.unique("own"), self.unique("other"));
        let value = json!({"alpha": own, "gamma": other});
        let table = ToolbusTable { path_base: base.to_owned(), ..self.table.clone() };
        let output = call::output(&json!({"path": "alpha"}), &table);
        let answer = self
            .call(server, Probe::Echo, &value, Some(("output", output)), true, self.timeouts.answer)
            .await;
        let shown = answer.shown().to_string();
        matches!(answer, Answer::Success(_)) && shown.contains(&own) && !shown.contains(&other)
    }

    pub(super) async fn try_call(
        &self,
        server: &Server,
        probe: Probe,
        value: &Value,
        correlated: bool,
        deadline: Duration,
    ) -> Answer {
        self.call(server, probe, value, None, correlated, deadline).await
    }

    /// Makes a call, with a semantic argument if one is named.
    async fn call(
        &self,
        server: &Server,
        probe: Probe,
        value: &Value,
        semantic: Option<(&str, Value)>,
        correlated: bool,
        deadline: Duration,
    ) -> Answer {
        let Some(table) = probe.table(&self.table) else { return Answer::Missing };
        let nonce = self.unique(&format!("calibration {}", probe.name()));
        let filling = Filling {
            value: value.clone(),
            key: format!("none-{nonce}"),
            scope: self.table.scopes.first().cloned().unwrap_or_default(),
            bytes: 1024,
            markers: Markers::new(&nonce),
        };
        let client = McpClient::new(nonce.clone(), Arc::default(), server.begin());
        for (tool, arguments) in call::set_up(&table, &filling) {
            let answer = send(server, &client, &tool, Value::Object(arguments), deadline).await;
            if answer.is_failure() {
                let shown = crate::transcript::shorten(&answer.shown());
                let why = format!("the call of `{tool}` that `before` names is refused: {shown}");
                return Answer::ToolError(Value::from(why));
            }
        }
        let mut arguments = call::arguments(probe, &table, filling);
        if correlated {
            arguments.insert("trace_id".to_owned(), Value::from(format!("tr-{nonce}")));
            arguments.insert("span_id".to_owned(), Value::from(format!("sp-{nonce}")));
        }
        arguments.extend(semantic.map(|(name, value)| (name.to_owned(), value)));
        send(server, &client, &table.tool, Value::Object(arguments), deadline).await
    }
}

/// Calls a tool. What does not come is reported as missing.
async fn send(
    server: &Server,
    client: &McpClient,
    tool: &str,
    arguments: Value,
    deadline: Duration,
) -> Answer {
    let body =
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let id = server.ask(client, tool, body, None, deadline).await;
    client.transcript.with(|frames| answer::of(frames, id))
}
