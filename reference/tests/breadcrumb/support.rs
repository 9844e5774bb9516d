//! What the tests share: a store, a client of it, and waiting with a deadline.

use std::future::Future;
use std::time::Duration;

use callmark_reference::breadcrumb::client::StoreClient;
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use serde_json::{Value, json};

/// For anything that must happen.
const DEADLINE: Duration = Duration::from_secs(15);

/// Waits, and says what for when it was in vain.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("{what} did not happen in time"))
}

pub(crate) async fn store(config: StoreConfig) -> (StoreServer, StoreClient) {
    let store = StoreServer::start(config).await.expect("a store");
    let client = StoreClient::new(&store.url(), None).expect("a client");
    (store, client)
}

pub(crate) fn memo(title: &str, tags: &[&str]) -> Value {
    json!({"schema_name": "memo.v1", "title": title, "tags": tags, "context": {"text": format!("about {title}")}})
}
