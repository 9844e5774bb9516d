//! How `certify` and `merge` end: what they print of a record, and their exit code.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use callmark_reports::record::{Outcome, RunRecord, Verdict, any_judged};
use callmark_reports::{Stale, Style};

use crate::args::Format;
use crate::baseline;
use crate::certificate;
use crate::chaos;
use crate::exit::{self, Failure, colored};

/// Reasons that are shown where nothing was judged.
const REASONS: usize = 4;

/// What there is to say at the end.
pub(crate) struct Conclusion<'a> {
    /// What is printed on stdout.
    pub(crate) format: Format,
    /// Whether there is no closing text.
    pub(crate) is_quiet: bool,
    /// Where the reports are.
    pub(crate) out: &'a Path,
    /// The certificate, where there is one.
    pub(crate) certificate: Option<PathBuf>,
    /// The file of known failures, and what is stale in it.
    pub(crate) baseline: (Option<&'a Path>, Vec<Stale>),
}

impl Conclusion<'_> {
    /// Prints it, and answers the exit code.
    pub(crate) fn of(&self, record: &RunRecord) -> Result<u8, Failure> {
        self.show(record);
        let (path, stale) = &self.baseline;
        baseline::report_stale(stale, path.unwrap_or(Path::new("")));
        if record.is_part() {
            return Ok(code_of_part(record));
        }
        if !any_judged(&record.rules) {
            return Err(nothing_judged(record));
        }
        let code = match record.verdict {
            Verdict::Conformant if !stale.is_empty() => exit::STALE_BASELINE,
            Verdict::Conformant => exit::CONFORMANT,
            Verdict::Nonconformant => exit::NONCONFORMANT,
            Verdict::Incomplete => exit::INCOMPLETE,
        };
        Ok(chaos::code(&record.chaos, code))
    }

    fn show(&self, record: &RunRecord) {
        match self.format {
            Format::Json => print!("{}", callmark_reports::json(record)),
            Format::Human if self.is_quiet => {}
            Format::Human => {
                let stdout = std::io::stdout();
                let width = if stdout.is_terminal() { 100 } else { 120 };
                print!("{}", callmark_reports::human(record, Style { color: colored(&stdout), width }));
                println!("reports: {}", self.out.join("index.html").display());
                if let Some(path) = &self.certificate {
                    println!("certificate: {}", path.display());
                }
            }
        }
    }
}

/// A part of a run has no verdict of its own: it is done where what it was given could be judged and nothing of it is
/// broken.
fn code_of_part(record: &RunRecord) -> u8 {
    let any = |outcomes: &[Outcome]| record.rules.iter().any(|rule| outcomes.contains(&rule.outcome));
    if any(&[Outcome::Failed]) {
        exit::NONCONFORMANT
    } else if any(&[Outcome::CouldNotRun, Outcome::NotObserved]) {
        exit::INCOMPLETE
    } else {
        exit::CONFORMANT
    }
}

/// No selected rule applies to the target; what each asks for is the hint.
fn nothing_judged(record: &RunRecord) -> Failure {
    let newer = record.edition.as_ref().filter(|edition| edition.pinned && !edition.rules.is_empty());
    if let (Some(edition), true) = (newer, record.rules.is_empty()) {
        let name = &edition.name;
        return Failure::nothing(format!(
            "no rule was judged, because all selected checks are newer than edition {name}"
        ))
        .hint(
            "pin an edition that has them (`callmark editions`), or count all checks with `--edition newest`",
        );
    }
    let reasons: BTreeSet<&str> = record.rules.iter().filter_map(|rule| rule.reason.as_deref()).collect();
    let shown: Vec<&str> = reasons.iter().take(REASONS).copied().collect();
    let more = reasons.len().saturating_sub(shown.len());
    let more = if more == 0 { String::new() } else { format!("; and {more} more reasons") };
    Failure::nothing("no rule was judged, because none of the selected ones applies to the target")
        .hint(format!("declare in the manifest what the target has; now {}{more}", shown.join("; ")))
}

/// Signs what conforms; says why there is no certificate for what does not.
pub(crate) fn sign(
    record: &RunRecord,
    sign: impl FnOnce() -> Result<PathBuf, Failure>,
) -> Result<Option<PathBuf>, Failure> {
    if let Err(refused) = certificate::certifiable(record) {
        eprintln!("no certificate: {refused}");
        let to_declare = refused.to_declare();
        for line in &to_declare {
            eprintln!("  {line}");
        }
        if !to_declare.is_empty() {
            eprintln!(
                "  declare in the manifest what the target has, or name the profiles to be certified with `--profile`"
            );
        }
        return Ok(None);
    }
    sign().map(Some)
}
