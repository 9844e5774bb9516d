//! What the Hub knows of its customers, in memory; every change is also written to the `store`.
//!
//! Google gives one grant for both integrations; which of them are connected follows from the grant's scopes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::envelope::Refusal;
use super::error::HubError;
use super::limiter::Limiter;
use super::store::{Record, Store};
use super::{Allowance, inputs};
use crate::sync::locked;

/// What a customer can connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integration {
    Calendar,
    Mail,
}

impl Integration {
    pub(super) const ALL: [Self; 2] = [Self::Calendar, Self::Mail];

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Calendar => "google_calendar",
            Self::Mail => "google_gmail",
        }
    }

    /// For sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Calendar => "Google Calendar",
            Self::Mail => "Gmail",
        }
    }

    /// Whether the scope, in its short form, belongs here.
    fn has(self, scope: &str) -> bool {
        match self {
            Self::Calendar => scope.starts_with("calendar"),
            Self::Mail => scope.starts_with("gmail") || scope == "https://mail.google.com/",
        }
    }
}

/// When a customer works, in their own time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct WorkingHours {
    /// `HH:MM`
    pub(super) start: String,
    /// `HH:MM`
    pub(super) end: String,
    /// Lower-case names.
    pub(super) days: Vec<String>,
}

/// What the provider allows the Hub to do for a customer. No `Debug`: there are tokens in it.
#[derive(Clone)]
pub(super) struct Grant {
    /// Whose mailbox and calendar it is.
    pub(super) email: String,
    /// Short forms (`calendar.readonly`) or URLs.
    pub(super) scopes: Vec<String>,
    pub(super) access_token: String,
    pub(super) refresh_token: String,
    pub(super) expires_at: Timestamp,
    /// Counts renewals, so that one that was waited for is known from one that is still needed.
    pub(super) generation: u64,
}

impl Grant {
    /// The scopes of one integration, as they were granted.
    pub(super) fn scopes_of(&self, integration: Integration) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).filter(|scope| integration.has(short(scope))).collect()
    }

    /// Whether at least one of these was granted.
    pub(super) fn has_one_of(&self, scopes: &[&str]) -> bool {
        self.scopes.iter().any(|granted| scopes.contains(&short(granted)))
    }
}

/// The short form of a scope.
fn short(scope: &str) -> &str {
    scope.strip_prefix("https://www.googleapis.com/auth/").unwrap_or(scope)
}

/// A customer, shared by all requests for it.
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) zone: TimeZone,
    pub(super) working_hours: WorkingHours,
    pub(super) limiter: Limiter,
    grant: Mutex<Option<Grant>>,
    /// Held while the grant is renewed; the last renewal that failed, and when.
    pub(super) renewal: tokio::sync::Mutex<Option<(Instant, Refusal)>>,
}

impl Customer {
    fn new(record: Record, default_allowance: Allowance) -> Result<Self, HubError> {
        let wrong = |what: &str| HubError::store(format!("the {what} of customer `{}` is wrong", record.id));
        let zone = TimeZone::get(&record.time_zone).map_err(|_error| wrong("time zone"))?;
        let hours = &record.working_hours;
        if inputs::minutes_of(&hours.start) >= inputs::minutes_of(&hours.end)
            || inputs::minutes_of(&hours.start).is_none()
        {
            return Err(wrong("working time"));
        }
        Ok(Self {
            id: record.id,
            zone,
            working_hours: record.working_hours,
            limiter: Limiter::new(record.allowance.unwrap_or(default_allowance)),
            grant: Mutex::new(record.grant),
            renewal: tokio::sync::Mutex::new(None),
        })
    }

    /// The grant, if it connects this integration.
    pub(super) fn grant_for(&self, integration: Integration) -> Option<Grant> {
        self.grant().filter(|grant| !grant.scopes_of(integration).is_empty())
    }

    pub(super) fn grant(&self) -> Option<Grant> {
        locked(&self.grant).clone()
    }
}

/// All customers.
pub(super) struct Customers {
    by_id: HashMap<String, Arc<Customer>>,
    store: Arc<Store>,
}

impl Customers {
    pub(super) fn new(store: Store, records: Vec<Record>, allowance: Allowance) -> Result<Self, HubError> {
        let customer = |record: Record| {
            let customer = Customer::new(record, allowance)?;
            Ok((customer.id.clone(), Arc::new(customer)))
        };
        let by_id = records.into_iter().map(customer).collect::<Result<_, HubError>>()?;
        Ok(Self { by_id, store: Arc::new(store) })
    }

    /// The customer with this id, which is in lower case.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Customer>> {
        self.by_id.get(id).cloned()
    }

    /// Replaces a customer's grant, first in memory: the provider has taken back the old one already.
    pub(super) async fn renew(&self, customer: &Customer, grant: Grant) -> Result<(), HubError> {
        *locked(&customer.grant) = Some(grant.clone());
        let (store, id) = (Arc::clone(&self.store), customer.id.clone());
        let saved = tokio::task::spawn_blocking(move || store.save_grant(&id, &grant)).await;
        saved.map_err(HubError::store)?
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Grant, Integration};

    #[test]
    fn scopes_decide_what_is_connected_in_either_form() {
        fn check(scopes: &[&str], calendar: usize, mail: usize, writes: bool) {
            let grant = Grant {
                email: String::new(),
                scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
                access_token: String::new(),
                refresh_token: String::new(),
                expires_at: Timestamp::UNIX_EPOCH,
                generation: 0,
            };
            assert_eq!(grant.scopes_of(Integration::Calendar).len(), calendar, "{scopes:?}");
            assert_eq!(grant.scopes_of(Integration::Mail).len(), mail, "{scopes:?}");
            assert_eq!(grant.has_one_of(&["calendar.events", "calendar"]), writes, "{scopes:?}");
        }
        check(&[], 0, 0, false);
        check(&["calendar.readonly"], 1, 0, false);
        check(&["gmail.readonly", "calendar"], 1, 1, true);
        check(&["https://www.googleapis.com/auth/calendar.events", "https://mail.google.com/"], 1, 1, true);
        check(&["openid", "email"], 0, 0, false);
    }
}
