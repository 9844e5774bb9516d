//! The same target over the other binding, and surroundings that fail or flood in the middle of a run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::support::{self, Part};
use bytes::Bytes;
use callmark_cli::broker::{self, BrokerChoice};
use callmark_cli::bundled::Reference;
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::round_trip;
use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::engine::run::{Progress, Quiet};
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::families::utp::binding::PlatformKind;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::target::Running;
use callmark_suite::transcript::MAX_FRAMES;
use futures::StreamExt as _;
use tokio::sync::mpsc;

#[tokio::test]
async fn the_reference_is_conformant_over_the_http_binding() {
    is_conformant_over_http(&[Revision::V1r3]).await;
}

#[tokio::test]
async fn the_reference_is_conformant_over_the_http_binding_in_v1r4() {
    is_conformant_over_http(&[Revision::V1r4]).await;
}

#[tokio::test]
async fn the_reference_is_conformant_over_the_http_binding_in_both_revisions_at_once() {
    is_conformant_over_http(&Revision::ALL).await;
}

async fn is_conformant_over_http(revisions: &[Revision]) {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let mut manifest = support::manifest();
    if let Some(utp) = manifest.get_mut::<UtpTable>() {
        utp.platform = PlatformKind::Http;
        utp.both_at_once = revisions.len() > 1;
    }
    let roles = ["utp.tool-service", "utp.pmo", "utp.worker"];
    let profiles: Vec<String> =
        revisions.iter().flat_map(|revision| roles.map(|role| revision.profile(role))).collect();
    let output = support::certify_part(
        &manifest,
        &profiles.iter().map(String::as_str).collect::<Vec<_>>(),
        broker.url(),
        Box::new(Reference::both(&profiles)),
        Arc::new(Quiet),
        // Both sides share one thread here: the short waits for targets that never answer are too short for that.
        Part { limits: TimeoutLimits::default(), ..Part::default() },
    )
    .await;
    let judged: BTreeSet<&str> = output.record.rules.iter().map(|rule| rule.profile.as_str()).collect();
    assert_eq!(judged.len(), profiles.len(), "{judged:?}");
    let unwell: Vec<_> = output
        .record
        .rules
        .iter()
        .filter(|rule| !matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| (&rule.id, rule.outcome))
        .collect();
    // The runner of the features keeps what a panic says to itself.
    if !unwell.is_empty() {
        eprintln!("{unwell:?}: {:?}", output.remarks);
    }
    assert!(unwell.is_empty(), "{unwell:?}");
    let over_http = output
        .transcripts()
        .any(|(_, frames)| frames.iter().any(|frame| frame.channel.starts_with("POST /projects/")));
    assert!(over_http, "the reference used the other binding");
}

/// Says when the first scenario has ended.
struct First(Mutex<Option<mpsc::Sender<()>>>);

impl Progress for First {
    fn begin(&self, _: usize) {}

    fn scenario(&self, _: &str, _: Outcome) {
        if let Some(sender) = self.0.lock().expect("no panic").take() {
            sender.try_send(()).expect("somebody waits");
        }
    }

    fn end(&self) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_goes_away_makes_the_run_incomplete() {
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let url = broker.url();
    let (sender, mut first) = mpsc::channel(1);
    let gone = tokio::spawn(async move {
        first.recv().await;
        broker.shutdown().await;
    });
    let manifest = support::manifest();
    let progress = Arc::new(First(Mutex::new(Some(sender))));
    let output = support::certify(
        &manifest,
        &["utp.tool-service"],
        &url,
        Box::new(Reference::of(Revision::V1r3, &["utp.tool-service".to_owned()])),
        progress,
    )
    .await;
    gone.await.expect("the broker ended");
    assert_eq!(output.record.verdict, Verdict::Incomplete);
    let reasons = output.record.rules.iter().filter_map(|rule| rule.reason.as_deref());
    assert!(reasons.into_iter().any(|reason| reason.contains("the connection to the broker was lost")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_callbacks_is_counted_and_bounded() {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let mut commands = client.subscribe("cg.v1r3.*.*.cmd.tool.>").await.expect("a subscription");
    round_trip(&client).await.expect("an answer of the broker");
    let flood = tokio::spawn(async move {
        while let Some(command) = commands.next().await {
            let project = command.subject.split('.').nth(2).unwrap_or_default().to_owned();
            for number in 0..200 {
                let report =
                    format!("{{\"correlation_id\":\"flood-{number}\",\"payload\":{{\"x\":{number}}}}}");
                let subject = format!("l0.v1.{project}.public.report");
                let _ = client.publish(subject, Bytes::from(report)).await;
            }
        }
    });
    let manifest = support::manifest();
    let output =
        support::certify(&manifest, &["utp.tool-service"], broker.url(), Box::new(Running), Arc::new(Quiet))
            .await;
    flood.abort();
    assert_eq!(output.record.verdict, Verdict::Nonconformant);
    assert!(output.record.rules.iter().all(|rule| rule.outcome != Outcome::Passed));
    assert!(output.transcripts().all(|(_, frames)| frames.len() <= MAX_FRAMES));
}
