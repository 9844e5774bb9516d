//! The accounts, and who may use which: the name in the token decides.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use serde_json::Value;

use super::letters::StoredMessage;
use super::problem::Problem;
use super::seeds;
use crate::hub::fixtures;
use crate::sync::locked;

/// No account holds more events, or more messages.
pub(super) const ENTRIES: usize = 10_000;
/// No mailbox holds more.
pub(super) const MAILBOX_BYTES: usize = 64 * 1024 * 1024;

/// What one person has.
pub(super) struct Account {
    pub(super) email: String,
    pub(super) events: BTreeMap<String, Value>,
    /// In the order in which they came.
    pub(super) messages: Vec<StoredMessage>,
    /// How many tokens were issued.
    renewals: u64,
}

/// What an operation does to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

pub(super) struct ProviderState {
    accounts: Mutex<HashMap<&'static str, Account>>,
    sequence: AtomicU64,
}

/// The state as a handler gets it.
pub(super) type SharedState = extract::State<Arc<ProviderState>>;

impl Default for ProviderState {
    fn default() -> Self {
        let account = |name: &'static str| {
            let email = fixtures::mailbox(name);
            let messages = seeds::messages(&email);
            (name, Account { events: seeds::events(&email), messages, email, renewals: 0 })
        };
        let names = fixtures::ALL.iter().map(|fixture| fixture.name).filter(|&name| name != "not_connected");
        Self { accounts: Mutex::new(names.map(account).collect()), sequence: AtomicU64::new(1) }
    }
}

impl ProviderState {
    /// Does something with the account of the token that the request carries.
    pub(super) fn with_account<T>(
        &self,
        headers: &HeaderMap,
        access: Access,
        act: impl FnOnce(&mut Account) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let refused = Problem::new(401, "authError", "Invalid Credentials");
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer access-")).ok_or(refused)?;
        let (name, renewal) = match token.rsplit_once('-') {
            None => (token, 0),
            Some((name, renewal)) => (name, renewal.parse::<u64>().map_err(|_error| refused)?),
        };
        let mut accounts = locked(&self.accounts);
        let account = accounts.get_mut(name).ok_or(refused)?;
        match name {
            "upstream_down" => return Err(Problem::new(503, "backendError", "Service unavailable")),
            "expired" | "refreshable" if renewal == 0 => return Err(refused),
            _ if renewal > account.renewals => return Err(refused),
            "read_only" if access == Access::Write => {
                return Err(Problem::new(403, "insufficientPermissions", "Insufficient Permission"));
            }
            _ => {}
        }
        act(account)
    }

    /// Another access token, unless the grant has ended.
    pub(super) fn renew(&self, refresh_token: &str) -> Option<String> {
        let name = refresh_token.strip_prefix("refresh-").filter(|&name| name != "expired")?;
        let mut accounts = locked(&self.accounts);
        let account = accounts.get_mut(name)?;
        account.renewals += 1;
        Some(format!("access-{name}-{}", account.renewals))
    }

    /// A number that was never given out before.
    pub(super) fn next(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }
}
