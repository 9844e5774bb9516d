//! What can be called of a UTP target, by its manifest.

use std::collections::BTreeMap;

use serde_json::json;

use super::manifest::{Builtin, OpenApiTable, PmoTable, ProbeName, UtpTable};
use super::subject;
use super::tool::{Role, Tool, ToolTable};
use super::upstream;

/// What can be called of a role.
pub(super) fn tools(role: Role, table: &UtpTable) -> BTreeMap<Tool, ToolTable> {
    match role {
        Role::ToolService => {
            let probes = table.tool_service.iter().flat_map(|service| &service.probes);
            probes.map(|(name, probe): (&ProbeName, _)| (Tool::from(*name), ToolTable::from(probe))).collect()
        }
        Role::Pmo => table.pmo.as_ref().map(|pmo| builtins(pmo, table.version())).unwrap_or_default(),
        Role::OpenApi => table.openapi.as_ref().map(|own| jina(own, table.version())).unwrap_or_default(),
    }
}

fn builtins(pmo: &PmoTable, version: &str) -> BTreeMap<Tool, ToolTable> {
    Builtin::ALL
        .into_iter()
        .filter(|builtin| pmo.has(*builtin))
        .map(|builtin| {
            let table = ToolTable {
                tool_name: builtin.name().to_owned(),
                target_subject: Some(subject::builtin(version, builtin.name())),
                arguments: pmo.arguments.get(&builtin).cloned(),
                options: json!({}),
                ..ToolTable::default()
            };
            (Tool::from(builtin), table)
        })
        .collect()
}

fn jina(own: &OpenApiTable, version: &str) -> BTreeMap<Tool, ToolTable> {
    [(Tool::Search, "search", "s.jina.ai"), (Tool::Reader, "reader", "r.jina.ai")]
        .into_iter()
        .filter(|(_, mode, _)| own.modes.as_ref().is_none_or(|modes| modes.iter().any(|own| own == mode)))
        .map(|(tool, mode, host)| {
            let table = ToolTable {
                tool_name: format!("jina_{mode}"),
                target_subject: Some(
                    own.target_subject.clone().unwrap_or_else(|| subject::usual(version, "jina")),
                ),
                options: upstream::options(mode, host),
                ..ToolTable::default()
            };
            (tool, table)
        })
        .collect()
}
