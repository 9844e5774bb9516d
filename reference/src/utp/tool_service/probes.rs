//! Four small tools that make a Tool Service visible from outside: echo, count, fail, ctl (`docs/bindings.md`, Probes).
//!
//! They are ordinary tools; nothing in the service treats them differently.

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::utp::message::{AfterExecution, ErrorCode};

use super::failure::ToolFailure;
use super::tool::{Arguments, Tool, ToolCall, ToolDefinition, ToolOutput};

const AUTHOR: &str = "tool.probe";

/// Returns its arguments.
pub(crate) struct Echo;

/// Adds one to the project's counter and returns it.
pub(crate) struct Count;

/// Fails in a way that it did not foresee.
pub(crate) struct Fail;

/// Overrides `after_execution` as asked.
pub(crate) struct Control;

impl Tool for Echo {
    fn definition(&self) -> ToolDefinition {
        definition("probe.echo", "cmd.tool.probe.echo", "Returns its arguments.", &json!({}))
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        ready(Ok(ToolOutput::Complete(json!({"echo": call.arguments})))).boxed()
    }
}

impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        definition(
            "probe.count",
            "cmd.tool.probe.count",
            "Adds one to a counter of the project and returns it.",
            &json!({}),
        )
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        ready(Ok(ToolOutput::Counted { counter: call.project_id })).boxed()
    }
}

impl Tool for Fail {
    fn definition(&self) -> ToolDefinition {
        definition(
            "probe.fail",
            "cmd.tool.probe.fail",
            "Fails with an internal error.",
            &json!({"message": {"type": "string"}}),
        )
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let message = text(&call.arguments, "message").unwrap_or("the probe fails as asked");
        ready(Err(ToolFailure::new(ErrorCode::InternalError, message))).boxed()
    }
}

impl Tool for Control {
    fn definition(&self) -> ToolDefinition {
        let value = json!({"enum": ["suspend", "terminate"]});
        let control = json!({"type": "object", "properties": {"after_execution": value}});
        definition(
            "probe.ctl",
            "cmd.tool.probe.ctl",
            "Returns a result whose control object overrides after_execution.",
            &json!({"after_execution": value, "control": control, "note": {"type": "string"}}),
        )
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        ready(control(&call.arguments)).boxed()
    }
}

fn control(arguments: &Arguments) -> Result<ToolOutput, ToolFailure> {
    let asked = arguments
        .get("after_execution")
        .or_else(|| arguments.get("control")?.get("after_execution"))
        .and_then(Value::as_str);
    let after_execution = asked.and_then(AfterExecution::parse).ok_or_else(|| {
        ToolFailure::bad_argument(
            "after_execution",
            "`after_execution` is neither `suspend` nor `terminate`",
            &json!(["suspend", "terminate"]),
        )
    })?;
    let note = text(arguments, "note").unwrap_or("this result decides what the turn does next");
    let mut result = Arguments::new();
    result.insert("note".to_owned(), json!(note));
    let further = arguments.get("control").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(ToolOutput::Controlled { result, after_execution, further })
}

fn text<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn definition(
    tool_name: &'static str,
    target: &'static str,
    description: &'static str,
    properties: &Value,
) -> ToolDefinition {
    ToolDefinition {
        tool_name,
        target,
        author: AUTHOR,
        description,
        parameters: json!({"type": "object", "properties": properties}),
        after_execution: AfterExecution::Suspend,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::control;
    use crate::utp::message::AfterExecution;
    use crate::utp::tool_service::tool::ToolOutput;

    #[test]
    fn a_control_object_holds_one_of_the_two_values() {
        fn check(arguments: &Value, expect: Option<AfterExecution>) {
            let arguments = arguments.as_object().expect("an object");
            let found = match control(arguments) {
                Ok(ToolOutput::Controlled { after_execution, .. }) => Some(after_execution),
                Ok(other) => panic!("unexpected {other:?}"),
                Err(failure) => {
                    assert_eq!(failure.detail.expect("a detail")["field"], "after_execution");
                    None
                }
            };
            assert_eq!(found, expect);
        }
        check(&json!({"after_execution": "suspend"}), Some(AfterExecution::Suspend));
        check(&json!({"control": {"after_execution": "terminate"}}), Some(AfterExecution::Terminate));
        check(&json!({"after_execution": "TERMINATE"}), None);
        check(&json!({"control": "terminate"}), None);
        check(&json!({}), None);
    }
}
