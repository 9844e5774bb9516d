//! Where captured messages come from: a file of the manifest, an exercise, or the probes of a Tool Service.

use std::sync::Arc;
use std::time::Instant;

use crate::engine::judge::Cause;
use crate::engine::open::{Blocked, OpenPlan};
use crate::families::utp::broker_connection;
use crate::families::utp::capture::{Capture, Exercise};
use crate::families::utp::connection_watch::ConnectionWatch;
use crate::families::utp::error::SessionError;
use crate::families::utp::judge::seen;
use crate::families::utp::manifest::{SchemaTable, UtpTable};
use crate::families::utp::nats_access::NatsAccess;
use crate::families::utp::nats_servers;
use crate::families::utp::revision::Revision;
use crate::families::utp::scene::Scene;
use crate::families::utp::session::{Liveness, UtpSession};
use crate::families::utp::tool::Tool;
use crate::transcript::{Frame, Kind};

/// Captured messages: of the manifest's file, of the exercise, or of the Tool Service's own probes.
pub(super) async fn capture(
    (plan, revision): (&OpenPlan<'_>, Revision),
    exercise: Option<&dyn Exercise>,
    session: Option<&UtpSession>,
) -> Result<Capture, Blocked> {
    let manifest = plan.manifest.get::<UtpTable>();
    let utp = manifest.and_then(|utp| utp.in_revision(revision));
    let table = manifest.and_then(|utp| utp.schema.clone()).unwrap_or_default();
    if let Some(file) = &table.capture {
        let path = plan.manifest.directory.join(file);
        let capture = Capture::read(&path, &table).map_err(|error| (Cause::Config, error.to_string()))?;
        // Where one revision is certified, messages of another are at fault; where several are, each has its own.
        let are_several = manifest.is_some_and(|utp| utp.protocol_version.are_several());
        return Ok(if are_several { capture.in_revision(revision) } else { capture });
    }
    if let (Some(exercise), Some(utp)) = (exercise, &utp) {
        return of_exercise(plan, utp, &table, exercise)
            .await
            .map_err(|error| (Cause::Reachability, error.to_string()));
    }
    match session {
        Some(session) => Ok(of_probes(session).await),
        None => Err((
            Cause::Config,
            "there is nothing to capture: name a file with `[utp.schema] capture`, or a Tool Service"
                .to_owned(),
        )),
    }
}

/// What the exercise sends. Where the broker stands in the way, what was captured is not all of it.
async fn of_exercise(
    plan: &OpenPlan<'_>,
    utp: &UtpTable,
    table: &SchemaTable,
    exercise: &dyn Exercise,
) -> Result<Capture, SessionError> {
    let (urls, began) = (plan.broker_url, Instant::now());
    let connection = Arc::new(ConnectionWatch::default());
    let client = broker_connection::connect(urls, &NatsAccess::of(plan.manifest), &connection, false).await?;
    let server = nats_servers::first(urls);
    let captured = Capture::watch(&client, server, utp.version(), table, exercise).await;
    match connection.trouble(began) {
        Some(reason) => Err(SessionError::Broker { url: nats_servers::redacted(urls), reason }),
        None => Ok(captured?),
    }
}

/// Calls the probes once and captures what the Tool Service sends.
async fn of_probes(session: &UtpSession) -> Capture {
    let project = session.test_environment.project("capture");
    let mut scene = Scene::bare(session, Arc::clone(&project));
    let mut statuses = vec!["success".to_owned()];
    for probe in [Tool::Echo, Tool::Ctl, Tool::Fail] {
        if !session.declares(probe) {
            continue;
        }
        if probe == Tool::Fail {
            statuses.push("failed".to_owned());
        }
        let call = scene.prepare(probe);
        scene.send(session, &call).await;
        let calls = seen::Calls::new(&call, &scene.others);
        let own =
            |frame: &Frame| call.revision.reported(frame, "tool_call_id") == Some(call.tool_call_id.as_str());
        let answered =
            |frames: &[Frame]| seen::reports(frames, &calls).iter().any(|frame| own(frame)).then_some(());
        let patience = if session.liveness == Liveness::Answers {
            session.timeouts.answer
        } else {
            session.timeouts.settle_window
        };
        // What does not come is not captured, and then not observed.
        let _ = project.transcript.wait(patience, answered).await;
        scene.others.extend(call.names());
    }
    let frames: Vec<Frame> =
        project.transcript.frames().into_iter().filter(|frame| frame.kind != Kind::Command).collect();
    Capture::of_frames(&frames, statuses)
}
