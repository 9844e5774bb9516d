//! A directory that Callmark writes: never anybody else's, never two writers at once, each file written whole.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use callmark_suite::engine::files;
use tempfile::NamedTempFile;

use crate::exit::Failure;
use crate::exit::cannot_write;

/// Beginning of the names of files that are not whole yet.
const DRAFT: &str = ".callmark-";
/// Largest mark that is read: many times the names of all files that Callmark writes into a directory.
const MAX_MARK: u64 = 16 * 1024 * 1024;

/// What a directory is for.
#[derive(Debug)]
pub(crate) struct Purpose {
    /// File that marks it as ours and lists its files.
    pub(crate) mark: &'static str,
    /// First line of that file.
    pub(crate) heading: &'static str,
    /// The command that writes it.
    pub(crate) command: &'static str,
    /// Files that may be there without being listed.
    pub(crate) files: fn(&str) -> bool,
    /// Whether a directory without a mark is ours all the same: an earlier version wrote it.
    pub(crate) is_older: fn(&Path) -> bool,
    /// Whether files of others may be there beside ours.
    pub(crate) is_shared: bool,
}

/// A directory that may be written, by nobody else as long as this value lives.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    purpose: &'static Purpose,
    /// Files that an earlier call wrote.
    older: BTreeSet<String>,
    /// Held until the process ends.
    _lock: File,
}

/// A file that is not there yet.
pub(crate) struct Draft {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Folder {
    /// A directory that is new, empty, or was written for the same purpose.
    pub(crate) fn open(path: &Path, purpose: &'static Purpose) -> Result<Self, Failure> {
        let failed = |error: io::Error| cannot_write(path, &error);
        // Refused before anything is made.
        let older = Self::older(path, purpose)?;
        std::fs::create_dir_all(path).map_err(failed)?;
        let lock = File::open(path).map_err(failed)?;
        match lock.try_lock() {
            // A file system without locks is no reason not to write to it.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::usage(format!(
                    "another `{}` is writing to `{}`",
                    purpose.command,
                    path.display()
                ))
                .hint("wait until it has ended, or choose another directory with `--out`"));
            }
        }
        Ok(Self { path: path.to_owned(), purpose, older, _lock: lock })
    }

    /// Which files of a directory an earlier call wrote, if it may be written at all.
    fn older(path: &Path, purpose: &Purpose) -> Result<BTreeSet<String>, Failure> {
        let failed = |error: io::Error| cannot_write(path, &error);
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(failed(error)),
        };
        let entries = entries.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        if entries.is_empty() {
            return Ok(BTreeSet::new());
        }
        let refused = |why: &str| {
            Failure::usage(format!("`{}` {why}", path.display())).hint(
                "nothing of others is written over; choose a new directory with `--out`, or empty this one",
            )
        };
        let listed = match read_mark(&path.join(purpose.mark)) {
            Some(mark) if mark.lines().next() == Some(purpose.heading) => {
                mark.lines().skip(1).filter(|line| is_below(line)).map(str::to_owned).collect()
            }
            _ if (purpose.is_older)(path) => BTreeSet::new(),
            _ => return Err(refused(&format!("is not empty, and no `{}` wrote it", purpose.command))),
        };
        if purpose.is_shared {
            return Ok(listed);
        }
        for entry in &entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link that has the name of one of our files leads to somebody else's.
            let is_file = entry.file_type().map_err(failed)?.is_file();
            let is_known = name == purpose.mark || listed.contains(&name) || (purpose.files)(&name);
            if name.starts_with(DRAFT) && is_file {
                std::fs::remove_file(entry.path()).map_err(failed)?;
            } else if !(is_file && is_known) {
                return Err(refused(&format!("holds `{name}`, which no `{}` wrote", purpose.command)));
            }
        }
        Ok(listed)
    }

    /// Marks the directory as ours, with these files beside those of earlier calls.
    pub(crate) fn mark<'a>(&self, files: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
        let mut all: BTreeSet<&str> = files.into_iter().collect();
        all.extend(self.older.iter().map(String::as_str));
        self.write_mark(&all)
    }

    /// A file of this directory, for [`publish`].
    pub(crate) fn draft(&self, name: &str) -> Result<Draft, Failure> {
        let path = self.path.join(name);
        let directory = path.parent().unwrap_or(&self.path);
        let make = || -> io::Result<NamedTempFile> {
            std::fs::create_dir_all(directory)?;
            tempfile::Builder::new().prefix(DRAFT).permissions(permissions()).tempfile_in(directory)
        };
        let file = BufWriter::new(make().map_err(|error| cannot_write(&path, &error))?);
        Ok(Draft { file, path })
    }

    /// Writes these files, and removes those of earlier calls that are no more.
    pub(crate) fn replace<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Failure> {
        let files: Vec<(&str, &str)> = files.into_iter().collect();
        let own: BTreeSet<&str> = files.iter().map(|(name, _)| *name).collect();
        // Whatever happens on the way, the next call knows which files are ours.
        self.mark(own.iter().copied())?;
        for (name, content) in files {
            publish([self.draft(name)?.with(|file| file.write_all(content.as_bytes()))?])?;
        }
        for stale in self.older.iter().filter(|name| !own.contains(name.as_str())) {
            let path = self.path.join(stale);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot_write(&path, &error));
                }
                _ => {}
            }
        }
        self.write_mark(&own)
    }

    fn write_mark(&self, files: &BTreeSet<&str>) -> Result<(), Failure> {
        let lines: Vec<String> = files.iter().map(|name| format!("{name}\n")).collect();
        let text = format!("{}\n{}", self.purpose.heading, lines.concat());
        publish([self.draft(self.purpose.mark)?.with(|file| file.write_all(text.as_bytes()))?])
    }
}

impl Draft {
    /// Writes all of it.
    pub(crate) fn with(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Self, Failure> {
        let written = write(&mut self.file).and_then(|()| self.file.flush());
        written.map_err(|error| cannot_write(&self.path, &error))?;
        Ok(self)
    }
}

/// Puts files that are written in their places: whoever reads one sees the old file or the new one, never a part.
pub(crate) fn publish(drafts: impl IntoIterator<Item = Draft>) -> Result<(), Failure> {
    for Draft { file, path } in drafts {
        let failed = |error: &io::Error| cannot_write(&path, error);
        let file = file.into_inner().map_err(|error| failed(error.error()))?;
        file.persist(&path).map_err(|error| failed(&error.error))?;
    }
    Ok(())
}

/// The text of a mark, unless a link or something else stands in its place.
fn read_mark(path: &Path) -> Option<String> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|mark| mark.is_file());
    is_file.then(|| files::read_text(path, MAX_MARK).ok()).flatten()
}

/// Reports are there to be read by all, as far as the user's mask lets them.
pub(crate) fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o666)
}

/// Whether a line of the mark, which anybody can edit, names a file below the directory.
fn is_below(line: &str) -> bool {
    !line.is_empty() && Path::new(line).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    static SITE: Purpose = Purpose {
        mark: "site.txt",
        heading: "# ours",
        command: "callmark docs",
        files: |_| false,
        is_older: |_| false,
        is_shared: true,
    };
    static REPORTS: Purpose = Purpose {
        mark: "reports.txt",
        files: |name| name == "hub.log",
        is_older: |path| path.join("run.json").exists(),
        is_shared: false,
        ..SITE
    };

    #[test]
    fn a_newer_site_takes_the_place_of_an_older_one_and_of_nothing_else() -> Result<(), io::Error> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("site");
        let write = |pages: &[(&str, &str)]| {
            let folder = Folder::open(&path, &SITE).expect("ours, or new");
            folder.replace(pages.iter().copied()).expect("written");
        };
        write(&[("a.html", "1"), ("rules/b.html", "1")]);
        std::fs::write(path.join("notes.txt"), "somebody's")?;
        write(&[("a.html", "2")]);
        assert_eq!(std::fs::read_to_string(path.join("a.html"))?, "2");
        assert!(!path.join("rules/b.html").exists());
        assert!(path.join("notes.txt").exists());
        Ok(())
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() -> Result<(), io::Error> {
        let home = tempfile::tempdir()?;
        std::fs::write(home.path().join("thesis.txt"), "")?;
        assert!(Folder::open(home.path(), &SITE).is_err());
        assert!(Folder::open(&home.path().join("thesis.txt"), &SITE).is_err());
        let empty = home.path().join("empty");
        std::fs::create_dir(&empty)?;
        assert!(Folder::open(&empty, &SITE).is_ok());
        Ok(())
    }

    #[test]
    fn reports_stand_beside_nothing_that_is_not_ours() -> Result<(), io::Error> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("out");
        let open = || Folder::open(&path, &REPORTS);
        open().expect("new").mark(["run.json"]).expect("marked");
        std::fs::write(path.join("hub.log"), "")?;
        std::fs::write(path.join(".callmark-half"), "")?;
        open().expect("ours");
        assert!(!path.join(".callmark-half").exists());
        std::fs::write(path.join("notes.txt"), "")?;
        assert!(open().is_err());
        std::fs::remove_file(path.join("notes.txt"))?;
        std::os::unix::fs::symlink(home.path().join("thesis.txt"), path.join("run.json"))?;
        assert!(open().is_err(), "a link is not ours, whatever its name");
        Ok(())
    }

    #[test]
    fn a_directory_has_one_writer() -> Result<(), io::Error> {
        let home = tempfile::tempdir()?;
        let first = Folder::open(home.path(), &REPORTS).expect("empty");
        assert!(Folder::open(home.path(), &REPORTS).is_err());
        drop(first);
        assert!(Folder::open(home.path(), &REPORTS).is_ok());
        Ok(())
    }

    #[test]
    fn a_mark_cannot_lead_outside() {
        for line in ["../thesis.txt", "/etc/passwd", "", "a/../../b"] {
            assert!(!is_below(line), "{line}");
        }
        assert!(is_below("rules/UTP-4.1-35.html"));
    }
}
