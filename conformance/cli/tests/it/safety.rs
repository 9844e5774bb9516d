//! What a run must never do: give a secret away, write over a file of others, obey a target's text, leave a process behind.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{forgeries, program};

/// The target that gives its secrets away.
const ECHO: &str = include_str!("echo.py");
/// Its secrets: with characters that each form writes in its own way.
const SECRETS: [(&str, &str); 2] =
    [("ECHO_SECRET", "k3y-\"of\\the/Env+1 é"), ("CALLMARK_HUB_SECRET", "S3rvice/Secret+of\"Hub?")];

fn run(arguments: &[&str], directory: &Path) -> (i32, String) {
    code_and_text(&program::output(arguments, directory))
}

fn code_and_text(output: &Output) -> (i32, String) {
    let (code, text) = program::printed(output);
    (code.expect("an exit code"), text)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).expect("a file");
}

/// Waits for something that another process does.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        // Another process is waited for: its turn comes sooner where this one does not spin.
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The forms of the secrets, as the target derives them.
fn forms(home: &Path) -> Vec<String> {
    let output = Command::new("python3").args(["echo.py", "forms"]).current_dir(home).envs(SECRETS).output();
    let forms: Vec<String> = serde_json::from_slice(&output.expect("Python").stdout).expect("forms");
    assert_eq!(forms.len(), 12 * SECRETS.len());
    forms
}

/// Runs a command with the secrets in its environment, and looks for them in everything that it leaves.
fn gives_nothing_away(arguments: &[&str], home: &Path, expect: i32) {
    let output = program::command(arguments, home).envs(SECRETS).output().expect("the binary runs");
    let (code, text) = code_and_text(&output);
    assert_eq!(code, expect, "{arguments:?}: {text}");
    let out = home.join("out");
    let files = std::fs::read_dir(&out).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut written: Vec<(PathBuf, String)> = files
        .map(|path| {
            (path.clone(), String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned())
        })
        .collect();
    written.push((PathBuf::from("standard output and error"), text));
    for form in forms(home) {
        for (place, text) in &written {
            let at = text.find(&form);
            assert!(at.is_none(), "`{form}` is in {} at {at:?} ({arguments:?})", place.display());
        }
    }
}

#[test]
fn a_hub_that_echoes_its_secrets_gets_none_of_them_written() {
    let home = directory();
    write(home.path(), "echo.py", ECHO);
    // TOML and JSON escape alike what is escaped here.
    let secret = serde_json::Value::from(SECRETS[0].1);
    write(
        home.path(),
        "callmark.toml",
        &format!(
            "[target]\nname = \"echo\"\n[hub]\nstart = [\"python3\", \"echo.py\", \"hub\"]\nbase_url = \"http://{{listen}}\"\n\
             secret_env = \"CALLMARK_HUB_SECRET\"\nenv = {{ ECHO_SECRET = {secret} }}\n[hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n"
        ),
    );
    gives_nothing_away(&["certify", "--out", "out", "--timeout-scale", "0.5"], home.path(), 1);
    let log = std::fs::read_to_string(home.path().join("out/hub.log")).expect("a log");
    assert!(log.contains("***0001") && log.contains("base64") && log.contains("\n::error"), "{log}");
    gives_nothing_away(&["report", "out/run.json", "--format", "markdown"], home.path(), 0);
    // A shard keeps what judging it again needs, whatever came of it.
    gives_nothing_away(
        &["certify", "--out", "out", "--timeout-scale", "0.5", "--shard", "1/3"],
        home.path(),
        1,
    );
    assert!(home.path().join("out/account.json").exists());
    gives_nothing_away(&["doctor", "--timeout-scale", "0.5"], home.path(), 3);
}

#[test]
fn an_mcp_server_that_echoes_its_secrets_gets_none_of_them_written() {
    let home = directory();
    write(home.path(), "echo.py", ECHO);
    let secret = serde_json::Value::from(SECRETS[0].1);
    write(
        home.path(),
        "callmark.toml",
        &format!(
            "[target]\nname = \"echo\"\n[toolbus]\ncommand = [\"python3\", \"echo.py\", \"mcp\"]\nenv = {{ ECHO_SECRET = {secret}, CALLMARK_HUB_SECRET = {} }}\n\
             [toolbus.probes.echo]\ntool = \"echo\"\narguments = {{ value = \"{{value}}\" }}\n",
            serde_json::Value::from(SECRETS[1].1)
        ),
    );
    gives_nothing_away(&["certify", "--out", "out", "--timeout-scale", "0.5"], home.path(), 1);
}

#[test]
fn the_manifest_of_the_directory_is_what_is_certified() {
    let home = directory();
    write(home.path(), "callmark.toml", "[target]\nname = \"a\"\n[nonsense]\n");
    for arguments in [&["certify"][..], &[]] {
        let (code, text) = run(arguments, home.path());
        assert_eq!(code, 2, "{text}");
        assert!(
            text.contains("manifest: `callmark.toml`") && text.contains("unknown key `nonsense`"),
            "{text}"
        );
    }
    let (code, text) = run(&["certify", "--bundled", "--rule", "HUB-01"], home.path());
    assert_eq!((code, text.contains("manifest:")), (0, false), "{text}");
}

#[test]
fn a_directory_of_others_is_refused_and_left_as_it_is() {
    let home = directory();
    let certify = ["certify", "--bundled", "--rule", "HUB-01", "--out", "out", "--quiet"];
    let out = home.path().join("out");
    std::fs::create_dir(&out).expect("a directory");
    write(&out, "run.json", "somebody's");
    let (code, text) = run(&certify, home.path());
    assert!(code == 2 && text.contains("no `callmark certify` wrote it"), "{text}");
    assert_eq!(std::fs::read_to_string(out.join("run.json")).expect("a file"), "somebody's");
    std::fs::remove_file(out.join("run.json")).expect("removed");
    assert_eq!(run(&certify, home.path()).0, 0);
    assert_eq!(run(&certify, home.path()).0, 0, "what a run wrote the next one writes over");
    // A version without a mark wrote the same files.
    std::fs::remove_file(out.join("callmark-reports.txt")).expect("removed");
    assert_eq!(run(&certify, home.path()).0, 0);
    write(home.path(), "thesis.txt", "somebody's");
    std::fs::remove_file(out.join("hub.log")).expect("removed");
    std::os::unix::fs::symlink(home.path().join("thesis.txt"), out.join("hub.log")).expect("a link");
    let (code, text) = run(&certify, home.path());
    assert!(code == 2 && text.contains("holds `hub.log`"), "{text}");
    assert_eq!(std::fs::read_to_string(home.path().join("thesis.txt")).expect("a file"), "somebody's");
}

#[test]
fn a_directory_has_one_run_at_a_time() {
    let home = directory();
    let out = home.path().join("out");
    std::fs::create_dir(&out).expect("a directory");
    let lock = File::open(&out).expect("a directory");
    lock.try_lock().expect("nobody else's");
    let (code, text) = run(&["certify", "--bundled", "--rule", "HUB-01", "--out", "out"], home.path());
    assert!(code == 2 && text.contains("another `callmark certify` is writing"), "{text}");
    assert_eq!(std::fs::read_dir(&out).expect("a directory").count(), 0);
}

#[test]
fn a_full_disk_behind_standard_output_is_reported_by_the_exit_code() {
    let home = directory();
    for arguments in [
        &["certify", "--bundled", "--rule", "HUB-01", "--out", "out"][..],
        &["rules"],
        &["explain", "HUB-01"],
        &["report", "out/run.json", "--format", "json"],
        &["diff", "out/run.json", "out/run.json"],
        &["--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("Linux");
        let output = program::command(arguments, home.path()).stdout(full).output().expect("the binary runs");
        let (code, text) = code_and_text(&output);
        assert!(code == 2 && !text.contains("panicked"), "{arguments:?}: {code} {text}");
    }
}

#[test]
fn a_full_disk_is_no_place_for_what_is_judged_again_or_merged() {
    let signed = forgeries::certified();
    let home = signed.path();
    for shard in ["1/2", "2/2"] {
        let arguments = ["certify", "--bundled", "--rule", "HUB-01", "--shard", shard, "--out", &shard[..1]];
        program::done(0, &arguments, home);
    }
    write(home, "callmark.toml", SLEEPER);
    for arguments in [
        &["verify", "out/certificate.json"][..],
        &["merge", "1", "2", "--out", "merged"],
        &["judge", "out/transcript.jsonl"],
        &["certify", "--bundled", "--list"],
        &["certify", "--dry-run"],
        &["docs", "--out", "site", "--run", "out/run.json"],
        &["editions"],
        &["schema", "run"],
        &["completions", "bash"],
        &["man"],
    ] {
        let of = |file: Option<File>| {
            let mut command = program::command(arguments, home);
            if let Some(file) = file {
                command.stdout(file);
            }
            code_and_text(&command.output().expect("the binary runs"))
        };
        let (code, text) = of(None);
        assert_eq!(code, 0, "{arguments:?}: {text}");
        let (code, text) = of(Some(File::options().write(true).open("/dev/full").expect("Linux")));
        assert!(code == 2 && !text.contains("panicked"), "{arguments:?}: {code} {text}");
        assert!(text.contains("standard output cannot be written"), "{arguments:?}: {text}");
    }
}

/// Whoever closes a stream wants nothing of it: the outcome is the same, and in no file is what was meant for the stream.
/// The runtime of the language has `/dev/null` in its place, as it has for every program that is written in it.
#[test]
fn a_stream_that_is_closed_changes_nothing() {
    let home = directory();
    write(home.path(), "echo.py", ECHO);
    write(
        home.path(),
        "broken.toml",
        "[target]\nname = \"echo\"\n[hub]\nstart = [\"python3\", \"echo.py\", \"hub\"]\nbase_url = \"http://{listen}\"\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n",
    );
    let program = crate::support::program();
    for (arguments, expect) in [
        (&["certify", "--bundled", "--rule", "HUB-01", "--format", "json"][..], 0),
        (&["certify", "--target", "broken.toml", "--rule", "HUB-06", "--timeout-scale", "0.5"], 1),
        (&["explain", "HUB-01"], 0),
        (&["explain", "NO-RULE"], 2),
    ] {
        let of = |closed: &str| {
            let out = home.path().join("out");
            let _ = std::fs::remove_dir_all(&out);
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec \"$0\" \"$@\" {closed}")]).arg(&program).args(arguments);
            if arguments[0] == "certify" {
                command.args(["--out", "out"]);
            }
            let output = command.current_dir(home.path()).env_remove("CALLMARK_HUB_SECRET").output();
            let (code, text) = code_and_text(&output.expect("a shell"));
            assert!(code == expect && !text.contains("panicked"), "{arguments:?} {closed}: {code} {text}");
            ["run.json", "index.html", "junit.xml"].map(|name| std::fs::read(out.join(name)).ok())
        };
        let open = of("");
        for closed in [">&-", "2>&-", "<&-", "<&- >&- 2>&-"] {
            assert!(of(closed) == open, "{arguments:?} {closed}");
        }
    }
}

#[test]
fn nobody_obeys_the_text_of_a_target_or_a_manifest() {
    let home = directory();
    write(
        home.path(),
        "callmark.toml",
        "[target]\nname = \"\\u001b]0;x\\u0007\\n::error::name\"\nversion = \"##[group]\\u202e\"\n[hub]\n\
         start = [\"sh\", \"-c\", \"printf '  ::error::log\\\\r\\\\033[2J ##[error]x ::error::%0100d ::add-mask::e\\\\n' 7; exit 3\"]\n\
         [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n",
    );
    for arguments in [&["certify", "--out", "out"][..], &["doctor"]] {
        let (code, text) = run(arguments, home.path());
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("error::log"), "{text}");
        for line in text.lines() {
            assert!(!line.trim_start().starts_with("::"), "{arguments:?}: {line:?}");
            let is_harmless = |c: char| !c.is_control() && c != '\u{202e}';
            assert!(!line.contains("##[") && line.chars().all(is_harmless), "{arguments:?}: {line:?}");
        }
    }
}

/// A target that never answers, and says who it is.
const SLEEPER: &str = "[target]\nname = \"a\"\n[hub]\nstart = [\"sh\", \"-c\", \"echo $$ > pid; exec sleep 600\"]\n[hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n";

fn started(arguments: &[&str], home: &Path) -> (Child, Pid) {
    write(home, "callmark.toml", SLEEPER);
    let _ = std::fs::remove_file(home.join("pid"));
    let mut command = program::command(arguments, home);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let pid = || std::fs::read_to_string(home.join("pid")).ok()?.trim().parse().ok();
    wait("the target starts", || pid().is_some());
    (child, Pid::from_raw(pid().expect("a number")))
}

/// Whether a process runs. One that has ended and that nobody has waited for yet does not.
fn is_there(pid: Pid) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    state.is_ok_and(|state| !state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

#[test]
fn nothing_outlives_the_suite() {
    let home = directory();
    for (arguments, signals) in [
        (&["doctor"][..], &[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL][..]),
        (&["certify", "--out", "out"], &[Signal::SIGTERM, Signal::SIGKILL]),
    ] {
        for signal in signals {
            let (mut child, target) = started(arguments, home.path());
            assert!(is_there(target));
            let suite = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
            kill(suite, *signal).expect("the suite runs");
            let status = child.wait().expect("its end");
            let code = if *signal == Signal::SIGKILL { None } else { Some(3) };
            assert_eq!(status.code(), code, "{arguments:?} {signal}");
            wait(&format!("{arguments:?}: the target ends after {signal}"), || !is_there(target));
        }
    }
}

#[test]
fn what_is_interrupted_ends_with_one_sentence() {
    let home = directory();
    let arguments =
        ["certify", "--bundled", "--profile", "hub.server", "--profile", "toolbus.server", "--out", "out"];
    let mut command = program::command(&arguments, home.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("running ")), "the run begins");
    std::thread::park_timeout(Duration::from_millis(300));
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGTERM).expect("it runs");
    let said: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(child.wait().expect("its end").code(), Some(3), "{said:?}");
    assert_eq!(said, ["  × interrupted before the run was complete"]);
}

/// What is in a directory, as far down as it goes.
fn everything(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| everything(&path).into_iter().chain([path])).collect()
}

#[test]
fn nothing_of_a_killed_run_stays_in_the_temporary_directory() {
    // A target with files of its own that does not live to remove them, and the reference in the middle of a run.
    let sleeper = "[target]\nname = \"a\"\n[hub]\nstart = [\"sh\", \"-c\", \"mktemp -d \\\"${TMPDIR:-/tmp}/profile-XXXXXX\\\"; exec sleep 600\"]\n\
                   [hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n";
    let runs: [(&[&str], &str); 4] = [
        (&["certify", "--out", "out"], "/profile-"),
        (&["doctor"], "/profile-"),
        (&["certify", "--bundled", "--profile", "toolbus.artifacts", "--out", "out"], "/server3/"),
        (&["sabotage", "--profile", "toolbus.artifacts"], "/server0/"),
    ];
    for (arguments, sign) in runs {
        let home = directory();
        write(home.path(), "callmark.toml", sleeper);
        // A name that a shell would take for more than one, if it were asked.
        let temporary = home.path().join("-t m*p\n'\"$HOME");
        std::fs::create_dir(&temporary).expect("a directory");
        let mut command = program::command(arguments, home.path());
        command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let has_begun = || everything(&temporary).iter().any(|path| path.to_string_lossy().contains(sign));
        wait(&format!("{arguments:?}: there is `{sign}`"), has_begun);
        child.kill().expect("it runs");
        child.wait().expect("its end");
        wait(&format!("{arguments:?}: {:?}", everything(&temporary)), || everything(&temporary).is_empty());
        assert!(temporary.is_dir(), "what was there before stays");
    }
}

#[test]
fn context_roots_are_gone_after_the_run() {
    let home = directory();
    let roots = home.path().join("tmp");
    std::fs::create_dir(&roots).expect("a directory");
    let arguments = ["certify", "--bundled", "--rule", "BUS-01", "--out", "out", "--quiet"];
    let output =
        program::command(&arguments, home.path()).env("TMPDIR", &roots).output().expect("the binary runs");
    let (code, text) = code_and_text(&output);
    assert_eq!(code, 0, "{text}");
    let left = || std::fs::read_dir(&roots).expect("a directory").count();
    assert_eq!(left(), 0);
}

#[test]
fn credentials_in_the_address_of_a_broker_are_sent() {
    for (credentials, expect) in [
        ("us%20er:p%40ss", [("user", "us er"), ("pass", "p@ss")].as_slice()),
        ("t0ken", &[("auth_token", "t0ken")]),
    ] {
        let home = directory();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let info = "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"max_payload\":1048576,\"auth_required\":true}\r\n";
            stream.write_all(info.as_bytes()).expect("sent");
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).expect("a line");
            line
        });
        let url = format!("nats://{credentials}@{address}");
        let arguments = ["certify", "--bundled", "--rule", "UTP-4.2-10", "--out", "out", "--broker", &url];
        let (code, text) = run(&arguments, home.path());
        assert_eq!(code, 3, "{text}");
        assert!(!text.contains(credentials), "{text}");
        let line = server.join().expect("no panic");
        let connect: serde_json::Value =
            serde_json::from_str(line.strip_prefix("CONNECT ").expect("CONNECT")).expect("JSON");
        for (name, value) in expect {
            assert_eq!(connect[name], *value, "{line}");
        }
    }
}
