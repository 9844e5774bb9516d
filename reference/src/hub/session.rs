//! What a tool asks the provider through: a good token for every request, and the contract's codes for every fault.
//!
//! A request that the provider did not take because of its token is made once more with a new one; that is safe,
//! since it did nothing. No other request is repeated: a write that got no answer may have happened.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::HubContext;
use super::customers::Customer;
use super::envelope::{Code, Refusal};
use super::fault::explain;
use super::oauth;
use super::record::{Grant, Integration};
use super::upstream::{Api, Ask, RequestCounter, UpstreamFault};

/// One execution for one customer.
pub(super) struct ProviderSession {
    context: Arc<HubContext>,
    pub(super) customer: Arc<Customer>,
    integration: Integration,
    calls: RequestCounter,
}

impl ProviderSession {
    pub(super) fn new(
        context: Arc<HubContext>,
        customer: Arc<Customer>,
        integration: Integration,
        calls: RequestCounter,
    ) -> Self {
        Self { context, customer, integration, calls }
    }

    /// Whose mailbox and calendar it is.
    pub(super) fn email(&self) -> String {
        self.customer.grant().map_or_else(String::new, |grant| grant.email)
    }

    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, Refusal> {
        self.ask(Method::GET, path, query, None).await
    }

    pub(super) async fn post(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.ask(Method::POST, path, query, Some(body)).await
    }

    pub(super) async fn patch(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.ask(Method::PATCH, path, query, Some(body)).await
    }

    pub(super) async fn delete(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, Refusal> {
        self.ask(Method::DELETE, path, query, None).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let api = match self.integration {
            Integration::Calendar => Api::Calendar,
            Integration::Mail => Api::Mail,
        };
        let ask = Ask { method, api, path, query, body };
        let grant = oauth::usable(&self.context, &self.customer, self.integration, &self.calls).await?;
        let outcome = match self.once(&ask, &grant).await {
            Err(UpstreamFault::Refused(refused)) if refused.status == StatusCode::UNAUTHORIZED => {
                let grant = oauth::renewed(
                    &self.context,
                    &self.customer,
                    self.integration,
                    grant.generation,
                    &self.calls,
                )
                .await?;
                self.once(&ask, &grant).await
            }
            outcome => outcome,
        };
        outcome.map_err(|fault| explain(&fault, self.integration))
    }

    async fn once(&self, ask: &Ask<'_>, grant: &Grant) -> Result<Value, UpstreamFault> {
        self.calls.count();
        self.context.upstream.send(ask, &grant.access_token).await
    }
}

/// Reads an answer of the provider, which is an object; `what` is what it must have.
pub(super) fn read<T: DeserializeOwned>(answer: Value, what: &str) -> Result<T, Refusal> {
    // serde would take an empty array for an object that has only optional members.
    let object = Some(answer).filter(Value::is_object);
    object.and_then(|object| T::deserialize(object).ok()).ok_or_else(|| incomplete(what))
}

/// An answer of the provider that lacks what the tool needs.
pub(super) fn incomplete(what: &str) -> Refusal {
    Refusal::new(Code::ExternalApiError, format!("the answer of the provider has no `{what}`"))
}
