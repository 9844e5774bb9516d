//! Tokens that are good for a call: renewed before they expire, or when the provider no longer takes them.
//!
//! One renewal at a time per customer, also where several Hubs share a store; calls that wait for it share what comes of it
//! (contract, "Error Codes": a token that expired is an error only when it cannot be renewed).

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use super::context::HubContext;
use super::customers::{Customer, Held};
use super::envelope::{Code, Refusal};
use super::fault::{expired, explain, without_store};
use super::record::{Grant, Integration};
use super::upstream::{RequestCounter, UpstreamFault};

/// A token that expires sooner is renewed first: it must still be good when the provider reads it.
const MARGIN: SignedDuration = SignedDuration::from_secs(10);

/// The customer's grant with a token that has not expired.
pub(super) async fn usable(
    context: &Arc<HubContext>,
    customer: &Arc<Customer>,
    integration: Integration,
    calls: &RequestCounter,
) -> Result<Grant, Refusal> {
    let grant = customer.grant().ok_or_else(|| expired(integration))?;
    if grant.expires_at.duration_since(Timestamp::now()) > MARGIN {
        return Ok(grant);
    }
    renewed(context, customer, integration, grant.generation, calls).await
}

/// A grant newer than `generation`, whose token is of no use any more.
///
/// In a task of its own: the provider may take back the old tokens as it gives new ones, so these must be kept
/// even if the agent hangs up in between.
pub(super) async fn renewed(
    context: &Arc<HubContext>,
    customer: &Arc<Customer>,
    integration: Integration,
    generation: u64,
    calls: &RequestCounter,
) -> Result<Grant, Refusal> {
    let asked = Instant::now();
    let (context, customer, calls) = (Arc::clone(context), Arc::clone(customer), calls.clone());
    let renewal = tokio::spawn(async move {
        let mut last_failure = customer.renewal.lock().await;
        if let Some((at, refusal)) = &*last_failure
            && *at >= asked
        {
            return Err(refusal.clone());
        }
        let held = context.customers.hold(&customer).await;
        let held = held.map_err(|error| without_store(&context.log, &error))?;
        let grant = match customer.grant() {
            Some(grant) if grant.generation <= generation => grant,
            newer => {
                held.leave().await;
                return newer.ok_or_else(|| expired(integration));
            }
        };
        let renewed = renew(&context, &customer, integration, (grant, held), &calls).await;
        *last_failure = renewed.as_ref().err().map(|refusal| (Instant::now(), refusal.clone()));
        renewed
    });
    renewal.await.unwrap_or_else(|_panic| Err(Refusal::new(Code::Internal, "the renewal of the token ended")))
}

async fn renew(
    context: &HubContext,
    customer: &Customer,
    integration: Integration,
    (grant, held): (Grant, Held),
    calls: &RequestCounter,
) -> Result<Grant, Refusal> {
    calls.count();
    let fresh = match context.upstream.refresh(&grant.refresh_token).await {
        Ok(fresh) => fresh,
        Err(fault) => {
            held.leave().await;
            return Err(refused(&fault, integration));
        }
    };
    let lifetime = SignedDuration::try_from(fresh.lifetime).unwrap_or(SignedDuration::from_hours(1));
    let renewed = Grant {
        access_token: fresh.access_token,
        refresh_token: fresh.refresh_token.unwrap_or(grant.refresh_token),
        expires_at: Timestamp::now().saturating_add(lifetime).unwrap_or(Timestamp::MAX),
        generation: grant.generation + 1,
        email: grant.email,
        scopes: grant.scopes,
    };
    if customer_saved(context, customer, &renewed, held).await {
        (context.log)(&format!("renewed the token of customer={}", customer.id));
    }
    Ok(renewed)
}

/// What a renewal that the provider does not make means.
fn refused(fault: &UpstreamFault, integration: Integration) -> Refusal {
    match fault {
        // RFC 6749 §5.2: the grant, or we, are no longer accepted.
        UpstreamFault::Refused(refused) if matches!(refused.status.as_u16(), 400 | 401 | 403) => {
            expired(integration)
        }
        fault => explain(fault, integration),
    }
}

/// A token that could not be written down is good all the same, until the Hub ends.
async fn customer_saved(context: &HubContext, customer: &Customer, grant: &Grant, held: Held) -> bool {
    match context.customers.renew(customer, grant.clone(), held).await {
        Ok(()) => true,
        Err(error) => {
            (context.log)(&format!("the renewed token of customer={} was not saved: {error}", customer.id));
            false
        }
    }
}
