//! `certify --baseline`: the file of known failures, read before the run and renewed after it.
//!
//! What an entry covers and when it is stale is the business of `callmark-reports`; here are the file, the
//! features that say which scenarios a rule has, and today's date.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use callmark_reports::record::RunRecord;
use callmark_reports::{Baseline, Date, RuleScenario, Stale};
use callmark_suite::engine::files;
use callmark_suite::engine::run::Library;

use crate::exit::Failure;
use crate::folder;

/// Largest baseline that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A baseline that is in use.
pub(crate) struct LoadedBaseline {
    path: PathBuf,
    baseline: Baseline,
    /// Whether the file is to be written.
    is_renewed: bool,
}

impl LoadedBaseline {
    /// Reads the file that the command line names. Before the run: a file with faults must not cost one.
    pub(crate) fn read(path: Option<&Path>, is_renewed: bool) -> Result<Option<Self>, Failure> {
        let Some(path) = path.map(Path::to_owned) else { return Ok(None) };
        let baseline = match text(&path) {
            Ok(text) => Baseline::parse(&text).map_err(|error| malformed(&path, &error.faults))?,
            Err(error) if is_renewed && error.kind() == io::ErrorKind::NotFound => Baseline::default(),
            Err(error) => {
                return Err(Failure::usage(format!("`{}` cannot be read: {error}", path.display()))
                    .hint("`--write-baseline` writes it for the failures of a run"));
            }
        };
        Ok(Some(Self { path, baseline, is_renewed }))
    }

    /// Makes what is known in the record known, and writes the file if that was asked for.
    /// Answers the entries that are stale; `profiles` are those of a whole run of the target.
    pub(crate) fn apply(
        mut self,
        record: &mut RunRecord,
        library: &Library,
        profiles: &BTreeSet<String>,
    ) -> Result<Vec<Stale>, Failure> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Failure::internal)?;
        let today = Date::of_unix_seconds(since.as_secs());
        let scenarios = |rule: &str| {
            library.registry.rule(rule)?;
            let cases = library.catalogue.cases().iter();
            let own = cases.filter(|case| case.rules.iter().any(|own| own == rule));
            let scenario = |case: &callmark_suite::spec::catalog::Case| RuleScenario {
                id: case.id.clone(),
                is_expected: profiles.contains(&case.profile),
            };
            Some(own.map(scenario).collect())
        };
        if self.is_renewed {
            self.baseline = self.baseline.renewed(record, today, &scenarios);
            replace(&self.path, &self.baseline.to_toml()).map_err(|error| {
                Failure::usage(format!("`{}` cannot be written: {error}", self.path.display()))
            })?;
        }
        Ok(self.baseline.apply(record, today, &scenarios))
    }
}

/// Reports stale entries, on stderr: stdout may be the record's.
pub(crate) fn report_stale(stale: &[Stale], path: &Path) {
    if stale.is_empty() {
        return;
    }
    eprintln!("stale in `{}`:", path.display());
    for stale in stale {
        eprintln!("- {stale}");
    }
    eprintln!(
        "remove these entries, or renew the file with `--write-baseline`; it keeps entries that still fail"
    );
}

fn text(path: &Path) -> io::Result<String> {
    files::read_text(path, MAX_BYTES)
}

/// All of the new file or all of the old one, whatever happens in between.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().permissions(folder::permissions()).tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn malformed(path: &Path, faults: &[String]) -> Failure {
    let faults: Vec<String> = faults.iter().map(|fault| format!("\n- {fault}")).collect();
    Failure::usage(format!("`{}` is no baseline:{}", path.display(), faults.concat()))
        .hint("an entry is `[[known-failing]]` with `rule` and `reason`, and if need be `scenario`, `issue`, `expires`")
}
