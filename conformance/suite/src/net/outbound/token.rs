//! The bearer token of a target: given, or got and renewed.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::oauth::{self, Grant};
use super::tls::{TlsSource, unset};
use crate::engine::manifest::target::{HttpTable, OAuthTable, variable};

/// Before its end a token is renewed so much earlier, for what is still on its way.
const EARLY: Duration = Duration::from_secs(20);

/// Where tokens come from.
pub(super) enum Tokens {
    /// The variable that holds the only one.
    Given(String),
    /// An authorization server.
    Issued { table: OAuthTable, held: Box<Mutex<Held>> },
}

/// The token that is held, if any.
#[derive(Default)]
pub(super) struct Held {
    /// The server that issues tokens, where it was found and not named.
    found: Option<oauth::Server>,
    token: Option<String>,
    /// When to get another.
    until: Option<Instant>,
    /// All that were issued: none of them may be stored.
    issued: Vec<String>,
}

impl Tokens {
    pub(super) fn of(table: &HttpTable) -> Option<Self> {
        let given = table.bearer_env.clone().map(Self::Given);
        let issued = table.oauth.clone().map(|table| Self::Issued { table, held: Box::default() });
        given.or(issued)
    }

    /// Whether the variables are set that the manifest names.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Given(name) => given(name).map(drop),
            Self::Issued { table, .. } => oauth::client(table).map(drop),
        }
    }

    /// The tokens that were issued so far, in their order.
    pub(super) async fn issued(&self) -> Vec<String> {
        match self {
            Self::Given(_) => Vec::new(),
            Self::Issued { held, .. } => held.lock().await.issued.clone(),
        }
    }

    /// The token to send; none where it is not yet known who issues it.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn current(&self, tls: &TlsSource) -> Result<Option<String>, String> {
        match self {
            Self::Given(name) => given(name).map(Some),
            Self::Issued { table, held } => {
                let mut held = held.lock().await;
                let is_over = held.until.is_some_and(|until| Instant::now() >= until);
                if held.token.is_none() || is_over {
                    let server =
                        table.token_url.clone().map(oauth::Server::at).or_else(|| held.found.clone());
                    let Some(server) = server else { return Ok(None) };
                    held.take(oauth::token(tls, table, &server).await?);
                }
                Ok(held.token.clone())
            }
        }
    }

    /// Another token than this one, which the target at `url` refused with this `WWW-Authenticate`; none where there is
    /// only one.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn renewed(
        &self,
        tls: &TlsSource,
        refused: Option<&str>,
        url: &reqwest::Url,
        challenge: &str,
    ) -> Result<Option<String>, String> {
        let Self::Issued { table, held } = self else { return Ok(None) };
        let mut held = held.lock().await;
        // Another request has got one meanwhile.
        if held.token.as_deref() == refused {
            let server = match (&table.token_url, &held.found) {
                (Some(url), _) => oauth::Server::at(url.clone()),
                (None, Some(found)) => found.clone(),
                (None, None) => super::discovery::issuer(tls, url, challenge).await?,
            };
            held.take(oauth::token(tls, table, &server).await?);
            held.found = Some(server);
        }
        Ok(held.token.clone())
    }
}

fn given(name: &str) -> Result<String, String> {
    variable(name).ok_or_else(|| unset("target.http.bearer_env", name))
}

impl Held {
    fn take(&mut self, grant: Grant) {
        // A token that lives shorter than what is taken off is used for half of its life.
        self.until = grant.lives.map(|lives| Instant::now() + lives.saturating_sub(EARLY.min(lives / 2)));
        if !self.issued.contains(&grant.token) {
            self.issued.push(grant.token.clone());
        }
        self.token = Some(grant.token);
    }
}
