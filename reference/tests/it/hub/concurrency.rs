//! Many calls at once: limits are exact, and a token is renewed once.

use std::collections::BTreeMap;
use std::time::Duration;

use callmark_reference::hub::{Allowance, fixtures};
use futures::future::join_all;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::support::{Answer, TestHub, answering, asked, availability, free_busy};

async fn at_once(test_hub: &TestHub, count: usize, customer: &str) -> BTreeMap<u16, usize> {
    let calls = (0..count).map(|_| test_hub.execute("calendar_get_availability", customer, availability()));
    let answers: Vec<Answer> = join_all(calls).await;
    let mut statuses = BTreeMap::new();
    for answer in answers {
        *statuses.entry(answer.status).or_default() += 1;
    }
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_allowance_is_let_through() {
    let provider = answering(ResponseTemplate::new(200).set_body_json(free_busy(&json!([])))).await;
    let test_hub = TestHub::at(&provider.uri(), |config| {
        config.limits.allowance = Allowance { calls: 120, per: Duration::from_secs(3600) };
    })
    .await;
    assert_eq!(at_once(&test_hub, 200, fixtures::CONNECTED).await, BTreeMap::from([(200, 120), (429, 80)]));
    assert_eq!(asked(&provider, "/calendar").await, 120);
    assert_eq!(at_once(&test_hub, 10, fixtures::LIMITED).await, BTreeMap::from([(200, 3), (429, 7)]));
    assert_eq!(at_once(&test_hub, 10, fixtures::OTHER).await, BTreeMap::from([(200, 10)]));
    assert_eq!(asked(&provider, "/calendar").await, 133);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_share_one_renewal() {
    let provider = answering(ResponseTemplate::new(200).set_body_json(free_busy(&json!([])))).await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    assert_eq!(at_once(&test_hub, 20, fixtures::REFRESHABLE).await, BTreeMap::from([(200, 20)]));
    assert_eq!(asked(&provider, "/token").await, 1);
    assert_eq!(asked(&provider, "/calendar").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_renewal_share_its_failure() {
    let provider = answering(ResponseTemplate::new(200)).await;
    provider.reset().await;
    let slow = ResponseTemplate::new(503).set_delay(Duration::from_millis(500));
    wiremock::Mock::given(wiremock::matchers::any()).respond_with(slow).mount(&provider).await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    assert_eq!(at_once(&test_hub, 20, fixtures::EXPIRED).await, BTreeMap::from([(502, 20)]));
    let renewals = asked(&provider, "/token").await;
    assert!(renewals < 20, "{renewals} renewals for 20 calls at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_ends_closes_its_connections() {
    let test_hub = TestHub::new().await;
    test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await.result();
    let address = test_hub.hub.address();
    tokio::time::timeout(Duration::from_secs(10), test_hub.hub.shutdown()).await.expect("a prompt end");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
