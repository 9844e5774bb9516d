//! A document: its rules in its order, by section where the ids show it.

use maud::html;

use super::layout::{self, Sheet};
use super::model::{Document, Page, RuleText};
use super::parts;
use super::view::View;

pub(super) fn page(view: &View<'_>, document: &Document) -> Page {
    let rules = view.of_document(&document.prefix);
    let mut sections: Vec<(Option<&str>, Vec<&RuleText>)> = Vec::new();
    for rule in &rules {
        let section = section(document, rule);
        match sections.last_mut() {
            Some((last, own)) if *last == section => own.push(rule),
            _ => sections.push((section, vec![rule])),
        }
    }
    let all = view.site.roles.iter();
    let parties: Vec<_> =
        all.filter(|role| rules.iter().any(|rule| rule.profiles.contains(&role.id))).collect();
    let main = html! {
        h1 { (document.title) }
        p.lead { (parts::prose(&document.about)) }
        p { "Roles: " @for (n, role) in parties.iter().enumerate() { @if n > 0 { ", " } a href=(parts::role_path(&role.id)) { (role.title) } } "." }
        @if view.site.exchanges.iter().any(|exchange| exchange.document == document.id) {
            p { a href={ "first.html#" (document.id) } { "One whole exchange" } }
        }
        @for change in view.site.changes.iter().filter(|change| change.documents.contains(&document.id)) {
            p { a href=(parts::change_path(&change.id)) { "What changed in " (change.to) } }
        }
        @if sections.len() > 1 && sections.iter().any(|(section, _)| section.is_some()) {
            nav.contents aria-label="Sections" { ul { @for (section, own) in &sections {
                li { a href={ "#" (anchor(*section)) } { (title(*section)) " " span.n { (own.len()) } } }
            } } }
        }
        @for (section, own) in &sections {
            section {
                @if section.is_some() { h2 id=(anchor(*section)) { (title(*section)) } } @else { h2 #rules { "Rules" } }
                (parts::rule_rows(view, "", own))
            }
        }
    };
    let path = parts::document_path(&document.id);
    let above = Some(("index.html#documents", "Documents"));
    layout::page(view, &Sheet { path: &path, title: &document.title, above, scripted: false }, &main)
}

/// `4.1` of `UTP-4.1-35`; nothing where ids only count.
fn section<'a>(document: &Document, rule: &'a RuleText) -> Option<&'a str> {
    let (section, _) = rule.id.strip_prefix(document.prefix.as_str())?.rsplit_once('-')?;
    Some(section)
}

fn title(section: Option<&str>) -> String {
    match section {
        None => "Rules".to_owned(),
        Some("0") => "Introduction".to_owned(),
        Some(section) => format!("Section {section}"),
    }
}

fn anchor(section: Option<&str>) -> String {
    section.map_or_else(|| "rules".to_owned(), |section| format!("section-{section}"))
}
