//! Subjects (UTP §4.1): `cg.<ver>.<project_id>.<channel_id>.cmd.tool.<target>…`.

/// A registered subject with `{project_id}` and `{channel_id}` filled in (Guide §2).
pub fn expand(template: &str, project_id: &str, channel_id: &str) -> String {
    template.replace("{project_id}", project_id).replace("{channel_id}", channel_id)
}

/// The subject on which a tool of this name is usually registered.
pub fn usual(version: &str, tool_name: &str) -> String {
    format!("cg.{version}.{{project_id}}.{{channel_id}}.cmd.tool.{tool_name}")
}

/// The subject of a PMO built-in (UTP §4.1).
pub fn builtin(version: &str, tool_name: &str) -> String {
    format!("cg.{version}.{{project_id}}.{{channel_id}}.cmd.sys.pmo.internal.{tool_name}")
}

/// The project that a captured address names: a subject of the bus or of the platform, or a path below `/projects/`.
pub fn project(address: &str) -> Option<&str> {
    let tokens: Vec<&str> = address.split('.').collect();
    let token = match tokens.as_slice() {
        ["cg", _, project, ..] | ["l0", "v1", project, ..] => Some(*project),
        _ => address.split_once("/projects/").and_then(|(_, rest)| rest.split(['/', '?', '#']).next()),
    };
    token.filter(|project| !project.is_empty())
}

/// Whether a subject has a tool command's whole subject in it, as those have that copies are kept under.
pub fn holds_tool_command(subject: &str) -> bool {
    subject.match_indices(".cg.").any(|(at, _)| is_tool_command(&subject[at + 1..]))
}

/// Whether a subject is that of a built-in of a PMO.
pub fn is_pmo_command(subject: &str) -> bool {
    subject.contains(".cmd.sys.pmo.internal.")
}

/// Whether a subject has the usual form of a tool command.
pub fn is_tool_command(subject: &str) -> bool {
    let tokens: Vec<&str> = subject.split('.').collect();
    matches!(tokens.as_slice(), ["cg", _, _, _, "cmd", "tool", _, ..])
        && tokens.iter().all(|token| !token.is_empty() && !token.contains(['{', '}', '*', '>', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_subject_has_its_form() {
        assert!(is_tool_command(&expand(&usual("v1r3", "probe.echo"), "prj", "public")));
        for subject in [
            "cg.v1r3.prj.public.cmd.tool",
            "cg.v1r3.{project_id}.public.cmd.tool.x",
            "cg.v1r3.prj..cmd.tool.x",
            "cg.v1r3.prj.cmd.tool.x.y",
            "tool.x",
        ] {
            assert!(!is_tool_command(subject), "{subject}");
        }
    }
}
