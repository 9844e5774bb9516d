//! What the Hub knows of its customers, in memory; every change is also written to the `store`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use jiff::tz::TimeZone;

use super::config::Allowance;
use super::envelope::Refusal;
use super::error::HubError;
use super::inputs;
use super::limiter::Limiter;
use super::record::{CustomerRecord, Grant, Integration, WorkingHours};
use super::store::Store;
use crate::sync::locked;

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
    fn new(record: CustomerRecord, default_allowance: Allowance) -> Result<Self, HubError> {
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
