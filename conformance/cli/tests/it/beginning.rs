//! The first minutes: what `init` writes, the schema of manifests, and a day with a Hub in TypeScript.

use std::path::{Path, PathBuf};
use std::process::Command;

use callmark_schemas::SchemaName;
use callmark_suite::engine::manifest::Manifest;
use serde_json::Value;

use crate::daily::{RIGHT, WRONG, Watching, callmark, replace};
use crate::support;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// What the schema that is printed for manifests says of a text.
fn faults(text: &str) -> Vec<String> {
    let table: toml::Table = toml::from_str(text).expect("TOML");
    let value = serde_json::to_value(table).expect("JSON");
    let violations = callmark_schemas::violations(SchemaName::Manifest, &value);
    violations.into_iter().map(|own| format!("{}: {}", own.pointer, own.message)).collect()
}

#[test]
fn the_schema_of_a_manifest_is_the_one_by_which_it_is_read() {
    let output = callmark(&["schema", "manifest"], Path::new("."));
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), SchemaName::Manifest.source());
    for (document, name) in [
        ("run", SchemaName::Run),
        ("doctor", SchemaName::Doctor),
        ("sabotage", SchemaName::Sabotage),
        ("diff", SchemaName::Diff),
        ("baseline", SchemaName::Baseline),
        ("recording", SchemaName::Recording),
        ("load", SchemaName::Load),
    ] {
        let output = callmark(&["schema", document], Path::new("."));
        assert_eq!(String::from_utf8_lossy(&output.stdout), name.source(), "{document}");
    }
    assert_eq!(callmark(&["schema", "nonsense"], Path::new(".")).status.code(), Some(2));
}

#[test]
fn every_manifest_of_an_example_has_that_shape() {
    let mut manifests = 0;
    for folder in std::fs::read_dir(examples()).expect("examples").filter_map(Result::ok) {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().filter_map(Result::ok) {
            let name = file.file_name().to_string_lossy().into_owned();
            let is_toml = file.path().extension().is_some_and(|extension| extension == "toml");
            if name.starts_with("callmark") && is_toml {
                let text = std::fs::read_to_string(file.path()).expect("a manifest");
                assert_eq!(faults(&text), [""; 0], "{}", file.path().display());
                manifests += 1;
            }
        }
    }
    assert!(manifests > 15, "{manifests}");
}

/// A mistake that an editor shows by the schema is one that `certify` refuses, and the other way round.
#[test]
fn the_schema_and_the_suite_refuse_the_same() {
    let target = "[target]\nname = \"a\"\n";
    let check = |rest: &str, is_sound: bool| {
        let text = format!("{target}{rest}");
        let faults = faults(&text);
        assert_eq!(faults.is_empty(), is_sound, "{rest}: {faults:?}");
        let read = Manifest::parse("callmark.toml", &text, Path::new("."));
        assert_eq!(read.is_ok(), is_sound, "{rest}: {read:?}");
    };
    check("", true);
    check("[hub]\nstart = [\"hub\"]\nbase_url = \"http://{listen}\"\n", true);
    check(
        "[utp]\nstart = [\"s\"]\nprotocol_version = [\"v1r3\", \"v1r4\"]\n[utp.tool-service.probes.echo]\ntool_name = \"e\"\n",
        true,
    );
    for mistake in [
        "[hubb]\nbase_url = \"http://127.0.0.1:1\"\n",
        "[hub]\nbase_ulr = \"http://127.0.0.1:1\"\n",
        "[hub]\nbase_url = 8080\n",
        "[hub]\nstart = \"python3 hub.py\"\n",
        "[hub.customers]\nconected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n",
        "[utp]\nplatform = \"kafka\"\n",
        "[utp.tool-service.probes.ecco]\ntool_name = \"e\"\n",
        "[utp.tool-service.probes.echo]\ntool_nam = \"e\"\n",
        "[toolbus]\ntransport = \"carrier-pigeon\"\n",
        "[toolbus]\ncommand = []\n",
        "[breadcrumb.runer]\n",
        "versions = 1\n",
    ] {
        check(mistake, false);
    }
    let nameless = faults("[target]\nversion = \"1\"\n");
    assert_eq!(nameless.len(), 1, "{nameless:?}");
}

#[test]
fn init_names_the_schema_and_writes_nothing_over() {
    let home = tempfile::tempdir().expect("a directory");
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("written");
    assert!(callmark(&["init", "a.toml", "--for", "utp.tool-service"], home.path()).status.success());
    let first = read("a.toml").lines().next().expect("a line").to_owned();
    assert!(
        first.starts_with("#:schema https://") && first.ends_with("/schemas/callmark/manifest.schema.json"),
        "{first}"
    );

    assert!(callmark(&["init", "b.toml", "--for", "hub.server", "--schema"], home.path()).status.success());
    assert!(read("b.toml").starts_with("#:schema ./callmark.schema.json\n"));
    assert_eq!(read("callmark.schema.json"), SchemaName::Manifest.source());

    // One file that is there already, and none is written.
    let output = callmark(&["init", "c.toml", "--schema"], home.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`callmark.schema.json` is there already"));
    assert!(!home.path().join("c.toml").exists());
    let output = callmark(&["init", "d.toml", "--for", "agent", "--lang", "rust"], home.path());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ");
    assert!(said.contains("--for utp --lang go"), "{said}");
    assert!(!home.path().join("d.toml").exists());
}

/// The Hub of `examples/typescript-hub`, whose packages `ci/setup` has installed.
fn typescript() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let output = callmark(&["init", "--lang", "typescript", "--for", "hub"], home.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("npm ci"), "{said}");
    let packages =
        examples().join("typescript-hub/node_modules").canonicalize().expect("ci/setup installs them");
    std::os::unix::fs::symlink(packages, home.path().join("node_modules")).expect("a link");
    home
}

/// `callmark` where Node.js is the one that `ci/setup` installed.
fn with_node(arguments: &[&str], home: &Path) -> Command {
    let mut command = Command::new(support::program());
    command.args(arguments).current_dir(home).env_remove("HUB_SECRET");
    if let Some(node) = std::env::var_os("MCP_CONFORMANCE_BIN") {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(PathBuf::from(node)).chain(std::env::split_paths(&paths));
        command.env("PATH", std::env::join_paths(paths).expect("a path"));
    }
    command
}

#[test]
fn a_day_with_a_hub_in_typescript() {
    let home = typescript();
    let check = |arguments: &[&str], code: i32| {
        let output = with_node(arguments, home.path()).output().expect("the program");
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    };
    let record = || -> Value {
        let text = std::fs::read_to_string(home.path().join("reports/out/run.json")).expect("a record");
        serde_json::from_str(&text).expect("JSON")
    };
    assert!(check(&["doctor"], 0).contains("ready: callmark certify"));
    assert!(check(&["certify"], 0).contains("conformant: "));

    let hub = home.path().join("hub.ts");
    replace(&hub, RIGHT, WRONG);
    assert!(check(&["certify"], 1).contains("error[HUB-52]"));
    assert!(check(&["certify", "--failed"], 1).contains("error[HUB-52]"));

    let mut watching = Watching::start(&mut with_node(&["certify", "--watch"], home.path()));
    watching.until("watching the files");
    assert_eq!(record()["verdict"], "nonconformant");
    replace(&hub, WRONG, RIGHT);
    let said = watching.until("watching the files");
    assert!(said.contains("changed: `./hub.ts`"), "{said}");
    assert_eq!(record()["verdict"], "conformant");
    assert_eq!(watching.interrupt(), Some(0));
}
