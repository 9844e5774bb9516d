//! What is seen of a load while it runs: a line on a terminal; elsewhere only what is new.

use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use callmark_suite::engine::load::{LoadPlan, Loaded};
use indicatif::{ProgressBar as Bar, ProgressDrawTarget, ProgressStyle};

use crate::console;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Shows how a load goes on.
pub(super) struct Shown {
    line: Bar,
    is_quiet: bool,
}

impl Shown {
    /// On standard error, unless it is to be quiet.
    pub(super) fn new(is_quiet: bool) -> Self {
        let line = Bar::new_spinner();
        let is_terminal = !is_quiet && std::io::stderr().is_terminal();
        let to = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        line.set_draw_target(to);
        let style = ProgressStyle::with_template("{wide_msg}");
        line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { line, is_quiet }
    }

    /// Says something once.
    pub(super) fn say(&self, text: &str) {
        if self.is_quiet {
            return;
        }
        if self.line.is_hidden() {
            eprintln!("{text}");
        } else {
            self.line.println(callmark_reports::inert(&console::redacted(text), false));
        }
    }

    /// Shows what is known of these calls, until it is dropped.
    pub(super) async fn follow(&self, plan: &LoadPlan, loaded: &Loaded) -> Infallible {
        self.say(&format!(
            "load: {:.1} calls a second for {:.1} s",
            plan.pace.rate(),
            plan.pace.duration().as_secs_f64()
        ));
        let began = Instant::now();
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            ticks.tick().await;
            self.line.set_message(summary(began.elapsed(), loaded));
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

fn summary(elapsed: Duration, loaded: &Loaded) -> String {
    loaded.with(|measured| {
        let counts = &measured.counts;
        let not_sent = counts.crowded_out + counts.left_behind;
        let trouble = [(counts.failed, "failed"), (counts.unanswered, "unanswered"), (not_sent, "not sent")];
        let trouble = trouble.iter().filter(|(count, _)| *count > 0);
        let trouble: Vec<String> = trouble.map(|(count, what)| format!(", {count} {what}")).collect();
        format!(
            "{:.0} s: {} of {} calls sent, {} open, p99 {:.1} ms{}",
            elapsed.as_secs_f64(),
            counts.sent,
            counts.intended,
            loaded.open(),
            measured.p99().as_secs_f64() * 1000.0,
            trouble.concat()
        )
    })
}
