//! Subjects: built, parsed, and expanded from the templates in `resource.tools` (UTP §4.1, Guide §2.1).
//!
//! A command travels on `cg.<ver>.<project_id>.<channel_id>.cmd.tool.<target>…`; the platform's own operations on
//! `l0.v1.<project_id>.…`. Nothing here talks to a broker.

use std::fmt;

use super::revision::Revision;

/// A subject, or a token of one, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The text cannot stand as one token: empty, or with a dot, wildcard, brace, blank or control character.
    #[error("`{0}` is not a subject token")]
    Token(String),
    /// The subject is not `cg.<ver>.<project_id>.<channel_id>.…` with something behind it.
    #[error("`{0}` is not a command subject")]
    Command(String),
}

macro_rules! token {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Checks that the text can stand as one subject token.
            pub fn new(text: impl Into<String>) -> Result<Self, SubjectError> {
                let text = text.into();
                if is_token(&text) { Ok(Self(text)) } else { Err(SubjectError::Token(text)) }
            }

            /// The token as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

token!(
    /// A project: the unit of isolation of cards, tools, rosters and calls.
    ProjectId
);
token!(
    /// A channel of a project.
    ChannelId
);
token!(
    /// Where an agent's wakeups go, as its roster row says at the moment.
    WorkerTarget
);

/// The parts of a subject `cg.<ver>.<project_id>.<channel_id>.<rest>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSubject {
    /// The protocol version, such as `v1r3`.
    pub version: String,
    /// The project in which the call takes place.
    pub project_id: ProjectId,
    /// The channel to which its wakeup goes.
    pub channel_id: ChannelId,
    /// What follows, such as `cmd.tool.tides.table`.
    pub rest: String,
}

impl CommandSubject {
    /// Takes a subject apart.
    ///
    /// # Errors
    /// [`SubjectError::Command`] when there are too few tokens or the first is not `cg`.
    pub fn parse(subject: &str) -> Result<Self, SubjectError> {
        let malformed = || SubjectError::Command(subject.to_owned());
        let mut tokens = subject.splitn(5, '.');
        if tokens.next() != Some("cg") {
            return Err(malformed());
        }
        let mut token = || tokens.next().filter(|token| is_token(token)).ok_or_else(malformed);
        let (version, project, channel) = (token()?, token()?, token()?);
        let rest = tokens.next().filter(|rest| rest.split('.').all(is_token)).ok_or_else(malformed)?;
        Ok(Self {
            version: version.to_owned(),
            project_id: ProjectId::new(project)?,
            channel_id: ChannelId::new(channel)?,
            rest: rest.to_owned(),
        })
    }
}

/// The template of a tool's subject as a `resource.tools` row holds it; `target` is such as `cmd.tool.tides.table`.
pub fn target_template(revision: Revision, target: &str) -> String {
    format!("cg.{revision}.{{project_id}}.{{channel_id}}.{target}")
}

/// The subject on which one command is published.
///
/// # Errors
/// [`SubjectError::Command`] when the template does not expand to a command subject.
pub fn expand(
    template: &str,
    project_id: &ProjectId,
    channel_id: &ChannelId,
) -> Result<String, SubjectError> {
    let subject = replace(template, project_id.as_str(), channel_id.as_str());
    CommandSubject::parse(&subject)?;
    Ok(subject)
}

/// The subject to subscribe to: wildcards in the place of the placeholders, or one project in its place.
pub(crate) fn subscription(template: &str, project: &str) -> String {
    replace(template, project, "*")
}

/// The subject that wakes an agent's worker.
pub fn wakeup(
    revision: Revision,
    project_id: &ProjectId,
    channel_id: &ChannelId,
    target: &WorkerTarget,
) -> String {
    format!("cg.{revision}.{project_id}.{channel_id}.cmd.agent.{target}.wakeup")
}

/// The subject on which the end of an agent's turn is published.
pub fn task_event(
    revision: Revision,
    project_id: &ProjectId,
    channel_id: &ChannelId,
    agent_id: &str,
) -> String {
    format!("cg.{revision}.{project_id}.{channel_id}.evt.agent.{agent_id}.task")
}

fn replace(template: &str, project: &str, channel: &str) -> String {
    template.replace("{project_id}", project).replace("{channel_id}", channel)
}

/// Whether the text can stand as one token of a subject.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && !text.chars().any(|character| {
            matches!(character, '.' | '*' | '>' | '{' | '}')
                || character.is_whitespace()
                || character.is_control()
        })
}

#[cfg(test)]
mod tests {
    use super::{ChannelId, CommandSubject, ProjectId, Revision, expand, subscription, target_template};

    #[test]
    fn command_subjects_are_parsed() {
        fn check(subject: &str, expect: Option<(&str, &str, &str)>) {
            let parsed = CommandSubject::parse(subject).ok();
            let found = parsed
                .as_ref()
                .map(|parts| (parts.project_id.as_str(), parts.channel_id.as_str(), parts.rest.as_str()));
            assert_eq!(found, expect, "{subject}");
        }
        check("cg.v1r3.prj.ch.cmd.tool.probe.echo", Some(("prj", "ch", "cmd.tool.probe.echo")));
        check("cg.v1r3.prj.ch", None);
        check("cg.v1r3.prj", None);
        check("cg.v1r3..ch.cmd.tool.x", None);
        check("xx.v1r3.prj.ch.cmd.tool.x", None);
        check("cg.v1r3.{project_id}.ch.cmd.tool.x", None);
        check("cg.v1r3.prj.ch.cmd.tool.", None);
        check("", None);
    }

    #[test]
    fn templates_expand_and_widen() {
        let template = target_template(Revision::V1r3, "cmd.tool.tides.table");
        let project = ProjectId::new("prj").expect("a token");
        let channel = ChannelId::new("ch_7").expect("a token");
        assert_eq!(
            expand(&template, &project, &channel).as_deref(),
            Ok("cg.v1r3.prj.ch_7.cmd.tool.tides.table")
        );
        assert_eq!(subscription(&template, "*"), "cg.v1r3.*.*.cmd.tool.tides.table");
        assert!(expand("cg.v1r3.{tenant}.x.cmd.tool.y", &project, &channel).is_err());
    }

    #[test]
    fn tokens_hold_no_separator() {
        fn check(text: &str, expect: bool) {
            assert_eq!(ProjectId::new(text).is_ok(), expect, "{text}");
        }
        check("prj-1_ü", true);
        check("", false);
        check("a.b", false);
        check("*", false);
        check("a b", false);
    }
}
