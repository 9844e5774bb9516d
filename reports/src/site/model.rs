//! What the site shows, as plain data.
//!
//! The suite knows rules and features, the schemas know messages, the command line knows the reference:
//! whoever has them fills this in, and [`super::pages`] is a pure function of it.

use serde_json::Value;

use crate::matrix::Matrix;
use crate::record::{FrameExcerpt, Level, RunRecord};

/// Everything.
#[derive(Clone, Debug)]
pub struct Site {
    /// Version of Callmark.
    pub version: String,
    /// SHA-256 over all features and the registry, lower-case hex.
    pub features_sha256: String,
    /// In reading order.
    pub documents: Vec<Document>,
    /// In reading order.
    pub roles: Vec<Role>,
    /// In document order.
    pub rules: Vec<RuleText>,
    /// By path.
    pub chapters: Vec<Chapter>,
    /// By family, those of the peers first.
    pub messages: Vec<MessageShape>,
    /// One or more for each document.
    pub exchanges: Vec<Exchange>,
    /// What later revisions changed, one for each step from a revision to the next.
    pub changes: Vec<Change>,
    /// What came of a run, shown with each rule.
    pub run: Option<RunRecord>,
    /// What came of sabotage, on a page of its own.
    pub matrix: Option<Matrix>,
}

/// One of the protocol documents.
#[derive(Clone, Debug)]
pub struct Document {
    /// Name within file names, for example `utp`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What its rules' ids begin with, for example `UTP-`.
    pub prefix: String,
    /// What it is about, in a few sentences.
    pub about: String,
}

/// A role that an implementation can have.
#[derive(Clone, Debug)]
pub struct Role {
    /// The profile, for example `utp.tool-service`.
    pub id: String,
    /// Who that is, for example `Tool Service`.
    pub title: String,
    /// What it does, in a sentence.
    pub about: String,
    /// Whom the suite plays for it.
    pub peers: String,
}

/// One normative statement.
#[derive(Clone, Debug)]
pub struct RuleText {
    /// For example `UTP-4.1-35`.
    pub id: String,
    /// MUST, SHOULD or MAY.
    pub level: Level,
    /// The profiles that it holds for.
    pub profiles: Vec<String>,
    /// In our own words.
    pub statement: String,
    /// Document and section.
    pub source: String,
    /// The first revision of its protocol that has it; absent where that is the one that the documents describe.
    pub since: Option<String>,
    /// The last revision that has it; absent where all later ones have.
    pub until: Option<String>,
    /// Ids of the rules of earlier revisions that it takes the place of.
    pub replaces: Vec<String>,
    /// Why no black box can test it.
    pub excluded: Option<String>,
    /// What it is judged in, with the reason where that is not every exchange.
    pub judged_in: String,
    /// What breaks it.
    pub mutants: Vec<MutantText>,
}

/// One way of breaking a rule.
#[derive(Clone, Debug)]
pub struct MutantText {
    /// For example `callback-without-status`.
    pub id: String,
    /// The profile that it is tried in.
    pub profile: String,
    /// What the broken implementation does, one clause.
    pub does: String,
    /// Other rules that notice too; `*` for any.
    pub collateral: Vec<String>,
}

/// A feature file.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Relative path, for example `features/utp/tool-service/callback.feature`.
    pub file: String,
    /// The profile that it is about.
    pub profile: String,
    /// The feature's title.
    pub title: String,
    /// The feature's description, on one line.
    pub description: String,
    /// Its `Rule:` blocks in order; scenarios outside of any come first, without a title.
    pub groups: Vec<Group>,
}

/// A `Rule:` block.
#[derive(Clone, Debug)]
pub struct Group {
    /// The invariant, as the feature words it.
    pub title: Option<String>,
    /// In order.
    pub scenarios: Vec<ScenarioText>,
}

/// A scenario, or an outline with its tables.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    /// As written, of an outline with its placeholders.
    pub title: String,
    /// Set where it asks for less than its rule's level.
    pub level: Option<Level>,
    /// What a target must declare.
    pub capabilities: Vec<String>,
    /// As written.
    pub steps: Vec<StepText>,
    /// Which case it is, unless it is an outline.
    pub entry: Option<Entry>,
    /// The tables of an outline.
    pub examples: Vec<Example>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct StepText {
    /// `Given`, `When`, `Then`, `And` or `But`.
    pub keyword: String,
    /// The rest of the line.
    pub text: String,
    /// Rows of cells below it.
    pub table: Vec<Vec<String>>,
    /// A text below it.
    pub document: Option<String>,
}

/// A table of an outline.
#[derive(Clone, Debug)]
pub struct Example {
    /// May be empty.
    pub title: String,
    /// What a target must declare for these rows.
    pub capabilities: Vec<String>,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Cells, and which case the row is.
    pub rows: Vec<(Vec<String>, Entry)>,
}

/// A case as reports name it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// For example `utp/tool-service/callback/UTP-4.2-05/1`.
    pub id: String,
    /// Line of the scenario or of the row, from 1.
    pub line: u32,
    /// The rules that it speaks for.
    pub rules: Vec<String>,
}

/// The shape of a message or a file.
#[derive(Clone, Debug)]
pub struct MessageShape {
    /// Folder and name, for example `utp/callback`.
    pub path: String,
    /// JSON Schema 2020-12.
    pub schema: Value,
}

/// One exchange, with real messages.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The [`Document`] that it belongs to.
    pub document: String,
    /// What it shows.
    pub title: String,
    /// Who meets, and what for.
    pub about: String,
    /// At least one: the same exchange in each revision that it was recorded in, oldest first.
    pub recordings: Vec<Recording>,
}

/// The messages of an exchange in one revision.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of the revision, for example `v1r4`.
    pub revision: String,
    /// The scenario whose messages these are, for example `utp/execution/lifecycle/UTP-3.1-01/1`.
    pub scenario: String,
    /// In the order in which they follow from each other.
    pub messages: Vec<AnnotatedFrame>,
}

/// What a revision of a protocol changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// Name within file names, for example `utp-v1r4`.
    pub id: String,
    /// For example `UTP: from v1r3 to v1r4`.
    pub title: String,
    /// In a few sentences.
    pub about: String,
    /// The revision before, as rules name it.
    pub from: String,
    /// The revision after, as rules name it.
    pub to: String,
    /// Ids of the [`Document`]s whose rules may have come or gone.
    pub documents: Vec<String>,
    /// Messages of both revisions.
    pub comparisons: Vec<Comparison>,
}

/// A message as the one revision has it, and as the other.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What it is, for example `The command`.
    pub title: String,
    /// What is different.
    pub about: String,
    /// As it crossed the wire in the revision before; absent where that has no such message.
    pub before: Option<FrameExcerpt>,
    /// As it crossed the wire in the revision after; absent where that has no such message.
    pub after: Option<FrameExcerpt>,
}

/// A message of an exchange.
#[derive(Clone, Debug)]
pub struct AnnotatedFrame {
    /// As it crossed the wire.
    pub frame: FrameExcerpt,
    /// Who sends it to whom, for example `agent → Hub`.
    pub route: String,
    /// What it is for.
    pub note: String,
}

/// A file of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Relative path, with `/`.
    pub path: String,
    /// The whole file.
    pub content: String,
}
