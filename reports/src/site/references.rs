//! Links from one schema to another.

use maud::{Markup, html};

use super::parts;
use super::parts::segment;

/// The id of a definition.
pub(super) fn anchor(name: &str) -> String {
    format!("def-{}", segment(name))
}

/// Where a reference leads, relative to a message's page, and what it is called.
pub(super) fn reference(known: &[&str], target: &str) -> Option<(String, String)> {
    let (file, definition) = target.split_once('#').unwrap_or((target, ""));
    let definition = definition.strip_prefix("/$defs/");
    if file.is_empty() {
        let name = definition?;
        return Some((format!("#{}", anchor(name)), name.to_owned()));
    }
    let path = known.iter().find(|path| {
        file.strip_suffix(".schema.json")
            .and_then(|file| file.strip_suffix(*path))
            .is_some_and(|rest| rest.ends_with('/'))
    })?;
    let page = parts::message_path(path);
    let page = page.strip_prefix("messages/").unwrap_or(&page).to_owned();
    Some(match definition {
        Some(name) => (format!("{page}#{}", anchor(name)), format!("{path} {name}")),
        None => (page, (*path).to_owned()),
    })
}

/// A reference as a link.
pub(super) fn link(known: &[&str], target: &str) -> Markup {
    html! {
        @match reference(known, target) {
            Some((address, name)) => a href=(address) { (name) },
            None => code { (target) },
        }
    }
}
