//! A broker, an L0, a Tool Service and a caller in one process, for the tests of UTP.
//!
//! Every wait has a deadline; nothing here sleeps.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::log::Log;
use callmark_reference::utp::message::ToolRow;
use callmark_reference::utp::{
    Caller, L0, L0Config, PlatformConfig, Revision, ToolService, ToolServiceConfig, round_trip, rows,
};
use futures::StreamExt;
use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) const VERSION: Revision = Revision::V1r3;
pub(crate) const PROJECT: &str = "prj_orchid";
pub(crate) const CHANNEL: &str = "ch_7";
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// The whole platform around a Tool Service.
pub(crate) struct Platform {
    pub(crate) broker: Broker,
    l0: Option<L0>,
    pub(crate) client: Client,
    pub(crate) caller: Caller,
    pub(crate) log: mpsc::UnboundedReceiver<String>,
    log_sender: mpsc::UnboundedSender<String>,
}

impl Platform {
    pub(crate) async fn start() -> Self {
        Self::start_with(BrokerConfig::default()).await
    }

    pub(crate) async fn start_with(broker: BrokerConfig) -> Self {
        Self::start_in(VERSION, broker).await
    }

    /// With a caller of this revision.
    pub(crate) async fn start_in(revision: Revision, broker: BrokerConfig) -> Self {
        let broker = Broker::start(broker).await.expect("a broker");
        let mut config = L0Config::new(broker.url());
        config.http = Some(([127, 0, 0, 1], 0).into());
        let l0 = L0::start(config).await.expect("an L0");
        let client = async_nats::connect(broker.url()).await.expect("a client");
        let caller =
            Caller::connect(&broker.url(), revision, l0.handle(), PROJECT, CHANNEL).await.expect("a caller");
        let (log_sender, log) = mpsc::unbounded_channel();
        Self { broker, l0: Some(l0), client, caller, log, log_sender }
    }

    pub(crate) fn l0(&self) -> &L0 {
        self.l0.as_ref().expect("a running L0")
    }

    pub(crate) async fn stop_l0(&mut self) {
        if let Some(l0) = self.l0.take() {
            l0.shutdown().await;
        }
    }

    /// The usual configuration, its log readable through [`Self::logged`].
    pub(crate) fn config(&self) -> ToolServiceConfig {
        let sender = self.log_sender.clone();
        let log: Log = Arc::new(move |line| {
            let _ = sender.send(line.to_owned());
        });
        let mut config = ToolServiceConfig::new(self.broker.url());
        config.log = log;
        config
    }

    pub(crate) fn config_http(&self) -> ToolServiceConfig {
        let base_url = self.l0().http_url().expect("an address");
        let mut config = self.config();
        config.platform = PlatformConfig::Http { base_url };
        config
    }

    pub(crate) async fn service(&self) -> ToolService {
        ToolService::start(self.config()).await.expect("a service")
    }

    /// Returns when the broker has read the subscription, so that nothing that is published from now on is missed.
    pub(crate) async fn subscribe(&self, subject: &str) -> Subscriber {
        let subscriber = self.client.subscribe(subject.to_owned()).await.expect("a subscription");
        round_trip(&self.client).await.expect("an answer of the broker");
        subscriber
    }

    /// Every report of the project, duplicates included.
    pub(crate) async fn reports(&self) -> Subscriber {
        self.subscribe(&format!("l0.v1.{PROJECT}.*.report")).await
    }

    /// The next log line that contains the text.
    pub(crate) async fn logged(&mut self, text: &str) -> String {
        within("a log line", async {
            while let Some(line) = self.log.recv().await {
                if line.contains(text) {
                    return line;
                }
            }
            panic!("the log is closed");
        })
        .await
    }
}

pub(crate) fn row(tool_name: &str) -> ToolRow {
    row_in(VERSION, tool_name)
}

pub(crate) fn row_in(revision: Revision, tool_name: &str) -> ToolRow {
    rows(PROJECT, revision).into_iter().find(|row| row.tool_name == tool_name).expect("a tool")
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(tokio::time::error::Elapsed { .. }) => panic!("no {what} within {DEADLINE:?}"),
    }
}

pub(crate) async fn next(subscriber: &mut Subscriber) -> Message {
    within("message", subscriber.next()).await.expect("an open subscription")
}

pub(crate) fn json(message: &Message) -> Value {
    serde_json::from_slice(&message.payload).expect("JSON")
}
