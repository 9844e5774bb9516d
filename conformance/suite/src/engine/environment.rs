//! What the machine that the suite runs on lacks: file descriptors, ports, memory, room on the disk; and what else stands
//! between it and the target.
//!
//! It is noted where a call of the operating system fails, whichever party of the suite made it, and kept for the whole
//! process, as such a lack is one of the process. A scenario that ended badly meanwhile says nothing about the target.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::Mutex;
use std::time::Instant;

use nix::errno::Errno;

use crate::transcript::lock;

/// Notes that are kept.
const MAX_NOTES: usize = 256;

static NOTES: Mutex<VecDeque<Note>> = Mutex::new(VecDeque::new());

/// Something that went wrong on the way to a target.
struct Note {
    at: Instant,
    why: Cow<'static, str>,
    /// Whether it is the machine that lacks something.
    is_lack: bool,
}

/// What an error says that the machine lacks.
pub fn lack(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.find_map(|cause| of(cause.downcast_ref::<io::Error>()?))
}

fn of(error: &io::Error) -> Option<&'static str> {
    // An error of a library may hold that of the operating system without naming it as its source.
    let inner = || lack(error.get_ref()?);
    let Some(code) = error.raw_os_error() else { return inner() };
    match Errno::from_raw(code) {
        Errno::EMFILE | Errno::ENFILE => {
            Some("this machine has no file descriptor left: raise `ulimit -n`, or lower `--jobs`")
        }
        Errno::ENOMEM | Errno::ENOBUFS => Some("this machine has no memory left: lower `--jobs`"),
        Errno::EAGAIN => Some("this machine starts no further process: raise `ulimit -u`, or lower `--jobs`"),
        Errno::EADDRNOTAVAIL => Some("this machine has no port left for a connection: lower `--jobs`"),
        Errno::ENOSPC | Errno::EDQUOT => Some("this machine has no room left on its disk"),
        _ => None,
    }
}

/// Keeps in mind what an error says that the machine lacks, if it says so.
pub(crate) fn note(error: &(dyn Error + 'static)) {
    if let Some(lack) = lack(error) {
        keep(Cow::Borrowed(lack), true);
    }
}

/// Keeps in mind what stands in the way to the target and is no fault of what answers there.
pub(crate) fn note_hindrance(why: &str) {
    keep(Cow::Owned(why.to_owned()), false);
}

fn keep(why: Cow<'static, str>, is_lack: bool) {
    let mut notes = lock(&NOTES);
    if notes.len() == MAX_NOTES {
        notes.pop_front();
    }
    notes.push_back(Note { at: Instant::now(), why, is_lack });
}

/// What the machine has lacked since then.
pub(crate) fn lacked_since(began: Instant) -> Option<Cow<'static, str>> {
    first(|note| note.is_lack && note.at >= began)
}

/// What the machine has lacked since then, or what else stood in the way.
pub(crate) fn hindered_since(began: Instant) -> Option<Cow<'static, str>> {
    first(|note| note.at >= began)
}

fn first(is_meant: impl Fn(&Note) -> bool) -> Option<Cow<'static, str>> {
    lock(&NOTES).iter().find(|note| is_meant(note)).map(|note| note.why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_lacks_is_its_fault() {
        let check = |error: Errno, expect: Option<&str>| {
            let error = io::Error::other(io::Error::from_raw_os_error(error as i32));
            let lack = lack(&error);
            assert_eq!(lack.is_some(), expect.is_some(), "{error}: {lack:?}");
            assert!(expect.is_none_or(|word| lack.unwrap_or_default().contains(word)), "{lack:?}");
        };
        check(Errno::EMFILE, Some("ulimit -n"));
        check(Errno::EADDRNOTAVAIL, Some("port"));
        check(Errno::ENOSPC, Some("disk"));
        check(Errno::ECONNREFUSED, None);
        check(Errno::ECONNRESET, None);
        check(Errno::EADDRINUSE, None);
    }
}
