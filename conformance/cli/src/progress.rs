//! Progress on stderr: a bar on a terminal, plain lines otherwise.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use callmark_reports::record::Outcome;
use callmark_suite::engine::run::{Progress, Remark};
use indicatif::{ProgressBar as Bar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

use crate::console;

/// How often a run says how far it is where nothing shows that.
const EVERY: Duration = Duration::from_secs(30);

/// Shows how a run goes on.
pub(crate) struct ProgressBar {
    bar: Bar,
    plain: bool,
    broken: AtomicUsize,
    is_interrupted: AtomicBool,
}

impl ProgressBar {
    /// A bar where stderr is a terminal; else a line at the start, one for each scenario that is not well, and one
    /// now and then.
    pub(crate) fn new() -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = Bar::new(0);
        bar.set_draw_target(if plain { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} scenarios in {elapsed} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if plain {
            say_how_far(bar.downgrade());
        } else {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Self { bar, plain, broken: AtomicUsize::new(0), is_interrupted: AtomicBool::new(false) }
    }

    /// Shows no scenario any more: what ends from now on ends for want of its target.
    pub(crate) fn interrupted(&self) {
        self.is_interrupted.store(true, Ordering::Release);
        self.bar.finish_and_clear();
    }

    /// Says what is being done.
    pub(crate) fn say(&self, text: &str) {
        if self.plain {
            eprintln!("{text}");
        } else {
            // The bar writes to the terminal itself.
            self.bar.println(callmark_reports::inert(&console::redacted(text), false));
        }
    }
}

/// Says now and then how far a run is, until it has ended.
fn say_how_far(bar: WeakProgressBar) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(EVERY);
            let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) else { return };
            let (done, all) = (bar.position(), bar.length().unwrap_or_default());
            if all > 0 {
                eprintln!("{done} of {all} scenarios after {} s", bar.elapsed().as_secs());
            }
        }
    });
}

impl Progress for ProgressBar {
    fn begin(&self, scenarios: usize) {
        self.bar.set_length(u64::try_from(scenarios).unwrap_or(u64::MAX));
        if self.plain {
            match scenarios {
                0 => eprintln!("nothing to run"),
                1 => eprintln!("running 1 scenario"),
                _ => eprintln!("running {scenarios} scenarios"),
            }
        }
    }

    fn scenario(&self, id: &str, outcome: Outcome) {
        if self.is_interrupted.load(Ordering::Acquire) {
            return;
        }
        self.bar.inc(1);
        if matches!(outcome, Outcome::Failed | Outcome::CouldNotRun | Outcome::NotObserved) {
            let broken = self.broken.fetch_add(1, Ordering::Relaxed) + 1;
            self.bar.set_message(format!("({broken} not well)"));
            // The first few show what is going on; the report has all of them.
            if self.plain && broken <= 10 {
                eprintln!("{:<14} {id}", outcome.name());
            }
        }
    }

    fn repeat(&self, scenarios: usize) {
        match scenarios {
            1 => self.say("repeating 1 scenario alone"),
            _ => self.say(&format!("repeating {scenarios} scenarios alone, one after the other")),
        }
    }

    fn remark(&self, remark: &Remark) {
        self.say(&format!("note: {}", remark.text));
        if !remark.log.is_empty() {
            self.say("  the last lines of its log:");
        }
        remark.log.iter().for_each(|line| self.say(&format!("  | {line}")));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
