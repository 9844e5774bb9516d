//! One execution: the checks in the order in which they are made, then the tool.
//!
//! What costs nothing is checked first, and nothing is asked of the provider before all checks have passed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::context::HubContext;
use super::customers::Customer;
use super::envelope::{Code, Refusal};
use super::fault::without_store;
use super::inputs::Inputs;
use super::record::Integration;
use super::request::ExecuteRequest;
use super::session::ProviderSession;
use super::tools::ToolRequest;
use super::upstream::RequestCounter;

/// A tool may make several calls to the provider, each with its own deadline; together they take at most so many.
const PROVIDER_DEADLINES: u32 = 6;

pub(super) async fn execute(
    context: &Arc<HubContext>,
    request: &ExecuteRequest,
    calls: &RequestCounter,
) -> Result<Value, Refusal> {
    let task = ToolRequest::read(&request.tool, &Inputs::new(&request.inputs))?;
    let customer = customer(context, &request.customer_id).await?;
    let integration = task.integration();
    let grant =
        customer.grant_for(integration).ok_or_else(|| not_connected(integration, &context.setup_url))?;
    let admitted = context.customers.admit(&customer).await;
    admitted.map_err(|error| without_store(&context.log, &error))?.map_err(limited)?;
    for scopes in task.scopes() {
        if !grant.has_one_of(scopes) {
            return Err(without_scope(integration, scopes));
        }
    }
    let session = ProviderSession::new(Arc::clone(context), customer, integration, calls.clone());
    let deadline = context.limits.provider_deadline * PROVIDER_DEADLINES;
    tokio::time::timeout(deadline, task.run(&session)).await.unwrap_or_else(|_elapsed| {
        Err(Refusal::new(Code::ExternalApiError, format!("the tool took longer than {deadline:?}")))
    })
}

/// The customer of a request, by an id in lower case.
pub(super) async fn customer(context: &HubContext, id: &str) -> Result<Arc<Customer>, Refusal> {
    let found = context.customers.find(id).await.map_err(|error| without_store(&context.log, &error))?;
    found.ok_or_else(|| Refusal::new(Code::CustomerNotFound, "there is no customer with this id"))
}

fn not_connected(integration: Integration, setup_url: &str) -> Refusal {
    Refusal::new(
        Code::IntegrationNotConnected,
        format!("{} is not connected for this customer", integration.name()),
    )
    .with_details(json!({"integration": integration.slug(), "setup_url": setup_url}))
}

fn limited(wait: Duration) -> Refusal {
    Refusal::new(Code::RateLimited, "the customer has used up the calls of this time").retry_after(wait)
}

fn without_scope(integration: Integration, one_of: &[&str]) -> Refusal {
    Refusal::new(
        Code::IntegrationPermissionDenied,
        format!("the customer's grant for {} lacks a scope", integration.name()),
    )
    .with_details(json!({"integration": integration.slug(), "one_of": one_of}))
}
