//! Where Chromium and its driver are.

use std::ffi::OsString;
use std::path::PathBuf;

/// What each is called, in the order of preference: without windows a browser starts in a quarter of the time.
const CHROMIUM: &[&str] = &[
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];
const DRIVER: &[&str] = &["chromedriver"];
/// End of the name of a browser that has no windows at all.
const SHELL: &str = "headless-shell";

/// The two programs that the tool needs. They must be of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserPaths {
    /// The browser.
    pub chromium: PathBuf,
    /// Its WebDriver.
    pub chromedriver: PathBuf,
}

impl BrowserPaths {
    /// Whether the browser is one without windows, which the driver knows by another name.
    pub(super) fn is_shell(&self) -> bool {
        self.chromium.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(SHELL))
    }
}

/// Both, or nothing. A variable that names no file hides what the `PATH` has, since another program was meant.
pub(super) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<BrowserPaths> {
    let program = |named: &str, names: &[&str]| {
        if let Some(path) = variable(named).filter(|path| !path.is_empty()) {
            return Some(PathBuf::from(path)).filter(|path| path.is_file());
        }
        let directories: Vec<PathBuf> = std::env::split_paths(&variable("PATH")?).collect();
        let of_name = |name: &&str| {
            directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file())
        };
        names.iter().find_map(of_name)
    };
    Some(BrowserPaths {
        chromium: program("CALLMARK_CHROMIUM", CHROMIUM)?,
        chromedriver: program("CALLMARK_CHROMEDRIVER", DRIVER)?,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::find;

    #[test]
    fn variables_come_before_the_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["chromium-browser", "chromedriver", "mine"] {
            std::fs::write(path(name), "").expect("a file");
        }
        let check = |variables: &[(&str, &Path)], expect: Option<&str>| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(*value))
            };
            let found = find(variable).map(|paths| paths.chromium);
            assert_eq!(found, expect.map(path), "{variables:?}");
        };
        let (on_path, mine, none) = (directory.path(), path("mine"), path("none"));
        check(&[("PATH", on_path)], Some("chromium-browser"));
        check(&[("PATH", on_path), ("CALLMARK_CHROMIUM", &mine)], Some("mine"));
        check(&[("PATH", on_path), ("CALLMARK_CHROMIUM", &none)], None);
        check(&[("CALLMARK_CHROMIUM", &mine)], None);
        check(&[], None);
    }
}
