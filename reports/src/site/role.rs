//! A role: its features in full, in the order of their files.

use maud::{Markup, html};

use super::layout::{self, Sheet};
use super::model::{Chapter, Page, Role};
use super::parts;
use super::scenario::{self, Heading, Place};
use super::view::View;
use crate::text;

pub(super) fn page(view: &View<'_>, role: &Role) -> Page {
    let chapters = view.chapters(&role.id);
    let rules = view.of_role(&role.id);
    let excluded: Vec<_> = rules.iter().filter(|rule| rule.excluded.is_some()).copied().collect();
    let main = html! {
        h1 { (role.title) " " code.profile { (role.id) } }
        p.lead { (parts::prose(&role.about)) " The suite plays: " (role.peers) "." }
        p {
            (text::count(rules.len(), "rule")) " in " (text::count(chapters.len(), "feature")) "; "
            a href={ "rules.html?role=" (role.id) } { "listed with their levels" } "."
            @if let Some(counts) = view.counts(&role.id) { " The run: " (counts) "." }
        }
        p.source { "Try it: " code { "callmark certify --bundled --profile " (role.id) } }
        nav.contents aria-label="Features" {
            ol { @for chapter in &chapters { li { a href={ "#" (stem(chapter)) } { (chapter.title) } } } }
        }
        @for chapter in &chapters { (feature(view, chapter)) }
        @if !excluded.is_empty() {
            section { h2 #excluded { "Rules that no black box can test" } (parts::rule_rows(view, "", &excluded)) }
        }
    };
    let path = parts::role_path(&role.id);
    let above = Some(("index.html#roles", "Roles"));
    layout::page(view, &Sheet { path: &path, title: &role.title, above, scripted: false }, &main)
}

/// What a feature is linked by, for example `callback`.
pub(super) fn stem(chapter: &Chapter) -> &str {
    let file = chapter.file.rsplit('/').next().unwrap_or_default();
    file.strip_suffix(".feature").unwrap_or(file)
}

fn feature(view: &View<'_>, chapter: &Chapter) -> Markup {
    html! {
        section.feature aria-labelledby=(stem(chapter)) {
            h2 id=(stem(chapter)) { (chapter.title) }
            p.source { (chapter.file) }
            p.about { (parts::prose(&chapter.description)) }
            @for (n, group) in chapter.groups.iter().enumerate() {
                section.group {
                    @if let Some(title) = &group.title {
                        h3 id={ (stem(chapter)) "-" (n + 1) } { span.kind { "Rule" } " " (parts::prose(title)) }
                    }
                    @for text in &group.scenarios {
                        (scenario::scenario(view, &Place { up: "", rule: None, heading: Heading::Fourth }, text))
                    }
                }
            }
        }
    }
}
