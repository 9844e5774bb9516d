//! What can be called of a UTP target, by its manifest.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::manifest::{Builtin, OpenApiTable, PmoTable, ProbeName, UtpTable};
use super::subject;
use super::tool::{Role, Tool, ToolTable};
use super::upstream;

/// What can be called of a role.
pub(super) fn tools(role: Role, table: &UtpTable) -> BTreeMap<Tool, ToolTable> {
    let mut all = of_role(role, table);
    for tool in all.values_mut() {
        tool.headers.clone_from(&table.command.headers);
        add_options(&mut tool.options, &table.tool_options);
    }
    all
}

/// Adds what every row of a deployment says to the options of one, which come first.
pub(super) fn add_options(options: &mut Value, further: &Map<String, Value>) {
    let Some(options) = options.as_object_mut() else { return };
    for (name, value) in further {
        options.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

fn of_role(role: Role, table: &UtpTable) -> BTreeMap<Tool, ToolTable> {
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
