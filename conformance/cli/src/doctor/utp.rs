//! What the doctor finds of the roles of a UTP target.

use std::collections::BTreeSet;
use std::sync::Arc;

use callmark_suite::engine::session::Session as _;
use callmark_suite::families::utp::judge::seen;
use callmark_suite::families::utp::judge::seen::Calls;
use callmark_suite::families::utp::manifest::{Builtin, ProbeName};
use callmark_suite::families::utp::message;
use callmark_suite::families::utp::runtime::session::RuntimeSession;
use callmark_suite::families::utp::scene::Scene;
use callmark_suite::families::utp::session::{Liveness, UtpSession};
use callmark_suite::families::utp::tool::{Role, Tool};
use callmark_suite::transcript::Frame;

use super::check::{Check, bad, good, note};
use super::{NOT_DECLARED, capabilities, pace};

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

/// What helps where nothing comes from a target on the bus.
pub(super) fn subscriptions(subscribed: Option<&BTreeSet<String>>) -> Check {
    let text = match subscribed {
        None => {
            "this broker cannot be asked who listens; with `--broker embedded` the doctor lists it".to_owned()
        }
        Some(subjects) if subjects.is_empty() => {
            "nobody subscribed to anything: check that the target connects to `CALLMARK_NATS_URL`".to_owned()
        }
        Some(subjects) => {
            let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
            format!("the target listens on `{}`", subjects.join("`, `"))
        }
    };
    note("subscriptions", text)
}

/// What the calibration of a session with an agent runtime found.
pub(super) fn runtime(session: &RuntimeSession) -> Vec<Check> {
    if !session.works() {
        let message = "it is up, and neither a tool call of its model came out as a command nor, where it has no \
                       worker, a report was taken: check that it takes turns and reports below `runtime.v1` and its \
                       model from `CALLMARK_MODEL_URL`";
        let elsewhere = session.elsewhere().unwrap_or_default();
        let refused = session.refusal().map(|told| format!("; {told}")).unwrap_or_default();
        return vec![bad("runtime", "fixture", format!("{message}{elsewhere}{refused}"))];
    }
    let makes_calls = session.calls() || session.resumes();
    let found = if makes_calls { "turns a tool call of its model into a command" } else { "takes a report" };
    let mut checks = vec![good("runtime", found), pace(&session.pace)];
    if session.resumes() {
        for (name, behaviour) in
            [("suspend", session.baseline.suspend), ("terminate", session.baseline.terminate)]
        {
            checks.push(good(name, format!("after the result {}", behaviour.text())));
        }
    }
    for (is_there, name, what) in [
        (session.baseline.parallel != Some(false), "parallel", "it makes the calls of one answer one by one"),
        (session.baseline.keeps_consumed, "inbox", "it shows no record that a turn has gone on with"),
    ] {
        if !is_there {
            checks.push(note(name, format!("{what}: what needs it will be not-applicable")));
        }
    }
    checks.extend(capabilities(session.capabilities()));
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
            return vec![good(who, format!("{work} and reports it")), pace(&session.pace)];
        }
        Liveness::Works => bad(who, "implementation", format!("{work}, and reports nothing")),
        Liveness::Responsive if session.role == Role::Pmo => bad(
            who,
            "fixture",
            "it reacts, and starts no turn and enters no agent that shows the card's arguments: check \
             `utp.pmo.builtins` and `utp.pmo.arguments`",
        ),
        Liveness::Responsive if session.role == Role::OpenApi => bad(
            who,
            "fixture",
            "it reacts, and never brings what the upstream says: every request goes to `CALLMARK_UPSTREAM_URL` as plain \
             HTTP with the real host in `Host`, without TLS and `CONNECT`",
        ),
        Liveness::Responsive => bad(
            who,
            "fixture",
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
        checks.push(if session.declares(probe.into()) {
            tried(&name, try_probe(session, probe).await)
        } else {
            note(&name, NOT_DECLARED)
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
            note(builtin.name(), NOT_DECLARED)
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
            note(name, NOT_DECLARED)
        });
    }
    checks
}

fn tried(name: &str, result: Result<(), String>) -> Check {
    match result {
        Ok(()) => good(name, "does what it should"),
        Err(message) => bad(name, "fixture", message),
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
    let report = seen::report(&frames, &Calls { subject: &call, others: &[] });
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
    let calls = Calls { subject: &call, others: &[] };
    let result =
        seen::result_card(&frames, &calls).and_then(|(_, card)| card.pointer("/content/result").cloned());
    let at = result.as_ref().and_then(|result| result.pointer(&call.result_pointer));
    match probe {
        ProbeName::Echo if !at.is_some_and(|value| message::mentions(value, &call.token)) => {
            Err(format!("its arguments are not at `{}` of `content.result`", call.result_pointer))
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
