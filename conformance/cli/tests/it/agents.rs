//! The reference agent, driven in a chat in place of its hook.

use callmark_suite::families::hub::manifest::HubTable;
use std::sync::Arc;

use crate::support;
use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::engine::run::Quiet;
use callmark_suite::families::utp::target::Running;

#[tokio::test]
async fn the_reference_is_certified_in_a_chat() {
    let mut manifest = support::manifest();
    let agent = manifest.get_mut::<HubTable>().and_then(|hub| hub.agent.as_mut()).expect("the bundled agent");
    agent.drive.http = None;
    agent.drive.chat = Some("http://{listen}/v1/chat".to_owned());
    let output = support::certify(&manifest, &["hub.agent"], "", Box::new(Running), Arc::new(Quiet)).await;
    let unhappy: Vec<_> = output
        .record
        .rules
        .iter()
        .filter(|rule| !matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| (&rule.id, rule.outcome, &rule.reason))
        .collect();
    assert!(unhappy.is_empty(), "{unhappy:?}");
    assert_eq!(output.record.verdict, Verdict::Conformant);
}
