//! Targets to start from: the examples, which the gate certifies.

use clap::ValueEnum as _;

use crate::args::{Kind, Language};
use crate::exit::Failure;

/// An example as it is written into somebody's directory.
pub(super) struct Skeleton {
    kind: Kind,
    language: Language,
    /// Its manifest.
    pub(super) manifest: &'static str,
    /// Its other files, each with its name.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// What is typed before the first run.
    pub(super) prepare: Option<&'static str>,
    #[cfg(test)]
    folder: &'static str,
}

/// Reads an example.
macro_rules! skeleton {
    ($kind:ident in $language:ident: $folder:literal, $prepare:expr, [$($file:literal),*]) => {
        Skeleton {
            kind: Kind::$kind,
            language: Language::$language,
            manifest: include_str!(concat!("../../../../examples/", $folder, "/callmark.toml")),
            files: &[$(($file, include_str!(concat!("../../../../examples/", $folder, "/", $file)))),*],
            prepare: $prepare,
            #[cfg(test)]
            folder: $folder,
        }
    };
}

const PIP: Option<&str> =
    Some("python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt");
const NPM: Option<&str> = Some("npm ci");

static ALL: &[Skeleton] = &[
    skeleton!(Utp in Python: "python", PIP, ["requirements.txt", "tides.py", "tool_service.py"]),
    skeleton!(Hub in Python: "python-hub", None, ["hub.py", "office.py"]),
    skeleton!(Toolbus in Python: "python-toolbus", PIP, ["bus.py", "depot.py", "requirements.txt", "server.py"]),
    skeleton!(Utp in Typescript: "typescript", NPM,
        ["json.ts", "package-lock.json", "package.json", "protocol.ts", "service.ts", "sun.ts", "tsconfig.json"]),
    skeleton!(Hub in Typescript: "typescript-hub", NPM,
        ["desk.ts", "hub.ts", "package-lock.json", "package.json", "time.ts", "tsconfig.json"]),
    skeleton!(Toolbus in Typescript: "typescript-toolbus", NPM,
        ["bus.ts", "library.ts", "package-lock.json", "package.json", "server.ts", "tsconfig.json"]),
    skeleton!(Utp in Go: "go", Some("go mod tidy && go build -o heron-moon ."),
        ["go.mod", "main.go", "protocol.go", "tools.go"]),
    skeleton!(Hub in Go: "go-hub", Some("go build -o kelp-desk ."), ["desk.go", "go.mod", "inputs.go", "main.go"]),
];

/// The one for this kind of target in this language.
///
/// # Errors
/// There is none; with those that there are.
pub(super) fn find(kind: Kind, language: Language) -> Result<&'static Skeleton, Failure> {
    ALL.iter().find(|own| own.kind == kind && own.language == language).ok_or_else(|| {
        let there_are: Vec<String> = ALL.iter().map(Skeleton::flags).collect();
        Failure::usage(format!("there is no target for `{}` to start from", flags(kind, language)))
            .hint(format!("there are: {}", there_are.join(", ")))
    })
}

impl Skeleton {
    fn flags(&self) -> String {
        flags(self.kind, self.language)
    }
}

fn flags(kind: Kind, language: Language) -> String {
    let [kind, language] = [kind.to_possible_value(), language.to_possible_value()]
        .map(|value| value.map(|value| value.get_name().to_owned()).unwrap_or_default());
    format!("--for {kind} --lang {language}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// What stands in an example's folder and is not written: what is about the example itself.
    const LEFT_OUT: [&str; 3] = ["README.md", "callmark-both.toml", "callmark-http.toml"];

    #[test]
    fn a_skeleton_is_a_whole_example() {
        for skeleton in ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(skeleton.folder);
            let there: BTreeSet<String> = std::fs::read_dir(folder)
                .expect("an example")
                .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_file()))
                .filter_map(|entry| entry.file_name().into_string().ok())
                // What is built there is named in `.gitignore`, and so are editors' files.
                .filter(|name| name.contains('.') && !LEFT_OUT.contains(&name.as_str()))
                .collect();
            let written = skeleton.files.iter().map(|(name, _)| (*name).to_owned());
            let written: BTreeSet<String> = written.chain(["callmark.toml".to_owned()]).collect();
            assert_eq!(written, there, "{}", skeleton.folder);
        }
    }

    #[test]
    fn there_is_one_for_each_example_of_a_language() {
        assert!(find(Kind::Hub, Language::Typescript).is_ok());
        assert!(find(Kind::Agent, Language::Rust).is_err());
    }
}
