//! The bundled target: the reference implementation, started here and reached over sockets like any other.
//!
//! `reference` starts it for a run, `bench` for the saboteur, which tries many wires on it.

mod bench;
mod reference;

use std::path::Path;
use std::time::Duration;

use callmark_reference::breadcrumb::browser::{Browser, UNSTARTED};
use callmark_reference::utp;
use callmark_suite::engine::manifest::{Manifest, ManifestError};
use callmark_suite::engine::pace::TimeoutLimits;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::utp::capture::{Exercise, Exercised};
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::upstream::Variable;
use futures::future::BoxFuture;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

pub use bench::ReferenceFactory;
pub use reference::{Reference, Registry};

/// A file system in memory, where a machine has one.
const MEMORY: &str = "/dev/shm";
/// Bytes that must be free there: several times what a run needs.
const ROOM: u64 = 256 * 1024 * 1024;

/// The project of the tour.
const TOUR_PROJECT: &str = "prj_tour";

/// The bundled target's manifest. `program` is the `callmark` binary, which can serve the tool bus.
pub fn manifest(program: &Path) -> Result<Manifest, ManifestError> {
    let mut manifest = Manifest::parse("bundled.toml", include_str!("bundled.toml"), Path::new("."))?;
    let serve = |words: &[&str]| -> Vec<String> {
        let words = ["serve"].iter().chain(words).map(|word| (*word).to_owned());
        std::iter::once(program.display().to_string()).chain(words).collect()
    };
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
        toolbus.start = Some(serve(&["toolbus"]));
        toolbus.command = Some(serve(&["toolbus", "--stdio"]));
    }
    if let Some(hub) = manifest.get_mut::<HubTable>() {
        hub.start = Some(serve(&["hub"]));
        if let Some(agent) = &mut hub.agent {
            agent.start = Some(serve(&["hub", "--agent"]));
        }
    }
    if let Some(breadcrumb) = manifest.get_mut::<BreadcrumbTable>() {
        breadcrumb.start = Some(serve(&["breadcrumb", "--runner"]));
        // Without a browser on this machine there is no browser tool to certify.
        if Browser::find().is_none() {
            breadcrumb.catalog.remove("astral");
        }
        breadcrumb.faults_of_the_machine = vec![UNSTARTED.to_owned()];
        if let Some(agent) = &mut breadcrumb.agent {
            agent.start = Some(serve(&["breadcrumb", "--agent"]));
        }
    }
    if let Some(executor) = manifest.get_mut::<UtpTable>().and_then(|utp| utp.openapi.as_mut()) {
        // Keys that the user has set are the executor's; the others are made up for the run.
        let set = Variable::ALL.into_iter().map(Variable::name);
        let set = set.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        executor.environment.extend(set.filter(|(_, value)| !value.is_empty()));
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

/// One call of each kind through the reference's own L0.
pub struct Tour;

impl Exercise for Tour {
    fn run<'a>(&'a self, nats_url: &'a str, version: &'a str) -> BoxFuture<'a, Result<Exercised, String>> {
        Box::pin(async move {
            let tour = utp::tour(nats_url, version, TOUR_PROJECT).await.map_err(|error| error.to_string())?;
            Ok(Exercised { project_id: TOUR_PROJECT.to_owned(), end: Box::pin(tour.end()) })
        })
    }
}
