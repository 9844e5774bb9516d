//! Which revisions of its protocol a target is certified for: those of its manifest, those that it answers in, those that
//! the command line names.

use std::process::Command;

use crate::doctor::SMALL_TARGETS;

/// A directory with a server of this shape, and a manifest with these lines of `[toolbus]`.
fn home(shape: &str, lines: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("small_targets.py"), SMALL_TARGETS).expect("a file");
    let manifest = format!(
        "[target]\nname = \"small\"\n[toolbus]\ncommand = [\"python3\", \"small_targets.py\", \"mcp\", \"{shape}\"]\n\
         path_base = \"value.\"\n{lines}\n[toolbus.probes.echo]\ntool = \"echo\"\n"
    );
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    home
}

/// What a command prints of such a server, and its exit code.
fn run(shape: &str, lines: &str, arguments: &[&str]) -> (String, i32) {
    let home = home(shape, lines);
    let output = Command::new(crate::support::program()).args(arguments).current_dir(home.path()).output();
    let output = output.expect("the binary runs");
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    (format!("{out}{errors}"), output.status.code().expect("it ends by itself"))
}

/// The profiles that a server of this shape is certified for.
fn profiles(shape: &str, lines: &str) -> String {
    let (text, _) = run(shape, lines, &["doctor"]);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("ok profiles"));
    line.unwrap_or_else(|| panic!("no profiles in\n{text}")).trim().to_owned()
}

#[test]
fn a_server_is_certified_in_the_eras_that_it_answers_in() {
    for (shape, expect) in [
        ("plain", "toolbus.server"),
        ("capped", "toolbus.server"),
        ("silent", "toolbus.server"),
        ("modern", "toolbus.server@2026-07-28"),
        ("dual", "toolbus.server, toolbus.server@2026-07-28"),
    ] {
        assert_eq!(profiles(shape, ""), expect, "{shape}");
    }
}

#[test]
fn a_manifest_that_names_revisions_is_taken_at_its_word() {
    assert_eq!(profiles("dual", "revisions = [\"2026-07-28\"]"), "toolbus.server@2026-07-28");
    assert_eq!(profiles("dual", "revisions = [\"2025-06-18\"]"), "toolbus.server");
}

#[test]
fn a_server_without_the_revision_of_its_manifest_is_distinguished_from_one_that_is_not_there() {
    let (text, code) = run("modern", "revisions = [\"2025-06-18\"]", &["doctor"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("`initialize`"), "{text}");
    let (text, code) = run("capped", "revisions = [\"2026-07-28\"]", &["doctor"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("2025-06-18"), "{text}");
}

#[test]
fn the_command_line_selects_revisions() {
    let certify = |shape: &str, arguments: &[&str]| {
        run(shape, "", &[&["certify", "--rule", "BUS-02", "--format", "json"], arguments].concat())
    };
    let of = |revision: &str| certify("dual", &["--revision", revision]).0;
    assert!(!of("2025-11-25").contains("toolbus.server@2026-07-28"));
    let modern = of("2026-07-28");
    assert!(
        modern.contains("toolbus.server@2026-07-28") && !modern.contains("\"toolbus.server\""),
        "{modern}"
    );
    let (text, code) = certify("dual", &["--revision", "2026-07-29"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("there is no revision `2026-07-29`") && text.contains("v1r3"), "{text}");
    // A profile that the target has in a later revision only stands for that.
    let (text, _) = certify("modern", &["--profile", "toolbus.server"]);
    assert!(text.contains("toolbus.server@2026-07-28"), "{text}");
}

#[test]
fn a_revision_that_mcp_does_not_have_breaks_a_rule_by_name() {
    let (text, code) = run("banana", "", &["certify", "--rule", "MCP-28"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("error[MCP-28]") && text.contains("`banana`"), "{text}");
    let (text, code) = run("plain", "", &["certify", "--rule", "MCP-28"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_server_may_keep_its_state_with_the_client_and_list_its_tools_in_any_order() {
    let (text, code) = run("patient", "", &["certify", "--rule", "BUS-02", "--rule", "MCP-19"]);
    assert_eq!(code, 0, "{text}");
    let (target, pace) = (["load", "--target", "callmark.toml"], ["--rate", "5", "--for", "1s"]);
    let (text, _) =
        run("patient", "", &[&target[..], &pace, &["--deadline", "20s", "--format", "json"]].concat());
    // What its envelopes lack of the contract is found, too. Each call was answered with its result.
    assert!(text.contains("\"succeeded\": 5"), "{text}");
}

#[test]
fn what_stands_on_standard_output_beside_answers_is_found_in_both_eras() {
    for (shape, expect) in
        [("twice", "a second answer to request"), ("journal", "no MCP message"), ("access", "no MCP message")]
    {
        let (text, code) = run(shape, "", &["certify", "--rule", "MCP-27"]);
        assert_eq!(code, 1, "{shape}: {text}");
        assert!(text.contains("error[MCP-27]") && text.contains(expect), "{shape}: {text}");
    }
    let (text, code) = run("plain", "", &["certify", "--rule", "MCP-27"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn a_server_may_close_each_connection_and_not_say_so() {
    let lines = "start = [\"python3\", \"small_targets.py\", \"mcp\", \"closing\"]\n\
                 transport = \"http\"\nrevisions = [\"2026-07-28\"]";
    for _ in 0..3 {
        let (text, code) = run("closing", lines, &["certify", "--rule", "BUS-02", "--rule", "BUS-05"]);
        assert_eq!(code, 0, "{text}");
    }
}

#[test]
fn a_server_that_answers_in_no_era_is_waited_for_once() {
    let home = tempfile::tempdir().expect("a directory");
    let manifest = "[target]\nname = \"mute\"\n[toolbus]\nstart_timeout_seconds = 1\n\
                    command = [\"sh\", \"-c\", \"echo started >> starts; exec sleep 60\"]\n\
                    [toolbus.probes.echo]\ntool = \"echo\"\n";
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let arguments = ["certify", "--rule", "BUS-02"];
    let output = Command::new(crate::support::program()).args(arguments).current_dir(home.path()).output();
    let output = output.expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("no answer to `initialize` within 1 s"), "{text}");
    // Once in each era.
    let starts = std::fs::read_to_string(home.path().join("starts")).expect("a file");
    assert_eq!(starts.lines().count(), 2, "{starts}");
}
