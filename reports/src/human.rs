//! What the terminal shows when a run is over: the verdict, a block for each failure, the verdict again.
//!
//! The blocks follow what compilers print, since that is what readers and editors already know.
//! Deliberately absent: printing, asking whether there is a terminal, and message bodies (the page has them).

use std::fmt::Write as _;

use crate::record::{Evidence, Outcome, RuleEntry, RunRecord, ScenarioEntry, Verdict};
use crate::{text, view};

/// More blocks than this scroll the verdict out of sight; the rest is counted.
const BLOCKS: usize = 20;
/// More rules than this are counted where only their ids are listed.
const IDS: usize = 12;
/// More scenarios of one rule than this are counted.
const OTHERS: usize = 3;
/// More messages than this are counted.
const FRAMES: usize = 6;

/// How the terminal's text looks. Meaning never depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Columns at which sentences wrap; commands never do. Below 40 it is taken as 40.
    pub width: u16,
}

/// The end of a run for people at a terminal.
pub fn human(record: &RunRecord, style: Style) -> String {
    let mut page = Page { out: String::new(), style };
    let mut body = Page { out: String::new(), style };
    body.blocks(record, Outcome::Failed, Page::failure);
    body.blocks(record, Outcome::Warned, Page::warning);
    body.remarks(record);
    body.causes(record, Outcome::CouldNotRun);
    body.causes(record, Outcome::NotObserved);
    body.causes(record, Outcome::KnownFailing);
    page.verdict(record);
    page.facts(record);
    page.out.push('\n');
    page.out.push_str(&body.out);
    page.chaos(record);
    page.profiles(record);
    // Blocks push the first verdict out of sight.
    if !body.out.is_empty() {
        page.verdict(record);
    }
    page.where_to_look(record);
    page.out
}

struct Page {
    out: String,
    style: Style,
}

#[derive(Clone, Copy)]
enum Ink {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Blue,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "1;31",
            Self::Yellow => "1;33",
            Self::Green => "1;32",
            Self::Blue => "34",
        }
    }
}

impl Page {
    /// What came of disturbing replicas, where somebody asked for it.
    fn chaos(&mut self, record: &RunRecord) {
        for report in &record.chaos {
            let _ = writeln!(self.out, "{}: {}", report.title(), report.sentence());
            for finding in &report.findings {
                let _ = writeln!(self.out, "  {}\n    hint: {}", finding.message, finding.hint);
            }
            self.out.push('\n');
        }
    }

    fn verdict(&mut self, record: &RunRecord) {
        let ink = match record.verdict {
            Verdict::Conformant => Ink::Green,
            Verdict::Nonconformant => Ink::Red,
            Verdict::Incomplete => Ink::Yellow,
        };
        let head = format!("{}: ", view::verdict(record));
        let painted = self.paint(ink, &head);
        let _ = writeln!(self.out, "{painted}{}", self.wrap(&view::sentence(record), head.len(), 2));
    }

    fn facts(&mut self, record: &RunRecord) {
        let suite = format!("callmark {}, seed {}", text::line(&record.suite.version, 80), record.suite.seed);
        let scenarios = record.summary.scenarios.to_string();
        let facts = [
            ("target", Some(view::target(record))),
            ("suite", Some(suite)),
            ("edition", view::edition(record)),
            ("rules", Some(view::totals(record))),
            ("scenarios", Some(scenarios)),
        ];
        for (key, fact) in facts.into_iter().filter_map(|(key, fact)| Some((key, fact?))) {
            self.fact(key, &fact);
        }
        for (n, own) in view::revisions(record).iter().enumerate() {
            let breaks = own.breaks().map(|breaks| format!(", {breaks}")).unwrap_or_default();
            let fact = format!("{}: {}{breaks}", own.name, own.verdict.name());
            self.fact(if n == 0 { "revisions" } else { "" }, &fact);
        }
    }

    fn fact(&mut self, key: &str, fact: &str) {
        let key = self.paint(Ink::Dim, &format!("{key:<9}"));
        let _ = writeln!(self.out, "  {key}  {}", self.wrap(fact, 13, 13));
    }

    fn blocks(&mut self, record: &RunRecord, outcome: Outcome, block: fn(&mut Self, &RuleEntry)) {
        self.block_each(&view::with_outcome(record, outcome), view::label(outcome), block);
    }

    /// What is wrong by checks that do not count.
    fn remarks(&mut self, record: &RunRecord) {
        let title = view::newer_title(record);
        self.block_each(&view::remarks(record), &title, |page, rule| page.remark(&title, rule));
    }

    fn block_each(&mut self, rules: &[&RuleEntry], label: &str, block: impl Fn(&mut Self, &RuleEntry)) {
        for rule in rules.iter().take(BLOCKS) {
            block(self, rule);
            self.out.push('\n');
        }
        if rules.len() > BLOCKS {
            let _ = writeln!(self.out, "… and {} more {label}\n", rules.len() - BLOCKS);
        }
    }

    fn failure(&mut self, rule: &RuleEntry) {
        self.headline(Ink::Red, "error", rule, view::reason(rule));
        let scenarios = view::explaining(rule);
        let found =
            scenarios.iter().find_map(|scenario| scenario.evidence.as_ref().map(|found| (*scenario, found)));
        if let Some((_, evidence)) = found {
            self.arrow(&evidence.location);
            let _ = writeln!(
                self.out,
                "   {} {}",
                self.paint(Ink::Blue, "|"),
                text::line(&evidence.step, text::LINE)
            );
        }
        self.asked(rule);
        if let Some((scenario, evidence)) = found {
            self.seen(evidence);
            self.others(&scenarios, scenario);
        }
    }

    fn warning(&mut self, rule: &RuleEntry) {
        self.remark("warning", rule);
    }

    /// Something that makes nobody fail.
    fn remark(&mut self, kind: &str, rule: &RuleEntry) {
        self.headline(Ink::Yellow, kind, rule, view::reason(rule));
        let found = view::explaining(rule).into_iter().find_map(|scenario| scenario.evidence.as_ref());
        if let Some(evidence) = found {
            self.arrow(&evidence.location);
            self.asked(rule);
            self.note("hint", &evidence.hint);
            if let Some(scenario) = &evidence.scenario {
                self.note("seen in", scenario);
            }
        } else {
            self.asked(rule);
        }
    }

    fn asked(&mut self, rule: &RuleEntry) {
        let asked =
            format!("{} {} ({}, {})", view::level(rule.level), rule.statement, rule.source, rule.profile);
        self.note("rule", &asked);
    }

    fn seen(&mut self, evidence: &Evidence) {
        if let Some(pointer) = &evidence.pointer {
            self.note("pointer", pointer);
        }
        if let Some(expected) = &evidence.expected {
            let words = text::words(expected).map(|words| text::line(words, text::LINE));
            self.shown("expected", &words.unwrap_or_else(|| text::value_line(expected, text::LINE)));
        }
        let actual = evidence.actual.as_ref().map(|actual| text::value_line(actual, text::LINE));
        self.shown("actual", actual.as_deref().unwrap_or("absent"));
        self.note("hint", &evidence.hint);
        for frame in evidence.frames.iter().take(FRAMES) {
            let seen = format!("{} {}: {}", frame.n, view::route(frame), text::line(&frame.channel, 200));
            self.command("message", &seen);
        }
        if evidence.frames.len() > FRAMES {
            let more = text::count(evidence.frames.len() - FRAMES, "more message");
            self.note("message", &format!("… and {more}"));
        }
        self.command("rerun", &evidence.rerun);
        if let Some(reproduce) = &evidence.reproduce {
            self.command("by hand", reproduce);
        }
    }

    fn others(&mut self, scenarios: &[&ScenarioEntry], shown: &ScenarioEntry) {
        let others = scenarios.iter().filter(|scenario| !std::ptr::eq(**scenario, shown));
        let others: Vec<_> = others.collect();
        for other in others.iter().take(OTHERS) {
            let why = view::why(other).unwrap_or(&other.name);
            let at = format!("{}:{}", text::line(&other.file, 200), other.line);
            self.shown("also", &format!("{at} {}", text::line(why, 200)));
        }
        if others.len() > OTHERS {
            self.note("also", &format!("… and {}", text::count(others.len() - OTHERS, "more scenario")));
        }
    }

    fn causes(&mut self, record: &RunRecord, outcome: Outcome) {
        let causes = view::causes(record, outcome);
        for cause in causes.iter().take(BLOCKS) {
            let head = view::label(outcome);
            let rules = text::count(cause.rules.len(), "rule");
            let painted = self.paint(Ink::Yellow, head);
            let rest = format!(" ({rules}): {}", text::line(cause.reason, text::LINE));
            let _ = writeln!(self.out, "{painted}{}", self.wrap(&rest, head.len(), 2));
            let mut ids: Vec<_> = cause.rules.iter().take(IDS).map(|rule| text::line(&rule.id, 80)).collect();
            if cause.rules.len() > IDS {
                ids.push(format!("… and {} more", cause.rules.len() - IDS));
            }
            self.shown("rules", &ids.join(", "));
            let evidence = cause.rules.iter().flat_map(|rule| view::explaining(rule));
            if let Some(evidence) = evidence.into_iter().find_map(|scenario| scenario.evidence.as_ref()) {
                self.note("hint", &evidence.hint);
                self.command("rerun", &evidence.rerun);
            }
            self.out.push('\n');
        }
        if causes.len() > BLOCKS {
            let _ = writeln!(self.out, "… and {}\n", text::count(causes.len() - BLOCKS, "more cause"));
        }
    }

    fn profiles(&mut self, record: &RunRecord) {
        let profiles = view::profiles(record);
        let longest = profiles.iter().map(|profile| profile.name.chars().count()).max().unwrap_or(0).min(40);
        for profile in &profiles {
            let name = text::line(profile.name, 80);
            let counts = self.wrap(&profile.counts(), longest + 2, longest + 2);
            let _ = writeln!(self.out, "{name:<longest$}  {counts}");
        }
        if !profiles.is_empty() {
            self.out.push('\n');
        }
    }

    fn where_to_look(&mut self, record: &RunRecord) {
        let mut sentence = "open `index.html` in the output directory for all evidence".to_owned();
        let urgent = [Outcome::Failed, Outcome::CouldNotRun, Outcome::NotObserved, Outcome::Warned];
        let first =
            urgent.into_iter().find_map(|outcome| view::with_outcome(record, outcome).into_iter().next());
        if let Some(rule) = first {
            let id = text::line(&rule.id, 80);
            let _ = write!(sentence, "; `callmark explain {id}` shows what that rule asks for");
        }
        let _ = writeln!(self.out, "  {}", self.wrap(&sentence, 2, 2));
    }

    fn headline(&mut self, ink: Ink, kind: &str, rule: &RuleEntry, message: &str) {
        let head = format!("{kind}[{}]", text::line(&rule.id, 80));
        let painted = self.paint(ink, &head);
        let message = self.wrap(&format!(": {}", text::line(message, text::LINE)), head.len(), 2);
        let _ = writeln!(self.out, "{painted}{}", self.paint(Ink::Bold, &message));
    }

    fn arrow(&mut self, location: &str) {
        let _ = writeln!(self.out, "  {} {}", self.paint(Ink::Blue, "-->"), text::line(location, text::LINE));
    }

    /// `   = hint:     …`, wrapped under itself.
    fn note(&mut self, key: &str, value: &str) {
        self.shown(key, &text::line(value, text::LINE));
    }

    /// Like [`Self::note`], for text that is safe and short already: cut twice, it would give a false length.
    fn shown(&mut self, key: &str, value: &str) {
        let value = self.wrap(value, 15, 15);
        self.keyed(key, &value);
    }

    /// Like [`Self::note`] but on one line, so that it can be copied.
    fn command(&mut self, key: &str, value: &str) {
        self.keyed(key, &text::line(value, text::BODY));
    }

    fn keyed(&mut self, key: &str, value: &str) {
        let key = self.paint(Ink::Dim, &format!("{:<9}", format!("{key}:")));
        let _ = writeln!(self.out, "   {} {key} {value}", self.paint(Ink::Blue, "="));
    }

    fn paint(&self, ink: Ink, words: &str) -> String {
        if self.style.color { format!("\u{1b}[{}m{words}\u{1b}[0m", ink.code()) } else { words.to_owned() }
    }

    /// Breaks at blanks. The first line begins at column `at`, the others at column `indent`.
    fn wrap(&self, words: &str, at: usize, indent: usize) -> String {
        let width = usize::from(self.style.width.max(40));
        let mut out = String::new();
        let mut column = at;
        for (n, word) in words.split(' ').enumerate() {
            let len = word.chars().count();
            if n > 0 && column + 1 + len > width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if n > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += len;
        }
        out
    }
}
