//! `callmark doctor` against small targets with a fault each: it names what it got, tries what is declared, and ends what
//! it started.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The small targets, in Python.
pub(crate) const SMALL_TARGETS: &str = include_str!("small_targets.py");

/// A directory with the targets and a manifest.
fn home(manifest: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("small_targets.py"), SMALL_TARGETS).expect("a file");
    let text = format!("[target]\nname = \"small\"\n{manifest}");
    std::fs::write(home.path().join("callmark.toml"), text).expect("a file");
    home
}

fn doctor(home: &Path) -> Command {
    let mut command = Command::new(crate::support::program());
    command.args(["doctor", "--timeout-scale", "0.5"]).current_dir(home);
    command
}

/// What the doctor prints of a target that is not as it should be: a line for each thing, blanks as one.
fn diagnosis(manifest: &str) -> String {
    let home = home(manifest);
    let output = doctor(home.path()).output().expect("the binary runs");
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert_eq!(output.status.code(), Some(3), "{out}{errors}");
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    out.lines().map(line).collect()
}

/// The doctor says this of this manifest.
fn check(manifest: &str, expect: &[&str]) {
    let text = diagnosis(manifest);
    for part in expect {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// The command line of a small target.
fn start(words: &[&str]) -> String {
    let words: Vec<&str> = ["python3", "small_targets.py"].into_iter().chain(words.iter().copied()).collect();
    format!("{words:?}")
}

#[test]
fn the_status_of_a_hub_that_lets_nobody_in_is_shown() {
    for status in ["403", "404"] {
        let start = start(&["refuse", status]);
        let manifest = format!(
            "[hub]\nstart = {start}\n[hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n"
        );
        check(&manifest, &["!! hub implementation: ", &format!("the Hub answers {status}")]);
    }
}

#[test]
fn a_log_is_quoted_and_no_directory_named_that_is_gone() {
    let text = diagnosis(
        "[hub]\nstart = [\"sh\", \"-c\", \"echo no port is free >&2; exit 1\"]\nsecret = \"hush\"\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n",
    );
    assert!(text.contains("its log `hub.log` ends: ") && text.contains("no port is free"), "{text}");
}

#[test]
fn the_status_of_an_agent_that_lets_nobody_in_is_shown() {
    for status in ["403", "404", "503"] {
        let start = start(&["refuse", status]);
        let manifest = format!(
            "[hub.agent]\nstart = {start}\nstart_timeout_seconds = 12\n[hub.agent.drive]\nhttp = \"http://{{listen}}/drive\"\n"
        );
        let text = diagnosis(&manifest);
        assert!(text.contains("!! ") && text.contains(status), "{text}");
        let manifest = format!(
            "[breadcrumb.agent]\nstart = {start}\nstart_timeout_seconds = 12\n[breadcrumb.agent.drive]\nhttp = \"http://{{listen}}/hear\"\n"
        );
        check(&manifest, &["!! breadcrumb.agent reachability: ", &format!("answers {status}")]);
    }
}

#[test]
fn the_status_of_a_runtime_that_lets_nobody_in_is_shown() {
    for (status, table) in [("403", "worker"), ("404", "execution")] {
        let start = start(&["refuse", status]);
        let manifest = format!(
            "[utp]\nplatform = \"http\"\nstart = {start}\nstart_timeout_seconds = 12\n[utp.{table}]\n"
        );
        check(
            &manifest,
            &["!! runtime fixture: ", &format!("was answered {status} with `{{\"error\":\"no entry\"}}`")],
        );
    }
}

#[test]
fn the_status_of_a_server_and_a_registry_that_let_nobody_in_is_shown() {
    let start = start(&["refuse", "403"]);
    let manifest = format!(
        "[toolbus]\nstart = {start}\nurl = \"http://{{listen}}/mcp\"\nstart_timeout_seconds = 20\n[toolbus.probes.echo]\ntool = \"echo\"\n"
    );
    check(&manifest, &["!! toolbus.server reachability: ", "403"]);
    let manifest = format!("[utp.registry]\nstart = {start}\nbase_url = \"http://{{listen}}\"\n");
    let text = diagnosis(&manifest);
    assert!(text.contains("!! ") && text.contains("403") && !text.contains("subscriptions"), "{text}");
}

#[test]
fn what_a_target_subscribed_to_is_shown_where_nothing_comes_from_it() {
    let manifest = |words: &[&str]| {
        format!(
            "[utp]\nstart = {}\nstart_timeout_seconds = 12\n[utp.tool-service.probes.echo]\ntool_name = \"echo\"\n",
            start(words)
        )
    };
    let subjects = ["listen", "cg.v1r3.*.*.cmd.tool.sonar.call", "cg.v1r3.*.*.cmd.tool.radar.call"];
    check(&manifest(&subjects), &["!! utp.tool-service reachability: ", subjects[1], subjects[2]]);
    check(&manifest(&["listen"]), &["- subscriptions nobody subscribed to anything"]);
}

#[test]
fn each_tool_of_an_agent_is_tried() {
    let start = start(&["hook"]);
    let manifest =
        format!("[hub.agent]\nstart = {start}\n[hub.agent.drive]\nhttp = \"http://{{listen}}/drive\"\n");
    let text = diagnosis(&manifest);
    assert!(text.contains("ok email_send calls it at the mock Hub and gives back its result"), "{text}");
    let faulty = text.lines().filter(|line| {
        line.starts_with("!! ")
            && line.contains("fixture: it does not call it at the mock Hub: the hook answered 200")
    });
    assert_eq!(faulty.count(), 8, "{text}");
}

#[test]
fn each_tool_of_a_runner_is_tried_and_its_answer_judged() {
    let start = start(&["runner"]);
    let manifest = format!(
        "[breadcrumb]\nstart = {start}\nlines = true\ncatalog = [\"echo\", \"calculator\"]\n[breadcrumb.runner]\n[breadcrumb.tools]\n"
    );
    check(
        &manifest,
        &[
            "ok echo executes a call",
            "!! calculator fixture: it answers a usual call with the status `error`",
            "battery",
        ],
    );
}

#[test]
fn the_answer_of_each_probe_is_judged() {
    let probes = ["echo", "fail", "secret", "partial"];
    let probe = |probe: &str| format!("[toolbus.probes.{probe}]\ntool = \"{probe}\"\n");
    let manifest = format!(
        "[toolbus]\ncommand = {}\n{}[toolbus.probes.break_glass]\ntool = \"secret\"\nflag = \"reveal\"\n",
        start(&["mcp", "flat"]),
        probes.map(probe).concat()
    );
    check(
        &manifest,
        &[
            "ok server echoes a value",
            "!! probe.fail fixture: `toolbus.probes.fail`: it succeeds, and it should fail",
            "!! probe.secret fixture: `toolbus.probes.secret`: it gives nothing back",
            "!! probe.partial fixture: `toolbus.probes.partial`: a plain call does not work",
            "!! probe.break-glass fixture: `toolbus.probes.break_glass`: it gives nothing back",
            "- probe.large not declared",
        ],
    );
}

#[test]
fn a_version_that_mcp_does_not_have_is_named() {
    let start = start(&["mcp", "banana"]);
    let manifest = format!(
        "[toolbus]\ncommand = {start}\npath_base = \"value.\"\n[toolbus.probes.echo]\ntool = \"echo\"\n"
    );
    check(
        &manifest,
        &["the protocol version `banana`, which MCP does not have: answer with one of 2024-10-07"],
    );
}

#[test]
fn a_partial_result_that_calls_for_nothing_is_named() {
    let manifest = format!(
        "[toolbus]\ncommand = {}\npath_base = \"value.\"\n[toolbus.probes.echo]\ntool = \"echo\"\n[toolbus.probes.partial]\ntool = \"partial\"\n",
        start(&["mcp", "nested"])
    );
    check(
        &manifest,
        &[
            "!! probe.partial fixture: `toolbus.probes.partial`: nothing is at `/next_actions` of its envelope",
        ],
    );
}

#[test]
fn a_path_base_that_is_left_out_is_a_fault_of_the_manifest() {
    let manifest = |base: &str| {
        let start = start(&["mcp", "nested"]);
        format!(
            "[toolbus]\ncommand = {start}\n{base}[toolbus.probes.echo]\ntool = \"echo\"\n[toolbus.probes.fail]\ntool = \"fail\"\n"
        )
    };
    check(&manifest(""), &["!! toolbus.server fixture: ", "say `path_base = \"value.\"` under `[toolbus]`"]);
    check(&manifest("path_base = \"value.\"\n"), &["ok server echoes a value"]);
    let renamed = manifest("").replace("nested", "renamed");
    check(&renamed, &["say `result_pointer = \"/data\"` and `path_base = \"value.\"` under `[toolbus]`"]);
    let named = manifest("result_pointer = \"/data\"\npath_base = \"value.\"\n").replace("nested", "renamed");
    check(&named, &["ok server echoes a value"]);
}

/// Waits for something that another process does.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Whether a process runs. One that has ended and that nobody has waited for yet does not.
fn is_there(pid: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    state.is_ok_and(|state| !state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// A process that wrote its number into a file.
fn process(file: &Path) -> Option<Pid> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok().map(Pid::from_raw)
}

#[test]
fn target_and_broker_end_with_the_doctor() {
    let sleeper = "[utp]\nnats = \"server\"\nstart = [\"sh\", \"-c\", \"echo $$ > target; exec sleep 600\"]\n\
                   start_timeout_seconds = 100\n[utp.tool-service.probes.echo]\ntool_name = \"echo\"\n";
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        let home = home(sleeper);
        let (target, broker) = (home.path().join("target"), home.path().join("broker"));
        let server = home.path().join("nats-server");
        let script =
            format!("#!/bin/sh\nexec python3 '{}' broker\n", home.path().join("small_targets.py").display());
        std::fs::write(&server, script).expect("a file");
        set_executable(&server);
        let mut doctor = doctor(home.path());
        doctor.env("NATS_SERVER_BIN", &server).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child: Child = doctor.spawn().expect("the binary runs");
        wait("target and broker start", || process(&target).is_some() && process(&broker).is_some());
        let started = [process(&target), process(&broker)].map(|pid| pid.expect("a number"));
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("the doctor runs");
        let status = child.wait().expect("its end");
        assert_eq!(status.code(), (signal != Signal::SIGKILL).then_some(3), "{signal}");
        for pid in started {
            wait(&format!("{pid} ends after {signal}"), || !is_there(pid));
        }
    }
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}
