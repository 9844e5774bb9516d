//! A `nats-server` with JetStream, for the tests of a fleet; `ci/setup` installs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// For a server to listen.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server; it ends with the test, and what it stored goes with it.
pub(crate) struct NatsServer {
    child: Child,
    url: String,
    _home: tempfile::TempDir,
}

impl NatsServer {
    /// Starts it, and waits until it listens.
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// With further lines of configuration.
    pub(crate) fn start_with(config: &str) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let binary =
            std::env::var_os("NATS_SERVER_BIN").map_or_else(|| PathBuf::from("nats-server"), PathBuf::from);
        let (file, ports, store) =
            (home.path().join("nats.conf"), home.path().join("ports"), home.path().join("streams"));
        std::fs::create_dir_all(&ports).expect("a directory");
        let text = format!(
            "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{}\"\njetstream {{ store_dir: \"{}\" }}\n{config}",
            ports.display(),
            store.display()
        );
        std::fs::write(&file, text).expect("a file");
        let child = Command::new(&binary)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} (`ci/setup` installs it): {error}", binary.display()));
        let url = listening(&ports.join(format!("nats-server_{}.ports", child.id())));
        Self { child, url, _home: home }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Ends it without notice.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a running server");
        self.child.wait().expect("an ended server");
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in the file that a server writes once it listens.
fn listening(file: &Path) -> String {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let ports: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(url) = ports["nats"][0].as_str() {
            return url.to_owned();
        }
        assert!(began.elapsed() < DEADLINE, "nats-server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
