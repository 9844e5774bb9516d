//! What a target makes the suite keep is bounded.

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::doctor::SMALL_TARGETS;
use crate::support;

/// The memory that a process has just now, in megabytes, without the pages of its program's file, of which there are more
/// with each feature; nothing once it has ended.
fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

#[test]
fn three_thousand_junk_cards_take_little_memory() {
    // A hundred with each command, so that many transcripts fill at a time.
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("small_targets.py"), SMALL_TARGETS).expect("a file");
    let manifest = "[target]\nname = \"junk\"\n[utp]\nplatform = \"http\"\nstart = [\"python3\", \"small_targets.py\", \"junk\", \"3000\", \"100\"]\n\
         start_timeout_seconds = 300\n[utp.tool-service.probes.echo]\ntool_name = \"echo\"\n";
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let mut command = Command::new(support::program());
    // The run goes on for minutes, so that all cards are stored in it on a busy machine too, and is ended here.
    command.args(["certify", "--out", "out"]).current_dir(home.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let (mut most, mut left) = (0, String::new());
    // What comes after the last card takes no more memory, and long.
    while left != "0" && child.try_wait().expect("a child").is_none() {
        most = most.max(memory(child.id()).unwrap_or_default());
        left = std::fs::read_to_string(home.path().join("left")).unwrap_or(left);
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(left, "0", "all cards were stored");
    most = most.max(memory(child.id()).unwrap_or_default());
    let id = i32::try_from(child.id()).expect("an id");
    kill(Pid::from_raw(id), Signal::SIGTERM).expect("a signal");
    child.wait().expect("the binary ends");
    assert!(most < 130, "{most} MB");
}
