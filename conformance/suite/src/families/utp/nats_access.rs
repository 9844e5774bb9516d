//! How the suite connects to a NATS server: as whom, and with which TLS.
//!
//! The manifest names servers by their URLs, which may hold a user with a password, or a token; `user_env` and
//! `password_env`, `token_env`, `nkey_env` or `credentials` under `[utp]` stand in their place. `[target.tls]` says whom
//! to trust where the server asks for TLS.

use std::error::Error;
use std::sync::Arc;

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions};
use nkeys::KeyPair;

use super::credentials;
use super::manifest::UtpTable;
use super::nats_login::{NatsLogin, credentials_file};
use super::nats_servers;
use crate::engine::manifest::Manifest;
use crate::engine::manifest::target::variable;
use crate::net::outbound::Outbound;

/// How a server is reached.
#[derive(Clone, Debug, Default)]
pub struct NatsAccess {
    outbound: Arc<Outbound>,
    /// Whether the manifest says something of TLS.
    names_tls: bool,
    login: NatsLogin,
}

impl NatsAccess {
    /// As a manifest says.
    pub fn of(manifest: &Manifest) -> Self {
        let table = manifest.get::<UtpTable>();
        // What the suite starts itself asks for nothing.
        let named = table.filter(|table| nats_servers::are_named(&table.nats));
        let mut login = named.map(UtpTable::login).unwrap_or_default();
        login.credentials = login.credentials.map(|file| manifest.directory.join(file));
        Self {
            outbound: Outbound::of(manifest),
            names_tls: named.is_some() && manifest.target.tls.is_some(),
            login,
        }
    }

    /// For the servers at these URLs.
    ///
    /// # Errors
    /// What of the manifest cannot be used: a variable that is not set, a file of `[target.tls]`.
    pub fn options(&self, urls: &str) -> Result<ConnectOptions, String> {
        let mut options = credentials::of_urls(ConnectOptions::new(), urls);
        if self.names_tls || nats_servers::are_encrypted(urls) {
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
