//! What a customer has connected: `GET /api/internal/integrations/status/{customer_id}/` (Integration Status Endpoint).
//!
//! The contract lets an agent ask before a call. This one asks after a call that was refused because an integration
//! is not connected, so that the user learns what would work in its place. No answer is no fault.

use std::time::Duration;

use reqwest::header::AUTHORIZATION;
use serde_json::Value;
use tokio::time::Instant;

use super::fetch::fetch;
use super::hub_client::HubClient;
use super::ids::Uuid;
use super::inputs::shown;

const STATUS: &str = "/api/internal/integrations/status/";
/// How much of an answer is read.
const ANSWER_BYTES: usize = 64 * 1024;
/// The call has failed already; the user waits for no more than this.
const LONGEST: Duration = Duration::from_secs(3);
/// Integrations that are named.
const NAMED: usize = 16;

impl HubClient {
    /// The integrations that a customer has connected, none where the Hub does not say.
    pub(super) async fn connected(&self, customer: &Uuid) -> Vec<String> {
        let url = format!("{}{STATUS}{}/", self.base, customer.as_str());
        let request = self.client.get(url).header(AUTHORIZATION, &self.authorization);
        let until = Instant::now() + self.deadline.min(LONGEST);
        let Ok(answer) = fetch(request, ANSWER_BYTES, until).await else { return Vec::new() };
        if answer.cut || answer.status != 200 {
            return Vec::new();
        }
        let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let integrations = status.get("integrations").and_then(Value::as_object);
        let is_connected = |entry: &Value| entry.get("connected") == Some(&Value::Bool(true));
        integrations
            .into_iter()
            .flatten()
            .filter(|(_, entry)| is_connected(entry))
            .take(NAMED)
            .map(|(slug, _)| shown(slug))
            .collect()
    }
}
