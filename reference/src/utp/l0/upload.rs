//! What an uploaded tool definition must hold (Guide §3.2): YAML in, a `resource.tools` row out.
//!
//! Pure. An upload is the YAML itself, or a form with the YAML in its part `file`; [`definition`] takes it out.

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use crate::utp::message::{AfterExecution, ToolRow, text_member};
use crate::utp::revision::Revision;
use crate::utp::subject::{ProjectId, is_token};

/// The PMO's own tools, whose names an external tool cannot take.
const RESERVED: [&str; 5] =
    ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"];

/// The part of a form that holds the definition.
const PART: &str = "file";

/// The two placeholders of a target subject.
const PLACEHOLDERS: [&str; 2] = ["{project_id}", "{channel_id}"];

/// The YAML of an upload: the body, or the part `file` of a body that says it is a form.
pub(crate) async fn definition(content_type: Option<&str>, body: Bytes) -> Result<Bytes, String> {
    let Some(boundary) = content_type.and_then(|kind| multer::parse_boundary(kind).ok()) else {
        return Ok(body);
    };
    let failed = |error: multer::Error| format!("the form cannot be read: {error}");
    let whole = stream::iter([Ok::<_, Infallible>(body)]);
    let mut form = multer::Multipart::new(whole, boundary);
    while let Some(part) = form.next_field().await.map_err(failed)? {
        if part.name() == Some(PART) {
            return part.bytes().await.map_err(failed);
        }
    }
    Err(format!("the form has no part `{PART}`"))
}

/// Reads a definition, or says what is wrong with it; the project comes from the request, not from the YAML.
pub(crate) fn read(project_id: &ProjectId, served: &[Revision], yaml: &[u8]) -> Result<ToolRow, String> {
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
    check_version(&target_subject, served)?;
    let after_execution = AfterExecution::parse(&text("after_execution")?)
        .ok_or("`after_execution` is neither `suspend` nor `terminate`")?;
    Ok(ToolRow {
        project_id: project_id.to_string(),
        tool_name,
        description: text("description").ok(),
        parameters: schema(object(&definition, "parameters")?)?,
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
        && tokens.iter().all(|token| is_token(token) || PLACEHOLDERS.contains(token))
}

/// Checks that commands of the tool would reach somebody: its subject has a version that is served.
///
/// A platform that serves `v1r3` alone takes any version, as it always has.
fn check_version(template: &str, served: &[Revision]) -> Result<(), String> {
    let version = template.split('.').nth(1).unwrap_or_default();
    let is_served = version.parse().is_ok_and(|revision| served.contains(&revision));
    if is_served || !served.contains(&Revision::V1r4) {
        return Ok(());
    }
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    Err(format!("`{template}` is a subject of `{version}`; served are {}", served.join(" and ")))
}

/// Checks that an object is a JSON Schema. One of another dialect than ours is taken at its word.
fn schema(parameters: Value) -> Result<Value, String> {
    if parameters.get("$schema").is_none()
        && let Err(error) = jsonschema::draft202012::meta::validate(&parameters)
    {
        return Err(format!("`parameters` is no JSON Schema: {error}"));
    }
    Ok(parameters)
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
    use bytes::Bytes;
    use serde_json::json;

    use super::{definition, read};
    use crate::utp::revision::Revision;
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
        let row = read(&project, &Revision::ALL, GOOD.as_bytes()).expect("a row");
        assert_eq!(row.project_id, "prj");
        assert_eq!(row.target_subject, "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table");
        assert_eq!((row.parameters, row.options), (json!({"type": "object"}), json!({})));
    }

    #[test]
    fn what_breaks_a_constraint_is_refused() {
        fn check(from: &str, to: &str) {
            let project = ProjectId::new("prj").expect("a token");
            assert!(read(&project, &Revision::ALL, GOOD.replace(from, to).as_bytes()).is_err(), "{to}");
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
        check("{type: object}", "{type: 7}");
        check("{type: object}", "{properties: [a]}");
        check("{project_id}", "{tenant}");
        check("{project_id}", "*");
        check("cmd.tool.tides.table", "cmd.tool.>");
        check("cmd.tool.tides.table", "cmd.tool.tides.");
        check("cg.v1r3.{project_id}.{channel_id}.", "");
        check("cg.v1r3.{project_id}.{channel_id}.", "x.");
        check(GOOD, "- a\n- list\n");
        check(GOOD, "{");
    }

    #[test]
    fn the_version_of_a_subject_is_one_that_is_served() {
        fn check(version: &str, served: &[Revision], expect: bool) {
            let project = ProjectId::new("prj").expect("a token");
            let definition = GOOD.replace("cg.v1r3", &format!("cg.{version}"));
            assert_eq!(read(&project, served, definition.as_bytes()).is_ok(), expect, "{version} {served:?}");
        }
        check("v1r3", &Revision::ALL, true);
        check("v1r4", &Revision::ALL, true);
        check("v1r5", &Revision::ALL, false);
        check("v1r4", &[Revision::V1r4], true);
        check("v1r3", &[Revision::V1r4], false);
        check("v9", &[Revision::V1r3], true);
    }

    #[tokio::test]
    async fn the_definition_is_the_body_or_the_part_of_a_form() {
        async fn check(content_type: Option<&str>, body: &str, expect: Option<&str>) {
            let found = definition(content_type, Bytes::copy_from_slice(body.as_bytes())).await.ok();
            assert_eq!(found.as_deref(), expect.map(str::as_bytes), "{body}");
        }
        let form = |name: &str| {
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n\
                 --b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"t.yaml\"\r\n\
                 Content-Type: application/x-yaml\r\n\r\ntool_name: t\r\n--b--\r\n"
            )
        };
        let kind = Some("multipart/form-data; boundary=b");
        check(None, "tool_name: t", Some("tool_name: t")).await;
        check(Some("application/x-yaml"), "tool_name: t", Some("tool_name: t")).await;
        check(kind, &form("file"), Some("tool_name: t")).await;
        check(kind, &form("other"), None).await;
        check(kind, "tool_name: t", None).await;
    }
}
