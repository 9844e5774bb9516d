//! The prefix of a target's manners, family by family: everything that the suite makes up begins with it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{Home, unwrapped};

const PREFIX: &str = "cmk-";
const MANNERS: &str = "manners = { prefix = \"cmk-\", clean_up = true }\n";

/// Members that hold a name of the suite's, in what the suite sends in UTP.
const UTP: [&str; 9] = [
    "agent_turn_id",
    "card_id",
    "context_box_id",
    "correlation_id",
    "inbox_id",
    "project_id",
    "tool_call_card_id",
    "tool_call_id",
    "tool_result_card_id",
];

/// A manifest for a target that others use too.
fn shared(manifest: &str) -> String {
    manifest.replacen("[target]\n", &format!("[target]\n{MANNERS}"), 1)
}

/// All texts under members of these names, wherever they stand.
fn texts<'a>(value: &'a Value, names: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if names.contains(&name.as_str()) => found.push(text),
                    member => texts(member, names, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, names, found)),
        _ => {}
    }
}

/// The ids of a UTP message. What a tool is given and returns may be called like one.
fn ids<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("arguments" | "result", _) => {}
                    (name, Value::String(text)) if UTP.contains(&name) => found.push(text),
                    (_, member) => ids(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| ids(item, found)),
        _ => {}
    }
}

impl Home {
    /// What the suite sent, or stored, in the last run.
    fn sent(&self) -> Vec<Value> {
        self.frames().into_iter().filter(|frame| frame["direction"] != "from-target").collect()
    }

    /// The ids of turns that the target started.
    fn named_by_the_target(&self) -> BTreeSet<String> {
        let frames = self.frames().into_iter();
        let starts =
            frames.filter(|frame| frame["direction"] == "from-target" && frame["kind"] == "turn-start");
        starts.filter_map(|frame| frame["body"]["agent_turn_id"].as_str().map(str::to_owned)).collect()
    }

    fn frames(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("out/transcript.jsonl")).expect("a transcript");
        let frames = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        frames.map(|mut line| line["frame"].take()).collect()
    }

    /// Certifies a copy of an example with these rules, and returns what was sent.
    fn run_shared(&self, example: &str, change: (&str, &str), rules: &[&str]) -> Vec<Value> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
        for entry in std::fs::read_dir(&from).expect("an example").map(|entry| entry.expect("an entry")) {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), self.path().join(entry.file_name())).expect("a copy");
            }
        }
        let manifest = std::fs::read_to_string(from.join("callmark.toml")).expect("a manifest");
        let (from, to) = change;
        assert!(manifest.contains(from), "{example}");
        let mut command = vec!["certify", "--out", "out"];
        command.extend(rules.iter().flat_map(|rule| ["--rule", *rule]));
        let (code, said) = self.run(&command, &shared(&manifest.replacen(from, to, 1)));
        assert_eq!((code, self.failed()), (0, 0), "{example}: {said}");
        self.sent()
    }
}

/// All of these begin with the prefix, and there are some.
fn begin_with_it<'a>(what: &str, names: impl IntoIterator<Item = &'a str>) {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let without: Vec<&&str> = names.iter().filter(|name| !name.starts_with(PREFIX)).collect();
    assert!(!names.is_empty() && without.is_empty(), "{what}: {without:?} of {names:?}");
}

/// The members `names` of all frames begin with the prefix.
fn check(what: &str, frames: &[Value], names: &[&str]) {
    for name in names {
        let mut found = Vec::new();
        for frame in frames {
            texts(&frame["body"], &[name], &mut found);
        }
        begin_with_it(&format!("{what} {name}"), found);
    }
}

/// The projects that subjects and paths name.
fn projects(frames: &[Value]) -> BTreeSet<&str> {
    let channels = frames.iter().filter_map(|frame| frame["channel"].as_str());
    channels
        .filter_map(|channel| {
            if let Some((_, path)) = channel.split_once("/projects/") {
                return path.split('/').next();
            }
            let rest = channel.strip_prefix("cg.v1r3.").or_else(|| channel.strip_prefix("runtime.v1."));
            rest.and_then(|rest| rest.split('.').next())
        })
        .collect()
}

#[test]
fn projects_calls_cards_and_turns_have_it() {
    for (example, rules) in [
        ("python", &["TDG-1-02"][..]),
        ("python-pmo", &["UTP-4.2-27"]),
        ("python-runtime", &["UTP-4.1-36", "TDG-2-06"]),
    ] {
        let home = Home::new();
        let change = if example == "python" { ("\"server\"", "\"embedded\"") } else { ("[utp]", "[utp]") };
        let frames = home.run_shared(example, change, rules);
        begin_with_it(example, projects(&frames));
        // A PMO names the turns that it starts.
        let started = home.named_by_the_target();
        let mut found = Vec::new();
        for frame in &frames {
            ids(&frame["body"], &mut found);
        }
        begin_with_it(example, found.into_iter().filter(|name| !started.contains(*name)));
    }
}

#[test]
fn tools_and_projects_of_a_registry_have_it() {
    let home = Home::new();
    let frames = home.run_shared("python-registry", ("[utp.registry]", "[utp.registry]"), &["UTP-2-06"]);
    begin_with_it("registry", projects(&frames));
    let lines = frames.iter().filter_map(|frame| frame["body"].as_str()).flat_map(str::lines);
    let names = lines.filter_map(|line| line.strip_prefix("tool_name:"));
    begin_with_it("registry tool_name", names.map(|name| name.trim().trim_matches(['"', '\''])));
}

#[test]
fn breadcrumbs_have_it_in_titles_ids_and_tags() {
    let home = Home::new();
    let rules = ["BRD-51", "BRD-68"];
    let frames = home.run_shared("python-runner", ("[breadcrumb]", "[breadcrumb]"), &rules);
    check("runner", &frames, &["title", "requestId"]);
    own_tags("runner", &frames, &["session:", "tag-", "cmk-tag-"]);
    let frames = home.run_shared("python-agent", ("[breadcrumb.agent]", "[breadcrumb.agent]"), &["BRD-15"]);
    let put: Vec<Value> = frames.into_iter().filter(|frame| frame["kind"] == "put").collect();
    check("agent", &put, &["title"]);
    own_tags("agent", &put, &["session:"]);
}

/// Tags that begin so and name something of the suite's.
fn own_tags(what: &str, frames: &[Value], heads: &[&str]) {
    let tags = frames.iter().filter_map(|frame| frame["body"]["tags"].as_array()).flatten();
    let own = tags.filter_map(Value::as_str).filter(|tag| heads.iter().any(|head| tag.starts_with(head)));
    begin_with_it(what, own.map(|tag| tag.strip_prefix("session:").unwrap_or(tag)));
}

#[test]
fn conversations_of_an_agent_have_it() {
    let home = Home::new();
    let frames = home.run_shared("python-hub-agent", ("[hub.agent]", "[hub.agent]"), &["HUB-21"]);
    check("hub agent", &frames, &["conversation_id", "user_id"]);
}

#[test]
fn conversations_of_a_hub_have_it() {
    let home = Home::new();
    let frames = home.run_shared("python-hub", ("[hub]", "[hub]"), &["HUB-28"]);
    check("hub", &frames, &["conversation_id", "user_id", "request_id"]);
}

#[test]
fn traces_of_an_mcp_server_have_it() {
    let home = Home::new();
    let frames = home.run_shared("python-toolbus-modern", ("[toolbus]", "[toolbus]"), &["BUS-66"]);
    check("server", &frames, &["trace_id", "span_id"]);
}

#[test]
fn what_a_run_leaves_is_listed_by_its_prefix() {
    let home = Home::new();
    let server = super::nats::Server::start(home.path(), "");
    let _service = server.service("service:none");
    let at = format!("nats = \"nats://127.0.0.1:{}\"\n", server.port);
    let manifest = shared(&super::nats::manifest("", &at));
    let (code, said) = home.run(&["certify", "--out", "out", "--rule", "TDG-1-02"], &manifest);
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    let said = unwrapped(&said);
    assert!(
        said.contains("stays at the target:") && said.contains("projects, with ids that begin with `cmk-`"),
        "{said}"
    );
}
