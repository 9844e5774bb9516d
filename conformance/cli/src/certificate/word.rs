//! What a certificate says that nobody can work out from the messages: when a run was, and which programs were started.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use callmark_reports::certificate::{Item, Moment, Word};
use callmark_suite::engine::manifest::{CommandLine, Manifest};

use crate::exit::Failure;

/// The variable that sets the date of what is made (reproducible-builds.org).
const DATE: &str = "SOURCE_DATE_EPOCH";

/// Of a run that begins now.
pub(super) fn of(manifest: &Manifest, profiles: &[String]) -> Result<Word, Failure> {
    Ok(Word { date: now()?, programs: programs(manifest, profiles)? })
}

/// The date of what is made now.
pub(super) fn now() -> Result<String, Failure> {
    date(std::env::var_os(DATE).as_deref()).map(|date| date.to_string())
}

/// The programs that the suite starts for a run.
pub(super) fn programs(manifest: &Manifest, profiles: &[String]) -> Result<Vec<Item>, Failure> {
    // One program often serves several profiles.
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for file in manifest.command_lines(profiles).iter().flat_map(files) {
        if !found.contains(&file) {
            found.push(file);
        }
    }
    found.iter().map(|(name, path)| digest(name, path)).collect()
}

fn digest(name: &str, path: &Path) -> Result<Item, Failure> {
    let copied = |file: &mut File, out: &mut dyn std::io::Write| std::io::copy(file, out).map(drop);
    let item = File::open(path).and_then(|mut file| Item::written(name, |out| copied(&mut file, out)));
    item.map_err(|error| {
        Failure::usage(format!(
            "the program `{name}` cannot be read, and a certificate holds its digest: {error}"
        ))
    })
}

fn date(set: Option<&OsStr>) -> Result<Moment, Failure> {
    let seconds = match set.filter(|set| !set.is_empty()) {
        Some(set) => set.to_str().and_then(|set| set.parse().ok()),
        None => SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()),
    };
    seconds.and_then(Moment::of_unix_seconds).ok_or_else(|| {
        Failure::usage(format!("`{DATE}` is not a number of seconds since 1970 before the year 10000"))
    })
}

/// The programs that a manifest starts, and what else of its command lines may be a script, by name.
pub(super) fn names(manifest: &Manifest, profiles: &[String]) -> (Vec<String>, Vec<String>) {
    let lines = manifest.command_lines(profiles);
    let programs = lines.iter().map(|line| shown(&line.words[0])).collect();
    let scripts = lines.iter().flat_map(|line| &line.words[1..]).filter(|word| may_be_script(word));
    (programs, scripts.map(|word| shown(word)).collect())
}

/// The program of a command line, and the script where that is an interpreter's: the name in the manifest, and where it is.
fn files(line: &CommandLine<'_>) -> Vec<(String, PathBuf)> {
    let [program, arguments @ ..] = line.words else { return Vec::new() };
    let script = arguments.iter().filter(|word| may_be_script(word)).find_map(|word| {
        let path = line.directory.join(word);
        path.is_file().then(|| (shown(word), path))
    });
    // A program that is nowhere is one that the run cannot start; it says so, with what to do.
    let program = resolved(program, line).map(|path| (shown(program), path));
    program.into_iter().chain(script).collect()
}

/// An option is no script, and neither is a hidden file, in which keys are kept.
fn may_be_script(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
    !word.starts_with('-') && !name.starts_with('.')
}

/// A name of a manifest, without the directories of a machine.
fn shown(word: &str) -> String {
    let path = Path::new(word);
    let name = path.file_name().filter(|_| path.is_absolute());
    name.map_or_else(|| word.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The file that a started program is, as the system finds it.
fn resolved(program: &str, line: &CommandLine<'_>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(line.directory.join(program)).filter(|path| path.is_file());
    }
    let own = line.environment.get("PATH").map(Into::into);
    let paths = own.or_else(|| std::env::var_os("PATH"))?;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&paths).map(|path| line.directory.join(path).join(program)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_that_of_the_environment_where_it_says_one() {
        let check = |set: &str| date(Some(OsStr::new(set))).map(|date| date.to_string()).ok();
        assert_eq!(check("0").as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(check("1767225600").as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(check("yesterday"), None);
        assert_eq!(check("-1"), None);
        assert_eq!(check("18446744073709551615"), None);
        assert!(date(None).expect("now").to_string().starts_with("20"));
    }

    #[test]
    fn a_program_and_its_script_are_named_as_the_manifest_names_them() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("server.py"), "print()\n").expect("written");
        std::fs::write(home.path().join(".env"), "KEY=hush\n").expect("written");
        let text = "[target]\nname = \"a\"\n[hub]\nstart = [\"/bin/sh\", \"--env\", \".env\", \"-u\", \"server.py\"]\n";
        let manifest = Manifest::parse("callmark.toml", text, home.path()).expect("a sound manifest");
        let profiles = ["hub.server".to_owned()];
        let word = of(&manifest, &profiles).expect("programs");
        let (started, scripts) = names(&manifest, &profiles);
        let found: Vec<&str> = word.programs.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(found, ["sh", "server.py"]);
        assert_eq!(word.programs[1], Item::of("server.py", b"print()\n"));
        assert_eq!(word.fault(&started, &scripts), None);
        let fault = |change: fn(&mut Word), says: &str| {
            let mut word = word.clone();
            change(&mut word);
            let fault = word.fault(&started, &scripts).unwrap_or_default();
            assert!(fault.contains(says), "{fault}");
        };
        fault(|word| word.date = "yesterday\u{1b}[2J".to_owned(), "`yesterday\\u{1b}[2J`");
        fault(|word| word.programs[0].digest.sha256 = "00".to_owned(), "no SHA-256");
        fault(|word| word.programs[1].name = "/home/me/server.py".to_owned(), "starts no program");
        fault(|word| drop(word.programs.remove(0)), "program `sh` is missing");
    }
}
