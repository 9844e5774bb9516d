//! `callmark docs`: the site as it lies on a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use callmark_suite::families;
use callmark_suite::spec::library;
use callmark_suite::spec::registry::Registry;
use callmark_suite::spec::revision::split;

use crate::program;

fn written(arguments: &[&str], home: &Path) {
    let output = program::output(arguments, home);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All files by their paths with `/`.
fn files(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, below: &str, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(root.join(below)).expect("a directory") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a name in Unicode");
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if entry.file_type().expect("a type").is_dir() {
                walk(root, &path, found);
            } else {
                let text = std::fs::read_to_string(entry.path()).expect("text");
                found.insert(path, text);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}

/// Values of an attribute, in order.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    page.split(opening.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Where a link of a page leads: the file and what is after `#`.
fn target(page: &str, link: &str) -> (String, Option<String>) {
    let (path, fragment) =
        link.split_once('#').map_or((link, None), |(path, id)| (path, Some(id.to_owned())));
    let path = path.split('?').next().unwrap_or_default();
    if path.is_empty() {
        return (page.to_owned(), fragment);
    }
    let (folder, _) = page.rsplit_once('/').unwrap_or_default();
    let path = match path.strip_prefix("../") {
        Some(rest) => rest.to_owned(),
        None if folder.is_empty() => path.to_owned(),
        None => format!("{folder}/{path}"),
    };
    (path, fragment)
}

fn check_links(site: &BTreeMap<String, String>) {
    let pages = site.iter().filter(|(path, _)| path.strip_suffix(".html").is_some());
    let ids: BTreeMap<&String, BTreeSet<&str>> =
        pages.clone().map(|(path, page)| (path, attributes(page, "id").into_iter().collect())).collect();
    for (path, page) in pages {
        assert_eq!(ids[path].len(), attributes(page, "id").len(), "{path}: an id stands twice");
        for link in attributes(page, "href").into_iter().chain(attributes(page, "src")) {
            assert!(!link.contains("://"), "{path} leads outside: {link}");
            let (file, fragment) = target(path, link);
            assert!(site.contains_key(&file), "{path} leads nowhere: {link}");
            if let Some(fragment) = fragment {
                assert!(ids[&file].contains(fragment.as_str()), "{path} leads nowhere: {link}");
            }
        }
    }
}

#[test]
fn everything_has_its_place_and_every_link_leads_somewhere() {
    let home = tempfile::tempdir().expect("a directory");
    written(&["docs", "--out", "site"], home.path());
    let site = files(&home.path().join("site"));
    check_links(&site);
    for rule in Registry::load().expect("a sound registry").rules() {
        let page = &site[&format!("rules/{}.html", rule.id)];
        assert!(page.contains(&rule.id) && page.contains("Source"), "{}", rule.id);
        let link = format!("href=\"rules/{}.html\"", rule.id);
        assert!(site["rules.html"].contains(&link), "{}", rule.id);
        let documents = site.iter().filter(|(path, _)| path.starts_with("document-"));
        assert_eq!(documents.filter(|(_, page)| page.contains(&link)).count(), 1, "{}", rule.id);
    }
    for profile in families::ALL.profiles().filter(|profile| split(profile.id).1.is_none()) {
        assert!(site["index.html"].contains(&format!("href=\"{}.html\"", profile.id)), "{}", profile.id);
    }
    for (path, _) in library::feature_files() {
        let shown = |page: &&String| page.contains(&format!(">{path}<"));
        let roles = families::ALL.profiles().filter_map(|profile| site.get(&format!("{}.html", profile.id)));
        assert_eq!(roles.filter(shown).count(), 1, "{path}");
    }
    for name in callmark_schemas::SchemaName::ALL {
        let page = format!("messages/{}.html", name.path().replace('/', "."));
        assert!(site.contains_key(&page), "{page}");
    }
    let first = &site["first.html"];
    for real in
        ["tool_call_card_id", "ToolResultContent", "calendar_create_event", "tool.response.v1", "tools/call"]
    {
        assert!(first.contains(real), "no message with `{real}`");
    }
    for revision in ["v1r3", "v1r4", "2025-11-25", "2026-07-28"] {
        assert!(first.contains(&format!(">{revision}</label>")), "{revision}");
    }
    check_changes(&site);
}

/// Every rule that came or went with a revision stands on the page about it, and so do messages of both.
fn check_changes(site: &BTreeMap<String, String>) {
    let (utp, mcp) = (&site["changes-utp-v1r4.html"], &site["changes-mcp-2026-07-28.html"]);
    for rule in Registry::load().expect("a sound registry").rules() {
        let period = rule.period();
        for (page, from, to) in [(utp, "v1r3", "v1r4"), (mcp, "2025-11-25", "2026-07-28")] {
            let is_changed = period.since.as_deref() == Some(to) || period.until.as_deref() == Some(from);
            let is_named = page.contains(&format!("href=\"rules/{}.html\"", rule.id));
            assert_eq!(is_named, is_changed, "{}", rule.id);
        }
    }
    let marked = |page: &str, text: &str| page.contains(&format!("<mark>{text}"));
    for (page, text) in [
        (utp, "CG-Turn-Epoch"),
        (utp, "&quot;agent_turn_id&quot;"),
        (mcp, "&quot;resultType&quot;"),
        (mcp, "&quot;_meta&quot;"),
    ] {
        assert!(marked(page, text), "{text}");
    }
    assert!(mcp.contains("server/discover") && mcp.contains("mcp-name"), "{mcp}");
}

#[test]
fn a_second_site_and_a_replaced_one_have_the_same_bytes() {
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| home.path().join(name);
    written(&["docs", "--out", "a", "--quiet"], home.path());
    written(&["docs", "--out", "b", "--quiet"], home.path());
    let first = files(&path("a"));
    for (name, text) in &files(&path("b")) {
        assert!(first.get(name) == Some(text), "{name} differs");
    }
    written(&["docs", "--out", "b", "--quiet"], home.path());
    assert!(files(&path("b")) == first, "a site that takes the place of another differs");
}

#[test]
fn a_run_is_shown_in_place() {
    let home = tempfile::tempdir().expect("a directory");
    written(&["certify", "--bundled", "--rule", "UTP-4.2-10", "--out", "out", "--quiet"], home.path());
    written(&["docs", "--out", "site", "--run", "out/run.json"], home.path());
    let site = files(&home.path().join("site"));
    check_links(&site);
    assert!(site["rules/UTP-4.2-10.html"].contains("badge passed"));
    assert!(site["rules/HUB-01.html"].contains("Not part of this run"));
    assert!(site["utp.tool-service.html"].contains("badge passed"));
    assert!(site["index.html"].contains("conformant"));
}

#[test]
fn a_matrix_has_a_page_of_its_own() {
    let home = tempfile::tempdir().expect("a directory");
    let output = program::output(&["sabotage", "--rule", "UTP-4.2-10", "--format", "json"], home.path());
    std::fs::write(home.path().join("matrix.json"), &output.stdout).expect("a file");
    written(&["docs", "--out", "site", "--matrix", "matrix.json"], home.path());
    let site = files(&home.path().join("site"));
    check_links(&site);
    assert!(site["mutants.html"].contains("100.0 %"), "{}", site["mutants.html"]);
    assert!(site["rules/UTP-4.2-10.html"].contains("mutants.html"));
}

#[test]
fn what_cannot_be_used_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(home.path().join("mine")).expect("a directory");
    std::fs::write(home.path().join("mine/thesis.txt"), "").expect("a file");
    let check = |arguments: &[&str], says: &str| {
        let output = program::output(arguments, home.path());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?} does not say `{says}`: {text}");
    };
    check(&["docs", "--out", "mine"], "is not empty");
    check(&["docs", "--out", "mine/thesis.txt"], "thesis.txt");
    check(&["docs", "--out", "site", "--run", "none.json"], "none.json");
    std::fs::write(home.path().join("run.json"), "{}").expect("a file");
    check(&["docs", "--out", "site", "--matrix", "run.json"], "is no sabotage matrix");
    check(&["docs"], "--out");
    assert!(home.path().join("mine/thesis.txt").exists() && !home.path().join("site").exists());
}
