//! `docs`: the living specification as a static site.
//!
//! What is shown comes from the suite (rules, features, mutants), the schemas, and a run of the reference (`first`, which
//! plays `stories`); `changes` says what later revisions changed, `texts` what documents and roles are; `callmark_reports::site` makes the pages; `crate::folder` writes them.

mod changes;
mod first;
mod recorded;
mod stories;
mod texts;

use std::sync::Arc;

use callmark_reports::site::{self, MessageShape, MutantText, RuleText, Site};
use callmark_schemas::SchemaName;
use callmark_suite::engine::run::Library;
use callmark_suite::mutation;
use callmark_suite::spec::{library, outline};

use self::recorded::Recorded;
use crate::args::DocsArguments;
use crate::exit::{self, Failure};
use crate::folder::{Folder, Purpose};
use crate::report;
use crate::setup;

/// The directory of a site.
static SITE: Purpose = Purpose {
    mark: "callmark-site.txt",
    heading: "# written by `callmark docs`, which replaces and removes these files",
    command: "callmark docs",
    files: |_| false,
    is_older: |_| false,
    is_shared: true,
};

/// Runs it.
pub(crate) fn run(arguments: &DocsArguments) -> Result<u8, Failure> {
    let say = |text: &str| {
        if !arguments.quiet {
            eprintln!("{text}");
        }
    };
    // What can be refused is refused before the reference is started, and before anything is written.
    let record = arguments.run.as_deref().map(report::read).transpose()?;
    if record.as_ref().is_some_and(|run| run.suite.features_sha256 != library::features_sha256()) {
        say("the run was judged by other features than those of this binary; the site says so");
    }
    let matrix = arguments.matrix.as_deref().map(report::read_matrix).transpose()?;
    let folder = Folder::open(&arguments.out, &SITE)?;
    let library = Arc::new(setup::library()?);
    say("running the reference for the messages of the first page");
    let scenarios = first::scenarios().chain(changes::scenarios().map(str::to_owned)).collect();
    let recorded = Recorded::run(&library, scenarios)?;
    let (exchanges, changes) = (first::exchanges(&recorded)?, changes::of(&recorded)?);
    let site = Site {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        features_sha256: library::features_sha256().to_owned(),
        documents: texts::documents(),
        roles: texts::roles(),
        rules: rules(&library)?,
        chapters: outline::chapters(&library.catalogue).map_err(Failure::internal)?,
        messages: messages()?,
        exchanges,
        changes,
        run: record,
        matrix,
    };
    let pages = site::pages(&site);
    say(&format!("writing {} files", pages.len()));
    folder.replace(pages.iter().map(|page| (page.path.as_str(), page.content.as_str())))?;
    if !arguments.quiet {
        println!("site: {}", arguments.out.join("index.html").display());
    }
    Ok(exit::CONFORMANT)
}

/// The registry, each rule with its mutants.
fn rules(library: &Library) -> Result<Vec<RuleText>, Failure> {
    let mutants = mutation::mutants(&library.registry).map_err(setup::unread)?;
    let rules = library.registry.rules().iter().map(|rule| RuleText {
        id: rule.id.clone(),
        level: rule.level,
        profiles: rule.profiles.clone(),
        statement: rule.statement.clone(),
        source: rule.source.clone(),
        since: rule.period().since.clone(),
        until: rule.period().until.clone(),
        replaces: rule.replaces.clone(),
        excluded: rule.excluded.clone(),
        judged_in: crate::rules::judged_in_words(library, rule),
        mutants: mutants
            .iter()
            .filter(|mutant| mutant.rule == rule.id)
            .map(|mutant| MutantText {
                id: mutant.id.clone(),
                profile: mutant.profile.clone(),
                does: mutant.does.clone(),
                collateral: mutant.collateral.iter().cloned().collect(),
            })
            .collect(),
    });
    Ok(rules.collect())
}

fn messages() -> Result<Vec<MessageShape>, Failure> {
    let names = SchemaName::ALL.into_iter();
    names
        .map(|name| {
            let schema = serde_json::from_str(name.source()).map_err(Failure::internal)?;
            Ok(MessageShape { path: name.path().to_owned(), schema })
        })
        .collect()
}
