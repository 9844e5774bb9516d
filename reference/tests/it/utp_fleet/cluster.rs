//! A fleet on a cluster of three servers, one of which is killed in the middle of the calls.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use super::server::NatsServer;
use super::support::{Fleet, commands, within};
use crate::utp::support::row;

const CALLS: usize = 120;

/// Three servers that find each other.
fn three_servers() -> Vec<NatsServer> {
    let taken: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let ports: Vec<u16> =
        taken.iter().map(|listener| listener.local_addr().expect("an address").port()).collect();
    let routes: Vec<String> = ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    drop(taken);
    ports
        .iter()
        .map(|port| {
            NatsServer::start_with(&format!(
                "server_name: \"at-{port}\"\n\
                 cluster {{ name: fleet, listen: \"127.0.0.1:{port}\", routes: [{}] }}\n",
                routes.join(", ")
            ))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_of_the_commands_is_killed_and_no_call_is_lost() {
    let mut servers = three_servers();
    let urls: Vec<&str> = servers.iter().map(NatsServer::url).collect();
    let urls = urls.join(",");
    let fleet = Fleet::around(&urls, Some(commands(3))).await;
    let mut instances = Vec::new();
    for name in ["1", "2", "3"] {
        instances.push(fleet.instance(name).await);
    }
    let context = async_nats::jetstream::new(fleet.client.clone());
    for bucket in ["calls", "counters", "instances"] {
        let stream = context.get_stream(format!("KV_tool-service_{bucket}")).await.expect("a bucket");
        assert_eq!(stream.cached_info().config.num_replicas, 3, "{bucket}");
    }
    let count = row("probe.count");
    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        calls.push(fleet.caller.prepare(&count, &json!({})).await.expect("a call"));
    }
    // Acknowledged by the stream, so that none of them may be lost.
    for (number, call) in calls.iter().enumerate() {
        let payload = bytes::Bytes::from(call.command.to_string());
        within("acknowledgement", async {
            loop {
                let sent = context.publish(call.subject.clone(), payload.clone()).await;
                if let Ok(acknowledgement) = sent
                    && acknowledgement.await.is_ok()
                {
                    return;
                }
            }
        })
        .await;
        if number == CALLS / 2 {
            let stream = context.get_stream(commands(3).name).await.expect("the stream");
            let leader = stream.cached_info().cluster.as_ref().and_then(|cluster| cluster.leader.clone());
            let names: Vec<String> = names(&servers).await;
            let place = names.iter().position(|name| Some(name) == leader.as_ref()).expect("a leader");
            servers[place].kill();
        }
    }
    // What the caller is sent while it looks for another server is lost to it; the Inbox loses nothing.
    within("answer to each call", async {
        while fleet.answered().await < CALLS {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(fleet.counts().await, (1..=CALLS as u64).collect::<Vec<_>>());
}

/// The names of the servers, in their order.
async fn names(servers: &[NatsServer]) -> Vec<String> {
    let mut names = Vec::with_capacity(servers.len());
    for server in servers {
        let client = async_nats::connect(server.url()).await.expect("a client");
        names.push(client.server_info().server_name);
    }
    names
}
