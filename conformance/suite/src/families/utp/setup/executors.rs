//! The executors and the runtime of a target: the target is started, in one revision or in several at once, and a session
//! is opened for each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures::future::{BoxFuture, join_all};

use super::described;
use super::parties::{CALLERS, Parties};
use super::plans::{is_not_spoken, runtime_plan, session_plan};
use crate::engine::open::{OpenPlan, Opened};
use crate::engine::target;
use crate::engine::target::{Handing, STARTS};
use crate::families::utp::error::SessionError;
use crate::families::utp::manifest::UtpTable;
use crate::families::utp::nats_access::NatsAccess;
use crate::families::utp::nats_servers;
use crate::families::utp::replicas::Replicas;
use crate::families::utp::revision::Revision;
use crate::families::utp::runtime::session::RuntimeSession;
use crate::families::utp::services::Services;
use crate::families::utp::session::{Liveness, UtpSession};
use crate::families::utp::target::{Shared, Target};
use crate::families::utp::test_environment::{TestEnvironment, TestEnvironmentPlan};
use crate::families::utp::tool::Role;
use crate::net::wire::PassthroughWire;

/// How often a session is opened again that the broker stood in the way of.
const OPENED_AGAIN: usize = 3;

/// The profiles that need the platform and the broker.
pub(super) const PROFILES: [&str; 5] =
    ["utp.tool-service", "utp.openapi", "utp.pmo", "utp.worker", "utp.execution"];

/// What was opened of a target in one revision.
#[derive(Default)]
pub(super) struct Executors {
    pub(super) test_environment: Option<Arc<TestEnvironment>>,
    pub(super) roles: BTreeMap<Role, Arc<UtpSession>>,
    /// A runtime, and why a profile cannot run.
    pub(super) opened: Opened,
    revision: Revision,
    /// Whether the target is to listen on a port of the suite's choice.
    was_handed_a_port: bool,
}

impl Executors {
    /// Whether the target may not have got the port that it was handed.
    fn is_refused_its_port(&self, handing: Handing) -> bool {
        let mut said = self.opened.blocked.values().map(|(_, said)| said);
        self.was_handed_a_port && said.any(|said| target::is_refused(handing, said))
    }

    async fn close(&self) {
        if let Some(test_environment) = &self.test_environment {
            test_environment.close().await;
        }
    }

    fn lack(&mut self, profiles: &[&str], error: &SessionError) {
        for profile in profiles {
            let profile = self.revision.profile(profile);
            self.opened.block(&profile, (error.cause(), error.to_string()));
        }
    }
}

/// What is wanted of the target in one revision.
struct Part {
    revision: Revision,
    table: UtpTable,
    profiles: Vec<&'static str>,
}

impl Part {
    /// Why none of it can run.
    fn blocked(&self, error: &SessionError) -> Executors {
        let mut executors = Executors { revision: self.revision, ..Executors::default() };
        executors.lack(&self.profiles, error);
        executors
    }
}

/// Opens the executors and the runtime that the selected profiles need, with one start of the target for all these
/// revisions. A Tool Service that is to be `captured` is needed without being selected.
///
/// What comes back has one entry for each of them, in their order.
pub(super) async fn open(
    plan: &OpenPlan<'_>,
    target: Option<Box<dyn Target>>,
    revisions: &[(Revision, bool)],
) -> Vec<Executors> {
    let mut all: Vec<Executors> = revisions
        .iter()
        .map(|(revision, _)| Executors { revision: *revision, ..Executors::default() })
        .collect();
    let mut parts = Vec::new();
    for ((revision, is_captured), executors) in revisions.iter().zip(&mut all) {
        let is_wanted = |profile: &&'static str| {
            plan.selects(&revision.profile(profile)) || (*is_captured && *profile == "utp.tool-service")
        };
        let profiles: Vec<&'static str> = PROFILES.into_iter().filter(is_wanted).collect();
        let table = plan.manifest.get::<UtpTable>().and_then(|utp| utp.in_revision(*revision));
        match table {
            _ if profiles.is_empty() => {}
            Some(table) => parts.push(Part { revision: *revision, table, profiles }),
            None => {
                let why = is_not_spoken(*revision);
                for profile in profiles {
                    executors.opened.block(&revision.profile(profile), why.clone());
                }
            }
        }
    }
    if parts.is_empty() {
        return all;
    }
    // One that a caller hands over is started once.
    let can_start_again = target.is_none();
    let mut handing = Handing::Held;
    let mut started = start(plan, &parts, target, handing).await;
    for _ in 1..STARTS {
        if !can_start_again || !started.iter().any(|own| own.is_refused_its_port(handing)) {
            break;
        }
        join_all(started.iter().map(Executors::close)).await;
        handing = Handing::Free;
        started = start(plan, &parts, None, handing).await;
    }
    for own in started {
        if let Some(place) = all.iter_mut().find(|other| other.revision == own.revision) {
            *place = own;
        }
    }
    all
}

/// Starts the target and opens what is wanted of it.
async fn start(
    plan: &OpenPlan<'_>,
    parts: &[Part],
    target: Option<Box<dyn Target>>,
    handing: Handing,
) -> Vec<Executors> {
    let blocked = |error: &SessionError| parts.iter().map(|part| part.blocked(error)).collect();
    let Some(first) = parts.first() else { return Vec::new() };
    let table = &first.table;
    let is_started = target.is_some() || table.launch.is_started();
    let wanted: Vec<&str> = parts.iter().flat_map(|part| part.profiles.iter().copied()).collect();
    let mut parties = match Parties::gather(&wanted, table, (is_started, &plan.inbound), handing).await {
        Ok(parties) => parties,
        Err(message) => return blocked(&SessionError::Platform(message)),
    };
    let was_handed_a_port = parties.port.is_some();
    let began = Instant::now();
    // One that a caller hands over is one.
    let count = table.replicas.filter(|_| target.is_none());
    let replicas = Arc::new(count.map_or_else(Replicas::default, Replicas::new));
    let target = if let Some(target) = target {
        target
    } else {
        let beneath =
            if is_started { plan.inbound.around(parties.played()).await } else { Ok(BTreeMap::new()) };
        match beneath {
            Ok(beneath) => {
                described::target((plan, table, first.revision), &parties.secrets(), beneath, &replicas)
            }
            Err(message) => return blocked(&SessionError::Platform(message)),
        }
    };
    let environments = match environments(plan, parts, (target, &replicas), &mut parties).await {
        Ok(environments) => environments,
        Err(error) => return blocked(&error),
    };
    let (parties, opened) = (&parties, parts.iter().zip(environments));
    join_all(opened.map(|(part, test_environment)| async move {
        let mut executors = sessions((plan, part), test_environment, parties, began).await;
        executors.was_handed_a_port = was_handed_a_port;
        executors
    }))
    .await
}

/// The environment of each part around one target, which is started when all of them are there.
async fn environments(
    plan: &OpenPlan<'_>,
    parts: &[Part],
    (target, replicas): (Box<dyn Target>, &Arc<Replicas>),
    parties: &mut Parties,
) -> Result<Vec<Arc<TestEnvironment>>, SessionError> {
    let utp = plan.manifest.get::<UtpTable>().filter(|utp| utp.is_both_at_once());
    let shares = utp.map(|_| Services::family_of(Revision::V1r3));
    let target = Shared::new(target);
    let mut all: Vec<Arc<TestEnvironment>> = Vec::new();
    for (at, part) in parts.iter().enumerate().rev() {
        let version = part.table.version().to_owned();
        let test_environment = TestEnvironment::start(TestEnvironmentPlan {
            nats_url: plan.broker_url.to_owned(),
            broker_nodes: plan.broker_nodes.clone(),
            access: NatsAccess::of(plan.manifest),
            spoken: utp.map_or_else(|| version.clone(), |utp| utp.protocol_version.all().join(",")),
            version,
            commands: part.table.commands,
            platform: part.table.platform,
            wire: Arc::new(PassthroughWire),
            seed: plan.seed,
            // The first one comes last, and starts it.
            target: Box::new(if at == 0 { target.starting() } else { target.joined() }),
            replicas: Arc::clone(replicas),
            environment: parties.environment.clone(),
            upstream: parties.upstream.clone(),
            port: if at == 0 { parties.port.take() } else { None },
            beside: all.clone(),
            shares,
            inbound: Arc::clone(&plan.inbound),
            outbound: Arc::clone(&plan.outbound),
        })
        .await?;
        all.insert(0, test_environment);
    }
    Ok(all)
}

/// Opens a session for each profile of a part.
async fn sessions(
    (plan, part): (&OpenPlan<'_>, &Part),
    test_environment: Arc<TestEnvironment>,
    parties: &Parties,
    began: Instant,
) -> Executors {
    let table = &part.table;
    let trouble = |since| test_environment.broker_trouble(since);
    let mut executors = Executors { revision: part.revision, ..Executors::default() };
    for role in part.profiles.iter().filter_map(|profile| Role::of(profile)) {
        let answers = |session: &Arc<UtpSession>| session.liveness == Liveness::Answers;
        let open = || UtpSession::open(session_plan(role, table, &test_environment, plan.limits));
        match through_broker(trouble, began, plan.broker_url, open, answers).await {
            Ok(session) => drop(executors.roles.insert(role, session)),
            Err(error) => executors.lack(&[role.profile()], &error),
        }
    }
    let callers: Vec<&str> =
        part.profiles.iter().copied().filter(|profile| CALLERS.contains(profile)).collect();
    if let (Some(model), false) = (&parties.model, callers.is_empty()) {
        let open = || {
            RuntimeSession::open(runtime_plan(
                table,
                &test_environment,
                Arc::clone(model),
                (parties.url.clone(), parties.secret.clone()),
                (plan.limits, &plan.outbound),
            ))
        };
        match through_broker(trouble, began, plan.broker_url, open, |_| true).await {
            Ok(session) => executors.opened.sessions.insert(session),
            Err(error) => executors.lack(&callers, &error),
        }
    }
    executors.test_environment = Some(test_environment);
    executors
}

/// Opens a session; again where the broker stood in the way meanwhile, as a scenario is repeated then. A target that is not
/// as it should be after that may still wait for the broker itself. Where the broker goes on standing in the way, nothing is
/// known of the target.
async fn through_broker<T>(
    trouble_since: impl Fn(Instant) -> Option<String>,
    mut began: Instant,
    urls: &str,
    open: impl Fn() -> BoxFuture<'static, Result<T, SessionError>>,
    answers: impl Fn(&T) -> bool,
) -> Result<T, SessionError> {
    let mut was_hindered = false;
    let mut left = OPENED_AGAIN;
    loop {
        let opened = open().await;
        let trouble = trouble_since(began);
        began = Instant::now();
        let lasts = trouble_since(began).is_some();
        was_hindered |= trouble.is_some();
        let is_sound = trouble.is_none() && (!was_hindered || opened.as_ref().is_ok_and(&answers));
        if is_sound || lasts || left == 0 {
            return match trouble {
                Some(reason) => Err(SessionError::Broker { url: nats_servers::redacted(urls), reason }),
                None => opened,
            };
        }
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;
    use crate::transcript::lock;

    /// What each opening gives, whether the broker stood in the way of it, and whether it goes on doing so.
    fn opened(attempts: &[(Result<&'static str, ()>, bool)], lasts: bool) -> (Option<&'static str>, usize) {
        let attempts: Mutex<VecDeque<_>> = Mutex::new(attempts.iter().copied().collect());
        let (made, asked, hindered) = (Cell::new(0), Cell::new(0), Cell::new(false));
        let open = || -> BoxFuture<'static, Result<&'static str, SessionError>> {
            made.set(made.get() + 1);
            let (result, is_hindered) = lock(&attempts).pop_front().expect("one more opening");
            hindered.set(is_hindered);
            Box::pin(std::future::ready(result.map_err(|()| SessionError::NoEcho)))
        };
        // Asked twice after each: for what was, and for what is.
        let trouble = |_: Instant| {
            asked.set(asked.get() + 1);
            let counts = hindered.get() && (asked.get() % 2 == 1 || lasts);
            counts.then(|| "no leader".to_owned())
        };
        let session =
            through_broker(trouble, Instant::now(), "nats://a", open, |session| *session == "answers");
        let session = futures::executor::block_on(session);
        if let Err(error) = &session {
            assert!(matches!(error, SessionError::Broker { .. } | SessionError::NoEcho), "{error}");
        }
        (session.ok(), made.get())
    }

    #[test]
    fn a_session_is_opened_again_where_the_broker_stood_in_the_way() {
        assert_eq!(opened(&[(Ok("answers"), false)], false), (Some("answers"), 1));
        assert_eq!(opened(&[(Ok("answers"), true), (Ok("answers"), false)], false), (Some("answers"), 2));
        // The target may wait for the broker longer than the suite.
        let late = [(Err(()), true), (Err(()), false), (Ok("is silent"), false), (Ok("answers"), false)];
        assert_eq!(opened(&late, false), (Some("answers"), 4));
    }

    #[test]
    fn a_broker_that_goes_on_standing_in_the_way_ends_it() {
        assert_eq!(opened(&[(Ok("answers"), true)], true), (None, 1));
        assert_eq!(opened(&[(Ok("answers"), true); 4], false), (None, 4));
        // Without the broker in the way, what the target is like is found at once.
        assert_eq!(opened(&[(Ok("is silent"), false)], false), (Some("is silent"), 1));
        assert_eq!(opened(&[(Err(()), false)], false), (None, 1));
    }
}
