//! The driver and its browser as processes: started and ended together.
//!
//! Both are in a process group of their own, led by a shell that does nothing but wait for the end of its standard
//! input and then kill the group. The other end of that pipe is ours alone, so it closes with [`Driver`], and also
//! when this process is killed, when nothing of ours could still end anybody. A second shell waits for the same, and removes
//! the profile.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::paths::BrowserPaths;
use crate::breadcrumb::tool::ToolFailure;

/// Begins the program that its arguments are, and waits for the end of the input. The output is the program's alone, so that
/// it ends with it.
const LEADER: &str = r#""$0" "$@" </dev/null 2>/dev/null & exec >/dev/null; read -r _; kill -KILL 0"#;

/// Waits for the end of the input, then removes the directory that is its argument until it stays away, for two seconds
/// at most: a process that was killed may still write a file. Processes are not counted for that, since a dead one is
/// listed until its parent has waited for it, and in a container nobody may.
const SWEEPER: &str = r#"read -r _; tries=0; rm -rf "$0"
while sleep 0.05; [ -e "$0" ] && [ "$tries" -lt 40 ]; do rm -rf "$0"; tries=$((tries + 1)); done"#;

/// What the driver says before it says its port.
const PORT_LINE: &str = "started successfully on port ";
/// How much the driver may say before that.
const MAX_GREETING: u64 = 64 * 1024;
/// How long the processes may take to be gone after they were killed.
const GONE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A running driver, with what it started. Dropping it ends them.
pub(super) struct Driver {
    leader: Child,
    /// Closed first: that is the signal for them to end.
    lifeline: Option<ChildStdin>,
    /// Removes the profile when this process is killed.
    sweeper: Option<Child>,
    port: u16,
    profile: TempDir,
}

impl Driver {
    /// Starts the driver; the browser comes with the session.
    pub(super) async fn start(paths: &BrowserPaths) -> Result<Self, ToolFailure> {
        let failed = |_error: std::io::Error| ToolFailure::new("the driver of the browser cannot be started");
        let profile = tempfile::Builder::new().prefix("astral-profile-").tempdir().map_err(failed)?;
        let mut leader = Command::new("/bin/sh")
            .args(["-c", LEADER])
            .arg(&paths.chromedriver)
            .arg("--port=0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (lifeline, output) = (leader.stdin.take(), leader.stdout.take());
        let sweeper = Some(sweeper(profile.path()).map_err(failed)?);
        let mut driver = Self { leader, lifeline, sweeper, port: 0, profile };
        let mut output = BufReader::new(
            output.ok_or_else(|| ToolFailure::new("the driver of the browser has no output"))?,
        );
        driver.port = port(&mut output)
            .await
            .ok_or_else(|| ToolFailure::new("its driver ended, or said no port to listen at"))?;
        // Its later output is not needed, but its pipe must not fill up.
        tokio::spawn(async move { tokio::io::copy_buf(&mut output, &mut tokio::io::sink()).await });
        Ok(driver)
    }

    /// Where it listens on the loopback.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// For the browser's profile, which goes when the browser does.
    pub(super) fn profile(&self) -> &std::path::Path {
        self.profile.path()
    }

    /// Ends driver and browser, and waits until they are gone.
    pub(super) async fn end(mut self) {
        self.lifeline = None;
        let _ = tokio::time::timeout(GONE, self.leader.wait()).await;
        // The profile goes with this value, so nothing is left to sweep.
        if let Some(mut sweeper) = self.sweeper.take() {
            let _ = sweeper.kill().await;
        }
    }
}

/// A shell that removes the profile. Its input ends with this process.
fn sweeper(profile: &Path) -> std::io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", SWEEPER])
        .arg(profile)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.lifeline = None;
        // The leader dies of the signal that kills all of them: then no process writes into the profile any more, and
        // it can be removed. That takes a few milliseconds; after `end` it takes none.
        let until = std::time::Instant::now() + GONE;
        while matches!(self.leader.try_wait(), Ok(None)) && std::time::Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

async fn port(output: &mut BufReader<ChildStdout>) -> Option<u16> {
    let mut lines = output.take(MAX_GREETING).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some((_, port)) = line.split_once(PORT_LINE) {
            return port.trim_end_matches(['.', ' ']).parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A driver that says its port, and starts a browser that writes its process id down.
    const SCRIPT: &str = "#!/bin/sh\nsleep 600 &\necho $! >\"${0%/*}/browser\"\n\
                          echo 'started successfully on port 4321.'\nwait\n";

    fn driver(directory: &Path, script: &str) -> BrowserPaths {
        let chromedriver = directory.join("driver");
        std::fs::write(&chromedriver, script).expect("written");
        std::fs::set_permissions(&chromedriver, std::fs::Permissions::from_mode(0o755)).expect("executable");
        BrowserPaths { chromedriver, chromium: "unused".into() }
    }

    async fn until(what: impl Fn() -> bool) {
        for _ in 0..1_000 {
            if what() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it does not come to pass");
    }

    /// A process that nobody has waited for yet runs no more.
    fn is_gone(process: &str) -> bool {
        let status = std::fs::read_to_string(Path::new("/proc").join(process.trim()).join("status"));
        status.map_or(true, |text| text.contains("State:\tZ"))
    }

    #[tokio::test]
    async fn a_driver_that_ends_at_once_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let failure = Driver::start(&driver(directory.path(), "#!/bin/sh\nexit 1\n")).await.err();
        assert!(failure.expect("a failure").to_string().contains("driver ended"));
    }

    #[tokio::test]
    async fn nothing_stays_where_this_process_is_killed() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut driver = Driver::start(&driver(directory.path(), SCRIPT)).await.expect("a driver");
        assert_eq!(driver.port(), 4321);
        let profile = driver.profile().to_owned();
        std::fs::write(profile.join("Cookies"), "x").expect("written");
        let browser = std::fs::read_to_string(directory.path().join("browser")).expect("a browser");
        // What the kernel does at the end of a process, and no destructor.
        drop(driver.lifeline.take());
        drop(driver.sweeper.as_mut().and_then(|sweeper| sweeper.stdin.take()));
        std::mem::forget(driver);
        until(|| is_gone(&browser)).await;
        until(|| !profile.exists()).await;
    }
}
