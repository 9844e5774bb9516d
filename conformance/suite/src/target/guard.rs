//! What ends with this process, however that ends.
//!
//! One shell waits for the end of its standard input, whose other end this process alone holds. It is sent the process
//! groups and directories that there are; when its input ends it ends and removes what is left of them. So nothing stays
//! behind after SIGKILL either. Where there is no shell, nothing is guarded.
//!
//! A process group has a number only once its program runs. So a start is announced first, and the program gets a
//! variable in its environment: where this process ends between the two, the shell finds the program by the variable.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::transcript::lock;

/// Signals that end a run reach the whole foreground; the guard outlives them, or it would be of no use.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT PIPE
mark=$1
shift
live=' '
starting=0
while read -r what name; do
    case $what in
        starting) starting=$((starting + 1)) ;;
        failed) starting=$((starting - 1)) ;;
        started) starting=$((starting - 1)) live="$live$name " ;;
        end) case $live in *" $name "*) live="${live%%" $name "*} ${live#*" $name "}" ;; esac ;;
        directory) set -- "$@" "$name" ;;
    esac
done
for group in $live; do kill -s KILL -- "-$group"; done
if [ "$starting" -gt 0 ]; then
    # What is being started has its environment a moment later.
    for _ in 1 2 3 4 5; do
        for process in /proc/[0-9]*; do
            grep -qsxz "$mark" "$process/environ" && kill -s KILL -- "-${process#/proc/}"
        done
        sleep 0.2
    done
fi
[ $# -eq 0 ] || rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }
"#;

/// A process group that ends with this process.
#[derive(Debug)]
pub struct Guarded {
    group: i32,
}

/// A program that is about to be started as a process group of its own.
#[derive(Debug)]
#[must_use = "dropped, it says that the program could not be started"]
pub struct Starting {
    is_over: bool,
}

impl Starting {
    /// Announces the start of a program whose environment will hold [`variable`].
    #[expect(clippy::new_without_default, reason = "it does something")]
    pub fn new() -> Self {
        say("starting\n");
        Self { is_over: false }
    }

    /// Guards the process group that the program leads.
    pub fn started(mut self, group: i32) -> Guarded {
        self.is_over = true;
        say(&format!("started {group}\n"));
        Guarded { group }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.is_over {
            say("failed\n");
        }
    }
}

/// Name and value of the variable by which a program that this process started is found.
pub fn variable() -> (&'static str, &'static str) {
    static VALUE: LazyLock<String> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}", std::process::id(), since.as_nanos())
    });
    ("CALLMARK_STARTED_BY", &VALUE)
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
    let (name, value) = variable();
    command
        .args(["-c", SCRIPT, "callmark-guard"])
        .arg(format!("{name}={value}"))
        .current_dir("/")
        .process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()?.stdin.take().map(Mutex::new)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn a_program_whose_group_is_not_known_yet_is_found() {
        let mark = format!("CALLMARK_STARTED_BY=test-{}", std::process::id());
        let (name, value) = mark.split_once('=').expect("a variable");
        let mut program = Command::new("sleep");
        let mut program = program.arg("600").env(name, value).process_group(0).spawn().expect("a sleep");
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", SCRIPT, "callmark-guard", &mark]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut guard = guard.spawn().expect("a shell");
        let mut says = guard.stdin.take().expect("a pipe");
        says.write_all(b"starting\nstarting\nfailed\n").expect("read");
        drop(says);
        assert!(guard.wait().expect("its end").success());
        assert_eq!(program.wait().expect("its end").signal(), Some(9));
    }
}
