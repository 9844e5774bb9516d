//! One call of a tool, isolated: it may fail, panic or hang, and each is an error of the call.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;

use super::tool::{Tool, ToolCall, ToolFailure};

/// How long a call may take where neither its tool nor anybody else says so.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// Runs a call to its end or to its deadline; the output is an object.
///
/// It has a task of its own, so that a panic ends that alone, and a tool that does not yield blocks no other.
pub(super) async fn execute(
    tool: Arc<dyn Tool>,
    call: ToolCall,
    deadline: Duration,
) -> Result<Value, ToolFailure> {
    let deadline = tool.deadline().unwrap_or(deadline);
    let name = tool.definition().name.clone();
    let mut task = AbortOnDrop(tokio::spawn(async move { tool.run(call).await }));
    match tokio::time::timeout(deadline, &mut task.0).await {
        Ok(Ok(Ok(output @ Value::Object(_)))) => Ok(output),
        Ok(Ok(Ok(_))) => Err(ToolFailure::new(format!("`{name}` gave an output that is no object"))),
        Ok(Ok(Err(failure))) => Err(failure),
        Ok(Err(_panicked)) => Err(ToolFailure::new(format!("`{name}` broke down"))),
        Err(_elapsed) => Err(ToolFailure::new(format!("`{name}` took longer than {deadline:?}"))),
    }
}

/// Aborts the task when its caller stops waiting for it.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
