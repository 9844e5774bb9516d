//! One call of a built-in: arguments, agents, turns, and the waiting where there is some.
//!
//! Everything around it, from the command to the report, is `tool_service`'s.

use std::sync::Arc;

use async_nats::Subscriber;
use futures::future::{BoxFuture, join_all};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::utp::message::TurnReceipt;
use crate::utp::subject::CommandSubject;
use crate::utp::tool_service::{Call, Executor, Form, ToolFailure, ToolOutput};

use super::agents::Target;
use super::arguments::{BuiltIn, FAMILY, Join, Task};
use super::context::PmoContext;
use super::join::{Branch, BranchOutcome, Waited, answered, joined};

const AUTHOR: &str = "sys.pmo";

/// Runs the built-ins.
pub(super) struct BuiltIns {
    context: Arc<PmoContext>,
}

impl BuiltIns {
    pub(super) fn new(context: PmoContext) -> Self {
        Self { context: Arc::new(context) }
    }
}

impl Executor for BuiltIns {
    fn author(&self) -> &'static str {
        AUTHOR
    }

    fn form(&self) -> Form {
        Form::BUILT_IN
    }

    fn tool_name(&self, subject: &CommandSubject) -> String {
        built_in(subject).to_owned()
    }

    fn run(&self, call: Call) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let context = Arc::clone(&self.context);
        async move { context.run(&call).await }.boxed()
    }
}

/// The built-in that a subject addresses.
fn built_in(subject: &CommandSubject) -> &str {
    subject.rest.strip_prefix(FAMILY).unwrap_or(&subject.rest)
}

impl PmoContext {
    async fn run(&self, call: &Call) -> Result<ToolOutput, ToolFailure> {
        let asked = BuiltIn::read(built_in(&call.subject), &call.arguments)?;
        if !matches!(asked, BuiltIn::Provision(_)) {
            // Before any agent is made for a turn that may not start.
            self.child_depth(call)?;
        }
        match asked {
            BuiltIn::Provision(asked) => self.provision(call, asked).await,
            BuiltIn::Dispatch(task) => self.dispatch(call, &task).await,
            BuiltIn::Ask { mut task, include_history } => {
                if include_history && task.context_box_id.is_none() {
                    task.context_box_id.clone_from(&call.command.context_box_id);
                }
                let join = Join { tasks: vec![task], fail_fast: false, deadline: None };
                let (branches, waited) = self.fork(call, &join).await?;
                answered(&branches[0], waited)
            }
            BuiltIn::Join(join) => {
                let (branches, waited) = self.fork(call, &join).await?;
                joined(&branches, waited)
            }
        }
    }

    /// Starts a turn and answers with where it is.
    async fn dispatch(&self, call: &Call, task: &Task) -> Result<ToolOutput, ToolFailure> {
        let target = self.target(call, 0, task).await?;
        self.settle(call, &target).await?;
        let turn = self.start(call, 0, &target.row, task).await?;
        Ok(ToolOutput::Complete(json!({
            "status": "dispatched",
            "agent_id": target.row.agent_id,
            "agent_turn_id": turn.agent_turn_id,
            "turn_epoch": turn.turn_epoch,
        })))
    }

    /// Starts a turn for each task and waits; there is a branch for each, in their order.
    async fn fork(&self, call: &Call, join: &Join) -> Result<(Vec<Branch>, Waited), ToolFailure> {
        let deadline = Instant::now() + join.deadline.unwrap_or(self.child_deadline);
        // All targets are found before the first row is written and the first turn is started: a task that names
        // nobody is found out while nothing has happened yet.
        let mut targets: Vec<Target> = Vec::with_capacity(join.tasks.len());
        for (index, task) in join.tasks.iter().enumerate() {
            targets.push(self.target(call, index, task).await.map_err(|failure| at_task(index, failure))?);
        }
        for target in &targets {
            self.settle(call, target).await?;
        }
        let agent_ids = targets.iter().map(|target| target.row.agent_id.as_str());
        let events = self.listen(call, agent_ids).await?;
        let starts = targets.iter().zip(&join.tasks).enumerate();
        let starts =
            join_all(starts.map(|(index, (target, task))| self.start(call, index, &target.row, task)));
        let mut branches = Vec::with_capacity(targets.len());
        let mut turns = Vec::new();
        for ((index, started), (target, events)) in
            starts.await.into_iter().enumerate().zip(targets.into_iter().zip(events))
        {
            let agent_id = target.row.agent_id;
            let (agent_turn_id, outcome) = match started {
                Ok(turn) => {
                    let agent_turn_id = turn.agent_turn_id.clone();
                    turns.push((index, turn, events));
                    (Some(agent_turn_id), BranchOutcome::Unfinished)
                }
                Err(failure) => (None, BranchOutcome::NotStarted(failure)),
            };
            branches.push(Branch { agent_id, agent_turn_id, outcome });
        }
        let waited = self.wait(call, join.fail_fast, deadline, &mut branches, turns).await;
        Ok((branches, waited))
    }

    /// Fills in how turns end, until all have, one fails that must not, or the deadline comes.
    async fn wait(
        &self,
        call: &Call,
        fail_fast: bool,
        deadline: Instant,
        branches: &mut [Branch],
        turns: Vec<(usize, TurnReceipt, Subscriber)>,
    ) -> Waited {
        let is_failed = |branch: &Branch| branch.outcome != BranchOutcome::Unfinished && !branch.is_success();
        if fail_fast && branches.iter().any(is_failed) {
            return Waited::ToTheFirstFailure;
        }
        let mut endings: FuturesUnordered<_> =
            turns
                .into_iter()
                .map(|(index, turn, mut events)| async move {
                    (index, self.ending(call, &mut events, &turn).await)
                })
                .collect();
        loop {
            match timeout_at(deadline, endings.next()).await {
                Ok(Some((index, ending))) => {
                    branches[index].outcome = BranchOutcome::Ended(ending);
                    if fail_fast && is_failed(&branches[index]) {
                        return Waited::ToTheFirstFailure;
                    }
                }
                Ok(None) => return Waited::ForAll,
                Err(_elapsed) => return Waited::ToTheDeadline,
            }
        }
    }
}

/// Says which task a failure belongs to.
fn at_task(index: usize, mut failure: ToolFailure) -> ToolFailure {
    if let Some(detail) = failure.detail.as_mut().and_then(|detail| detail.as_object_mut()) {
        detail.insert("task".to_owned(), json!(index));
    }
    failure
}
