//! Targets that do nothing score nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use callmark_cli::broker::{self, BrokerChoice};
use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::{Quiet, RunOutput};
use callmark_suite::families::utp::null;
use callmark_suite::families::utp::null::Null;
use callmark_suite::families::utp::revision::Revision;
use callmark_suite::families::utp::target::Running;

/// A run against a target that runs already: no rule passes, and the verdict is the expected one.
pub(crate) async fn check(
    manifest: &Manifest,
    profiles: &[&str],
    nats_url: &str,
    expect: Verdict,
    who: &str,
) -> RunOutput {
    let output = super::certify(manifest, profiles, nats_url, Box::new(Running), Arc::new(Quiet)).await;
    check_output(&output, expect, who);
    output
}

/// The same of a run that was made already.
pub(crate) fn check_output(output: &RunOutput, expect: Verdict, who: &str) {
    let passes: Vec<&str> = output
        .record
        .rules
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| rule.id.as_str())
        .collect();
    if !passes.is_empty() || output.record.verdict != expect {
        explain(output);
    }
    assert!(passes.is_empty(), "{who} passes {passes:?}");
    assert_eq!(output.record.verdict, expect, "{who}");
    assert!(!output.record.rules.is_empty());
}

/// Prints what a run came to and what it remarked. A run silences the panics of all tests beside it, and what they say.
fn explain(output: &RunOutput) {
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for rule in &output.record.rules {
        *reasons.entry((rule.outcome.name(), rule.reason.as_deref().unwrap_or_default())).or_default() += 1;
    }
    eprintln!("{:?}", output.record.verdict);
    for ((outcome, reason), rules) in reasons {
        eprintln!("{rules} rules {outcome}: {reason}");
    }
    for remark in &output.remarks {
        eprintln!("{}", remark.text);
    }
}

/// The same of one that serves commands on a bus of its own, in the revision of the profile.
pub(crate) async fn check_on_the_bus(profile: &str, null: Null, expect: Verdict) {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let version = Revision::of_profile(profile).name();
    let _serving = null::serve(&client, version, null).await.expect("a null target");
    let manifest = super::manifest();
    check(&manifest, &[profile], broker.url(), expect, &format!("{null:?} as {profile}")).await;
}

/// A test for each way to treat all commands on the bus alike. `$check` takes the way, and the verdict to expect.
macro_rules! tests_on_the_bus {
    ($check:path) => {
        $crate::support::nothing::tests_on_the_bus! { $check:
            not_found_scores_nothing: NotFound, Nonconformant;
            empty_results_score_nothing: Empty, Nonconformant;
            an_echo_scores_nothing: Echo, Nonconformant;
            silence_scores_nothing: Silence, Incomplete;
            always_failing_scores_nothing: AlwaysError, Nonconformant;
            always_succeeding_scores_nothing: AlwaysSuccess, Nonconformant;
        }
    };
    ($check:path: $($name:ident: $null:ident, $verdict:ident;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                use callmark_suite::families::utp::null::Null;
                $check(Null::$null, callmark_reports::record::Verdict::$verdict).await;
            }
        )+
    };
}
pub(crate) use tests_on_the_bus;

/// A test for each command that reads lines and says nothing of its own. `$check` takes the command, and the verdict to
/// expect.
macro_rules! tests_in_lines {
    ($check:path) => {
        $crate::support::nothing::tests_in_lines! { $check:
            silence: "sed", "-n", "";
            an_end_at_once: "true";
            an_echo: "sed", "-u", "";
            an_empty_object_for_everything: "sed", "-u", "s/.*/{}/";
        }
    };
    ($check:path: $($name:ident: $($word:literal),+;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                $check(&[$($word),+], callmark_reports::record::Verdict::Incomplete).await;
            }
        )+
    };
}
pub(crate) use tests_in_lines;
