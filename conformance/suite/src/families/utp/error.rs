//! Why a session with a UTP target cannot be opened.

use thiserror::Error;

use super::revision::Revision;
use crate::engine::judge::Cause;

/// A capture that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file.
    #[error("the capture `{path}` cannot be read: {reason}")]
    File {
        /// As the manifest names it.
        path: String,
        /// With the line, where there is one.
        reason: String,
    },
    /// The bus.
    #[error("the bus cannot be watched: {0}")]
    Bus(String),
    /// The exercise.
    #[error("the exercise that was to be captured failed: {0}")]
    Exercise(String),
}

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The broker does not answer, or does not let the suite do what it has to.
    #[error("the NATS server at `{url}` cannot be used: {reason}")]
    Broker {
        /// Without user and password.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// The platform cannot be served.
    #[error("the platform cannot be served: {0}")]
    Platform(String),
    /// The target's command cannot be run, or ended at once.
    #[error("the target cannot be started: {0}")]
    Start(String),
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// Nothing more is to be expected from the target.
    #[error("the target cannot be reached: {0}")]
    Reach(String),
    /// What a system sends cannot be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Nothing came from the target.
    #[error(
        "the target did not react to the `{tool_name}` command on `{subject}` within {seconds} s{}{}",
        if_nobody_subscribes(*has_no_subscriber),
        if_it_speaks_another(subject)
    )]
    Silent {
        /// The echo probe's tool.
        tool_name: String,
        /// Its subject.
        subject: String,
        /// The deadline.
        seconds: u64,
        /// Whether nobody subscribes to the subject whom the suite's user reaches.
        has_no_subscriber: bool,
    },
    /// The echo probe answers elsewhere than the manifest says.
    #[error(
        "the echoed arguments are not at `{pointer}` of `content.result`: correct `result_pointer` of `utp.tool-service.probes.echo`"
    )]
    Pointer {
        /// The manifest's pointer.
        pointer: String,
    },
    /// What the `work` probe gives does not show its work.
    #[error("`utp.tool-service.probes.work` does not show that the target works: {0}")]
    Work(String),
    /// The manifest names no echo probe.
    #[error(
        "the manifest names no `utp.tool-service.probes.echo`, and no `work` in its place, so nothing can show that the \
         target is alive"
    )]
    NoEcho,
    /// The manifest names no built-in.
    #[error("the manifest has no `utp.pmo` with a built-in, so nothing can show that the target is alive")]
    NoBuiltin,
}

fn if_nobody_subscribes(has_no_subscriber: bool) -> &'static str {
    if has_no_subscriber {
        "; nobody whom the suite's user reaches subscribes to that: check that the target runs, and that both are users of \
         the same account"
    } else {
        ""
    }
}

/// What to write where a target speaks another revision than that of a subject; nothing where the subject has none.
fn if_it_speaks_another(subject: &str) -> String {
    let version = subject.strip_prefix("cg.").and_then(|rest| rest.split('.').next());
    let other = version.map(|version| match Revision::of(version) {
        Revision::V1r3 => Revision::V1r4.name(),
        Revision::V1r4 => Revision::V1r3.name(),
    });
    other.map_or_else(String::new, |other| {
        format!("; if it speaks {other}, say `protocol_version = \"{other}\"` under `[utp]`")
    })
}

impl SessionError {
    /// Class of its cause.
    pub const fn cause(&self) -> Cause {
        match self {
            Self::NoEcho | Self::NoBuiltin | Self::Start(_) | Self::Config(_) => Cause::Config,
            Self::Pointer { .. } | Self::Work(_) => Cause::Fixture,
            Self::Platform(_) => Cause::Suite,
            Self::Broker { .. } | Self::Capture(_) | Self::Silent { .. } | Self::Reach(_) => {
                Cause::Reachability
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_names_the_revision_that_was_not_tried() {
        let said = |subject: &str| {
            let (tool_name, subject) = ("probe.echo".to_owned(), subject.to_owned());
            SessionError::Silent { tool_name, subject, seconds: 3, has_no_subscriber: false }.to_string()
        };
        for (subject, hint) in [
            ("cg.v1r3.p.c.cmd.tool.x", "if it speaks v1r4, say `protocol_version = \"v1r4\"` under `[utp]`"),
            ("cg.v1r4.p.c.cmd.tool.x", "if it speaks v1r3, say `protocol_version = \"v1r3\"` under `[utp]`"),
        ] {
            assert!(said(subject).ends_with(hint), "{}", said(subject));
        }
        assert!(said("runtime.v1.p.c.turns.start").ends_with("within 3 s"));
    }

    #[test]
    fn silence_says_where_nobody_subscribes() {
        let (tool_name, subject) = ("probe.echo".to_owned(), "cg.v1r3.p.c.cmd.tool.x".to_owned());
        let said =
            SessionError::Silent { tool_name, subject, seconds: 3, has_no_subscriber: true }.to_string();
        assert!(said.contains("within 3 s; nobody whom the suite's user reaches"), "{said}");
    }
}
