//! The files of a target, looked at again and again: which of them changed.
//!
//! Looking is the same on every file system, also on those of containers and networks that report no changes. A look at
//! ten thousand files takes some ten milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callmark_suite::engine::manifest::Manifest;
use ignore::WalkBuilder;

/// Most files that are looked at.
const MOST: usize = 10_000;
/// Directories of what is built or written, wherever they are.
const SKIPPED: [&str; 8] =
    [".git", "target", "node_modules", "reports", "__pycache__", ".venv", "venv", "dist"];

/// When each file was written, and its size.
pub(super) type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Which files are looked at.
#[derive(Debug)]
pub(super) struct Watched {
    directory: PathBuf,
    /// Looked at wherever they are.
    named: BTreeSet<PathBuf>,
    /// Not looked at: what a run writes.
    out: Option<PathBuf>,
    /// Nor these, by device and number: where our own output goes.
    outputs: Vec<(u64, u64)>,
}

impl Watched {
    /// The manifest, the programs and scripts that it starts, and everything below its directory that no `.gitignore`
    /// names.
    pub(super) fn of(path: &Path, out: &Path) -> Self {
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut named = BTreeSet::from([path.to_owned()]);
        // One that cannot be read is looked at until it can.
        if let Ok(manifest) = Manifest::read(path) {
            let profiles: Vec<String> = manifest.profiles().into_iter().map(str::to_owned).collect();
            for line in manifest.command_lines(&profiles) {
                let files = line.words.iter().map(|word| line.directory.join(word));
                named.extend(files.filter(|file| file.is_file()));
            }
        }
        let out = out.canonicalize().ok();
        Self { directory: directory.to_owned(), named, out, outputs: outputs() }
    }

    /// How they are now; of too many files the first.
    pub(super) fn look(&self) -> Snapshot {
        let out = self.out.clone();
        let mut walk = WalkBuilder::new(&self.directory);
        // Hidden files may be the target's configuration; a `.gitignore` counts also where there is no repository.
        walk.hidden(false).require_git(false).sort_by_file_name(Ord::cmp);
        walk.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name) && entry.depth() > 0;
            let is_out =
                || out.as_ref().is_some_and(|out| entry.path().canonicalize().is_ok_and(|own| own == *out));
            !(is_directory && (is_skipped || is_out()))
        });
        let below = walk.build().filter_map(Result::ok).take(MOST).map(ignore::DirEntry::into_path);
        let files = below.chain(self.named.iter().cloned());
        files
            .filter_map(|file| {
                let about = file.metadata().ok().filter(Metadata::is_file)?;
                if self.outputs.contains(&identity(&about)) {
                    return None;
                }
                Some((file, (about.modified().ok(), about.len())))
            })
            .collect()
    }
}

/// The files that standard output and error are redirected to.
fn outputs() -> Vec<(u64, u64)> {
    let (output, error) = (std::io::stdout(), std::io::stderr());
    let files = [output.as_fd(), error.as_fd()].map(|own| own.try_clone_to_owned().map(File::from));
    files.into_iter().filter_map(|file| Some(identity(&file.ok()?.metadata().ok()?))).collect()
}

fn identity(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

/// The first file that is new, gone or another.
pub(super) fn changed<'a>(before: &'a Snapshot, now: &'a Snapshot) -> Option<&'a Path> {
    let differs = now.iter().find(|(file, about)| before.get(*file) != Some(about));
    let gone = || before.keys().find(|file| !now.contains_key(*file));
    differs.map(|(file, _)| file).or_else(gone).map(PathBuf::as_path)
}

/// What changed during the last run: a target may write files of its own beside its sources, which must not have it
/// certified again and again.
#[derive(Debug, Default)]
pub(super) struct DuringRun(BTreeSet<PathBuf>);

impl DuringRun {
    /// After a run that began when the files were as `seen`: what changed in it, and in the one before it as well, is
    /// taken as seen. What changes between two runs always counts.
    pub(super) fn settle(&mut self, seen: &mut Snapshot, now: &Snapshot) {
        let differs = |file: &&PathBuf| seen.get(*file) != now.get(*file);
        let changed: BTreeSet<PathBuf> = seen.keys().chain(now.keys()).filter(differs).cloned().collect();
        for file in changed.intersection(&self.0) {
            match now.get(file) {
                Some(about) => seen.insert(file.clone(), *about),
                None => seen.remove(file),
            };
        }
        self.0 = changed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_run_writes_is_no_change() {
        let files = |sizes: &[(&str, u64)]| -> Snapshot {
            sizes.iter().map(|(name, size)| (PathBuf::from(name), (None, *size))).collect()
        };
        let mut during = DuringRun::default();
        let mut seen = files(&[("hub.py", 1)]);
        let mut check = |now: &[(&str, u64)], expect: Option<&str>| {
            let now = files(now);
            during.settle(&mut seen, &now);
            assert_eq!(changed(&seen, &now), expect.map(Path::new), "{now:?}");
            seen = now;
        };
        // Once it may have been anybody, and one more run shows who it was.
        check(&[("hub.py", 1), ("hub.db", 1)], Some("hub.db"));
        check(&[("hub.py", 1), ("hub.db", 2)], None);
        check(&[("hub.py", 2), ("hub.db", 3)], Some("hub.py"));
        check(&[("hub.py", 2)], None);
    }

    #[test]
    fn what_belongs_to_the_target_is_looked_at_and_what_is_built_or_written_is_not() {
        let home = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write(
            "callmark.toml",
            "[target]\nname = \"a\"\n[hub]\nstart = [\"target/debug/hub\", \"--port\"]\nbase_url = \"http://{listen}\"\n",
        );
        write(".gitignore", "*.log\n");
        for name in [
            "hub.py",
            "src/a.py",
            ".env",
            "target/debug/hub",
            "target/debug/deps",
            "node_modules/x.js",
            "hub.log",
            "reports/out/run.json",
            "mine/run.json",
            ".git/index",
        ] {
            write(name, "1");
        }
        let watched = Watched::of(&home.path().join("callmark.toml"), &home.path().join("mine"));
        let before = watched.look();
        let seen: Vec<String> = before
            .keys()
            .map(|file| file.strip_prefix(home.path()).expect("below it").display().to_string())
            .collect();
        assert_eq!(seen, [".env", ".gitignore", "callmark.toml", "hub.py", "src/a.py", "target/debug/hub"]);
        let check = |name: &str, text: &str, sees: bool| {
            write(name, text);
            let now = watched.look();
            let seen = changed(&before, &now);
            assert_eq!(seen.is_some_and(|path| path.ends_with(name)), sees, "{name}: {seen:?}");
        };
        check("mine/run.json", "23", false);
        check("hub.log", "23", false);
        check("src/b.py", "", true);
        std::fs::remove_file(home.path().join("src/b.py")).expect("removed");
        check("target/debug/hub", "23", true);
        std::fs::remove_file(home.path().join("hub.py")).expect("removed");
        write("target/debug/hub", "1");
        let now = watched.look();
        assert!(changed(&before, &now).is_some());
    }
}
