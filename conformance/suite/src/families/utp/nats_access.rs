//! How the suite connects to a NATS server: as whom, and with which TLS.
//!
//! The manifest names a server by its URL, which may hold a user with a password, or a token; `user_env` and
//! `password_env`, or `token_env`, under `[utp]` name variables in their place. `[target.tls]` says whom to trust where
//! the server asks for TLS.

use std::error::Error;
use std::sync::Arc;

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions};

use super::credentials;
use super::manifest::UtpTable;
use crate::engine::manifest::Manifest;
use crate::engine::manifest::target::variable;
use crate::net::outbound::Outbound;

/// Schemes of a server's URL: without TLS unless the server asks for it, and with.
pub const SCHEMES: [&str; 2] = ["nats://", TLS];
const TLS: &str = "tls://";

/// How a server is reached.
#[derive(Clone, Debug, Default)]
pub struct NatsAccess {
    outbound: Arc<Outbound>,
    /// Whether the manifest says something of TLS.
    names_tls: bool,
    login: NamedLogin,
}

/// Variables that hold what the suite says who it is.
#[derive(Clone, Debug, Default)]
struct NamedLogin {
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
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
            return "it does not let this user in: give `user_env` and `password_env`, or `token_env`, under `[utp]`"
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

/// What a table says twice, or half.
pub(super) fn contradictions(table: &UtpTable) -> Vec<String> {
    let mut faults = Vec::new();
    if table.user_env.is_some() != table.password_env.is_some() {
        faults.push("`utp.user_env` and `utp.password_env` belong together".to_owned());
    }
    if table.user_env.is_some() && table.token_env.is_some() {
        faults.push("`utp.user_env` and `utp.token_env` exclude each other".to_owned());
    }
    if (table.user_env.is_some() || table.token_env.is_some()) && !table.nats.contains("://") {
        faults.push(
            "`utp.user_env`, `utp.password_env` and `utp.token_env` are for the server of a URL, and `utp.nats` names none"
                .to_owned(),
        );
    }
    faults
}
