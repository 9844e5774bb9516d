//! By what a target is started and reached: the members of a manifest that a certificate has to agree with.
//!
//! Deliberately absent: what is asked of it there, which judging again shows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Manifest;

/// Members that say where a target is, or how it is started, in whichever table they stand.
const PLACES: [&str; 26] = [
    "base_url",
    "capture",
    "chat",
    "command",
    "cwd",
    "fixtures",
    "http",
    "lines",
    "listen",
    "log",
    "model_listen",
    "nats",
    "platform",
    "project",
    "protocol_version",
    "root",
    "server_name",
    "start",
    "store",
    "target_subject",
    "token_url",
    "transport",
    "upstream",
    "upstream_listen",
    "url",
    "working_dir",
];

impl Manifest {
    /// By what a target is started and reached, by dotted key; what is not said has no entry.
    ///
    /// Of all tables: so it does not depend on which profiles an account names.
    pub fn places(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        for (family, table) in serde_json::to_value(self).ok().iter().filter_map(Value::as_object).flatten() {
            collect(family, table, &mut found);
        }
        found
    }
}

/// Words of a command are its own affair.
const COMMANDS: [&str; 2] = ["start", "command"];

impl Manifest {
    /// A fault for each HTTP address with a user or a password: addresses stand in every report, what is a secret does not.
    pub(super) fn credentials_in_addresses(&self) -> impl Iterator<Item = String> {
        self.hosts().into_iter().filter(|(_, host)| host.contains('@')).map(|(key, _)| {
            format!(
                "`{key}`: an address with a user or a password stands in every report: have it without them, and \
                 declare what the suite sends in `[target.http]`, such as `headers = {{ Authorization = {{ env = \
                 \"NAME\" }} }}`"
            )
        })
    }

    /// A fault for each HTTP address with a placeholder for its host that nobody fills in: nothing would ever be reached there.
    pub(super) fn unknown_hosts_in_addresses(&self) -> impl Iterator<Item = String> {
        let is_unknown = |host: &str| host.replace("{listen}", "").contains(['{', '}']);
        self.hosts().into_iter().filter(move |(_, host)| is_unknown(host)).map(|(key, host)| {
            // What stands before it may be a password.
            let host = host.rsplit('@').next().unwrap_or_default();
            format!(
                "`{key}`: `{host}` is no host: the one placeholder there is `{{listen}}`, the address at which the suite has \
                 a target listen that it starts"
            )
        })
    }

    /// The hosts of all HTTP addresses, with their ports and what stands before an `@`, by dotted key.
    fn hosts(&self) -> Vec<(String, String)> {
        let is_command = |key: &str| key.rsplit('.').next().is_some_and(|name| COMMANDS.contains(&name));
        let mut found = Vec::new();
        for (key, place) in self.places().into_iter().filter(|(key, _)| !is_command(key)) {
            hosts(&place, &mut |host| found.push((key.clone(), host.to_owned())));
        }
        found
    }
}

fn hosts(place: &Value, found: &mut dyn FnMut(&str)) {
    match place {
        Value::String(text) => {
            let rest =
                ["http://", "https://"].into_iter().find_map(|scheme| text.trim_start().strip_prefix(scheme));
            rest.and_then(|rest| rest.split(['/', '?', '#']).next()).into_iter().for_each(found);
        }
        Value::Array(items) => items.iter().for_each(|item| hosts(item, found)),
        Value::Object(members) => members.values().for_each(|member| hosts(member, found)),
        _ => {}
    }
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    for (key, member) in value.as_object().into_iter().flatten().filter(|(_, member)| !member.is_null()) {
        let path = format!("{path}.{key}");
        // The table `[utp.command]` says what commands have in them, which may be a secret.
        let is_table = key == "command" && member.is_object();
        if PLACES.contains(&key.as_str()) && !is_table {
            found.insert(path, member.clone());
        } else {
            collect(&path, member, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use callmark_schemas::SchemaName;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_where_a_target_is_counts() {
        let text = "[target]\nname = \"a\"\n\
                    [utp]\nnats = \"nats://h:4222\"\nserial = true\n\
                    [utp.command]\nheaders = { X-Tenant = \"acme\" }\n\
                    [utp.tool-service.probes.echo]\ntool_name = \"echo\"\ntarget_subject = \"cg.v1r3.{project_id}.{channel_id}.cmd.tool.x\"\n\
                    [toolbus]\ncommand = [\"mcp\"]\n\
                    [hub]\nbase_url = \"http://h\"\nsecret = \"hush\"\n\
                    [breadcrumb]\nstore = \"http://s\"\n[breadcrumb.runner]\n";
        let manifest = Manifest::parse("callmark.toml", text, Path::new(".")).expect("a sound manifest");
        let places = manifest.places();
        let own = |key: &str| places.get(key).cloned().unwrap_or_default();
        assert_eq!(own("utp.nats"), "nats://h:4222");
        assert_eq!(
            own("utp.tool-service.probes.echo.target_subject"),
            "cg.v1r3.{project_id}.{channel_id}.cmd.tool.x",
            "{places:?}"
        );
        assert_eq!(own("breadcrumb.store"), "http://s");
        assert_eq!(own("utp.serial"), Value::Null);
        assert_eq!(own("utp.command"), Value::Null);
        assert_eq!(own("toolbus.command"), json!(["mcp"]));
        assert_eq!(own("hub.base_url"), "http://h");
        assert_eq!(own("hub.secret"), Value::Null);
    }

    fn fault_of_a_hub_at(address: &str) -> String {
        let text = format!("[target]\nname = \"a\"\n[hub]\nbase_url = \"{address}\"\nsecret = \"quiet\"\n");
        let manifest = Manifest::parse("callmark.toml", &text, Path::new("."));
        manifest.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn an_address_holds_no_credentials() {
        for (address, expect) in [
            ("http://user:hush-hush@h", true),
            ("https://token@h:1/path", true),
            ("http://user:hush@{listen}", true),
            ("http://user:hush@{lisen}", true),
            ("http://h/path@home?to=a@b", false),
            ("http://{listen}", false),
        ] {
            let fault = fault_of_a_hub_at(address);
            assert_eq!(fault.contains("`hub.base_url`: an address with"), expect, "{address}: {fault}");
            assert!(!fault.contains("hush"), "{fault}");
        }
    }

    #[test]
    fn a_host_has_no_placeholder_that_nobody_fills_in() {
        for (address, expect) in [
            ("http://{lisen}", true),
            ("https://{host}:{port}/v1", true),
            ("http://{listen}/v1", false),
            ("http://h/{project}", false),
        ] {
            let fault = fault_of_a_hub_at(address);
            assert_eq!(
                fault.contains("is no host") && fault.contains("`{listen}`"),
                expect,
                "{address}: {fault}"
            );
        }
    }

    /// Members of the manifest's schema that look like one of these, by name.
    fn suspects(schema: &Value, found: &mut BTreeSet<String>) {
        const PARTS: [&str; 7] = ["url", "listen", "start", "command", "cwd", "dir", "subject"];
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let names = properties.keys().filter(|name| name.split('_').any(|part| PARTS.contains(&part)));
            found.extend(names.cloned());
        }
        let below = schema.as_object().into_iter().flat_map(|own| own.values());
        let items = schema.as_array().into_iter().flatten();
        below.chain(items).for_each(|own| suspects(own, found));
    }

    #[test]
    fn no_address_of_the_schema_is_left_out() {
        let schema: Value = serde_json::from_str(SchemaName::Manifest.source()).expect("JSON");
        let mut found = BTreeSet::new();
        suspects(&schema, &mut found);
        let missing: Vec<&String> = found
            .iter()
            .filter(|name| {
                !PLACES.contains(&name.as_str())
                    && !["private_dir", "start_timeout_seconds", "subject_word"].contains(&name.as_str())
            })
            .collect();
        assert!(missing.is_empty() && found.len() > 8, "{missing:?} of {found:?}");
    }
}
