//! Circles of imports: files that know one another, by way of others or at once, can only be read and changed together.
//!
//! An import counts for the file in which its item is defined, not for one that hands it on with `pub use`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree, Visibility};

/// The crates of this project, by the folder of their sources.
const CRATES: [&str; 5] =
    ["conformance/suite/src", "conformance/cli/src", "reference/src", "reports/src", "schemas/src"];

/// Circles that are there, each by its files. ARCHITECTURE.md ("Families and the engine") says why.
const KNOWN: [&[&str]; 5] = [
    &[
        "conformance/suite/src/families/breadcrumb/agent/session.rs",
        "conformance/suite/src/families/breadcrumb/agent/session/start.rs",
    ],
    &[
        "conformance/suite/src/families/hub/agent/session.rs",
        "conformance/suite/src/families/hub/agent/session/start.rs",
    ],
    &[
        "conformance/suite/src/families/hub/server/load.rs",
        "conformance/suite/src/families/hub/server/session.rs",
        "conformance/suite/src/families/hub/server/session/made.rs",
    ],
    &[
        "conformance/suite/src/families/toolbus/load.rs",
        "conformance/suite/src/families/toolbus/scene.rs",
        "conformance/suite/src/families/toolbus/session.rs",
    ],
    &["reports/src/certificate.rs", "reports/src/certificate/envelope.rs", "reports/src/certificate/keys.rs"],
];

/// A module's path within its crate, or that of an item.
type Place = Vec<String>;

/// What one file says of others.
#[derive(Default)]
struct Module {
    file: PathBuf,
    imports: BTreeSet<Place>,
    /// What it hands on: where a name leads to.
    exports: BTreeMap<String, Place>,
    /// What it hands on whole.
    all_of: Vec<Place>,
}

/// Reads a file's imports. Unit tests are left out.
struct Reader<'a> {
    place: &'a Place,
    module: Module,
}

impl Reader<'_> {
    /// A path from the crate's root; none where it leads to another crate.
    fn absolute(&self, segments: &[String]) -> Option<Place> {
        let (first, rest) = segments.split_first()?;
        let base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.place.clone(),
            "super" => {
                let above = rest.iter().take_while(|segment| *segment == "super").count();
                let (parent, rest) = (self.place.len().checked_sub(above + 1)?, &rest[above..]);
                return Some([&self.place[..parent], rest].concat());
            }
            // A submodule of this one, or another crate, which has no such place.
            name => [&self.place[..], &[name.to_owned()]].concat(),
        };
        Some([base, rest.to_vec()].concat())
    }

    fn tree(&mut self, tree: &UseTree, before: &[String], is_handed_on: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => return self.tree(&path.tree, &with(&path.ident), is_handed_on),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.tree(item, before, is_handed_on));
            }
            UseTree::Glob(_) => {
                let Some(path) = self.absolute(before) else { return };
                if is_handed_on {
                    self.module.all_of.push(path);
                } else {
                    self.module.imports.insert(path);
                }
                return;
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default())
            }
            UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            UseTree::Rename(renamed) => (with(&renamed.ident), renamed.rename.to_string()),
        };
        let Some(path) = self.absolute(&path) else { return };
        if is_handed_on {
            self.module.exports.insert(name, path);
        } else {
            self.module.imports.insert(path);
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) && item.leading_colon.is_none() {
            self.tree(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    // `pub(in …)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1
            && let Some(place) = self.absolute(&segments)
        {
            self.module.imports.insert(place);
        }
        visit::visit_path(self, path);
    }
}

/// The modules below a folder of sources, by their place.
fn modules(folder: &Path, place: &Place, found: &mut BTreeMap<Place, Module>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let below = [&place[..], std::slice::from_ref(&stem)].concat();
        if path.is_dir() {
            modules(&path, &below, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "main" {
            let place = if stem == "mod" || stem == "lib" { place.clone() } else { below };
            let text = std::fs::read_to_string(&path).expect("a source file");
            let mut reader = Reader { place: &place, module: Module { file: path, ..Module::default() } };
            reader.visit_file(&syn::parse_file(&text).expect("Rust"));
            found.insert(place.clone(), reader.module);
        }
    }
}

/// The module in which what a path leads to is defined; none where that is another crate.
fn definition(modules: &BTreeMap<Place, Module>, path: &[String], depth: usize) -> Option<Place> {
    let known = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (place, rest) = path.split_at(known);
    let module = modules.get(place)?;
    let Some((name, below)) = rest.split_first() else { return Some(place.to_vec()) };
    if depth == 0 {
        return Some(place.to_vec());
    }
    if let Some(leads_to) = module.exports.get(name) {
        return definition(modules, &[&leads_to[..], below].concat(), depth - 1);
    }
    let handed_on = module.all_of.iter().find_map(|whole| {
        let further = definition(modules, &[&whole[..], rest].concat(), depth - 1)?;
        (further != *place).then_some(further)
    });
    Some(handed_on.unwrap_or_else(|| place.to_vec()))
}

/// Whom each module knows.
fn arrows(modules: &BTreeMap<Place, Module>) -> BTreeMap<&Place, BTreeSet<Place>> {
    let known = |(place, module): (&Place, &Module)| {
        let imports = module.imports.iter().filter_map(|path| definition(modules, path, 8));
        imports.filter(|other| other != place).collect()
    };
    modules.iter().map(|entry| (entry.0, known(entry))).collect()
}

/// Everything that can be reached from a place.
fn reached(arrows: &BTreeMap<&Place, BTreeSet<Place>>, from: &Place) -> BTreeSet<Place> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(place) = open.pop() {
        for next in arrows.get(&place).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

/// The circles below a folder of sources, each with the files in it.
fn circles(root: &Path, folder: &str) -> BTreeSet<Vec<String>> {
    let mut all = BTreeMap::new();
    modules(&root.join(folder), &Vec::new(), &mut all);
    assert!(!all.is_empty(), "no sources in {folder}");
    let arrows = arrows(&all);
    let reach: BTreeMap<&Place, BTreeSet<Place>> =
        all.keys().map(|place| (place, reached(&arrows, place))).collect();
    let name = |place: &Place| {
        let file = &all[place].file;
        file.strip_prefix(root).unwrap_or(file).display().to_string()
    };
    let with = |place: &Place| {
        let back = |other: &&Place| reach.get(other).is_some_and(|theirs| theirs.contains(place));
        reach[place].iter().filter(back).map(name).collect::<Vec<String>>()
    };
    reach.iter().filter(|(place, theirs)| theirs.contains(**place)).map(|(place, _)| with(place)).collect()
}

#[test]
fn files_know_one_another_in_no_circle_that_is_not_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project");
    let found: BTreeSet<Vec<String>> = CRATES.iter().flat_map(|sources| circles(&root, sources)).collect();
    let known: BTreeSet<Vec<String>> =
        KNOWN.iter().map(|files| files.iter().map(|file| (*file).to_owned()).collect()).collect();
    assert_eq!(found, known);
}

#[test]
fn a_circle_is_found_by_way_of_other_files_and_of_what_is_handed_on() {
    let root = tempfile::tempdir().expect("a folder");
    let write = |file: &str, text: &str| {
        let path = root.path().join("src").join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("lib.rs", "pub mod a; mod b; mod c; mod d;");
    write("a/mod.rs", "mod inner; pub use inner::Thing;");
    write("a/inner.rs", "pub struct Thing; fn f() { crate::b::g(); }");
    write("b.rs", "use super::c::{h, Other as Another}; pub fn g() {}");
    write("c.rs", "use crate::a::Thing; pub fn h() {}");
    write("d.rs", "use crate::a::Thing; #[cfg(test)] mod tests { use crate::d::x; use crate::c::h; }");
    let circle = ["src/a/inner.rs", "src/b.rs", "src/c.rs"].map(str::to_owned).to_vec();
    assert_eq!(circles(root.path(), "src"), BTreeSet::from([circle]));
}
