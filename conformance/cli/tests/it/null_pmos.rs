//! PMOs that do nothing of what they should score no pass, and never end as conformant.

use callmark_reports::record::Verdict;
use callmark_suite::families::utp::null::Null;

use crate::support::nothing;

async fn check(null: Null, expect: Verdict) {
    nothing::check_on_the_bus("utp.pmo", null, expect).await;
}

nothing::tests_on_the_bus!(check);

#[tokio::test]
async fn starting_no_child_scores_nothing() {
    check(Null::Parrot, Verdict::Nonconformant).await;
}

mod v1r4 {
    use super::*;

    async fn check(null: Null, expect: Verdict) {
        nothing::check_on_the_bus("utp.pmo@v1r4", null, expect).await;
    }

    nothing::tests_on_the_bus!(check);

    #[tokio::test]
    async fn starting_no_child_scores_nothing() {
        check(Null::Parrot, Verdict::Nonconformant).await;
    }
}
