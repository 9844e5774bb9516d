//! The directory of a site: never anybody else's, each file written whole, and nothing left of an older site.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use callmark_reports::site::Page;

use crate::certify::cannot_write;
use crate::exit::Failure;

/// Says whose the directory is, and which of its files.
const MARK: &str = "callmark-site.txt";
const HEADING: &str = "# written by `callmark docs`, which replaces and removes these files";

/// A directory that may be written.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Files of an older site.
    older: BTreeSet<String>,
}

impl Folder {
    /// A directory that is not there, empty, or holds a site.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let folder = |older| Self { path: path.to_owned(), older };
        let mut entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(folder(BTreeSet::new())),
            Err(error) => return Err(cannot_write(path, &error)),
        };
        match std::fs::read_to_string(path.join(MARK)) {
            Ok(mark) if mark.lines().next() == Some(HEADING) => {
                Ok(folder(mark.lines().skip(1).filter(|line| is_below(line)).map(str::to_owned).collect()))
            }
            _ if entries.next().is_none() => Ok(folder(BTreeSet::new())),
            _ => Err(Failure::usage(format!(
                "`{}` is not empty, and no `callmark docs` wrote it",
                path.display()
            ))
            .hint("choose a new directory with `--out`, or empty this one")),
        }
    }

    /// Writes the files, and removes those of an older site that are no more.
    pub(super) fn write(&self, pages: &[Page]) -> Result<(), Failure> {
        let own: BTreeSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        let all: BTreeSet<&str> = own.iter().copied().chain(self.older.iter().map(String::as_str)).collect();
        // Whatever happens on the way, the next call knows which files are ours.
        self.write_one(MARK, &mark(&all))?;
        for page in pages {
            self.write_one(&page.path, &page.content)?;
        }
        for stale in all.difference(&own) {
            let path = self.path.join(stale);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(cannot_write(&path, &error));
                }
                _ => {}
            }
        }
        self.write_one(MARK, &mark(&own))
    }

    /// A reader sees the old file or the new one, never half of one.
    fn write_one(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let directory = path.parent().unwrap_or(&self.path);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(directory)?;
            let mut file = tempfile::Builder::new().permissions(permissions()).tempfile_in(directory)?;
            file.write_all(content.as_bytes())?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| cannot_write(&path, &error))
    }
}

/// A site is there to be read by all, as far as the user's mask lets them.
fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o666)
}

fn mark(paths: &BTreeSet<&str>) -> String {
    let lines: Vec<String> = paths.iter().map(|path| format!("{path}\n")).collect();
    format!("{HEADING}\n{}", lines.concat())
}

/// Whether a line of the mark, which anybody can edit, names a file below the directory.
fn is_below(line: &str) -> bool {
    !line.is_empty() && Path::new(line).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, content: &str) -> Page {
        Page { path: path.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn a_newer_site_takes_the_place_of_an_older_one_and_of_nothing_else() -> Result<(), std::io::Error> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("site");
        let write = |pages: &[Page]| {
            let folder = Folder::open(&path).expect("ours, or new");
            folder.write(pages).expect("written");
        };
        write(&[page("a.html", "1"), page("rules/b.html", "1")]);
        std::fs::write(path.join("notes.txt"), "somebody's")?;
        write(&[page("a.html", "2")]);
        assert_eq!(std::fs::read_to_string(path.join("a.html"))?, "2");
        assert!(!path.join("rules/b.html").exists());
        assert!(path.join("notes.txt").exists());
        Ok(())
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() -> Result<(), std::io::Error> {
        let home = tempfile::tempdir()?;
        std::fs::write(home.path().join("thesis.txt"), "")?;
        assert!(Folder::open(home.path()).is_err());
        assert!(Folder::open(&home.path().join("thesis.txt")).is_err());
        let empty = home.path().join("empty");
        std::fs::create_dir(&empty)?;
        assert!(Folder::open(&empty).is_ok());
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
