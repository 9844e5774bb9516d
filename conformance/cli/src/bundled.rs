//! The bundled target: the reference implementation, started here and reached over sockets like any other.
//!
//! What it brings for a protocol is a `Bundled`: how this program serves it in a run, and a session after another for
//! the saboteur, which tries many wires on it (`bench`). A new protocol is a file here and a line in `all`.

mod bench;
mod breadcrumb;
mod hub;
mod reference;
mod toolbus;
mod utp;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callmark_suite::engine::manifest::{Manifest, ManifestError, Section};
use callmark_suite::engine::pace::TimeoutLimits;
use callmark_suite::engine::session::Sessions;
use callmark_suite::engine::target::{OpenContext, guard};
use callmark_suite::net::wire::Wire;
use futures::future::LocalBoxFuture;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

pub use bench::ReferenceFactory;
pub use reference::{Reference, Registry};
pub(crate) use utp::InThisProcess;

/// A file system in memory, where a machine has one.
const MEMORY: &str = "/dev/shm";
/// Bytes that must be free there: several times what a run needs.
const ROOM: u64 = 256 * 1024 * 1024;

/// What the reference brings for one protocol. It keeps what can serve all mutants.
trait Bundled {
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
struct Setting<'a> {
    manifest: &'a mut Manifest,
    wire: Arc<dyn Wire>,
    limits: TimeoutLimits,
    /// Another one for each session.
    seed: u64,
}

impl Setting<'_> {
    /// A table of the bundled manifest.
    fn table<T: Section + Clone>(&self, name: &str) -> Result<T, String> {
        self.manifest.get::<T>().cloned().ok_or_else(|| lacks(name))
    }

    /// For targets that work on files.
    fn patient(self) -> Self {
        let answer_floor = self.limits.answer_floor.max(Duration::from_secs(2));
        Self { limits: TimeoutLimits { answer_floor, ..self.limits }, ..self }
    }

    /// What a session with this table is opened with.
    fn context<T>(self, table: T) -> OpenContext<T> {
        OpenContext {
            table,
            directory: PathBuf::from("."),
            log: log_file().into(),
            limits: self.limits,
            wire: self.wire,
            seed: self.seed,
        }
    }
}

/// What is said of a bundled manifest without a table.
fn lacks(table: &str) -> String {
    format!("the bundled manifest has no `[{table}]`")
}

/// Where the output of started servers goes. Mutants make them say much that nobody reads.
fn log_file() -> PathBuf {
    let name = format!("callmark-sabotage-{}.log", std::process::id());
    guard::home().map_or_else(|_| std::env::temp_dir(), Path::to_owned).join(name)
}

/// What the reference brings, each protocol once.
fn all() -> Vec<Box<dyn Bundled>> {
    vec![
        Box::new(utp::UtpReference::default()),
        Box::new(hub::HubReference),
        Box::new(breadcrumb::BreadcrumbReference),
        Box::new(toolbus::ToolbusReference),
    ]
}

/// The bundled target's manifest. `program` is the `callmark` binary, which can serve the reference.
pub fn manifest(program: &Path) -> Result<Manifest, ManifestError> {
    let mut manifest = Manifest::parse("bundled.toml", include_str!("bundled.toml"), Path::new("."))?;
    let serve = |words: &[&str]| -> Vec<String> {
        let words = ["serve"].iter().chain(words).map(|word| (*word).to_owned());
        std::iter::once(program.display().to_string()).chain(words).collect()
    };
    for protocol in all() {
        protocol.complete(&mut manifest, &serve);
    }
    Ok(manifest)
}

/// Has the files of the reference live in memory where there is room: a run writes and removes a thousand, and waits
/// for the disk at each. Who sets `TMPDIR` has decided otherwise.
pub fn keep_files_in_memory() {
    let has_room = statvfs(MEMORY).is_ok_and(|memory| {
        let free = memory.blocks_available().saturating_mul(memory.fragment_size());
        free >= ROOM && access(MEMORY, AccessFlags::W_OK).is_ok()
    });
    if has_room && std::env::var_os("TMPDIR").is_none() {
        // Fails where it was decided before, which is just as well.
        let _ = tempfile::env::override_temp_dir(Path::new(MEMORY));
    }
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

#[cfg(test)]
mod tests {
    use callmark_suite::engine::manifest::ManifestTable;
    use callmark_suite::families;

    #[test]
    fn the_reference_speaks_every_protocol() {
        let names: Vec<&str> = super::all().iter().map(|own| own.protocol()).collect();
        let mut known: Vec<&str> = families::ALL.protocols().map(ManifestTable::name).collect();
        known.sort_by_key(|name| names.iter().position(|own| own == name));
        assert_eq!(names, known);
    }
}
