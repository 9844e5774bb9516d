//! How the suite connects to a NATS server: as whom, and with which TLS.
//!
//! The manifest names a server by its URL, which may hold a user with a password, or a token; `user_env` and
//! `password_env`, `token_env`, `nkey_env` or `credentials` under `[utp]` stand in their place. `[target.tls]` says whom
//! to trust where the server asks for TLS.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions};
use nkeys::KeyPair;

use super::credentials;
use super::manifest::UtpTable;
use crate::engine::files;
use crate::engine::manifest::Manifest;
use crate::engine::manifest::target::variable;
use crate::net::outbound::Outbound;

/// Schemes of a server's URL: without TLS unless the server asks for it, and with.
pub const SCHEMES: [&str; 2] = ["nats://", TLS];
const TLS: &str = "tls://";
/// Largest file of credentials, in bytes; those that `nsc` writes have about one thousand.
const MAX_CREDENTIALS: u64 = 64 * 1024;
/// A seed has 58 characters, a JWT several hundred.
const SHORTEST_CREDENTIAL: usize = 40;

/// How a server is reached.
#[derive(Clone, Debug, Default)]
pub struct NatsAccess {
    outbound: Arc<Outbound>,
    /// Whether the manifest says something of TLS.
    names_tls: bool,
    login: NamedLogin,
}

/// Where it stands who the suite is.
#[derive(Clone, Debug, Default)]
struct NamedLogin {
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
    nkey: Option<String>,
    credentials: Option<PathBuf>,
}

impl NatsAccess {
    /// As a manifest says.
    pub fn of(manifest: &Manifest) -> Self {
        let table = manifest.get::<UtpTable>();
        // What the suite starts itself asks for nothing.
        let named = table.filter(|table| table.nats.contains("://"));
        let login = named.map(|table| NamedLogin {
            user: table.user_env.clone(),
            password: table.password_env.clone(),
            token: table.token_env.clone(),
            nkey: table.nkey_env.clone(),
            credentials: table.credentials.as_ref().map(|file| manifest.directory.join(file)),
        });
        Self {
            outbound: Outbound::of(manifest),
            names_tls: named.is_some() && manifest.target.tls.is_some(),
            login: login.unwrap_or_default(),
        }
    }

    /// For the server at this URL.
    ///
    /// # Errors
    /// What of the manifest cannot be used: a variable that is not set, a file of `[target.tls]`.
    pub fn options(&self, url: &str) -> Result<ConnectOptions, String> {
        let mut options = credentials::of_url(ConnectOptions::new(), url);
        if self.names_tls || url.starts_with(TLS) {
            options = options.tls_client_config(self.outbound.tls()?.client_config());
        }
        let value = |key: &str, name: &str| {
            variable(name).ok_or_else(|| {
                format!("`utp.{key}` names the environment variable `{name}`, which is not set or empty")
            })
        };
        if let (Some(user), Some(password)) = (&self.login.user, &self.login.password) {
            options = options.user_and_password(value("user_env", user)?, value("password_env", password)?);
        }
        if let Some(token) = &self.login.token {
            options = options.token(value("token_env", token)?);
        }
        if let Some(seed) = &self.login.nkey {
            let seed = value("nkey_env", seed)?;
            KeyPair::from_seed(seed.trim())
                .map_err(|error| format!("`utp.nkey_env` holds no seed of an nkey: {error}"))?;
            options = options.nkey(seed.trim().to_owned());
        }
        if let Some(file) = &self.login.credentials {
            let unusable = |error: &dyn std::fmt::Display| {
                format!("`utp.credentials` is `{}`, which cannot be used: {error}", file.display())
            };
            let text = credentials_file(file).map_err(|error| unusable(&error))?;
            options = options.credentials(&text).map_err(|error| unusable(&error))?;
        }
        Ok(options)
    }

    /// Why a server cannot be connected to.
    pub fn why(&self, error: &ConnectError) -> String {
        // Nothing was encrypted where nothing asked for it.
        if let Some(why) = self.outbound.tls().ok().and_then(|tls| tls.fault(error)) {
            return why;
        }
        if matches!(error.kind(), ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication)
        {
            return "it does not let this user in: give `user_env` and `password_env`, `token_env`, `nkey_env` or \
                    `credentials` under `[utp]`, for a user that it knows"
                .to_owned();
        }
        let mut why = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let text = next.to_string();
            if !why.contains(&text) {
                why = format!("{why}: {text}");
            }
            cause = next.source();
        }
        why
    }
}

fn credentials_file(file: &Path) -> io::Result<String> {
    String::from_utf8(files::read(file, MAX_CREDENTIALS)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text"))
}

/// What in the file of credentials must not be stored: the JWT and the seed.
pub(super) fn secrets(table: &UtpTable, directory: &Path) -> Vec<String> {
    // One that cannot be read is a fault that the run reports.
    let text = table.credentials.as_ref().and_then(|file| credentials_file(&directory.join(file)).ok());
    let lines = text.iter().flat_map(|text| text.lines()).map(str::trim);
    let is_secret =
        |line: &&str| line.len() >= SHORTEST_CREDENTIAL && !line.contains(' ') && !line.starts_with("---");
    lines.filter(is_secret).map(str::to_owned).collect()
}

/// What a table says twice, or half.
pub(super) fn contradictions(table: &UtpTable) -> Vec<String> {
    let mut faults = Vec::new();
    if table.user_env.is_some() != table.password_env.is_some() {
        faults.push("`utp.user_env` and `utp.password_env` belong together".to_owned());
    }
    let ways = [
        ("user_env", table.user_env.is_some()),
        ("token_env", table.token_env.is_some()),
        ("nkey_env", table.nkey_env.is_some()),
        ("credentials", table.credentials.is_some()),
    ];
    let ways: Vec<String> =
        ways.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| format!("`utp.{key}`")).collect();
    if ways.len() > 1 {
        faults.push(format!("{} exclude each other", ways.join(" and ")));
    }
    if let Some(way) = ways.first().filter(|_| !table.nats.contains("://")) {
        faults.push(format!("{way} is for the server of a URL, and `utp.nats` names none"));
    }
    faults
}
