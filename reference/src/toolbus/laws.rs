//! Laws that hold for all calls: secrets stay in, sizes stay bounded, files stay below the root, JSON stays strict.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::bus::Bus;
use super::config::Config;
use super::state::SessionStore;

/// What must never be seen. It does not occur in anything that the tests make otherwise.
const MARKER: &str = "mk-7Q2x9";
/// The most that an envelope or an artifact may be, in bytes.
const MOST: usize = 512 * 1024;
const SECRET_KEYS: [&str; 8] = [
    "password",
    "API-Key",
    "client_secret",
    "Authorization",
    "set-cookie",
    "accessToken",
    "PRIVATE_KEY",
    "token",
];
const PLAIN_KEYS: [&str; 5] = ["a", "b", "rows", "name", "value"];

/// Any JSON value with markers under secret keys only.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[\u{0}-\u{1f}\"\\\\]{0,6}".prop_map(Value::from),
        Just(json!(format!("Bearer {MARKER}"))),
        Just(json!(format!("curl -u x -H 'Authorization: Basic {MARKER}' y"))),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let plain = (prop::sample::select(&PLAIN_KEYS[..]).prop_map(str::to_owned), inner.clone());
        let wrapped = inner.clone().prop_map(|inner| json!({"deep": [MARKER, inner]}));
        let hidden =
            prop_oneof![Just(json!(MARKER)), Just(json!([MARKER])), Just(json!({MARKER: MARKER})), wrapped];
        let secret = (prop::sample::select(&SECRET_KEYS[..]).prop_map(str::to_owned), hidden);
        let pair =
            prop::sample::select(&SECRET_KEYS[..]).prop_map(|name| json!({"name": name, "value": MARKER}));
        let member = prop_oneof![3 => plain, 2 => secret];
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::Array),
            prop::collection::vec(member, 0..6).prop_map(|members| Value::Object(Map::from_iter(members))),
            pair,
        ]
    })
}

/// Outputs that often fit the values above, and often do not.
fn output() -> impl Strategy<Value = Value> {
    let keys = || prop::sample::select([&SECRET_KEYS[..], &PLAIN_KEYS[..]].concat());
    let segment =
        prop_oneof![keys().prop_map(|key| format!(".{key}")), (0..3_u8).prop_map(|n| format!("[{n}]"))];
    let path = prop::collection::vec(segment, 1..4)
        .prop_map(|segments| json!(segments.concat().trim_start_matches('.')));
    let list = || prop::collection::vec(keys(), 0..4).prop_map(|keys| json!(keys));
    let flat = (prop::option::of(path), prop::option::of(list()), prop::option::of(list())).prop_map(
        |(path, pick, omit)| {
            let members = [("path", path), ("pick", pick), ("omit", omit)];
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Value>()
        },
    );
    flat.prop_recursive(2, 4, 1, |inner| {
        (inner.clone(), inner).prop_map(|(mut outer, map)| {
            outer["map"] = map;
            outer
        })
    })
}

/// How a caller aims an output.
#[derive(Debug, Clone)]
enum Aim {
    Nowhere,
    Blindly(Value),
    /// At a place that there is, whatever lies there.
    At(prop::sample::Index),
}

fn aim() -> impl Strategy<Value = Aim> {
    prop_oneof![
        1 => Just(Aim::Nowhere),
        2 => output().prop_map(Aim::Blindly),
        4 => any::<prop::sample::Index>().prop_map(Aim::At),
    ]
}

impl Aim {
    fn at(&self, value: &Value) -> Value {
        match self {
            Self::Nowhere => json!({}),
            Self::Blindly(output) => output.clone(),
            Self::At(index) => {
                // A caller that names the secret in its output shows it itself.
                let outputs =
                    outputs(value).into_iter().filter(|output| !output.to_string().contains(MARKER));
                index.get(&outputs.collect::<Vec<_>>()).clone()
            }
        }
    }
}

/// An output for every place of a value: by a path, and by a map for what lies in the items of an array.
fn outputs(value: &Value) -> Vec<Value> {
    fn joined(step: &str, rest: &str) -> String {
        let dot = if rest.is_empty() || rest.starts_with('[') { "" } else { "." };
        format!("{step}{dot}{rest}")
    }
    fn below(step: &str, output: &Value) -> Value {
        let mut output = output.clone();
        output["path"] = json!(joined(step, output["path"].as_str().unwrap_or_default()));
        output
    }
    let mut all = vec![json!({})];
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                all.push(json!({"pick": [key]}));
                all.extend(outputs(inner).iter().map(|output| below(key, output)));
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                let inner = outputs(inner);
                all.extend(inner.iter().map(|output| below(&format!("[{index}]"), output)));
                all.extend(inner.iter().map(|output| json!({"map": output})));
            }
        }
        _ => {}
    }
    all
}

/// Ids as callers should not choose them.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9-]{1,20}",
        "\\PC{1,40}",
        "(\\.\\./){1,6}[a-z]{0,4}",
        "/(tmp|etc)/[a-z]{1,8}",
        "[./\\\\\u{0}:~= ]{1,10}",
        "[é中]{100,170}",
        "[a-z]{1,4}\\.(context|json|tmp)",
        Just(".".to_owned()),
        Just("..".to_owned()),
    ]
}

/// A bus with a root that lies alone in a folder, so that anything beside it is noticed.
struct Fixture {
    folder: tempfile::TempDir,
    bus: Bus,
    session: SessionStore,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bus = Bus::new(&Config { root: Some(folder.path().join("above/root")), ..Config::default() });
        Self { folder, bus, session: SessionStore::default() }
    }

    /// Serves a call; returns everything that can be seen of it.
    fn seen(&self, tool: &str, arguments: Value) -> Vec<String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let answer = match self.bus.call(&self.session, tool, &arguments) {
            Ok(envelope) => envelope.to_string(),
            Err(failure) => json!({"message": failure.message, "data": failure.data}).to_string(),
        };
        let mut seen = vec![answer];
        for path in files(self.folder.path()) {
            assert!(path.starts_with(self.folder.path().join("above/root")), "{} is outside", path.display());
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            if path.extension().is_some_and(|extension| extension == "json") {
                serde_json::from_str::<Value>(&text).expect("strict JSON");
            }
            seen.push(text);
        }
        seen
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn secrets_are_seen_nowhere(value in value(), aim in aim(), scope in 0..2_usize) {
        let fixture = Fixture::new();
        let scope = ["session", "persistent"][scope];
        let output = aim.at(&value);
        let arguments =
            json!({"value": value, "output": output, "store_as": "k", "store_scope": scope, "trace_id": "t"});
        let mut seen = fixture.seen("probe_echo", arguments.clone());
        seen.extend(fixture.seen("mcp_state", json!({"action": "get", "key": "k", "scope": scope})));
        // What a tool refuses is shown as well.
        seen.extend(fixture.seen("probe_fail", arguments.clone()));
        seen.extend(fixture.seen("no_such_tool", arguments));
        for text in seen {
            prop_assert!(!text.contains(MARKER), "{text}");
        }
    }

    #[test]
    fn the_secret_probe_shows_nothing_but_when_asked(aim in aim(), reveal in any::<bool>()) {
        let fixture = Fixture::new();
        let output = aim.at(&json!({
            "user": 0, "password": 0, "api_key": 0, "headers": {"Authorization": 0}, "accounts": [{"client_secret": 0}],
        }));
        let arguments = json!({"marker": MARKER, "reveal_secrets": reveal, "output": output, "store_as": "k"});
        let mut seen = fixture.seen("probe_secret", arguments);
        if reveal {
            // The answer may show it; artifacts and the store do not.
            seen.remove(0);
        }
        seen.extend(fixture.seen("mcp_state", json!({"action": "get", "key": "k"})));
        for text in seen {
            prop_assert!(!text.contains(MARKER), "{text}");
        }
    }

    #[test]
    fn ids_lead_nowhere_but_below_the_root(trace in id(), span in id(), parent in id()) {
        let fixture = Fixture::new();
        let arguments = json!({"value": 1, "trace_id": trace, "span_id": span, "parent_span_id": parent});
        // An answer, one text and one envelope: all ids are short enough to be taken.
        prop_assert_eq!(fixture.seen("probe_echo", arguments).len(), 3);
    }

    #[test]
    fn names_of_tools_and_arguments_lead_nowhere(tool in id(), name in id(), value in value()) {
        let fixture = Fixture::new();
        let arguments = Value::Object(Map::from_iter([(name, value)]));
        prop_assert_eq!(fixture.seen(&tool, arguments).len(), 3);
    }
}

proptest! {
    // Few, since each case makes and writes megabytes.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn everything_is_bounded(bytes in 0..2_000_000_u64, shape in 0..3_usize, map in any::<bool>()) {
        let fixture = Fixture::new();
        let shape = ["text", "list", "object"][shape];
        let mut arguments = json!({"bytes": bytes, "shape": shape});
        if map {
            arguments["output"] = json!({"path": shape});
        }
        for text in fixture.seen("probe_large", arguments) {
            prop_assert!(text.len() < MOST);
        }
    }

    #[test]
    fn large_values_of_every_kind_are_bounded(value in value(), times in 1..1000_usize, control in any::<char>()) {
        let fixture = Fixture::new();
        let copies = vec![value; times];
        let text = control.to_string().repeat(150_000);
        let deep = (0..150).fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) });
        let arguments = json!({"value": {"copies": copies, "text": text, "deep": deep, text.clone(): 1, "z": text}});
        for seen in fixture.seen("probe_echo", arguments) {
            prop_assert!(seen.len() < MOST, "{}", seen.len());
            prop_assert!(!seen.contains(MARKER));
        }
    }
}
