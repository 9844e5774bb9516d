//! `judge`: the rules over recordings of traffic that the suite did not cause.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callmark_reports::recording::{RecordingVerdict, recording_human, recording_json};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::protocol::Scope;
use callmark_suite::engine::recording::format::Format as Form;
use callmark_suite::engine::recording::judge::Judge;
use callmark_suite::engine::recording::{Input, RecordingError, judge_files};
use callmark_suite::engine::run::Library;
use callmark_suite::families;

use crate::args::{Format, JudgeArguments, JudgeBy};
use crate::exit::{self, Failure};
use crate::{bundled, console, setup};

/// The argument that stands for standard input.
const STDIN: &str = "-";

/// Runs it.
pub(crate) fn run(arguments: &JudgeArguments) -> Result<u8, Failure> {
    let library = Arc::new(setup::traffic_library()?);
    let manifest = manifest(&arguments.by)?;
    console::hide(&manifest.secrets());
    // Opened before anything is judged: a name that is misspelt is known at once.
    let inputs = arguments.files.iter().map(|path| open(path)).collect::<Result<Vec<Input>, Failure>>()?;
    let judge = judge(&library, &manifest)?;
    let judged = judge_files(judge, &|| families::ALL.observers(&manifest), inputs)
        .map_err(|error| unusable(&arguments.files, &error))?;
    if judged.tally.exchanges == 0 {
        return Err(Failure::nothing("the recording shows no exchange that a rule is about")
            .hint("`callmark judge --help` says which messages are looked at"));
    }
    let report = judged.report(&library, arguments.by.strict);
    match arguments.format {
        Format::Json => print!("{}", recording_json(&report)),
        Format::Human => print!("{}", recording_human(&report)),
    }
    Ok(match report.verdict {
        RecordingVerdict::NoViolation => exit::CONFORMANT,
        RecordingVerdict::Violations => exit::NONCONFORMANT,
    })
}

/// The manifest of the target, else one that declares nothing.
pub(crate) fn manifest(by: &JudgeBy) -> Result<Manifest, Failure> {
    if let Some(path) = &by.target {
        return Manifest::read(path).map_err(|error| setup::bad_manifest(&error));
    }
    if by.bundled {
        let program = std::env::current_exe().map_err(Failure::internal)?;
        return bundled::manifest(&program).map_err(Failure::internal);
    }
    Manifest::parse("anyone.toml", families::ANYONE, Path::new(".")).map_err(Failure::internal)
}

/// Whoever judges what passed between that target and others.
pub(crate) fn judge(library: &Arc<Library>, manifest: &Manifest) -> Result<Judge, Failure> {
    let sessions = families::ALL.unopened(manifest, Scope::AllParties);
    let mut judge = Judge::new(Arc::clone(library), sessions).map_err(Failure::incomplete)?;
    judge.callers(families::ALL.unopened(manifest, Scope::Callers));
    Ok(judge)
}

fn open(path: &Path) -> Result<Input, Failure> {
    let name = path.display().to_string();
    if path.as_os_str() == STDIN {
        return Ok(Input { name: "standard input".to_owned(), bytes: Box::new(stdin()), format: None });
    }
    let file = File::open(path).and_then(|file| {
        let is_folder = file.metadata()?.is_dir();
        if is_folder { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    });
    let file: Box<dyn Read> =
        Box::new(file.map_err(|error| Failure::usage(format!("`{name}` cannot be read: {error}")))?);
    Ok(Input { name, bytes: file, format: None })
}

fn unusable(files: &[PathBuf], error: &RecordingError) -> Failure {
    let at = error.at();
    let file = files.get(at.file).map(|file| file.display().to_string()).unwrap_or_default();
    match error {
        RecordingError::Judge => Failure::internal(error),
        RecordingError::Threads(_) => Failure::incomplete(error),
        RecordingError::Unknown { .. } => {
            let forms: Vec<&str> = Form::ALL.into_iter().map(Form::name).collect();
            Failure::usage(format!("`{file}`: {error}")).hint(format!("known are: {}", forms.join(", ")))
        }
        RecordingError::Parse { .. } => {
            Failure::usage(format!("`{file}:{}` cannot be read: {error}", at.line))
        }
        _ => Failure::usage(format!("`{file}`: {error}")),
    }
}
