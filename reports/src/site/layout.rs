//! What is around each page: head, way back, contents, foot.

use maud::{DOCTYPE, Markup, html};

use super::model::Page;
use super::view::View;
use crate::view;

pub(super) const STYLE_FILE: &str = "site.css";
pub(super) const SCRIPT_FILE: &str = "site.js";
/// Nothing but the files beside the page; some browsers need `file:` for a site on a disk.
const POLICY: &str = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; base-uri 'none'; \
                      form-action 'none'";

/// The chief places, in the order of the bar on top of each page.
const PLACES: [(&str, &str); 4] = [
    ("index.html", "Overview"),
    ("first.html", "First exchange"),
    ("rules.html", "All rules"),
    ("messages.html", "Messages"),
];

/// The places that this site has.
fn places(view: &View<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let changes = view.site.changes.first().map(|_| (super::parts::CHANGES, "What changed"));
    let mutants = view.site.matrix.iter().map(|_| (super::parts::MUTANTS, "Mutants"));
    PLACES.into_iter().chain(changes).chain(mutants)
}

/// A page to be.
pub(super) struct Sheet<'a> {
    /// Its path, with `/`.
    pub(super) path: &'a str,
    /// For the browser's bar.
    pub(super) title: &'a str,
    /// The page above it, path and name; none for those in the bar.
    pub(super) above: Option<(&'a str, &'a str)>,
    /// Whether the script has something to do.
    pub(super) scripted: bool,
}

/// The page.
pub(super) fn page(view: &View<'_>, sheet: &Sheet<'_>, main: &Markup) -> Page {
    let up = up(sheet.path);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (sheet.title) " · Callmark specification" }
                link rel="stylesheet" href={ (up) (STYLE_FILE) };
                @if sheet.scripted { script src={ (up) (SCRIPT_FILE) } defer {} }
            }
            body {
                a.skip href="#main" { "Skip to the text" }
                header.site {
                    a.brand href={ (up) "index.html" } { "Callmark specification" }
                    nav aria-label="Site" {
                        ul {
                            @for (path, name) in places(view) {
                                li { a href={ (up) (path) } aria-current=[(path == sheet.path).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                main #main tabindex="-1" {
                    @if let Some((path, name)) = sheet.above {
                        nav.above aria-label="Above this page" { a href={ (up) (path) } { (name) } }
                    }
                    (main)
                }
                (footer(view))
            }
        }
    };
    let mut content = markup.into_string();
    content.push('\n');
    Page { path: sheet.path.to_owned(), content }
}

/// The way from a page to the site's root.
pub(super) fn up(path: &str) -> &'static str {
    if path.contains('/') { "../" } else { "" }
}

fn footer(view: &View<'_>) -> Markup {
    html! {
        footer {
            p { "Callmark " (view.site.version) ", features " code { (view.site.features_sha256.get(..12).unwrap_or_default()) } }
            @if let Some(run) = &view.site.run {
                p { "Outcomes: " bdi { (view::target(run)) } ", " (view::verdict(run)) }
            }
        }
    }
}
