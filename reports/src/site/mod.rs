//! The specification as a static site: documents, roles, rules with their scenarios and mutants, messages, and one
//! exchange of each protocol; where a run is given, its outcomes in place; where a sabotage matrix is given, that too.
//!
//! `model` is what it is made from, [`pages`] a pure function of it: no clock, no files, the same bytes each time.
//! `index`, `document`, `role`, `rule`, `message`, `matrix`, `first` and `changes` are kinds of pages; `scenario`, `shape`,
//! `frame` and `parts` are what they consist of, `view` looks things up, `layout` is around each page.
//! The templates escape every value, and what a run recorded passes `text` first, as in the reports.
//! The pages need no server and no script: links are relative, and the script only filters the list of all rules.
//!
//! Deliberately absent: fonts, images, requests and links to anywhere else.

mod changes;
mod document;
mod first;
mod frame;
mod index;
mod layout;
mod matrix;
mod message;
mod model;
mod parts;
mod references;
mod role;
mod rule;
mod scenario;
mod shape;
mod view;
mod words;

pub use model::{
    AnnotatedFrame, Change, Chapter, Comparison, Document, Entry, Example, Exchange, Group, MessageShape,
    MutantText, Page, Recording, Role, RuleText, ScenarioText, Site, StepText,
};

use self::view::View;

const STYLE: &str =
    concat!(include_str!("../../templates/common.css"), include_str!("../../templates/site.css"));
const SCRIPT: &str =
    concat!(include_str!("../../templates/common.js"), include_str!("../../templates/site.js"));

/// Every file of the site, by path.
pub fn pages(site: &Site) -> Vec<Page> {
    let view = View::of(site);
    let mut pages = vec![
        Page { path: layout::STYLE_FILE.to_owned(), content: STYLE.to_owned() },
        Page { path: layout::SCRIPT_FILE.to_owned(), content: SCRIPT.to_owned() },
        index::page(&view),
        first::page(&view),
        rule::list(&view),
        message::list(&view),
    ];
    pages.extend(site.documents.iter().map(|document| document::page(&view, document)));
    pages.extend(site.roles.iter().map(|role| role::page(&view, role)));
    pages.extend(site.rules.iter().map(|rule| rule::page(&view, rule)));
    pages.extend(site.messages.iter().map(|message| message::page(&view, message)));
    if !site.changes.is_empty() {
        pages.push(changes::list(&view));
    }
    pages.extend(site.changes.iter().map(|change| changes::page(&view, change)));
    pages.extend(site.matrix.iter().map(|own| matrix::page(&view, own)));
    pages.sort_by(|left, right| left.path.cmp(&right.path));
    pages
}
