//! File descriptors: as many as the system grants, and no more scenarios at a time than they are enough for.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::exit::Failure;

/// For the suite itself: its libraries, files and pipes.
const OWN: u64 = 16;
/// For the parties that the suite plays to a family of protocols, and what it starts there.
const FAMILY: u64 = 8;
/// For a family of the reference, which runs in this process as well.
const BUNDLED_FAMILY: u64 = 16;
/// For a scenario: connections of both sides, files, pipes to a process of its own.
const SCENARIO: u64 = 8;

/// What a run needs descriptors for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Families of protocols that are selected.
    pub(crate) families: usize,
    /// Whether the reference runs in this process.
    pub(crate) is_bundled: bool,
}

impl Need {
    /// Beside scenarios.
    fn base(self) -> u64 {
        let family = FAMILY + if self.is_bundled { BUNDLED_FAMILY } else { 0 };
        OWN + family * u64::try_from(self.families).unwrap_or(u64::MAX / 1024)
    }
}

/// Raises the limit of this process as far as it may, and gives back how far that is.
pub(crate) fn raise() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return u64::MAX };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

/// How many of the scenarios that are asked for may run at a time.
///
/// # Errors
/// The limit is too small for a single one.
pub(crate) fn jobs(wanted: usize, limit: u64, need: Need) -> Result<usize, Failure> {
    let most = limit.saturating_sub(need.base()) / SCENARIO;
    if most == 0 {
        let least = need.base() + SCENARIO;
        return Err(Failure::incomplete(format!(
            "this process may open {limit} files, and the run needs {least} (environment)"
        ))
        .hint(format!(
            "raise the limit with `ulimit -Hn {least}` or more, or select less with `--profile`"
        )));
    }
    Ok(wanted.min(usize::try_from(most).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_scenarios_run_as_there_are_descriptors_for() {
        let need = Need { families: 1, is_bundled: false };
        let check = |wanted: usize, limit: u64, expect: Option<usize>| {
            assert_eq!(jobs(wanted, limit, need).ok(), expect, "{wanted} with a limit of {limit}");
        };
        check(32, u64::MAX, Some(32));
        check(1000, 256, Some(29));
        check(1, 32, Some(1));
        check(1, 31, None);
    }
}
