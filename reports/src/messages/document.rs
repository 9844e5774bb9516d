//! A feature file as Cucumber describes it: a document of nodes, and a pickle for each scenario.
//!
//! Neighbours: the parent, which sends both. Ids are places, `features/….feature:12`, so that they are the same in
//! every run. Deliberately absent: columns of cells, which nothing shows.

use std::collections::BTreeMap;

use gherkin::{Background, Examples, Feature, GherkinEnv, Scenario, Step, StepType, Table};
use serde_json::{Value, json};

use crate::text;

/// A document and what can be run of it.
pub(super) struct Document {
    /// The envelope of the document.
    pub(super) envelope: Value,
    /// By the line of the scenario, or of the row of an outline.
    pub(super) pickles: BTreeMap<u32, Pickle>,
}

/// A scenario with the values of its row.
pub(super) struct Pickle {
    name: String,
    line: u32,
    nodes: Vec<String>,
    tags: Vec<Value>,
    pub(super) steps: Vec<PickleStep>,
}

/// A step with the values of its row.
pub(super) struct PickleStep {
    text: String,
    kind: &'static str,
    argument: Option<Value>,
    nodes: Vec<String>,
    pub(super) line: u32,
}

/// The id of a pickle's step, from 1.
pub(super) fn pickle_step(pickle: &str, n: usize) -> String {
    format!("{pickle}#{n}")
}

impl Pickle {
    /// The envelope. The id is the scenario's.
    pub(super) fn envelope(&self, uri: &str, id: &str) -> Value {
        let steps: Vec<_> = self.steps.iter().enumerate().map(|(n, step)| step.value(id, n + 1)).collect();
        json!({"pickle": {
            "id": id, "uri": shown(uri), "location": {"line": self.line}, "name": self.name, "language": "en",
            "steps": steps, "tags": self.tags, "astNodeIds": self.nodes,
        }})
    }
}

impl PickleStep {
    fn value(&self, pickle: &str, n: usize) -> Value {
        let mut step = json!({
            "id": pickle_step(pickle, n), "text": self.text, "type": self.kind, "astNodeIds": self.nodes,
        });
        if let (Some(argument), Some(members)) = (&self.argument, step.as_object_mut()) {
            members.insert("argument".to_owned(), argument.clone());
        }
        step
    }
}

impl Document {
    /// The document of a source, if it holds the scenarios of these lines and names.
    pub(super) fn read<'a>(
        uri: &str,
        text: &str,
        mut scenarios: impl Iterator<Item = (u32, &'a str)>,
    ) -> Option<Self> {
        let feature = Feature::parse(text, GherkinEnv::default()).ok()?;
        let mut reader = Reader { uri, lines: text.lines().collect(), pickles: BTreeMap::new() };
        let envelope = reader.document(&feature);
        let pickles = reader.pickles;
        let holds =
            |(line, name): (u32, &str)| pickles.get(&line).is_some_and(|pickle: &Pickle| pickle.name == name);
        scenarios.all(holds).then_some(Self { envelope, pickles })
    }

    /// A document that says no more than the record does.
    pub(super) fn sketch<'a>(uri: &str, scenarios: impl Iterator<Item = (u32, &'a str)>) -> Self {
        let mut pickles = BTreeMap::new();
        let mut children = Vec::new();
        for (line, name) in scenarios {
            if pickles.contains_key(&line) {
                continue;
            }
            let (id, location) = (format!("{}:{line}", shown(uri)), json!({"line": line}));
            let step = format!("{id}:step");
            let text = "the suite judges the scenario";
            children.push(json!({"scenario": {
                "id": id, "location": location, "tags": [], "keyword": "Scenario", "name": shown(name),
                "description": "", "examples": [],
                "steps": [{"id": step, "location": location, "keyword": "* ", "keywordType": "Unknown", "text": text}],
            }}));
            let step = PickleStep {
                text: text.to_owned(),
                kind: "Unknown",
                argument: None,
                nodes: vec![step],
                line,
            };
            let pickle =
                Pickle { name: shown(name), line, nodes: vec![id], tags: Vec::new(), steps: vec![step] };
            pickles.insert(line, pickle);
        }
        let envelope = json!({"gherkinDocument": {"uri": shown(uri), "comments": [], "feature": {
            "location": {"line": 1}, "tags": [], "language": "en", "keyword": "Feature", "name": shown(uri),
            "description": "Sketched from the run record, without the text of the feature.", "children": children,
        }}});
        Self { envelope, pickles }
    }
}

struct Reader<'a> {
    uri: &'a str,
    lines: Vec<&'a str>,
    pickles: BTreeMap<u32, Pickle>,
}

/// What a scenario has from the nodes around it.
#[derive(Clone, Copy)]
struct Around<'a> {
    tags: &'a [Value],
    steps: &'a [Step],
}

impl Reader<'_> {
    fn document(&mut self, feature: &Feature) -> Value {
        let tags = self.tags(&feature.tags, feature.position.line);
        let given = background_steps(feature.background.as_ref());
        let mut children = self.children(
            feature.background.as_ref(),
            &feature.scenarios,
            Around { tags: &tags, steps: given },
        );
        for rule in &feature.rules {
            let own = self.tags(&rule.tags, rule.position.line);
            let all: Vec<_> = tags.iter().chain(&own).cloned().collect();
            let steps: Vec<_> =
                given.iter().chain(background_steps(rule.background.as_ref())).cloned().collect();
            let around = Around { tags: &all, steps: &steps };
            let inner = self.children(rule.background.as_ref(), &rule.scenarios, around);
            children.push(json!({"rule": {
                "id": self.id(rule.position.line), "location": self.at(rule.position.line), "tags": own,
                "keyword": rule.keyword, "name": rule.name, "description": words(rule.description.as_ref()),
                "children": inner,
            }}));
        }
        let comments = (1..).zip(&self.lines).filter(|(_, text)| text.trim_start().starts_with('#'));
        let comments: Vec<_> =
            comments.map(|(line, text)| json!({"location": self.at(line), "text": text})).collect();
        json!({"gherkinDocument": {"uri": self.uri, "comments": comments, "feature": {
            "location": self.at(feature.position.line), "tags": tags, "language": "en",
            "keyword": feature.keyword, "name": feature.name,
            "description": words(feature.description.as_ref()), "children": children,
        }}})
    }

    fn children(
        &mut self,
        background: Option<&Background>,
        scenarios: &[Scenario],
        around: Around<'_>,
    ) -> Vec<Value> {
        let mut children = Vec::new();
        if let Some(background) = background {
            children.push(json!({"background": {
                "id": self.id(background.position.line), "location": self.at(background.position.line),
                "keyword": background.keyword, "name": background.name,
                "description": words(background.description.as_ref()),
                "steps": self.steps(&background.steps),
            }}));
        }
        for scenario in scenarios {
            children.push(self.scenario(scenario, around));
        }
        children
    }

    fn scenario(&mut self, scenario: &Scenario, around: Around<'_>) -> Value {
        let line = scenario.position.line;
        let own = self.tags(&scenario.tags, line);
        let tags: Vec<_> = around.tags.iter().chain(&own).cloned().collect();
        let node = self.id(line);
        let mut examples = Vec::new();
        for table in &scenario.examples {
            let more = self.tags(&table.tags, table.position.line);
            let all: Vec<_> = tags.iter().chain(&more).cloned().collect();
            examples.push(self.examples(table, &more));
            let Some((header, rows)) = table.table.as_ref().and_then(|table| table.rows.split_first()) else {
                continue;
            };
            for (n, row) in rows.iter().enumerate() {
                // As cucumber counts the line of a row, and so the record: right below the table's head.
                let at = table.position.line + 2 + n;
                let values = Values { header, row };
                let nodes = [node.clone(), self.id(at)];
                self.pickle(scenario, at, &nodes, &all, around.steps, &values);
            }
        }
        if scenario.examples.is_empty() {
            let values = Values { header: &[], row: &[] };
            self.pickle(scenario, line, std::slice::from_ref(&node), &tags, around.steps, &values);
        }
        json!({"scenario": {
            "id": node, "location": self.at(line), "tags": own, "keyword": scenario.keyword,
            "name": scenario.name, "description": words(scenario.description.as_ref()),
            "steps": self.steps(&scenario.steps), "examples": examples,
        }})
    }

    fn examples(&self, examples: &Examples, tags: &[Value]) -> Value {
        let line = examples.position.line;
        let rows = examples.table.iter().flat_map(|table| &table.rows).enumerate();
        let mut rows: Vec<_> = rows.map(|(n, row)| self.row(row, line + 1 + n)).collect();
        let mut node = json!({
            "id": self.id(line), "location": self.at(line), "tags": tags, "keyword": examples.keyword,
            "name": words(examples.name.as_ref()), "description": words(examples.description.as_ref()),
        });
        if let Some(members) = node.as_object_mut() {
            if !rows.is_empty() {
                members.insert("tableHeader".to_owned(), rows.remove(0));
            }
            members.insert("tableBody".to_owned(), rows.into());
        }
        node
    }

    fn row(&self, row: &[String], line: usize) -> Value {
        let cells: Vec<_> =
            row.iter().map(|value| json!({"location": self.at(line), "value": value})).collect();
        json!({"id": self.id(line), "location": self.at(line), "cells": cells})
    }

    fn steps(&self, steps: &[Step]) -> Vec<Value> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Value {
        let line = step.position.line;
        let conjunction = matches!(step.keyword.as_str(), "And" | "But");
        let mut node = json!({
            "id": self.id(line), "location": self.at(line), "keyword": format!("{} ", step.keyword),
            "keywordType": if conjunction { "Conjunction" } else { kind(step.ty) }, "text": step.value,
        });
        if let Some(members) = node.as_object_mut() {
            if let Some(content) = &step.docstring {
                let value = json!({"location": self.at(line + 1), "content": content, "delimiter": "\"\"\""});
                members.insert("docString".to_owned(), value);
            }
            if let Some(table) = &step.table {
                let rows = table.rows.iter().enumerate();
                let rows: Vec<_> = rows.map(|(n, row)| self.row(row, line + 1 + n)).collect();
                let value = json!({"location": self.at(line + 1), "rows": rows});
                members.insert("dataTable".to_owned(), value);
            }
        }
        node
    }

    fn pickle(
        &mut self,
        scenario: &Scenario,
        line: usize,
        nodes: &[String],
        tags: &[Value],
        before: &[Step],
        values: &Values<'_>,
    ) {
        let row = &nodes[1..];
        let steps = before.iter().chain(&scenario.steps).map(|step| PickleStep {
            text: values.fill(&step.value),
            kind: kind(step.ty),
            argument: argument(step, values),
            nodes: std::iter::once(self.id(step.position.line)).chain(row.iter().cloned()).collect(),
            line: number(step.position.line),
        });
        let tags = tags.iter().map(|tag| json!({"name": tag["name"], "astNodeId": tag["id"]}));
        let pickle = Pickle {
            name: values.fill(&scenario.name),
            line: number(line),
            nodes: nodes.to_vec(),
            tags: tags.collect(),
            steps: steps.collect(),
        };
        self.pickles.insert(number(line), pickle);
    }

    /// Tags stand on the lines above what they are for.
    fn tags(&self, tags: &[String], line: usize) -> Vec<Value> {
        let tag = |name: &String| {
            let name = format!("@{name}");
            let above = self.lines[..line.saturating_sub(1).min(self.lines.len())].iter().enumerate().rev();
            let place = above
                .take_while(|(_, text)| text.trim().is_empty() || text.trim_start().starts_with(['@', '#']))
                .find_map(|(n, text)| {
                    let ends =
                        |at: &usize| !text[at + name.len()..].starts_with(|c: char| !c.is_whitespace());
                    let column = text.match_indices(&name).map(|(at, _)| at).find(ends)?;
                    Some((n + 1, column + 1))
                });
            let (line, column) = place.unwrap_or((line, 1));
            json!({
                "id": format!("{}:{column}", self.id(line)), "name": name,
                "location": {"line": line, "column": column},
            })
        };
        tags.iter().map(tag).collect()
    }

    fn id(&self, line: usize) -> String {
        format!("{}:{line}", self.uri)
    }

    /// A node begins where its line has its first letter.
    fn at(&self, line: usize) -> Value {
        let text = line.checked_sub(1).and_then(|n| self.lines.get(n)).copied().unwrap_or_default();
        json!({"line": line, "column": text.len() - text.trim_start().len() + 1})
    }
}

/// The row of an outline that a pickle is made of.
struct Values<'a> {
    header: &'a [String],
    row: &'a [String],
}

impl Values<'_> {
    /// The text with `<name>` replaced.
    fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            out.push_str(before);
            let named = after.split_once('>').and_then(|(name, after)| {
                let column = self.header.iter().position(|own| own == name)?;
                Some((self.row.get(column)?, after))
            });
            if let Some((value, after)) = named {
                out.push_str(value);
                rest = after;
            } else {
                out.push('<');
                rest = after;
            }
        }
        out + rest
    }
}

fn argument(step: &Step, values: &Values<'_>) -> Option<Value> {
    let text = step.docstring.as_ref();
    let text = text.map(|text| json!({"docString": {"content": values.fill(text)}}));
    text.or_else(|| step.table.as_ref().map(|table| json!({"dataTable": {"rows": rows(table, values)}})))
}

fn rows(table: &Table, values: &Values<'_>) -> Vec<Value> {
    let cell = |value: &String| json!({"value": values.fill(value)});
    let row = |row: &Vec<String>| json!({"cells": row.iter().map(cell).collect::<Vec<_>>()});
    table.rows.iter().map(row).collect()
}

fn background_steps(background: Option<&Background>) -> &[Step] {
    background.map_or(&[], |background| &background.steps)
}

fn kind(step: StepType) -> &'static str {
    match step {
        StepType::Given => "Context",
        StepType::When => "Action",
        StepType::Then => "Outcome",
    }
}

fn words(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// A text of a target, in one line.
pub(super) fn shown(words: &str) -> String {
    text::line(words, text::LINE)
}
