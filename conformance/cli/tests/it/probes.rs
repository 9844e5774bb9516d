//! Targets as vendors have them, which no probe of the suite's own fits: state that has to be set up first, results that
//! say when they were made, directories of their own, no echo, headers and options of a deployment.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file beside this one.
fn target(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/probes").join(name)
}

/// The folder of an example.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// What a run with this manifest ends with, what it said, and the rules that it found broken.
fn certify(manifest: &str) -> (i32, String, Vec<String>) {
    certify_with(manifest, &[])
}

/// As [`certify`], with further arguments.
fn certify_with(manifest: &str, arguments: &[&str]) -> (i32, String, Vec<String>) {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let output = Command::new(crate::support::program())
        .args(["certify", "--target", "callmark.toml", "--out", "out", "--timeout-scale", "3"])
        .args(arguments)
        .current_dir(home.path())
        .env("ORCHID_TENANT", "orchid-tenant-7")
        .output()
        .expect("the binary runs");
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let record = std::fs::read(home.path().join("out/run.json")).unwrap_or_default();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
    let rules = record["rules"].as_array().cloned().unwrap_or_default();
    let broken =
        rules.iter().filter(|rule| ["failed", "warned"].contains(&rule["outcome"].as_str().unwrap_or("")));
    let broken = broken.map(|rule| rule["id"].as_str().unwrap_or_default().to_owned()).collect();
    for entry in std::fs::read_dir(home.path().join("out")).into_iter().flatten().flatten() {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("orchid-tenant-7"), "a secret is in {}", entry.path().display());
    }
    (output.status.code().expect("an exit code"), format!("{out}{errors}"), broken)
}

const NO_BYTECODE: &str = "env = { PYTHONDONTWRITEBYTECODE = \"1\" }\n";

/// An MCP server with notes of profiles; `extras` stands in its table, `probe` in that of its echo.
fn ledger(extras: &str, probe: &str) -> String {
    let command = ["python3".to_owned(), target("ledger.py").display().to_string()];
    let command = [&command[..], &[example("python-toolbus-modern").display().to_string()]].concat();
    format!(
        "[target]\nname = \"ledger\"\n[toolbus]\ncommand = {command:?}\n{NO_BYTECODE}result_pointer = \"/result\"\n\
         path_base = \"note.\"\nrevisions = [\"2026-07-28\"]\nscopes = [\"persistent\"]\n{extras}\
         [toolbus.probes.echo]\ntool = \"note_put\"\narguments = {{ profile = \"suite\", fields = \"{{value}}\" }}\n{probe}\
         [toolbus.probes.state]\n[[toolbus.probes.other]]\ntool = \"tide_read\"\narguments = {{ station = \"dover\" }}\n\
         [toolbus.artifacts]\n"
    )
}

const PRIVATE: &str = "private_dir = \"ACME_PROFILES_DIR\"\n";
const VOLATILE: &str = "volatile = [\"/result/note/updated_at\", \"/result/updated_at\"]\n";
const BEFORE: &str =
    "[[toolbus.probes.echo.before]]\ntool = \"profile_open\"\narguments = { name = \"suite\" }\n";

#[test]
fn a_server_whose_notes_belong_to_an_open_profile_is_certified() {
    let (code, said, broken) = certify(&ledger(PRIVATE, &format!("{VOLATILE}{BEFORE}")));
    assert_eq!((code, broken), (0, Vec::new()), "{said}");
}

#[test]
fn each_of_the_three_keys_is_what_that_server_needs() {
    for (extras, probe, expect) in [
        // Without its directory it does not start.
        ("", format!("{VOLATILE}{BEFORE}"), "ACME_PROFILES_DIR"),
        (PRIVATE, VOLATILE.to_owned(), "the profile is not open"),
        (PRIVATE, BEFORE.to_owned(), "never did the work of its echo probe"),
        (
            PRIVATE,
            format!("{VOLATILE}{}", BEFORE.replace("\"suite\"", "5")),
            "that `before` names is refused",
        ),
        (
            PRIVATE,
            format!("{VOLATILE}{}", BEFORE.replace("profile_open", "profile_opn")),
            "did you mean `profile_open`",
        ),
    ] {
        let (code, said, _) = certify_with(&ledger(extras, &probe), &["--rule", "BUS-41"]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(code == 3 && said.contains(expect), "{code}, and `{expect}` is not in\n{said}");
    }
}

#[test]
fn keys_that_fit_nothing_are_faults_of_the_manifest() {
    for (manifest, expect) in [
        (ledger("private_dir = \"PYTHONDONTWRITEBYTECODE\"\n", BEFORE), "leave one out"),
        (
            ledger("", BEFORE).replace(
                "command = [",
                "url = \"http://127.0.0.1:9/mcp\"\nprivate_dir = \"HOME_DIR\"\nheaders = {}\n#",
            ),
            "for a server that the suite starts",
        ),
        (service("headers = { Traceparent = \"00\" }", WORK), "which the suite fills in"),
        (service("", &WORK.replace("Saint-Malo", "Brest")), "are the same"),
        (service("", &WORK.replace("other_arguments", "# ")), "other_arguments"),
    ] {
        let (code, said, _) = certify(&manifest);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(code == 2 && said.contains(expect), "{code}, and `{expect}` is not in\n{said}");
    }
}

const WORK: &str = "[utp.tool-service.probes.work]\ntool_name = \"tides.table\"\n\
    target_subject = \"cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table\"\n\
    arguments = { harbour = \"Brest\" }\nother_arguments = { harbour = \"Saint-Malo\" }\nvolatile = [\"/computed_at\"]\n";
const HEADERS: &str = "headers = { X-Deployment = { env = \"ORCHID_TENANT\" } }";

/// A Tool Service of a deployment, with these headers and this probe.
fn service(headers: &str, probe: &str) -> String {
    let start = ["python3".to_owned(), target("deployment.py").display().to_string()];
    let start = [&start[..], &[example("python").display().to_string()]].concat();
    format!(
        "[target]\nname = \"deployment\"\n[utp]\nstart = {start:?}\n{NO_BYTECODE}start_timeout_seconds = 60\n\
         [utp.command]\n{headers}\n[utp.tool_options]\ntimeout_s = 2\n{probe}"
    )
}

#[test]
fn a_tool_service_without_an_echo_is_certified_by_its_work() {
    let (code, said, broken) = certify(&service(HEADERS, WORK));
    assert_eq!((code, broken), (0, Vec::new()), "{said}");
}

/// A copy of a target with a fault: this text in place of that one.
fn faulty(home: &Path, name: &str, from: &str, to: &str) -> String {
    let own = std::fs::read_to_string(target(name)).expect("the target");
    assert!(own.contains(from), "`{from}` is not in {name}");
    let copy = home.join(name);
    std::fs::write(&copy, own.replacen(from, to, 1)).expect("a copy");
    copy.display().to_string()
}

#[test]
fn no_fault_hides_behind_what_is_set_up_or_left_out() {
    let plain = "return {\"note\": fields | {\"updated_at\": time.time_ns()}";
    for (from, to, rule) in [
        // Arguments that it has seen before get the note of the call before.
        (
            plain,
            "seen, before = note_put.__dict__.setdefault(\"seen\", []), note_put.__dict__.get(\"before\")\n    \
             own = fields\n    \
             fields = before if own in seen and before is not None else own\n    \
             seen.append(own)\n    \
             note_put.before = own\n    \
             return {\"note\": fields | {\"updated_at\": time.time_ns()}",
            "BUS-02",
        ),
        // What was set up is a message of its own beside the answer.
        ("    opened.add(name)\n", "    opened.add(name)\n    print(\"opened\", flush=True)\n", "MCP-27"),
    ] {
        let home = tempfile::tempdir().expect("a directory");
        let script = faulty(home.path(), "ledger.py", from, to);
        let manifest = ledger(PRIVATE, &format!("{VOLATILE}{BEFORE}"))
            .replace(&target("ledger.py").display().to_string(), &script);
        let (code, said, broken) = certify_with(&manifest, &["--rule", rule]);
        assert_eq!((code, broken), (1, vec![rule.to_owned()]), "{to}: {said}");
    }
}

#[test]
fn no_fault_hides_behind_work() {
    let plain = "return await tides.tide_table(project, arguments) | {\"computed_at\": time.time_ns()}";
    let later = |otherwise: &str| {
        format!(
            "table.calls = getattr(table, \"calls\", 0) + 1\n    own = await tides.tide_table(project, arguments)\n    \
             if table.calls > 12:\n        {otherwise}\n    return own | {{\"computed_at\": time.time_ns()}}"
        )
    };
    for otherwise in [
        // It gives the table of another harbour.
        "own = await tides.tide_table(project, {\"harbour\": \"Brest\" if arguments[\"harbour\"] != \"Brest\" else \"Saint-Malo\"})",
        // Nothing is left of its work but when it was done.
        "own = {}",
    ] {
        let home = tempfile::tempdir().expect("a directory");
        let script = faulty(home.path(), "deployment.py", plain, &later(otherwise));
        let manifest =
            service(HEADERS, WORK).replace(&target("deployment.py").display().to_string(), &script);
        let (code, said, broken) = certify_with(&manifest, &["--rule", "TDG-1-02"]);
        assert_eq!((code, broken), (1, vec!["TDG-1-02".to_owned()]), "{otherwise}: {said}");
    }
}

#[test]
fn work_that_does_not_show_is_said() {
    let constant = WORK
        .replace("volatile", "result_pointer = \"/harbour\"\nvolatile")
        .replace("Saint-Malo\" }", "Brest\", days = 2 }");
    for (probe, expect) in [
        (WORK.replace("[\"/computed_at\"]", "[]"), "two results for the same arguments"),
        (constant, "the same result for `arguments` and for `other_arguments`"),
        (WORK.replace("Brest", "Atlantis"), "ends with `failed`"),
        (WORK.replace("volatile", "result_pointer = \"/tide\"\nvolatile"), "nothing is at `/tide`"),
    ] {
        let (code, said, _) = certify(&service(HEADERS, &probe));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(code == 3 && said.contains(expect), "{code}, and `{expect}` is not in\n{said}");
    }
}

#[test]
fn a_runner_that_knows_ids_and_uses_what_stores_have_is_certified() {
    let runner = example("python-runner").join("runner.py").display().to_string();
    let start = ["python3".to_owned(), target("catalogued.py").display().to_string(), runner];
    let fixtures = target("definitions.json").display().to_string();
    let manifest = format!(
        "[target]\nname = \"catalogued\"\n[breadcrumb]\nstart = {start:?}\n{NO_BYTECODE}fixtures = {fixtures:?}\n\
         catalog = [\"echo\", \"calculator\"]\n[breadcrumb.runner]\n"
    );
    let (code, said, broken) = certify(&manifest);
    assert_eq!((code, broken), (0, Vec::new()), "{said}");
    // Two breadcrumbs cannot be under one id.
    let home = tempfile::tempdir().expect("a directory");
    let twice = home.path().join("twice.json");
    let one = std::fs::read_to_string(target("definitions.json")).expect("a file");
    let one = one.trim().trim_start_matches('[').trim_end_matches(']').to_owned();
    std::fs::write(&twice, format!("[{one}, {one}]")).expect("a file");
    let (code, said, _) = certify(&manifest.replace(&fixtures, &twice.display().to_string()));
    assert!(code == 3 && said.contains("the same `id`"), "{code}: {said}");
}
