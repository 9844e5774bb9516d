//! Broken targets that leave a negative check nothing to look at: what must not be there is not there, since nothing is.
//! Such a rule is not observed; another one fails for the fault itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::behind;
use callmark_reports::record::Outcome;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::families;
use callmark_suite::mutation::mutant::Fault;
use callmark_suite::mutation::mutating_wire::MutatingWire;
use serde_json::{Value, json};

/// What becomes of some rules of a profile, where the reference has these faults.
async fn outcomes(profile: &str, faults: Value, rules: &[&str]) -> BTreeMap<String, Outcome> {
    let faults: Vec<Fault> = serde_json::from_value(faults).expect("sound faults");
    let wire = Arc::new(MutatingWire::new(faults, families::ALL.codec(profile)));
    let record = behind::certify(wire, profile, rules, ReplayMode::Off).await.record;
    record.rules.into_iter().map(|rule| (rule.id, rule.outcome)).collect()
}

/// Each rule has the outcome that stands beside it.
async fn check(profile: &str, faults: Value, expect: &[(&str, Outcome)]) {
    let rules: Vec<&str> = expect.iter().map(|(rule, _)| *rule).collect();
    let seen = outcomes(profile, faults, &rules).await;
    let expect: BTreeMap<String, Outcome> =
        expect.iter().map(|(rule, outcome)| ((*rule).to_owned(), *outcome)).collect();
    assert_eq!(seen, expect);
}

#[tokio::test]
async fn a_server_that_stores_nothing_does_not_keep_scopes_apart() {
    let faults = json!([{
        "on": "request",
        "when": [{"has": "/params/arguments/store_as"}],
        "do": [{"drop": "/params/arguments/store_as"}],
    }]);
    let expect = [
        ("BUS-22", Outcome::Failed),
        ("BUS-25", Outcome::NotObserved),
        ("BUS-27", Outcome::NotObserved),
        ("BUS-28", Outcome::NotObserved),
        ("BUS-30", Outcome::NotObserved),
    ];
    check("toolbus.server", faults, &expect).await;
}

#[tokio::test]
async fn a_server_that_stores_in_one_scope_alone_does_not_keep_scopes_apart() {
    let faults = json!([{
        "on": "request",
        "when": [{"equals": {"at": "/params/arguments/store_scope", "to": "persistent"}}],
        "do": [{"drop": "/params/arguments/store_as"}],
    }]);
    let expect = [("BUS-25", Outcome::Passed), ("BUS-26", Outcome::Failed), ("BUS-27", Outcome::NotObserved)];
    check("toolbus.server", faults, &expect).await;
}

/// The secret probe of the manifest, and any other echo with a secret in it.
fn nothing_of_secrets() -> Value {
    json!([
        {
            "on": "request",
            "when": [{"has": "/params/arguments/value/password"}],
            "do": [{"stash": {"at": "/method", "as": "secret"}}],
        },
        {
            "on": "response",
            "when": [{"kept": "secret"}, {"has": "/envelope"}],
            "do": [{"set": {"at": "/envelope/result", "to": {"ok": true}}}],
        },
    ])
}

#[tokio::test]
async fn a_secret_probe_that_gives_nothing_back_hides_nothing() {
    check("toolbus.server", nothing_of_secrets(), &[("BUS-48", Outcome::NotObserved)]).await;
    let expect = [
        ("BUS-64", Outcome::NotObserved),
        ("BUS-65", Outcome::NotObserved),
        ("BUS-66", Outcome::NotObserved),
    ];
    check("toolbus.artifacts", nothing_of_secrets(), &expect).await;
}

#[tokio::test]
async fn a_server_without_artifacts_writes_none_outside_its_root() {
    let faults = json!([{"on": "artifact", "do": ["swallow"]}]);
    let expect = [("BUS-52", Outcome::Failed), ("BUS-55", Outcome::NotObserved)];
    check("toolbus.artifacts", faults, &expect).await;
}

#[tokio::test]
async fn a_hub_that_reaches_no_provider_refuses_nothing_there() {
    let faults = json!([{"on": "provider", "do": ["swallow"]}]);
    let expect =
        [("HUB-10", Outcome::NotObserved), ("HUB-11", Outcome::NotObserved), ("HUB-72", Outcome::Warned)];
    check("hub.server", faults, &expect).await;
}
