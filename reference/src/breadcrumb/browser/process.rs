//! The driver and its browser as processes: started and ended together.
//!
//! Both are in a process group of their own, led by a shell that does nothing but wait for the end of its standard
//! input and then kill the group. The other end of that pipe is ours alone, so it closes with [`Driver`], and also
//! when this process is killed, when nothing of ours could still end anybody. Only the profile's directory stays then,
//! below `TMPDIR`.

use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::paths::BrowserPaths;
use crate::breadcrumb::tool::ToolFailure;

/// Begins the program that its arguments are, and waits for the end of the input.
const LEADER: &str = r#""$0" "$@" </dev/null 2>/dev/null & read -r _; kill -KILL 0"#;

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
        let mut driver = Self { leader, lifeline, port: 0, profile };
        let mut output = BufReader::new(
            output.ok_or_else(|| ToolFailure::new("the driver of the browser has no output"))?,
        );
        driver.port = port(&mut output)
            .await
            .ok_or_else(|| ToolFailure::new("the driver of the browser does not say where it listens"))?;
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
    }
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
