//! That a target which does nothing scores nothing.

use callmark_reports::record::{Outcome, Verdict};
use callmark_suite::run::RunOutput;

/// No rule passes, and the verdict is the expected one.
pub(crate) fn is_scored(output: &RunOutput, expect: Verdict, who: &str) {
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
}
