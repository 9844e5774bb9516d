//! The README and the pages of `docs/`: their blocks and links.

use std::path::{Path, PathBuf};

/// What a block may be. Only `console` is run; whatever cannot be run is `text`.
const LANGUAGES: [&str; 9] =
    ["console", "text", "toml", "json", "js", "yaml", "rust", "gherkin", "dockerfile"];

/// A fenced block.
pub(crate) struct Block {
    /// The word behind the fence.
    pub(crate) language: String,
    /// The nearest line above it that is not empty.
    pub(crate) above: String,
    /// What it holds.
    pub(crate) lines: Vec<String>,
}

/// A page.
pub(crate) struct Page {
    /// Its file.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) text: String,
    /// Its blocks, in their order.
    pub(crate) blocks: Vec<Block>,
}

/// A line that a reader types, and what the page shows of the answer.
#[derive(Debug)]
pub(crate) struct Typed {
    /// The line.
    pub(crate) line: String,
    /// Lines of the answer, in their order; others may stand between them.
    pub(crate) shows: Vec<String>,
}

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Page {
    /// Reads a page, by its path from the root.
    pub(crate) fn read(path: &str) -> Self {
        let path = root().join(path);
        let text = std::fs::read_to_string(&path).expect("a page");
        let blocks = blocks(&text);
        Self { path, text, blocks }
    }

    /// The README and every page of `docs/`.
    pub(crate) fn all() -> Vec<Self> {
        let docs = std::fs::read_dir(root().join("docs")).expect("docs");
        let paths = docs.map(|entry| entry.expect("an entry").path());
        let mut names: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        let pages = names.iter().map(|name| Self::read(&format!("docs/{name}")));
        std::iter::once(Self::read("README.md")).chain(pages).collect()
    }

    /// Its file's name.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().expect("a name").to_string_lossy().into_owned()
    }

    /// The blocks of a language.
    pub(crate) fn of<'a>(&'a self, language: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| block.language == language)
    }

    /// What its reader types, in order.
    pub(crate) fn typed(&self) -> Vec<Typed> {
        let mut typed: Vec<Typed> = Vec::new();
        for block in self.of("console") {
            for line in &block.lines {
                match (line.strip_prefix("$ "), typed.last_mut()) {
                    (Some(line), _) => typed.push(Typed { line: line.to_owned(), shows: Vec::new() }),
                    (None, Some(last)) => last.shows.push(line.clone()),
                    (None, None) => panic!("{}: a console block begins with its answer", self.name()),
                }
            }
        }
        typed
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut above = String::new();
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                assert!(LANGUAGES.contains(&language), "a block has the language `{language}`");
                open = Some(Block { language: language.to_owned(), above: above.clone(), lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => line.clone_into(&mut above),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The targets of a text's links that lead into the project.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.contains("://") && !link.starts_with('#'))
}
