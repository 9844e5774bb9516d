//! Implementations that do nothing of what they should score no pass, and never end as conformant.

use callmark_reports::record::Verdict;
use callmark_suite::families::utp::null::Null;

use crate::support::nothing;

async fn check(null: Null, expect: Verdict) {
    nothing::check_on_the_bus("utp.tool-service", null, expect).await;
}

nothing::tests_on_the_bus!(check);

mod v1r4 {
    use super::*;

    async fn check(null: Null, expect: Verdict) {
        nothing::check_on_the_bus("utp.tool-service@v1r4", null, expect).await;
    }

    nothing::tests_on_the_bus!(check);
}
