//! What ends with this process, however that ends.
//!
//! One shell waits for the end of its standard input, whose other end this process alone holds. It is sent the process
//! groups and directories that there are; when its input ends it ends and removes what is left of them. So nothing stays
//! behind after SIGKILL either. Where there is no shell, nothing is guarded.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::transcript::lock;

/// Signals that end a run reach the whole foreground; the guard outlives them, or it would be of no use.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT PIPE
live=' '
while read -r what name; do
    case $what in
        start) live="$live$name " ;;
        end) case $live in *" $name "*) live="${live%%" $name "*} ${live#*" $name "}" ;; esac ;;
        directory) set -- "$@" "$name" ;;
    esac
done
for group in $live; do kill -s KILL -- "-$group"; done
[ $# -eq 0 ] || rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }
"#;

/// A process group that ends with this process.
#[derive(Debug)]
pub struct Guarded {
    group: i32,
}

impl Guarded {
    /// Guards a process group that was just started.
    pub fn group(group: i32) -> Self {
        say(&format!("start {group}\n"));
        Self { group }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Its number may soon be another's.
        say(&format!("end {}\n", self.group));
    }
}

/// Has a directory removed when this process has ended.
pub fn directory(path: &Path) {
    match path.to_str() {
        Some(path) if !path.contains('\n') => say(&format!("directory {path}\n")),
        _ => {}
    }
}

fn say(line: &str) {
    static GUARD: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    if let Some(guard) = GUARD.get_or_init(start) {
        // Without a guard everything is as it would be without this module.
        let _ = lock(guard).write_all(line.as_bytes());
    }
}

fn start() -> Option<Mutex<ChildStdin>> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "callmark-guard"]).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()?.stdin.take().map(Mutex::new)
}
