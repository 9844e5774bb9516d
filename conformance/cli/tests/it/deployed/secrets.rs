//! Nothing that is written holds a secret: neither the files of a run nor what it says.

use std::path::Path;

use super::nats::{NATS_TOKEN, PASSWORD};
use super::{CLIENT_SECRET, HUB_SECRET, Home, TENANT, TOKEN};

/// Bytes of a line that may be a secret.
const SECRET: usize = 20;

impl Home {
    /// None of these words is in anything that was written.
    pub(super) fn hides(&self, said: &str, secrets: &[&str]) {
        let written = self.written(said);
        assert!(written.len() > 5, "{written:?}");
        hold_none(&written, secrets);
    }

    /// The files of a run, where there was one, and what it said.
    fn written(&self, said: &str) -> Vec<(String, String)> {
        let files = std::fs::read_dir(self.path().join("out")).into_iter().flatten();
        let paths = files.map(|entry| entry.expect("an entry").path());
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        let read = paths.map(|path| (path.display().to_string(), text(&path)));
        read.chain([("output".to_owned(), said.to_owned())]).collect()
    }

    /// None of the secrets that a run is given here is in anything that it wrote: those of the environment, and those
    /// of keys and files of credentials in its directory.
    pub(super) fn hides_all(&self, said: &str) {
        let mut secrets: Vec<String> =
            [HUB_SECRET, TOKEN, TENANT, CLIENT_SECRET, "a-Secret%2F42", PASSWORD, NATS_TOKEN, "PRIVATE KEY"]
                .map(str::to_owned)
                .to_vec();
        for entry in
            std::fs::read_dir(self.path()).expect("a directory").map(|entry| entry.expect("an entry"))
        {
            secrets.extend(lines(&entry.path()));
        }
        hold_none(&self.written(said), &secrets.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn hold_none(written: &[(String, String)], secrets: &[&str]) {
    for secret in secrets {
        for (place, text) in written {
            assert!(!text.contains(secret), "`{secret}` is in {place}");
        }
    }
}

/// The secret lines of a key, or of a file of credentials.
fn lines(path: &Path) -> Vec<String> {
    if !path.extension().is_some_and(|extension| extension == "key" || extension == "creds") {
        return Vec::new();
    }
    let text = std::fs::read_to_string(path).expect("a file");
    let is_secret = |line: &&str| line.len() >= SECRET && !line.starts_with('-');
    text.lines().filter(is_secret).map(str::to_owned).collect()
}
