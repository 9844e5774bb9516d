//! A scenario as it is read: title, what it needs, its steps, the tables of an outline.

use maud::{Markup, html};

use super::model::{Entry, Example, ScenarioText, StepText};
use super::parts;
use super::view::View;
use crate::text;

/// Where a scenario is shown.
pub(super) struct Place<'a> {
    /// The way to the site's root.
    pub(super) up: &'a str,
    /// The one rule that it is shown for; none where all are.
    pub(super) rule: Option<&'a str>,
    /// How deep its heading stands.
    pub(super) heading: Heading,
}

/// The level of a heading.
#[derive(Clone, Copy)]
pub(super) enum Heading {
    Third,
    Fourth,
}

/// The scenario. On the page of a rule it has only the rows of that rule.
pub(super) fn scenario(view: &View<'_>, place: &Place<'_>, scenario: &ScenarioText) -> Markup {
    let outline = !scenario.examples.is_empty();
    let title = html! {
        span.kind { @if outline { "Scenario outline" } @else { "Scenario" } } " " (line(&scenario.title))
        @if let Some(entry) = &scenario.entry { (outcome(view, place, entry)) }
    };
    html! {
        article.scenario id=[scenario.entry.as_ref().map(|entry| place.anchor(&entry.id))] {
            @match place.heading {
                Heading::Third => h3 { (title) },
                Heading::Fourth => h4 { (title) },
            }
            (needs(view, place, scenario))
            ol.steps { @for step in &scenario.steps { (one_step(step)) } }
            @for example in &scenario.examples { (table(view, place, example)) }
            @if let Some(entry) = &scenario.entry { (why(view, place, entry)) }
        }
    }
}

impl Place<'_> {
    /// The page of a rule shows scenarios of several roles, whose short names may be the same.
    fn anchor(&self, id: &str) -> String {
        if self.rule.is_some() { plain(id) } else { anchor(id) }
    }
}

/// What a scenario is linked by on the page of its role, for example `callback/UTP-4.2-05/1`: its id without the role.
pub(super) fn anchor(id: &str) -> String {
    plain(id.splitn(3, '/').last().unwrap_or(id))
}

/// An id of an element holds no blanks.
fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect()
}

/// Rules, capabilities and level, as far as they are not plain from where it stands.
fn needs(view: &View<'_>, place: &Place<'_>, scenario: &ScenarioText) -> Markup {
    let rules = scenario.rules();
    // A column of the table says it row by row.
    let by_row = scenario.examples.iter().any(|example| example.header.iter().any(|name| name == "rule"));
    let shown = place.rule.is_none() && !by_row && !rules.is_empty();
    html! {
        @if shown || !scenario.capabilities.is_empty() || scenario.level.is_some() {
            p.needs {
                @if shown { @for rule in rules { (parts::rule_link(view, place.up, rule)) " " } }
                (capabilities(&scenario.capabilities))
                @if let Some(level) = scenario.level { span.need { "asks for a " (parts::level(level)) " only" } }
            }
        }
    }
}

fn capabilities(names: &[String]) -> Markup {
    html! { @for name in names { span.need { "where the target declares " code { (name) } } " " } }
}

fn one_step(step: &StepText) -> Markup {
    let continues = matches!(step.keyword.as_str(), "And" | "But" | "*");
    html! {
        li class=[continues.then_some("more")] {
            span.keyword { (step.keyword) } " " (line(&step.text))
            @if !step.table.is_empty() {
                table.data { tbody { @for row in &step.table { tr { @for cell in row { td { (line(cell)) } } } } } }
            }
            @if let Some(document) = &step.document { pre { code { (text::block(document, text::BODY)) } } }
        }
    }
}

fn table(view: &View<'_>, place: &Place<'_>, example: &Example) -> Markup {
    let rows: Vec<_> = example
        .rows
        .iter()
        .filter(|(_, entry)| place.rule.is_none_or(|rule| entry.rules.iter().any(|own| own == rule)))
        .collect();
    let has_outcomes = rows.iter().any(|(_, entry)| view.of_case(entry, place.rule).is_some());
    // On the page of a rule each row would name that rule.
    let shown = |name: &str| name != "rule" || place.rule.is_none();
    html! {
        @if !rows.is_empty() {
            div.examples {
                @if !example.title.is_empty() || !example.capabilities.is_empty() {
                    p.needs { @if !example.title.is_empty() { span.need { "Examples: " (example.title) } " " } (capabilities(&example.capabilities)) }
                }
                div.scroll {
                    table.data {
                        thead { tr { @for name in example.header.iter().filter(|name| shown(name)) { th scope="col" { (name) } } @if has_outcomes { th scope="col" { "outcome" } } } }
                        tbody {
                            @for (cells, entry) in &rows {
                                tr id=(place.anchor(&entry.id)) {
                                    @for (name, cell) in example.header.iter().zip(cells).filter(|(name, _)| shown(name)) {
                                        td { @if name == "rule" { (parts::rule_link(view, place.up, cell)) } @else { (line(cell)) } }
                                    }
                                    @if has_outcomes { td { (outcome(view, place, entry)) (why(view, place, entry)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn outcome(view: &View<'_>, place: &Place<'_>, entry: &Entry) -> Markup {
    html! { @if let Some((outcome, _)) = view.of_case(entry, place.rule) { " " (parts::badge(outcome)) } }
}

/// Why a scenario has its outcome: what a target said may stand in it.
fn why(view: &View<'_>, place: &Place<'_>, entry: &Entry) -> Markup {
    html! {
        @if let Some((_, Some(reason))) = view.of_case(entry, place.rule) { p.reason { (parts::prose(reason)) } }
    }
}

/// A line of a feature: values in quotes and placeholders stand out.
fn line(words: &str) -> Markup {
    html! {
        @for (kind, span) in spans(words) {
            @match kind {
                Span::Plain => (span),
                Span::Value => span.value { (span) },
                Span::Placeholder => var { (span) },
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Plain,
    /// With its quotes.
    Value,
    /// With its angle brackets.
    Placeholder,
}

/// The line cut into spans, all of which together are the line again.
fn spans(line: &str) -> Vec<(Span, &str)> {
    let mut spans = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = line[at..].find(['"', '<']) {
        let start = at + found;
        let rest = &line[start + 1..];
        let (kind, close) = if line[start..].starts_with('"') {
            (Span::Value, rest.find('"'))
        } else {
            // `<` with a blank after it is a sign, not a placeholder.
            (Span::Placeholder, rest.find('>').filter(|_| !rest.starts_with([' ', '='])))
        };
        let Some(close) = close else {
            at = start + 1;
            continue;
        };
        let end = start + 1 + close + 1;
        spans.push((Span::Plain, &line[from..start]));
        spans.push((kind, &line[start..end]));
        (from, at) = (end, end);
    }
    spans.push((Span::Plain, &line[from..]));
    spans.retain(|(_, span)| !span.is_empty());
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_placeholders_stand_out() {
        let plain = |text| (Span::Plain, text);
        let check = |line: &str, expect: &[(Span, &str)]| assert_eq!(spans(line), expect, "{line}");
        check("the answer", &[plain("the answer")]);
        check(
            r#"the "a b" is <value>, done"#,
            &[
                plain("the "),
                (Span::Value, r#""a b""#),
                plain(" is "),
                (Span::Placeholder, "<value>"),
                plain(", done"),
            ],
        );
        check(r#"one " alone, a < b > c"#, &[plain(r#"one " alone, a < b > c"#)]);
    }

    #[test]
    fn an_anchor_is_the_id_below_the_role() {
        assert_eq!(anchor("utp/tool-service/callback/UTP-4.2-05/1"), "callback/UTP-4.2-05/1");
    }
}
