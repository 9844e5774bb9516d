//! Who the suite is to a NATS server: where the manifest says that it stands.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::files;
use crate::engine::manifest::target::variable;

/// Largest file of credentials, in bytes; those that `nsc` writes have about one thousand.
const MAX_CREDENTIALS: u64 = 64 * 1024;
/// A seed has 58 characters, a JWT several hundred.
const SHORTEST_CREDENTIAL: usize = 40;

/// The keys of `[utp]` about it: names of environment variables, and of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct NatsLogin {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) token: Option<String>,
    pub(super) nkey: Option<String>,
    pub(super) credentials: Option<PathBuf>,
}

impl NatsLogin {
    /// What is said twice, or half; `has_url` is whether a server is named by its URL.
    pub(super) fn contradictions(&self, has_url: bool) -> Vec<String> {
        let mut faults = Vec::new();
        if self.user.is_some() != self.password.is_some() {
            faults.push("`utp.user_env` and `utp.password_env` belong together".to_owned());
        }
        let ways = [
            ("user_env", self.user.is_some()),
            ("token_env", self.token.is_some()),
            ("nkey_env", self.nkey.is_some()),
            ("credentials", self.credentials.is_some()),
        ];
        let ways = ways.into_iter().filter(|(_, is_given)| *is_given);
        let ways: Vec<String> = ways.map(|(key, _)| format!("`utp.{key}`")).collect();
        if ways.len() > 1 {
            faults.push(format!("{} exclude each other", ways.join(" and ")));
        }
        if let Some(way) = ways.first().filter(|_| !has_url) {
            faults.push(format!("{way} is for the server of a URL, and `utp.nats` names none"));
        }
        faults
    }

    /// What must not be stored. A user's name may be an ordinary word: `is_public` says so.
    pub(super) fn secrets(&self, directory: &Path, is_public: impl Fn(&str) -> bool) -> Vec<String> {
        let user = self.user.iter().filter_map(|name| variable(name)).filter(|user| !is_public(user));
        let secret = [&self.password, &self.token, &self.nkey].into_iter().flatten();
        let secret = secret.filter_map(|name| variable(name));
        let secret = secret.flat_map(|value| [value.trim().to_owned(), value]);
        // A file that cannot be read is a fault that the run reports.
        let file = self.credentials.as_ref().and_then(|file| credentials_file(&directory.join(file)).ok());
        user.chain(secret)
            .chain(file.iter().flat_map(|text| credentials_in(text)).map(str::to_owned))
            .collect()
    }
}

/// The text of a file of credentials.
pub(super) fn credentials_file(file: &Path) -> io::Result<String> {
    String::from_utf8(files::read(file, MAX_CREDENTIALS)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text"))
}

/// The JWT and the seed. The lines around them have blanks or begin with dashes; a JWT may hold dashes too.
fn credentials_in(text: &str) -> impl Iterator<Item = &str> {
    let is_credential =
        |line: &&str| line.len() >= SHORTEST_CREDENTIAL && !line.contains(' ') && !line.starts_with("---");
    text.lines().map(str::trim).filter(is_credential)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jwt_and_seed_are_secret_whatever_characters_they_have() {
        let jwt = format!("{}.a--b.{}--", "e".repeat(40), "x".repeat(40));
        let seed = "SU".repeat(29);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\r\n{jwt}\r\n------END NATS USER JWT------\r\n\r\n\
             ************************* IMPORTANT *************************\r\n\
             NKEY Seed printed below can be used to sign and prove identity.\r\n\r\n\
             -----BEGIN USER NKEY SEED-----\r\n{seed}\r\n------END USER NKEY SEED------\r\n"
        );
        assert_eq!(credentials_in(&text).collect::<Vec<_>>(), [&jwt, &seed]);
    }
}
