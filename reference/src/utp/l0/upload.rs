//! What an uploaded tool definition must hold (Guide §3.2): YAML in, a `resource.tools` row out. Pure.

use serde_json::{Value, json};

use crate::utp::message::{AfterExecution, ToolRow, text_member};
use crate::utp::subject::ProjectId;

/// The PMO's own tools, whose names an external tool cannot take.
const RESERVED: [&str; 5] =
    ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"];

/// Reads a definition, or says what is wrong with it; the project comes from the request, not from the YAML.
pub(crate) fn read(project_id: &ProjectId, yaml: &[u8]) -> Result<ToolRow, String> {
    let definition: Value =
        serde_yaml_ng::from_slice(yaml).map_err(|error| format!("the definition is not YAML: {error}"))?;
    let text =
        |name: &str| text_member(&definition, name).map(str::to_owned).ok_or_else(|| format!("no `{name}`"));
    let tool_name = text("tool_name")?;
    if RESERVED.contains(&tool_name.as_str()) {
        return Err(format!("`{tool_name}` is the name of a PMO built-in"));
    }
    let target_subject = text("target_subject")?;
    if !is_tool_subject(&target_subject) {
        return Err(format!("`{target_subject}` is not a `cmd.tool.*` subject"));
    }
    let after_execution = AfterExecution::parse(&text("after_execution")?)
        .ok_or("`after_execution` is neither `suspend` nor `terminate`")?;
    Ok(ToolRow {
        project_id: project_id.to_string(),
        tool_name,
        description: text("description").ok(),
        parameters: object(&definition, "parameters")?,
        target_subject,
        after_execution,
        options: object(&definition, "options")?,
    })
}

/// Whether the template is `cg.<ver>.<project>.<channel>.cmd.tool.<target>…`, placeholders included.
fn is_tool_subject(template: &str) -> bool {
    let tokens: Vec<&str> = template.split('.').collect();
    tokens.len() >= 7
        && tokens[0] == "cg"
        && tokens[4..6] == ["cmd", "tool"]
        && tokens.iter().all(|token| {
            !token.is_empty() && !token.contains(['*', '>']) && !token.contains(char::is_whitespace)
        })
}

fn object(definition: &Value, name: &str) -> Result<Value, String> {
    match definition.get(name) {
        None | Some(Value::Null) => Ok(json!({})),
        Some(value) if value.is_object() => Ok(value.clone()),
        Some(_) => Err(format!("`{name}` is not an object")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::utp::subject::ProjectId;

    const GOOD: &str = "\
tool_name: tide_table
target_subject: \"cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table\"
after_execution: suspend
description: High and low water.
parameters: {type: object}
project_id: elsewhere
";

    #[test]
    fn a_definition_becomes_a_row_of_the_requests_project() {
        let project = ProjectId::new("prj").expect("a token");
        let row = read(&project, GOOD.as_bytes()).expect("a row");
        assert_eq!(row.project_id, "prj");
        assert_eq!(row.target_subject, "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table");
        assert_eq!((row.parameters, row.options), (json!({"type": "object"}), json!({})));
    }

    #[test]
    fn what_breaks_a_constraint_is_refused() {
        fn check(from: &str, to: &str) {
            let project = ProjectId::new("prj").expect("a token");
            assert!(read(&project, GOOD.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        check("after_execution: suspend", "after_execution: pause");
        check("after_execution: suspend", "after_execution: Suspend");
        check("after_execution: suspend\n", "");
        check("cmd.tool.tides.table", "cmd.sys.pmo.internal.x");
        check("cmd.tool.tides.table", "evt.agent.x.state");
        check("cmd.tool.tides.table", "cmd.tool");
        check("tool_name: tide_table", "tool_name: fork_join");
        check("tool_name: tide_table", "tool_name: 7");
        check("tool_name: tide_table", "");
        check("{type: object}", "[1]");
        check(GOOD, "- a\n- list\n");
        check(GOOD, "{");
    }
}
