//! The bundled target: the reference implementation, started here and reached over sockets like any other.
//!
//! What it brings for a protocol is a `Bundled` (`setting`): how this program serves it in a run, and a session after
//! another for the saboteur, which tries many wires on it (`bench`). A new protocol is a file here and a line in
//! `manifest::all`.

mod bench;
mod breadcrumb;
mod hub;
mod manifest;
mod reference;
mod setting;
mod toolbus;
mod utp;

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

pub use bench::ReferenceFactory;
pub use manifest::manifest;
pub use reference::{Reference, Registry};
pub use setting::limits;
pub(crate) use utp::InThisProcess;

/// A file system in memory, where a machine has one.
const MEMORY: &str = "/dev/shm";
/// Bytes that must be free there: several times what a run needs.
const ROOM: u64 = 256 * 1024 * 1024;

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
