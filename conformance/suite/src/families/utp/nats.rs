//! What every user of the broker's client needs.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Message, Request};

/// Longest wait for the broker in [`settle`].
const SETTLE_DEADLINE: Duration = Duration::from_secs(2);

/// Returns once the broker has read everything that this client sent before, subscriptions above all.
///
/// A flush only empties the client's own buffer, so what others publish right after it may still be missed.
/// The broker answers a request that nobody listens for after it has read what was sent ahead of it; one that never
/// says so (permissions may forbid the request) is waited for no longer than two seconds.
pub(super) async fn settle(client: &Client) {
    let request = Request::new().timeout(Some(SETTLE_DEADLINE));
    // No responders is the expected answer, and there is nothing to do about another one.
    let _ = client.send_request(client.new_inbox(), request).await;
}

/// Whether the broker says that nobody subscribes to a subject of whom this client's user may know.
pub(super) async fn has_no_subscriber(client: &Client, subject: &str) -> bool {
    let request = Request::new().timeout(Some(SETTLE_DEADLINE));
    let reply = client.send_request(subject.to_owned(), request).await;
    reply.is_err_and(|error| error.kind() == RequestErrorKind::NoResponders)
}

/// Headers with names in lower case; of several values of a name, the last.
pub(super) fn headers(message: &Message) -> BTreeMap<String, String> {
    let Some(headers) = &message.headers else { return BTreeMap::new() };
    headers
        .iter()
        .filter_map(|(name, values)| {
            Some((name.to_string().to_ascii_lowercase(), values.last()?.to_string()))
        })
        .collect()
}
