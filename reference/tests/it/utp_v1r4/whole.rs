//! Everything of the reference on one broker, and a turn of each revision through all of it.

use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::message::{RosterRow, Status, TaskEvent, TurnRequest};
use callmark_reference::utp::platform::{NatsPlatform, Platform, REQUEST_DEADLINE};
use callmark_reference::utp::revision::{Headers, headers};
use callmark_reference::utp::subject::{ChannelId, ProjectId, task_event};
use callmark_reference::utp::{
    L0, L0Config, Reports, Revision, Runtime, RuntimeConfig, ScriptedModel, ToolService, ToolServiceConfig,
    round_trip, rows,
};
use futures::StreamExt;

use crate::utp_runtime::support::within;

#[tokio::test]
async fn turns_of_both_revisions_run_side_by_side() {
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let l0 = L0::start(L0Config::new(broker.url())).await.expect("an L0");
    let service = ToolService::start(ToolServiceConfig::new(broker.url())).await.expect("a service");
    let model = ScriptedModel::start(([127, 0, 0, 1], 0).into()).await.expect("a model");
    let mut config = RuntimeConfig::new(broker.url(), model.url());
    config.reports = Reports::Platform;
    let runtime = Runtime::start(config).await.expect("a runtime");
    let client = async_nats::connect(broker.url()).await.expect("a client");
    let platform = NatsPlatform::new(client.clone(), REQUEST_DEADLINE);
    let channel = ChannelId::new("ch").expect("a token");
    for revision in Revision::ALL {
        // A project has one row for each tool, and so one revision for it.
        let project = ProjectId::new(format!("prj_{revision}")).expect("a token");
        for row in rows(project.as_str(), revision) {
            l0.put_tool(row).await.expect("no error");
        }
        let row = RosterRow::new(project.as_str(), "ag_1", "worker_generic");
        platform.save_agent(&project, &row).await.expect("no error");
        let subject = task_event(revision, &project, &channel, "ag_1");
        let mut events = client.subscribe(subject).await.expect("a subscription");
        round_trip(&client).await.expect("an answer of the broker");
        let mut sent = Headers::default();
        if revision == Revision::V1r4 {
            sent.set(headers::PROJECT_ID, project.as_str());
            sent.set(headers::CHANNEL_ID, channel.as_str());
        }
        let request = TurnRequest::new("ag_1", "When is high water in Brest?");
        platform.start_turn(&project, &channel, &request, &sent).await.expect("a receipt");
        let event = within("task event", events.next()).await.expect("an event");
        let event: TaskEvent = serde_json::from_slice(&event.payload).expect("a task event");
        assert_eq!(event.status, Status::Success, "{revision}");
        let records = platform.inbox(&project, "ag_1").await.expect("an Inbox");
        assert_eq!(records.len(), 1, "{revision}");
        assert_eq!(records[0].context.is_some(), revision == Revision::V1r4);
    }
    within("shutdown", runtime.shutdown()).await;
    within("shutdown", model.shutdown()).await;
    within("shutdown", service.shutdown()).await;
    within("shutdown", l0.shutdown()).await;
}
