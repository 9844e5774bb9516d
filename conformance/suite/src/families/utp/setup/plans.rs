//! With what the roles of a target are opened.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::open::{Blocked, lacks};
use crate::engine::timing::TimeoutLimits;
use crate::families::utp::callable::tools;
use crate::families::utp::manifest::UtpTable;
use crate::families::utp::revision::Revision;
use crate::families::utp::runtime::model::Model;
use crate::families::utp::runtime::session::RuntimePlan;
use crate::families::utp::session::SessionPlan;
use crate::families::utp::test_environment::TestEnvironment;
use crate::families::utp::tool::Role;
use crate::net::outbound::Outbound;

/// Why a profile of a revision cannot run that the manifest does not name.
pub(super) fn is_not_spoken(revision: Revision) -> Blocked {
    lacks(&format!("does not say that the target speaks {}", revision.name()))
}

/// What a runtime is opened with.
pub fn runtime_plan(
    table: &UtpTable,
    test_environment: &Arc<TestEnvironment>,
    model: Arc<Model>,
    (url, secret): (Option<String>, Option<String>),
    (limits, outbound): (TimeoutLimits, &Arc<Outbound>),
) -> RuntimePlan {
    RuntimePlan {
        test_environment: Arc::clone(test_environment),
        model,
        table: table.clone(),
        url,
        secret,
        outbound: Arc::clone(outbound),
        limits,
        ready_within: ready_within(table, limits),
    }
}

fn ready_within(table: &UtpTable, limits: TimeoutLimits) -> Duration {
    limits.scaled(table.launch.start_timeout())
}

/// What a role is opened with.
pub fn session_plan(
    role: Role,
    table: &UtpTable,
    test_environment: &Arc<TestEnvironment>,
    limits: TimeoutLimits,
) -> SessionPlan {
    SessionPlan {
        test_environment: Arc::clone(test_environment),
        role,
        tools: tools(role, table),
        missing_variable: table.command.missing_variable(),
        limits,
        ready_within: ready_within(table, limits),
    }
}
