//! What the Hub knows of its customers, in memory; every change is also written to the `store`.
//!
//! Where other Hubs use that store at the same time, a customer's grant is read anew for each call, and calls are counted
//! there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use super::config::Allowance;
use super::envelope::Refusal;
use super::error::HubError;
use super::inputs;
use super::limiter::Limiter;
use super::record::{CustomerRecord, Grant, Integration, WorkingHours};
use super::store::Store;
#[cfg(feature = "postgres")]
use super::store_postgres::HeldGrant;
use crate::sync::locked;

/// A customer, shared by all requests for it.
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) zone: TimeZone,
    pub(super) working_hours: WorkingHours,
    #[cfg(feature = "postgres")]
    allowance: Allowance,
    limiter: Limiter,
    grant: Mutex<Option<Grant>>,
    /// Held while the grant is renewed; the last renewal that failed, and when.
    pub(super) renewal: tokio::sync::Mutex<Option<(Instant, Refusal)>>,
}

impl Customer {
    fn new(record: CustomerRecord, default_allowance: Allowance) -> Result<Self, HubError> {
        let wrong = |what: &str| HubError::store(format!("the {what} of customer `{}` is wrong", record.id));
        let zone = TimeZone::get(&record.time_zone).map_err(|_error| wrong("time zone"))?;
        let hours = &record.working_hours;
        if inputs::minutes_of(&hours.start) >= inputs::minutes_of(&hours.end)
            || inputs::minutes_of(&hours.start).is_none()
        {
            return Err(wrong("working time"));
        }
        let allowance = record.allowance.unwrap_or(default_allowance);
        Ok(Self {
            id: record.id,
            zone,
            working_hours: record.working_hours,
            #[cfg(feature = "postgres")]
            allowance,
            limiter: Limiter::new(allowance),
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

    /// Takes what another Hub has made of the grant.
    #[cfg(feature = "postgres")]
    fn adopt(&self, grant: Option<Grant>) {
        let mut own = locked(&self.grant);
        // One that could not be written down is newer than what is there.
        let is_older =
            own.as_ref().zip(grant.as_ref()).is_some_and(|(own, new)| new.generation < own.generation);
        if !is_older {
            *own = grant;
        }
    }
}

/// All customers.
pub(super) struct Customers {
    by_id: HashMap<String, Arc<Customer>>,
    store: Arc<Store>,
}

impl Customers {
    pub(super) fn new(
        store: Store,
        records: Vec<CustomerRecord>,
        allowance: Allowance,
    ) -> Result<Self, HubError> {
        let customer = |record: CustomerRecord| {
            let customer = Customer::new(record, allowance)?;
            Ok((customer.id.clone(), Arc::new(customer)))
        };
        let by_id = records.into_iter().map(customer).collect::<Result<_, HubError>>()?;
        Ok(Self { by_id, store: Arc::new(store) })
    }

    /// The customer with this id, which is in lower case.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "as where there is a client")
    )]
    pub(super) async fn find(&self, id: &str) -> Result<Option<Arc<Customer>>, HubError> {
        let customer = self.by_id.get(id).cloned();
        #[cfg(feature = "postgres")]
        if let (Some(customer), Store::Postgres(store)) = (&customer, &*self.store) {
            customer.adopt(store.grant(id).await.map_err(HubError::store)?);
        }
        Ok(customer)
    }

    /// Counts one call of a customer; returns how long it is until calls are let through again where it is not.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "as where there is a client")
    )]
    pub(super) async fn admit(&self, customer: &Customer) -> Result<Result<(), Duration>, HubError> {
        match &*self.store {
            Store::File(_) => Ok(customer.limiter.admit(Instant::now())),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => {
                store.admit(&customer.id, customer.allowance).await.map_err(HubError::store)
            }
        }
    }

    /// Has nobody else renew the customer's grant until it is replaced or left: here because the caller holds
    /// [`Customer::renewal`], elsewhere because of what is returned.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, unused_variables, reason = "as where there is a client")
    )]
    pub(super) async fn hold(&self, customer: &Customer) -> Result<Held, HubError> {
        match &*self.store {
            Store::File(_) => Ok(Held::Here),
            #[cfg(feature = "postgres")]
            Store::Postgres(store) => {
                let held = store.hold(&customer.id).await.map_err(HubError::store)?;
                customer.adopt(held.grant.clone());
                Ok(Held::Everywhere(Box::new(held)))
            }
        }
    }

    /// Replaces a customer's grant, first in memory: the provider has taken back the old one already.
    pub(super) async fn renew(&self, customer: &Customer, grant: Grant, held: Held) -> Result<(), HubError> {
        *locked(&customer.grant) = Some(grant.clone());
        match held {
            Held::Here => self.save(customer.id.clone(), grant).await,
            #[cfg(feature = "postgres")]
            Held::Everywhere(held) => held.replace(&grant).await.map_err(HubError::store),
        }
    }

    async fn save(&self, id: String, grant: Grant) -> Result<(), HubError> {
        let store = Arc::clone(&self.store);
        let saving = move || match &*store {
            Store::File(store) => store.save_grant(&id, &grant),
            #[cfg(feature = "postgres")]
            Store::Postgres(_) => Ok(()),
        };
        tokio::task::spawn_blocking(saving).await.map_err(HubError::store)?
    }
}

/// The right to renew a grant.
pub(super) enum Held {
    /// No other Hub uses the store.
    Here,
    /// Other Hubs wait.
    #[cfg(feature = "postgres")]
    Everywhere(Box<HeldGrant>),
}

impl Held {
    /// Leaves the grant as it is.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "as where there is a client")
    )]
    pub(super) async fn leave(self) {
        match self {
            Self::Here => {}
            #[cfg(feature = "postgres")]
            Self::Everywhere(held) => held.leave().await,
        }
    }
}
