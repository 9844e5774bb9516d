//! What ends with this process, however that ends.
//!
//! One shell waits for the end of its standard input, whose other end this process alone holds. It is sent the process
//! groups that there are, and knows from its start the one directory below which this process keeps what is temporary;
//! when its input ends it ends and removes what is left of them. So nothing stays behind after SIGKILL either. Where
//! there is no shell, nothing is guarded.
//!
//! A process group has a number only once its program runs. So a start is announced first, and the program gets a
//! variable in its environment: where this process ends between the two, the shell finds the program by the variable.
//! The directory is announced before it is made, too. Its name is that of no other, so that nothing else is removed.

use std::collections::hash_map::RandomState;
use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use crate::transcript::lock;

/// Signals that end a run reach the whole foreground; the guard outlives them, or it would be of no use.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT PIPE
mark=$1
home=$2
live=' '
starting=0
while read -r what name; do
    case $what in
        starting) starting=$((starting + 1)) ;;
        failed) starting=$((starting - 1)) ;;
        started) starting=$((starting - 1)) live="$live$name " ;;
        end) case $live in *" $name "*) live="${live%%" $name "*} ${live#*" $name "}" ;; esac ;;
        foreign) home= ;;
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
[ -n "$home" ] || exit 0
# What is being killed may write until it is gone, and what it started may end later than itself.
for _ in 1 2 3 4 5 6 7 8; do
    rm -rf -- "$home" && [ "$live$starting" = ' 0' ] && exit 0
    sleep 0.3
done
"#;
/// How long this process waits for its guard, which has nothing to do after a run that ended by itself.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(2);

/// The shell.
struct Guard {
    says: Option<ChildStdin>,
    shell: Child,
}

/// None where there is no shell.
static GUARD: OnceLock<Option<Mutex<Guard>>> = OnceLock::new();
/// Whether the directory of this process was made.
static MADE: Mutex<bool> = Mutex::new(false);

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

impl Drop for Guarded {
    fn drop(&mut self) {
        // Its number may soon be another's.
        say(&format!("end {}\n", self.group));
    }
}

/// The variable that says where a started program puts temporary files: they are removed with this process.
///
/// None where there is no such directory: then it uses the machine's, as it would without the suite.
pub fn temporary() -> Option<(&'static str, PathBuf)> {
    let temporary = home().ok()?.join("tmp");
    let is_there = make(&temporary).is_ok() || temporary.is_dir();
    is_there.then_some(("TMPDIR", temporary))
}

/// Name and value of the variable by which a program that this process started is found.
pub fn variable() -> (&'static str, &'static str) {
    static VALUE: LazyLock<String> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}", std::process::id(), since.as_nanos())
    });
    ("CALLMARK_STARTED_BY", &VALUE)
}

/// A new directory whose name begins with `prefix`. It is removed when it is dropped, else with this process.
///
/// # Errors
/// It cannot be made.
pub fn directory(prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).tempdir_in(home()?)
}

/// The directory below which this process keeps what is temporary. It is removed with this process.
///
/// # Errors
/// It cannot be made.
pub fn home() -> io::Result<&'static Path> {
    let home = name()?;
    let mut made = lock(&MADE);
    if !*made {
        // Whose end comes in between has announced it.
        guard();
        make(home).inspect_err(|_| say("foreign\n"))?;
        *made = true;
    }
    Ok(home)
}

/// Removes what is temporary and lets the guard end: for the end of a command.
pub fn finish() {
    let mut made = lock(&MADE);
    if std::mem::take(&mut *made)
        && let Ok(home) = name()
    {
        // What cannot be removed now is left to the guard.
        let _ = std::fs::remove_dir_all(home);
    }
    let Some(Some(guard)) = GUARD.get() else { return };
    let mut guard = lock(guard);
    guard.says = None;
    let until = Instant::now() + PATIENCE;
    while matches!(guard.shell.try_wait(), Ok(None)) && Instant::now() < until {
        thread::sleep(LOOK);
    }
}

/// The name of the directory; no other process has the same.
fn name() -> io::Result<&'static Path> {
    static NAME: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let word = RandomState::new().build_hasher().finish();
        // The guard is in another directory.
        let place = std::path::absolute(tempfile::env::temp_dir()).ok()?;
        Some(place.join(format!("callmark-{}-{word:016x}", std::process::id())))
    });
    NAME.as_deref().ok_or_else(|| io::Error::other("there is no directory for temporary files"))
}

fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)
}

fn say(line: &str) {
    if let Some(guard) = guard()
        && let Some(says) = &mut lock(guard).says
    {
        // Without a guard everything is as it would be without this module.
        let _ = says.write_all(line.as_bytes());
    }
}

fn guard() -> Option<&'static Mutex<Guard>> {
    GUARD
        .get_or_init(|| {
            let (name, value) = variable();
            let home = self::name().unwrap_or(Path::new(""));
            let mut shell = shell(&format!("{name}={value}"), home).spawn().ok()?;
            let says = shell.stdin.take();
            Some(Mutex::new(Guard { says, shell }))
        })
        .as_ref()
}

fn shell(mark: &str, home: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "callmark-guard", mark]).arg(home).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    /// A guard that is sent these lines and then loses its other end; whether it ended well.
    fn guarded(mark: &str, home: &Path, lines: &str) -> bool {
        let mut guard = shell(mark, home).spawn().expect("a shell");
        let mut says = guard.stdin.take().expect("a pipe");
        says.write_all(lines.as_bytes()).expect("read");
        drop(says);
        guard.wait().expect("its end").success()
    }

    #[test]
    fn a_program_whose_group_is_not_known_yet_is_found() {
        let mark = format!("CALLMARK_STARTED_BY=test-{}", std::process::id());
        let (name, value) = mark.split_once('=').expect("a variable");
        let mut program = Command::new("sleep");
        let mut program = program.arg("600").env(name, value).process_group(0).spawn().expect("a sleep");
        assert!(guarded(&mark, Path::new(""), "starting\nstarting\nfailed\n"));
        assert_eq!(program.wait().expect("its end").signal(), Some(9));
    }

    #[test]
    fn the_directory_is_removed_whatever_its_name_and_nothing_else() {
        let place = tempfile::tempdir().expect("a directory");
        for name in [
            &b"plain"[..],
            b"-rf",
            b"two words",
            b"*",
            b"line\nbreak",
            b"'\"$HOME`id`\\",
            b"\xff\xfe",
            b"..a",
        ] {
            let home = place.path().join(OsStr::from_bytes(name));
            std::fs::create_dir_all(home.join("a/b")).expect("a directory");
            std::fs::write(home.join("a/b/c"), "text").expect("a file");
            std::fs::create_dir_all(place.path().join("other")).expect("a directory");
            assert!(guarded("x=y", &home, ""));
            assert!(!home.exists(), "{home:?}");
            let left: Vec<_> = std::fs::read_dir(&place).expect("a directory").collect();
            assert_eq!(left.len(), 1, "{home:?}: {left:?}");
        }
    }

    #[test]
    fn what_links_lead_to_and_what_is_foreign_stays() {
        let place = tempfile::tempdir().expect("a directory");
        let (home, other) = (place.path().join("home"), place.path().join("other"));
        std::fs::create_dir_all(&other).expect("a directory");
        std::fs::create_dir_all(&home).expect("a directory");
        std::os::unix::fs::symlink(&other, home.join("link")).expect("a link");
        assert!(guarded("x=y", &home, "foreign\n"));
        assert!(home.exists());
        assert!(guarded("x=y", &home, ""));
        assert!(!home.exists() && other.exists());
    }

    #[test]
    fn what_is_started_keeps_its_temporary_files_below_the_same_directory() {
        let home = home().expect("a directory");
        let (name, given) = temporary().expect("a directory");
        assert!(name == "TMPDIR" && given.starts_with(home) && given.is_dir(), "{given:?}");
        let own = directory("own-").expect("a directory");
        assert!(own.path().starts_with(home));
        assert_eq!(temporary(), Some((name, given)));
    }
}
