//! Mutants as data: what each breaks, which rule must notice, and what it may take down with it.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::Level;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::spec::library;
use crate::spec::registry::Registry;
use crate::spec::revision::{self, Period};
use crate::transcript::Kind;

/// Declares that a fault takes the ground from under any other rule.
pub const EVERYTHING: &str = callmark_reports::matrix::ANY_RULE;

/// One way of breaking one rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// Unique, for example `callback-without-status`.
    pub id: String,
    /// The rule that must notice.
    pub rule: String,
    /// What the broken implementation does, one clause.
    pub does: String,
    /// Other rules that notice too; `*` for any.
    #[serde(default)]
    pub collateral: BTreeSet<String>,
    /// What goes wrong on the wire.
    pub fault: Vec<Fault>,
    /// Why it has no late twin, where its rule is judged in every exchange.
    #[serde(default)]
    pub no_late_twin: Option<String>,
    /// Whether it lets the first message of a scenario pass that it would change.
    #[serde(skip)]
    pub late: bool,
    /// The last revision in which it breaks its rule, where a later one has the rule and lets this pass.
    #[serde(default)]
    pub until: Option<String>,
    /// Whether the scenarios with its file's dear capability run too.
    #[serde(default)]
    pub dear: bool,
    /// The capability whose scenarios do not run.
    #[serde(skip)]
    pub spares: Option<String>,
    /// The profile, from the file's name.
    #[serde(skip)]
    pub profile: String,
}

impl Mutant {
    /// The revisions in which it breaks its rule.
    pub fn period(&self) -> Period {
        Period { since: None, until: self.until.clone() }
    }
}

/// What happens to messages of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The kind.
    pub on: Kind,
    /// All of these must hold.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// Done in order.
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
}

/// Something that holds for a message or not. Members are named by JSON Pointers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The member is there and not null.
    Has(String),
    /// The member is not there, or null.
    Lacks(String),
    /// The member is a string.
    Text(String),
    /// The member has this value.
    Equals(At),
    /// The channel contains this.
    Channel(String),
    /// A header has this value; `{project_id}` is filled in.
    Header(Header),
    /// The header is not there.
    NoHeader(String),
    /// Something is kept under this name for the call.
    Kept(String),
    /// Something is kept under this name for all calls of the project.
    #[serde(rename = "kept_wide")]
    KeptInProject(String),
    /// This is kept for the call.
    KeptIs(SavedValue),
    /// It is the nth message of this kind for its call, from 1.
    Nth(u32),
    /// More messages of this kind than this have come, of whatever call.
    After(u32),
    /// More messages of this kind than this have come in its project.
    #[serde(rename = "busy")]
    AfterInProject(u32),
}

/// A member and a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// JSON Pointer.
    pub at: String,
    /// The value.
    pub to: Value,
}

/// A name and the value that is kept under it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedValue {
    /// The name.
    #[serde(rename = "as")]
    pub name: String,
    /// The value.
    pub to: Value,
}

/// A change. Members are named by JSON Pointers.
///
/// In the answer of an MCP server the JSON of the first content block is seen as the member `envelope`. An empty
/// pointer is the end of a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Removes a member.
    Drop(String),
    /// Sets a member.
    Set(At),
    /// Sets a member to null.
    Null(String),
    /// Turns a member into a string.
    Stringify(String),
    /// Turns a text that holds JSON into what it holds.
    Parse(String),
    /// Lowers the letters of a member.
    Lower(String),
    /// Keeps so many characters of a text.
    Cut(At),
    /// Keeps a member's value for a later message of the same call.
    Stash(Named),
    /// Sets a member to a value that was kept; nothing when none was.
    Paste(Named),
    /// Keeps the length of a member in bytes, as JSON.
    Measure(Named),
    /// Sets a member to a string of the length that was kept.
    Fill(Named),
    /// Removes a member whose value was seen before.
    DropKnown(String),
    /// Replaces the whole body.
    Become(Value),
    /// Puts text around the JSON of a text.
    Wrap(Wrap),
    /// Sets a header.
    Header(Header),
    /// Replaces a part of a header.
    HeaderPart(HeaderPart),
    /// Removes a header.
    DropHeader(String),
    /// Keeps a header's value for a later message of the same call.
    StashHeader(HeaderNamed),
    /// Sets a header to a value that was kept.
    PasteHeader(HeaderNamed),
    /// Replaces text in the channel.
    Channel(Replace),
    /// The message is lost.
    Swallow,
    /// The target receives nothing more in this project, from the next message on.
    Deafen,
    /// The message waits until the next report or command of its call has passed.
    Hold,
    /// The message comes twice.
    Twice,
    /// A further message is sent.
    Emit(Emit),
    /// A repeated command looks like a new call to the target, and its answers like the old one's.
    RerunRepeats,
    /// A command is lost when its id was seen before, whatever its turn.
    SwallowKnownIds,
    /// The report points to a copy of the card, saved under another id.
    FreshCard,
    /// A call that stores a shaped result becomes two: one that stores the whole, one that shapes.
    StoreUnshaped,
}

impl Action {
    /// Whether it only remembers something of a message, and changes nothing.
    pub(super) fn remembers(&self) -> bool {
        matches!(self, Self::Stash(_) | Self::StashHeader(_) | Self::Measure(_))
    }

    /// Whether it is done to a repetition alone.
    pub(super) fn is_about_repeats(&self) -> bool {
        matches!(self, Self::RerunRepeats | Self::SwallowKnownIds)
    }

    /// Whether it needs a card that was saved before.
    pub(super) fn is_about_cards(&self) -> bool {
        matches!(self, Self::FreshCard)
    }
}

/// A member and the name under which its value is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// JSON Pointer.
    pub at: String,
    /// The name.
    #[serde(rename = "as")]
    pub name: String,
    /// Whether all calls of the project share the value.
    #[serde(default)]
    pub wide: bool,
}

/// Text around other text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrap {
    /// What comes before it.
    #[serde(default)]
    pub before: String,
    /// What comes after it.
    #[serde(default)]
    pub after: String,
}

/// A header whose parts are separated by hyphens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderPart {
    /// Lower case.
    pub name: String,
    /// Number of the part, from 0.
    pub part: usize,
    /// What takes its place.
    pub to: String,
}

/// A header and its value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Lower case.
    pub name: String,
    /// The value.
    pub to: String,
}

/// A header and the name under which its value is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderNamed {
    /// Lower case.
    pub header: String,
    /// The name.
    #[serde(rename = "as")]
    pub name: String,
    /// Whether all calls of the project share the value.
    #[serde(default)]
    pub wide: bool,
}

/// Text and what takes its place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// The text.
    pub from: String,
    /// What takes its place; `{project_id}` is the message's project.
    pub to: String,
}

/// A message that nobody should have sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    /// Its kind.
    pub kind: Kind,
    /// Its channel; `{project_id}` and `{agent_id}` are filled in, and `{/pointer}` with a member of the message.
    pub channel: String,
    /// Its body; strings are filled in likewise.
    #[serde(default)]
    pub body: Value,
    /// Headers in place of that of the call, where it comes beside an answer; `{call}` is the call's number.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Mutants that cannot be read. They travel inside the binary, so this is a bug of ours.
#[derive(Debug, Error)]
#[error("the mutants have {} faults: {}", faults.len(), faults.join("; "))]
pub struct MutantError {
    /// One sentence a fault.
    pub faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantFile {
    /// A capability whose scenarios take long, for instance because a browser must begin.
    #[serde(default)]
    dear: Option<String>,
    /// Later revisions of the protocol whose messages the faults change likewise.
    #[serde(default)]
    revisions: Vec<String>,
    mutant: Vec<Mutant>,
}

/// All mutants, in registry order of their profiles' files.
///
/// # Errors
/// All faults at once: syntax, a double id, an unknown rule, a breakable rule without a mutant.
pub fn mutants(registry: &Registry) -> Result<Vec<Mutant>, MutantError> {
    let mut all: Vec<Mutant> = Vec::new();
    let mut faults = Vec::new();
    for (profile, text) in library::mutant_files() {
        match toml::from_str::<MutantFile>(text) {
            Ok(file) => {
                let revised = file.revisions.iter().map(|revision| revision::join(profile, revision));
                let profiles: Vec<String> = std::iter::once(profile.to_owned()).chain(revised).collect();
                for mutant in file.mutant {
                    let spares = file.dear.clone().filter(|_| !mutant.dear);
                    let holds = |own: &&String| {
                        let (_, revision) = revision::split(own);
                        let rule = registry.rule(&mutant.rule);
                        mutant.period().includes(revision)
                            && (revision.is_none() || rule.is_some_and(|rule| rule.holds_for(own)))
                    };
                    all.extend(profiles.iter().filter(holds).map(|own| Mutant {
                        profile: own.clone(),
                        spares: spares.clone(),
                        ..mutant.clone()
                    }));
                }
            }
            Err(error) => faults.push(format!("`{profile}`: {error}")),
        }
    }
    let mut ids = BTreeSet::new();
    for mutant in &all {
        if !ids.insert((&mutant.profile, &mutant.id)) {
            faults.push(format!("mutant `{}` stands twice", mutant.id));
        }
        match registry.rule(&mutant.rule) {
            Some(rule) if rule.holds_for(&mutant.profile) => {}
            _ => faults.push(format!(
                "mutant `{}` breaks `{}`, which is no rule of `{}`",
                mutant.id, mutant.rule, mutant.profile
            )),
        }
    }
    for rule in registry.rules().iter().filter(|rule| rule.level != Level::May && rule.excluded.is_none()) {
        for profile in rule.profiles.iter().filter(|profile| !rule.is_pending(profile)) {
            // A rule that a later revision brought is broken in that one.
            let is_own = |mutant: &Mutant| {
                mutant.profile == *profile
                    || (!rule.holds_for(profile) && revision::split(&mutant.profile).0 == profile)
            };
            if !all.iter().any(|mutant| is_own(mutant) && mutant.rule == rule.id) {
                faults.push(format!("rule `{}` has no mutant in `{profile}`", rule.id));
            }
        }
    }
    if faults.is_empty() { Ok(all) } else { Err(MutantError { faults }) }
}
