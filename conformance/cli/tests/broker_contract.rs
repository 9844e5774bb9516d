//! What the suite relies on in a broker, checked against every broker that is named.
//!
//! `CALLMARK_TEST_BROKERS` is a comma-separated list of what `--broker` accepts and defaults to
//! `embedded`; a named broker that cannot start is a failure. Each check is written once, so
//! passing on `server` and `container` is what shows that `embedded` behaves like the real thing.

#[path = "broker_contract/client.rs"]
mod client;
#[path = "broker_contract/wire.rs"]
mod wire;

use std::time::Duration;

use callmark_cli::broker;

/// Everything that is awaited arrives within this, or the check fails.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs a check on a fresh instance of each named broker.
async fn on_each_broker(check: impl AsyncFn(&str)) {
    let named = std::env::var("CALLMARK_TEST_BROKERS").unwrap_or_else(|_| "embedded".to_owned());
    for name in named.split(',').map(str::trim) {
        let choice = name.parse().expect("`CALLMARK_TEST_BROKERS` names brokers");
        let broker = broker::start(&choice).await.expect("a named broker starts");
        check(broker.url()).await;
        broker.stop().await;
    }
}

/// Awaits with the deadline.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(DEADLINE, future).await;
    outcome.unwrap_or_else(|_elapsed| panic!("{what} did not happen within {DEADLINE:?}"))
}
