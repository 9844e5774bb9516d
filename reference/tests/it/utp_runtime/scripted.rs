//! Everything of the reference on one broker: L0 takes the reports, the runtime is a worker, the model is scripted.

use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::message::{RosterRow, Status, TaskEvent, TurnRequest};
use callmark_reference::utp::platform::{NatsPlatform, Platform, REQUEST_DEADLINE};
use callmark_reference::utp::subject::{ChannelId, ProjectId, task_event};
use callmark_reference::utp::trace::TraceHeaders;
use callmark_reference::utp::{
    L0, L0Config, Reports, Revision, Runtime, RuntimeConfig, ScriptedModel, ToolService, ToolServiceConfig,
    round_trip, rows,
};
use futures::StreamExt;

use super::support::within;

#[tokio::test]
async fn a_turn_runs_offline_from_question_to_deliverable() {
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let l0 = L0::start(L0Config::new(broker.url())).await.expect("an L0");
    for row in rows("prj", Revision::V1r3) {
        l0.put_tool(row).await.expect("no error");
    }
    let service = ToolService::start(ToolServiceConfig::new(broker.url())).await.expect("a service");
    let model = ScriptedModel::start(([127, 0, 0, 1], 0).into()).await.expect("a model");
    let mut config = RuntimeConfig::new(broker.url(), model.url());
    config.reports = Reports::Platform;
    let runtime = Runtime::start(config).await.expect("a runtime");

    let client = async_nats::connect(broker.url()).await.expect("a client");
    let platform = NatsPlatform::new(client.clone(), REQUEST_DEADLINE);
    let (project, channel) =
        (ProjectId::new("prj").expect("a token"), ChannelId::new("ch").expect("a token"));
    let row = RosterRow::new("", "ag_1", "worker_generic");
    platform.save_agent(&project, &row).await.expect("no error");
    let found = platform.agent(&project, "ag_1").await.expect("a row");
    assert_eq!((found.project_id.as_str(), found.worker_target.as_str()), ("prj", "worker_generic"));
    assert_eq!(platform.tools_list(&project).await.expect("rows").len(), rows("prj", Revision::V1r3).len());
    let subject = task_event(Revision::V1r3, &project, &channel, "ag_1");
    let mut events = client.subscribe(subject).await.expect("a subscription");
    round_trip(&client).await.expect("an answer of the broker");
    let request = TurnRequest::new("ag_1", "When is high water in Brest?");
    let receipt = platform.start_turn(&project, &channel, &request, &TraceHeaders::fresh().into()).await;
    let receipt = receipt.expect("a receipt");
    let event = within("task event", events.next()).await.expect("an event");
    let event: TaskEvent = serde_json::from_slice(&event.payload).expect("a task event");
    assert_eq!((event.status, event.agent_turn_id), (Status::Success, receipt.agent_turn_id));
    let deliverable = event.deliverable_card_id.expect("a deliverable");
    let batch = platform.cards(&project, &[deliverable]).await.expect("cards");
    let text = batch.cards[0]["content"]["text"].as_str().expect("text").to_owned();
    assert!(text.contains("Brest"), "{text}");
    let records = platform.inbox(&project, "ag_1").await.expect("an Inbox");
    assert_eq!(records.len(), 1);

    within("shutdown", runtime.shutdown()).await;
    within("shutdown", model.shutdown()).await;
    within("shutdown", service.shutdown()).await;
    within("shutdown", l0.shutdown()).await;
}
