//! The NATS binding of the platform (`docs/bindings.md`), and the watch on the bus.

use std::sync::Arc;

use async_nats::{Client, HeaderMap, Subscriber};
use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::platform_service::{Operation, PlatformService};
use super::reply::{MAX_BODY, PlatformReply, too_large};
use crate::families::utp::message;
use crate::families::utp::nats::headers;
use crate::families::utp::publisher::Publisher;
use crate::families::utp::replicas::Replicas;
use crate::families::utp::revision::Revision;
use crate::transcript::{Kind, Message};

/// Requests that the platform works on at a time; more wait on the bus.
const MAX_IN_FLIGHT: usize = 512;

/// Serves the platform on the bus until dropped.
///
/// The client must have been connected with `no_echo`: everything that arrives is then a peer's.
///
/// # Errors
/// When a subscription cannot be made.
pub async fn serve(
    client: &Client,
    version: &str,
    (platform_service, replicas): (&Arc<PlatformService>, &Arc<Replicas>),
    publisher: &Publisher,
    wakeups: UnboundedReceiver<Message>,
) -> Result<JoinSet<()>, async_nats::SubscribeError> {
    let requests = client.subscribe("l0.v1.>").await?;
    let bus = client.subscribe(format!("cg.{version}.>")).await?;
    // What a target publishes for a project of ours in another revision is its mistake.
    let astray = match Revision::of(version) {
        Revision::V1r3 => None,
        Revision::V1r4 => Some(client.subscribe(format!("cg.{}.>", Revision::V1r3.name())).await?),
    };
    let state = client.subscribe("state.>").await?;
    let buckets = client.subscribe("$KV.>").await?;
    let mut tasks = JoinSet::new();
    let around = || (Arc::clone(platform_service), Arc::clone(replicas));
    tasks.spawn(answer(client.clone(), around(), requests));
    tasks.spawn(watch(around(), bus));
    if let Some(astray) = astray {
        tasks.spawn(watch(around(), astray));
    }
    tasks.spawn(watch(around(), state));
    tasks.spawn(watch(around(), buckets));
    tasks.spawn(publish(publisher.clone(), wakeups));
    Ok(tasks)
}

/// What is played, and the replicas that it is played for.
type Around = (Arc<PlatformService>, Arc<Replicas>);

async fn answer(client: Client, (platform_service, replicas): Around, mut requests: Subscriber) {
    let mut in_flight = JoinSet::new();
    while let Some(request) = requests.next().await {
        while in_flight.try_join_next().is_some() {}
        if in_flight.len() >= MAX_IN_FLIGHT {
            in_flight.join_next().await;
        }
        let (project, operation) = route(&request.subject);
        // Another platform may serve other projects on the same broker; what is not ours is not answered.
        if platform_service.project(&project).is_none() {
            platform_service.strays_to(&project);
            continue;
        }
        let (client, platform_service) = (client.clone(), Arc::clone(&platform_service));
        if request.payload.len() > MAX_BODY {
            let refusal = too_large();
            platform_service.refused(&project, &refusal);
            if let Some(to) = request.reply {
                respond(&client, to, Err(refusal)).await;
            }
            continue;
        }
        let channel = request.subject.to_string();
        let (mut headers, body) = (headers(&request), message::body(&request.payload));
        replicas.mark(&mut headers, &channel, &request.payload);
        // Tasks start in the order of arrival only on one thread; the service is called here, at once,
        // and a task is needed just for an answer that has to wait.
        let mut work = Box::pin(async move {
            let starts = matches!(operation, Operation::TurnStart { .. });
            let reply = platform_service.request(&project, operation, channel, headers, body).await;
            if let Some(to) = request.reply {
                respond(&client, to, reply).await;
            }
            if starts {
                platform_service.answered(&project);
            }
        });
        if futures::poll!(&mut work).is_pending() {
            in_flight.spawn(work);
        }
    }
}

async fn respond(client: &Client, to: async_nats::Subject, reply: PlatformReply) {
    // A target that has gone away does not receive the answer; the transcript shows what it sent.
    let _ = match reply {
        Ok(body) => client.publish(to, Bytes::from(body.to_string())).await,
        Err(refusal) => {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Service-Error", refusal.message.as_str());
            headers.insert("Nats-Service-Error-Code", refusal.status.to_string().as_str());
            client.publish_with_headers(to, headers, Bytes::from(refusal.body().to_string())).await
        }
    };
}

async fn watch((platform_service, replicas): Around, mut bus: Subscriber) {
    while let Some(message) = bus.next().await {
        let tokens: Vec<&str> = message.subject.split('.').collect();
        let kind = match tokens.as_slice() {
            ["cg", _, _, _, "cmd", "agent", .., "wakeup"] => Kind::Wakeup,
            ["cg", _, _, _, "evt", "agent", _, "task"] => Kind::Task,
            // A token `state` names the tables, or announces a change in them; neither is a tool's business.
            tokens if tokens.iter().any(|token| is_state(token)) => Kind::StateWrite,
            _ => Kind::Bus,
        };
        let (mut headers, body) = (headers(&message), message::body(&message.payload));
        replicas.mark(&mut headers, &message.subject, &message.payload);
        // `state.>` has no place for a project, so the token or the member that names one of ours decides.
        let named = body.get("project_id").and_then(Value::as_str);
        let mut candidates = tokens.iter().copied().chain(named);
        let project =
            candidates.find(|candidate| platform_service.project(candidate).is_some()).map(str::to_owned);
        let subject = message.subject.to_string();
        match project {
            Some(project) => platform_service.observe(&project, kind, subject, headers, body),
            None if kind == Kind::StateWrite => {
                platform_service.observe_everywhere(kind, &subject, &headers, &body);
            }
            None => {
                // Only said of a target that shows nothing where it was asked to.
                if let ["cg", version, elsewhere, ..] = subject.split('.').collect::<Vec<_>>().as_slice()
                    && platform_service.speaks(version)
                {
                    platform_service.strays_to(elsewhere);
                }
            }
        }
    }
}

/// Whether a token names state: the schema itself, or a table or bucket called after it.
fn is_state(token: &str) -> bool {
    token == "state" || token.starts_with("state_") || token.starts_with("agent_state")
}

async fn publish(publisher: Publisher, mut wakeups: UnboundedReceiver<Message>) {
    while let Some(wakeup) = wakeups.recv().await {
        publisher.send(&[wakeup]).await;
    }
}

/// Project and operation of a subject below `l0.v1`.
fn route(subject: &str) -> (String, Operation) {
    let tokens: Vec<&str> = subject.split('.').collect();
    let project = tokens.get(2).copied().unwrap_or_default().to_owned();
    let operation = match tokens.get(3..).unwrap_or_default() {
        ["cards", "get"] => Operation::CardsGet,
        ["cards", "save"] => Operation::CardSave,
        ["tools", "get"] => Operation::ToolsGet,
        ["tools", "list"] => Operation::ToolsList,
        ["roster", "get"] => Operation::RosterGet,
        ["roster", "save"] => Operation::RosterSave,
        tokens if tokens.iter().any(|token| is_state(token)) => Operation::StateWrite,
        [channel, "turns", "start"] => Operation::TurnStart { channel_id: (*channel).to_owned() },
        [channel, "report"] => Operation::Report { channel_id: (*channel).to_owned() },
        _ => Operation::Unknown,
    };
    (project, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_subject_has_its_operation() {
        let check = |subject: &str, expect: Operation| {
            assert_eq!(route(subject), ("prj".to_owned(), expect), "{subject}");
        };
        check("l0.v1.prj.cards.get", Operation::CardsGet);
        check("l0.v1.prj.cards.save", Operation::CardSave);
        check("l0.v1.prj.tools.get", Operation::ToolsGet);
        check("l0.v1.prj.public.report", Operation::Report { channel_id: "public".to_owned() });
        check("l0.v1.prj.tools.list", Operation::ToolsList);
        check("l0.v1.prj.roster.get", Operation::RosterGet);
        check("l0.v1.prj.roster.save", Operation::RosterSave);
        check("l0.v1.prj.public.turns.start", Operation::TurnStart { channel_id: "public".to_owned() });
        check("l0.v1.prj.state.agent_state_head.put", Operation::StateWrite);
        check("l0.v1.prj", Operation::Unknown);
        check("l0.v1.prj.cards.get.more", Operation::Unknown);
    }
}
