//! Durations, which a manifest gives in seconds.

use std::time::Duration;

/// How long something that is started may take until it answers, where the manifest does not say.
pub(super) const START: Duration = Duration::from_secs(30);

/// So many seconds; `usual` where the manifest does not say, or says what is no duration.
pub(crate) fn or(seconds: Option<f64>, usual: Duration) -> Duration {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_duration_is_the_usual_one() {
        let usual = Duration::from_secs(7);
        let check =
            |seconds: Option<f64>, expect: Duration| assert_eq!(or(seconds, usual), expect, "{seconds:?}");
        check(None, usual);
        check(Some(0.25), Duration::from_millis(250));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            check(Some(wrong), usual);
        }
    }
}
