//! What every protocol brings, and what its session for the saboteur is opened with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::manifest::{Manifest, Section};
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::target::OpenContext;
use callmark_suite::engine::timing::TimeoutLimits;
use callmark_suite::guard;
use callmark_suite::net::wire::Wire;
use futures::future::LocalBoxFuture;

/// What the reference brings for one protocol. It keeps what can serve all mutants.
pub(super) trait Bundled {
    /// The protocol's name.
    fn protocol(&self) -> &'static str;

    /// Says in the bundled manifest how the reference is started. `serve` is the command line of `callmark serve` with
    /// these words.
    fn complete(&self, manifest: &mut Manifest, serve: &dyn Fn(&[&str]) -> Vec<String>);

    /// Opens a session for a profile of the protocol, with the reference behind a wire.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>>;
}

/// What a session for the saboteur is opened with.
pub(super) struct Setting<'a> {
    pub manifest: &'a mut Manifest,
    pub wire: Arc<dyn Wire>,
    pub limits: TimeoutLimits,
    /// Another one for each session.
    pub seed: u64,
}

impl Setting<'_> {
    /// A table of the bundled manifest.
    pub(super) fn table<T: Section + Clone>(&self, name: &str) -> Result<T, String> {
        self.manifest.get::<T>().cloned().ok_or_else(|| lacks(name))
    }

    /// For targets that work on files.
    pub(super) fn patient(self) -> Self {
        let answer_floor = self.limits.answer_floor.max(Duration::from_secs(2));
        Self { limits: TimeoutLimits { answer_floor, ..self.limits }, ..self }
    }

    /// What a session with this table is opened with.
    pub(super) fn context<T>(self, table: T) -> OpenContext<T> {
        OpenContext {
            table,
            directory: PathBuf::from("."),
            log: log_file().into(),
            limits: self.limits,
            wire: self.wire,
            seed: self.seed,
            outbound: Arc::default(),
            inbound: Arc::default(),
        }
    }
}

/// What is said of a bundled manifest without a table.
pub(super) fn lacks(table: &str) -> String {
    format!("the bundled manifest has no `[{table}]`")
}

/// Where the output of started servers goes. Mutants make them say much that nobody reads.
fn log_file() -> PathBuf {
    let name = format!("callmark-sabotage-{}.log", std::process::id());
    guard::home().map_or_else(|_| std::env::temp_dir(), Path::to_owned).join(name)
}

/// Limits of waiting: everything is in this process, so nothing takes long.
pub fn limits(scale: f64) -> TimeoutLimits {
    TimeoutLimits {
        answer_floor: Duration::from_secs(3),
        late_floor: Duration::from_millis(200),
        scale,
        ..TimeoutLimits::default()
    }
}
