//! What the doctor asks of the executors of a target.

use std::sync::Arc;

use super::judge::seen;
use super::judge::seen::Calls;
use super::manifest::{Builtin, ProbeName};
use super::message;
use super::scene::Scene;
use super::session::{Liveness, UtpSession};
use super::tool::{Role, Tool};
use crate::engine::diagnosis::{Check, NOT_DECLARED};
use crate::engine::judge::Cause;
use crate::transcript::Frame;

/// What the calibration of a role found, and what each thing that can be called of it does.
pub(super) async fn role(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = liveness(session);
    if session.liveness != Liveness::Responsive {
        checks.extend(match session.role {
            Role::ToolService => probes(session).await,
            Role::Pmo => builtins(session).await,
            Role::OpenApi => requests(session).await,
        });
    }
    checks
}

fn liveness(session: &UtpSession) -> Vec<Check> {
    let (who, work) = match session.role {
        Role::Pmo => ("pmo", "it does the work of a built-in"),
        Role::ToolService => ("target", "it does the work of the echo probe"),
        Role::OpenApi => ("executor", "it brings what the upstream says"),
    };
    let trouble = match session.liveness {
        Liveness::Answers => {
            return vec![
                Check::good(who, format!("{work} and reports it")),
                Check::timeouts(&session.timeouts),
            ];
        }
        Liveness::Works => Check::bad(who, Cause::Implementation, format!("{work}, and reports nothing")),
        Liveness::Responsive if session.role == Role::Pmo => Check::bad(
            who,
            Cause::Fixture,
            "it reacts, and starts no turn and enters no agent that shows the card's arguments: check \
             `utp.pmo.builtins` and `utp.pmo.arguments`",
        ),
        Liveness::Responsive if session.role == Role::OpenApi => Check::bad(
            who,
            Cause::Fixture,
            "it reacts, and never brings what the upstream says: every request goes to `CALLMARK_UPSTREAM_URL` as plain \
             HTTP with the real host in `Host`, without TLS and `CONNECT`",
        ),
        Liveness::Responsive => Check::bad(
            who,
            Cause::Fixture,
            "it reacts, and the value in the echo probe's card comes back nowhere: check `tool_name`, \
             `target_subject` and `arguments` of `utp.tool-service.probes.echo`",
        ),
    };
    vec![trouble]
}

async fn probes(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = Vec::new();
    for probe in ProbeName::ALL {
        let name = format!("probe.{}", probe.name());
        let is_work = session.tools.get(&Tool::Echo).is_some_and(|table| table.work.is_some());
        // One stands in place of the other.
        if probe == if is_work { ProbeName::Echo } else { ProbeName::Work } {
            continue;
        }
        checks.push(if session.declares(probe.into()) {
            tried(&name, try_probe(session, probe).await)
        } else {
            Check::note(&name, NOT_DECLARED)
        });
    }
    checks
}

/// Which built-ins there are, and whether each does what its card says.
async fn builtins(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = Vec::new();
    for builtin in Builtin::ALL {
        checks.push(if session.declares(builtin.into()) {
            tried(builtin.name(), try_builtin(session, builtin).await)
        } else {
            Check::note(builtin.name(), NOT_DECLARED)
        });
    }
    checks
}

/// Whether an executor does what each of its modes is for.
async fn requests(session: &Arc<UtpSession>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (tool, name) in [(Tool::Search, "search"), (Tool::Reader, "reader")] {
        checks.push(if session.declares(tool) {
            tried(name, try_request(session, tool, name).await)
        } else {
            Check::note(name, NOT_DECLARED)
        });
    }
    checks
}

fn tried(name: &str, result: Result<(), String>) -> Check {
    match result {
        Ok(()) => Check::good(name, "does what it should"),
        Err(message) => Check::bad(name, Cause::Fixture, message),
    }
}

async fn try_request(session: &UtpSession, tool: Tool, name: &str) -> Result<(), String> {
    let project = session.test_environment.project(&format!("doctor {name}"));
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let call = scene.prepare(tool);
    scene.send(session, &call).await;
    if !scene.answer(session, &call).await {
        return Err(format!("`{}` on `{}` was not answered", call.tool_name, call.subject));
    }
    let frames: Vec<Frame> = project.transcript.frames();
    if seen::reflects(&frames, &call) {
        return Ok(());
    }
    Err("it is answered without what the upstream said".to_owned())
}

async fn try_builtin(session: &UtpSession, builtin: Builtin) -> Result<(), String> {
    let project = session.test_environment.project(&format!("doctor {}", builtin.name()));
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let call = scene.prepare(builtin.into());
    scene.send(session, &call).await;
    if !scene.answer(session, &call).await {
        return Err(format!("`{}` on `{}` was not answered", call.tool_name, call.subject));
    }
    let frames: Vec<Frame> = project.transcript.frames();
    let report = seen::report(&frames, &Calls::new(&call, &[]));
    if seen::reflects(&frames, &call) {
        return Ok(());
    }
    Err(match report.and_then(|report| report.text("/payload/status")) {
        Some("failed") => "it fails: check its arguments in `utp.pmo.arguments`".to_owned(),
        _ => "its arguments show in no turn that it starts and no agent that it enters".to_owned(),
    })
}

async fn try_probe(session: &UtpSession, probe: ProbeName) -> Result<(), String> {
    let project = session.test_environment.project(&format!("doctor {}", probe.name()));
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let mut call = scene.prepare(probe.into());
    if probe == ProbeName::Ctl {
        let table = scene.table(probe.into()).clone();
        call.set_arguments(&table, "terminate");
        project.seed_card(&call.card);
    }
    scene.send(session, &call).await;
    if !scene.answer(session, &call).await {
        return Err(format!("`{}` on `{}` was not answered", call.tool_name, call.subject));
    }
    let frames: Vec<Frame> = project.transcript.frames();
    let calls = Calls::new(&call, &[]);
    let result =
        seen::result_card(&frames, &calls).and_then(|(_, card)| card.pointer("/content/result").cloned());
    let at = result.as_ref().and_then(|result| result.pointer(&call.result_pointer));
    match probe {
        ProbeName::Echo if !at.is_some_and(|value| message::mentions(value, &call.token)) => {
            Err(format!("its arguments are not at `{}` of `content.result`", call.result_pointer))
        }
        ProbeName::Work if !seen::reflects(&frames, &call) => {
            Err("its result is not the one that it gave for these arguments before".to_owned())
        }
        ProbeName::Count if at.and_then(serde_json::Value::as_i64).is_none() => {
            Err(format!("there is no number at `{}` of `content.result`", call.result_pointer))
        }
        ProbeName::Fail
            if seen::report(&frames, &calls)
                .is_some_and(|report| report.text("/payload/status") == Some("success")) =>
        {
            Err("it succeeds, and it should throw".to_owned())
        }
        ProbeName::Ctl
            if result
                .as_ref()
                .and_then(|result| result.pointer("/__cg_control/after_execution"))
                .is_none() =>
        {
            Err("its result holds no `__cg_control.after_execution`".to_owned())
        }
        _ => Ok(()),
    }
}
