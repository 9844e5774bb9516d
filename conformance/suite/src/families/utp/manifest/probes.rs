//! `[utp.tool-service]` and `[utp.command]`: the tools that serve as probes, and what commands carry beside the protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::manifest::target::HeaderText;

/// `[utp.tool-service]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolServiceTable {
    /// The tools that serve as probes.
    #[serde(default)]
    pub probes: BTreeMap<ProbeName, ProbeTable>,
}

/// The probes (`docs/bindings.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeName {
    /// Returns its arguments.
    Echo,
    /// Counts its runs.
    Count,
    /// Throws.
    Fail,
    /// Returns a control object.
    Ctl,
    /// Returns what depends on its arguments, in place of the echo.
    Work,
}

impl ProbeName {
    /// All probes.
    pub const ALL: [Self; 5] = [Self::Echo, Self::Count, Self::Fail, Self::Ctl, Self::Work];

    /// The name in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Count => "count",
            Self::Fail => "fail",
            Self::Ctl => "ctl",
            Self::Work => "work",
        }
    }
}

/// `[utp.tool-service.probes.<name>]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeTable {
    /// The tool's name.
    pub tool_name: String,
    /// Its subject with `{project_id}` and `{channel_id}` unexpanded.
    #[serde(default)]
    pub target_subject: Option<String>,
    /// What its registration says; `suspend` when absent.
    #[serde(default)]
    pub after_execution: Option<String>,
    /// JSON Pointer into `content.result` of the tool.result card.
    #[serde(default)]
    pub result_pointer: Option<String>,
    /// Arguments in place of the probe's own.
    #[serde(default)]
    pub arguments: Option<Value>,
    /// `work`: arguments for which it gives another result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_arguments: Option<Value>,
    /// JSON Pointers into `content.result` to what may differ between two results of the same call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
}

/// `[utp.command]`: what a deployment needs in each command beside the protocol.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandTable {
    /// Headers of every command that the suite publishes. Values from the environment are secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, HeaderText>,
}

/// The header that the suite fills in for each command itself.
const TRACEPARENT: &str = "traceparent";

impl CommandTable {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Values that must not be stored.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let named = self.headers.values().filter(|text| matches!(text, HeaderText::Named(_)));
        named.filter_map(|text| text.resolved().ok())
    }

    /// The name of an environment variable that it needs and that is not set.
    pub(in crate::families::utp) fn missing_variable(&self) -> Option<String> {
        self.headers.values().find_map(|text| text.resolved().err())
    }

    pub(super) fn contradictions(&self) -> Vec<String> {
        let is_text = |name: &str| !name.is_empty() && !name.contains([':', '\r', '\n', ' ']);
        let fault = |name: &String| {
            if name.eq_ignore_ascii_case(TRACEPARENT) {
                return Some(format!(
                    "`utp.command.headers` has `{name}`, which the suite fills in: leave it out"
                ));
            }
            (!is_text(name)).then(|| format!("`{name}` in `utp.command.headers` is no name of a header"))
        };
        self.headers.keys().filter_map(fault).collect()
    }
}

impl ToolServiceTable {
    /// Probes that could show nothing.
    pub(super) fn contradictions(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let key = |name: &ProbeName| format!("utp.tool-service.probes.{}", name.name());
        if let Some(work) = self.probes.get(&ProbeName::Work) {
            if self.probes.contains_key(&ProbeName::Echo) {
                faults.push(
                    "`utp.tool-service.probes` has both `echo` and `work`: leave `work` out".to_owned(),
                );
            }
            let is_object = |value: &Option<Value>| value.as_ref().is_some_and(Value::is_object);
            if !is_object(&work.arguments) || !is_object(&work.other_arguments) {
                faults.push(
                    "`utp.tool-service.probes.work` needs `arguments` and `other_arguments`, two objects for which the \
                     tool gives two results"
                        .to_owned(),
                );
            } else if work.arguments == work.other_arguments {
                faults.push(
                    "`arguments` and `other_arguments` of `utp.tool-service.probes.work` are the same"
                        .to_owned(),
                );
            }
        }
        for (name, probe) in &self.probes {
            if *name != ProbeName::Work && probe.other_arguments.is_some() {
                faults.push(format!("`{}.other_arguments` is for `work` alone: leave it out", key(name)));
            }
            faults.extend(probe.volatile.iter().filter(|pointer| !pointer.starts_with('/')).map(|pointer| {
                format!(
                    "`{}.volatile` has `{pointer}`, which is no JSON Pointer into `content.result`, for example \
                     `/updated_at`",
                    key(name)
                )
            }));
        }
        faults
    }
}
