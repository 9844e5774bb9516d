//! Targets that do nothing score nothing.

use std::sync::Arc;

use callmark_cli::broker::{self, BrokerChoice};
use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::manifest::Manifest;
use callmark_suite::run::{Quiet, RunOutput};
use callmark_suite::saboteur::null::{self, Null};
use callmark_suite::target::Running;

/// A run against a target that runs already: no rule passes, and the verdict is the expected one.
pub(crate) async fn check(
    manifest: &Manifest,
    profiles: &[&str],
    nats_url: &str,
    expect: Verdict,
    who: &str,
) -> RunOutput {
    let output = super::certify(manifest, profiles, nats_url, Box::new(Running), Arc::new(Quiet)).await;
    let passes: Vec<&str> = output
        .record
        .rules
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| rule.id.as_str())
        .collect();
    assert!(passes.is_empty(), "{who} passes {passes:?}");
    assert_eq!(output.record.verdict, expect, "{who}");
    assert!(!output.record.rules.is_empty());
    output
}

/// The same of one that serves commands on a bus of its own.
pub(crate) async fn check_on_the_bus(profile: &str, null: Null, expect: Verdict) {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let _serving = null::serve(&client, "v1r3", null).await.expect("a null target");
    let manifest = super::manifest();
    check(&manifest, &[profile], broker.url(), expect, &format!("{null:?} as {profile}")).await;
}
