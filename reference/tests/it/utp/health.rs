//! What an orchestrator is answered.

use std::time::Duration;

use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::{ToolService, ToolServiceConfig};

/// For what is waited for.
const DEADLINE: Duration = Duration::from_secs(30);

async fn answer(url: &str, path: &str) -> (u16, String) {
    let answer = reqwest::get(format!("{url}{path}")).await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("a body"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_without_its_broker_is_alive_and_not_ready() {
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let mut config = ToolServiceConfig::new(broker.url());
    config.health = Some(([127, 0, 0, 1], 0).into());
    let service = ToolService::start(config).await.expect("a service");
    let url = service.health_url().expect("an address");
    assert_eq!(answer(&url, "/livez").await, (200, "ok".to_owned()));
    assert_eq!(answer(&url, "/readyz").await, (200, "ok".to_owned()));
    assert_eq!(answer(&url, "/").await.0, 404);

    broker.shutdown().await;
    let not_ready = async {
        while answer(&url, "/readyz").await.0 == 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        answer(&url, "/readyz").await
    };
    let not_ready = tokio::time::timeout(DEADLINE, not_ready).await.expect("the broker's end is noticed");
    assert_eq!(not_ready, (503, "the broker is not connected".to_owned()));
    assert_eq!(answer(&url, "/livez").await, (200, "ok".to_owned()));

    drop(service);
    let gone = async {
        while reqwest::get(format!("{url}/livez")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, gone).await.expect("nobody answers for a service that has ended");
}
