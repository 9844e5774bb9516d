//! A PostgreSQL cluster of a test's own, which is reached by a socket in its directory; `ci/setup` installs it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// For the server to take connections, or to end.
const DEADLINE: Duration = Duration::from_secs(60);
/// Who runs it where the test runs as root, whom it refuses.
const USER: &str = "postgres";

/// A cluster; it ends with the test, and what it stored goes with it.
pub(crate) struct Cluster {
    home: tempfile::TempDir,
    server: Option<Child>,
    /// Where it listens on the loopback besides, from the next start on.
    pub(crate) port: Option<u16>,
}

impl Cluster {
    /// Makes it, starts it, and waits until it takes connections.
    pub(crate) fn start() -> Self {
        // The path of a socket is short, and the temporary directory of root may be nobody else's.
        let home = tempfile::Builder::new().prefix("pg-").tempdir_in("/tmp").expect("a directory");
        if is_root() {
            let owned = Command::new("chown").arg(USER).arg(home.path()).status().expect("`chown`");
            assert!(owned.success(), "there is no user `{USER}`: `apt-get install postgresql` makes it");
        } else {
            let all = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(home.path(), all).expect("permissions");
        }
        let made = as_user("initdb")
            .args(["-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
            .arg(home.path().join("data"))
            .current_dir(home.path())
            .stdout(Stdio::null())
            .status()
            .expect("`initdb`");
        assert!(made.success(), "`initdb` failed");
        let mut cluster = Self { home, server: None, port: None };
        cluster.resume();
        cluster
    }

    /// Its URL, with the schema of a service.
    pub(crate) fn url(&self, schema: &str) -> String {
        let socket = self.home.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://{USER}:unused@{socket}/postgres?schema={schema}")
    }

    /// Ends the server without notice; what it has acknowledged stays.
    pub(crate) fn stop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // At once, as a crash: its own processes are gone before it is.
        let _ = Command::new("kill").args(["-QUIT", &server.id().to_string()]).status();
        let _ = server.wait();
    }

    /// Starts the server again, and waits until it takes connections.
    pub(crate) fn resume(&mut self) {
        let home = self.home.path();
        let log = std::fs::File::create(home.join("server.log")).expect("a file");
        let server = as_user("postgres")
            .arg("-D")
            .arg(home.join("data"))
            .arg("-k")
            .arg(home)
            .args(["-p", &self.socket()])
            .args([
                "-c",
                if self.port.is_some() { "listen_addresses=localhost" } else { "listen_addresses=" },
            ])
            .args(["-c", "fsync=off", "-c", "shared_buffers=16MB"])
            .current_dir(home)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("`postgres`");
        self.server = Some(server);
        let began = Instant::now();
        let is_ready = || as_user("pg_isready").args(["-q", "-p", &self.socket(), "-h"]).arg(home).status();
        while !is_ready().expect("`pg_isready`").success() {
            assert!(began.elapsed() < DEADLINE, "PostgreSQL takes no connections: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Has `psql` run statements as whoever owns the database, and returns what it prints.
    pub(crate) fn psql(&self, statements: &str) -> String {
        let done = as_user("psql")
            .arg("-h")
            .arg(self.home.path())
            .args([
                "-p",
                &self.socket(),
                "-U",
                USER,
                "-X",
                "-q",
                "-t",
                "-A",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                statements,
                "postgres",
            ])
            .output()
            .expect("`psql`");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// The number in the name of its socket, which is that of its port.
    fn socket(&self) -> String {
        self.port.unwrap_or(5432).to_string()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("server.log")).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A program of the server, run by somebody it lets run it, and ended with this process.
fn as_user(program: &str) -> Command {
    let program = binaries().join(program);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args([format!("--reuid={USER}"), format!("--regid={USER}")])
        .args(["--clear-groups", "--pdeathsig=QUIT"])
        .arg(program);
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Where the programs of the server are: on PATH, or where Debian has them.
fn binaries() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut on_path = std::env::split_paths(&path).map(|directory| directory.join("initdb"));
    // It may be a link to where the others are.
    let on_path = on_path.find_map(|program| program.canonicalize().ok());
    let on_path = on_path.and_then(|program| program.parent().map(Path::to_owned));
    on_path.or_else(newest).expect("there is no PostgreSQL: `apt-get install postgresql`, as `ci/setup` does")
}

fn newest() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let version = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| version(path))?;
    Some(newest.join("bin")).filter(|directory| directory.join("initdb").is_file())
}
