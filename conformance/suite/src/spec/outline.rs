//! The features as people read them: in the order of their files, outlines with their tables.
//!
//! Neighbours: `catalog` has the same scenarios as a run takes them, one a row; each row here names its case there.
//! Deliberately absent: how a page shows them (`callmark_reports::site`).

use std::collections::BTreeSet;

use callmark_reports::record::Level;
use callmark_reports::site::{Chapter, Entry, Example, Group, ScenarioText, StepText};
use gherkin::{Examples, Feature, GherkinEnv, Scenario, Step};

use crate::spec::catalog::{Case, Catalogue, CatalogueError};
use crate::spec::library;
use crate::spec::revision;

/// Every feature that travels inside the binary, by path.
pub fn chapters(catalogue: &Catalogue) -> Result<Vec<Chapter>, CatalogueError> {
    let files = library::feature_files().into_iter();
    files.map(|(path, text)| chapter(catalogue, path, text)).collect()
}

fn chapter(catalogue: &Catalogue, path: String, text: &str) -> Result<Chapter, CatalogueError> {
    let feature = Feature::parse(text, GherkinEnv::default())
        .map_err(|error| CatalogueError::new(&path, error.to_string()))?;
    // What is run for several revisions stands here once.
    let mut seen = BTreeSet::new();
    let own = catalogue.cases().iter().filter(|case| case.at.file == path);
    let mut cases = own.filter(|case| seen.insert(revision::split(&case.id).0)).peekable();
    let profile = cases.peek().map(|case| revision::split(&case.profile).0.to_owned()).unwrap_or_default();
    let mut take = |scenarios: &[Scenario], tags: &[String]| -> Vec<ScenarioText> {
        scenarios.iter().map(|scenario| scenario_text(scenario, tags, &mut cases)).collect()
    };
    let mut groups = Vec::new();
    // The catalogue numbers cases in this order, so that each scenario finds its own by counting.
    if !feature.scenarios.is_empty() {
        groups.push(Group { title: None, scenarios: take(&feature.scenarios, &feature.tags) });
    }
    for rule in &feature.rules {
        let tags: Vec<String> = feature.tags.iter().chain(&rule.tags).cloned().collect();
        groups.push(Group { title: Some(rule.name.clone()), scenarios: take(&rule.scenarios, &tags) });
    }
    let description = feature.description.as_deref().map(one_line).unwrap_or_default();
    Ok(Chapter { file: path, profile, title: feature.name, description, groups })
}

fn scenario_text<'a>(
    scenario: &Scenario,
    outer: &[String],
    cases: &mut impl Iterator<Item = &'a Case>,
) -> ScenarioText {
    let tags: Vec<&String> = outer.iter().chain(&scenario.tags).collect();
    let should = tags.iter().any(|tag| *tag == "level:should");
    let (entry, examples) = if scenario.examples.is_empty() {
        (cases.next().map(entry), Vec::new())
    } else {
        (None, scenario.examples.iter().map(|own| example(own, cases)).collect())
    };
    ScenarioText {
        title: scenario.name.clone(),
        level: should.then_some(Level::Should),
        capabilities: capabilities(tags),
        steps: scenario.steps.iter().map(step).collect(),
        entry,
        examples,
    }
}

fn example<'a>(examples: &Examples, cases: &mut impl Iterator<Item = &'a Case>) -> Example {
    let rows = examples.table.as_ref().map(|table| table.rows.as_slice()).unwrap_or_default();
    let (header, rows) =
        rows.split_first().map_or((Vec::new(), &[][..]), |(head, rest)| (head.clone(), rest));
    let rows = rows.iter().zip(cases).map(|(cells, case)| (cells.clone(), entry(case)));
    Example {
        title: examples.name.clone().unwrap_or_default(),
        capabilities: capabilities(examples.tags.iter()),
        header,
        rows: rows.collect(),
    }
}

fn entry(case: &Case) -> Entry {
    Entry { id: case.id.clone(), line: case.at.line, rules: case.rules.clone() }
}

fn step(step: &Step) -> StepText {
    StepText {
        keyword: step.keyword.trim().to_owned(),
        text: step.value.clone(),
        table: step.table.as_ref().map(|table| table.rows.clone()).unwrap_or_default(),
        document: step.docstring.as_ref().map(|text| text.trim_matches('\n').to_owned()),
    }
}

fn capabilities<'a>(tags: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let named = tags.into_iter().filter_map(|tag| tag.strip_prefix("cap:"));
    named.map(str::to_owned).collect()
}

/// A description without the line breaks and the indentation of its file.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_stands_where_the_catalogue_has_it() {
        let catalogue = Catalogue::load().expect("sound features");
        let chapters = chapters(&catalogue).expect("sound features");
        let texts = chapters.iter().flat_map(|chapter| &chapter.groups).flat_map(|group| &group.scenarios);
        let entries = texts.flat_map(|text| {
            let rows = text.examples.iter().flat_map(|example| example.rows.iter().map(|(_, entry)| entry));
            text.entry.iter().chain(rows)
        });
        let ids: Vec<(&str, u32)> = entries.map(|entry| (entry.id.as_str(), entry.line)).collect();
        let expect: Vec<(&str, u32)> =
            catalogue.cases().iter().map(|case| (case.id.as_str(), case.at.line)).collect();
        assert_eq!(ids, expect);
    }

    #[test]
    fn a_row_has_the_title_that_its_case_has() {
        let text = "@role:utp.worker\nFeature: F\n  About\n  it\n\n  @A-1\n  Rule: R\n    Scenario Outline: S <v>\n      Given a\n      @cap:c\n      Examples: e\n        | v |\n        | 1 |\n        | 2 |\n";
        let files = [("features/utp/worker/f.feature".to_owned(), text)];
        let catalogue = Catalogue::from_files(files.clone()).expect("a sound feature");
        let [(path, text)] = files;
        let chapter = chapter(&catalogue, path, text).expect("a sound feature");
        assert_eq!((chapter.title.as_str(), chapter.description.as_str()), ("F", "About it"));
        let scenario = &chapter.groups[0].scenarios[0];
        let example = &scenario.examples[0];
        assert_eq!((scenario.title.as_str(), example.title.as_str()), ("S <v>", "e"));
        assert_eq!(example.capabilities, ["c"]);
        let ids: Vec<&str> = example.rows.iter().map(|(_, entry)| entry.id.as_str()).collect();
        assert_eq!(ids, ["utp/worker/f/A-1/1", "utp/worker/f/A-1/2"]);
    }
}
