//! Which scenarios a request belongs to: by the mark that it mentions, or by what was made under the mark.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::mime_message::MimeMessage;
use super::request::{MAX_BODY, ProviderRequest};
use super::response::ProviderFault;
use crate::transcript::Transcript;

/// Things made under one mark that are remembered.
const MAX_MADE: usize = 2_000;

/// The marks of the scenarios that run.
#[derive(Default)]
pub(super) struct Correlation {
    followed: BTreeMap<String, Follower>,
    failing: BTreeMap<String, (Failing, ProviderFault)>,
    /// Ids with the marks under which they were made.
    made: HashMap<String, BTreeSet<String>>,
    /// How many of them a mark has.
    counts: HashMap<String, usize>,
}

/// Which of a mark's requests fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// All of them.
    Every,
    /// Those that change something.
    Change,
    /// Those that look at one mail or event.
    Look,
}

impl Failing {
    fn concerns(self, request: &ProviderRequest<'_>) -> bool {
        match self {
            Self::Every => true,
            Self::Change => request.method != "GET",
            Self::Look => {
                let lists = ["events", "messages", "threads"];
                request.method == "GET"
                    && request.segments.last().is_some_and(|last| !lists.contains(&last.as_str()))
            }
        }
    }
}

/// Who wants to know.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) scenario: String,
    pub(super) transcript: Arc<Transcript>,
}

impl Correlation {
    pub(super) fn follow(&mut self, mark: &str, scenario: &str, transcript: &Arc<Transcript>) {
        let follower = Follower { scenario: scenario.to_owned(), transcript: Arc::clone(transcript) };
        self.followed.insert(mark.to_lowercase(), follower);
    }

    pub(super) fn fail(&mut self, mark: &str, failing: Failing, fault: ProviderFault) {
        self.failing.insert(mark.to_lowercase(), (failing, fault));
    }

    pub(super) fn forget(&mut self, mark: &str) {
        let mark = mark.to_lowercase();
        self.followed.remove(&mark);
        self.failing.remove(&mark);
        self.counts.remove(&mark);
        self.made.retain(|_, correlation| {
            correlation.remove(&mark);
            !correlation.is_empty()
        });
    }

    /// Remembers what was made under a mark.
    pub(super) fn remember(&mut self, mark: &str, ids: impl IntoIterator<Item = String>) {
        let mark = mark.to_lowercase();
        let count = self.counts.entry(mark.clone()).or_default();
        for id in ids.into_iter().filter(|id| !id.is_empty()) {
            if *count < MAX_MADE && self.made.entry(id.to_lowercase()).or_default().insert(mark.clone()) {
                *count += 1;
            }
        }
    }

    /// The marks that a request concerns.
    pub(super) fn concerned(
        &self,
        request: &ProviderRequest<'_>,
        mime_message: Option<&MimeMessage>,
    ) -> BTreeSet<String> {
        if self.followed.is_empty() && self.failing.is_empty() || request.body.len() > MAX_BODY {
            return BTreeSet::new();
        }
        let mut names = BTreeSet::new();
        let text = text_of(request, mime_message, &mut names);
        let mentioned =
            self.followed.keys().chain(self.failing.keys()).filter(|mark| mentions(&text, mark)).cloned();
        let by_name = names.iter().filter_map(|name| self.made.get(name)).flatten().cloned();
        mentioned.chain(by_name).collect()
    }

    /// How a request of these marks is to fail, if it is.
    pub(super) fn failure(
        &self,
        correlation: &BTreeSet<String>,
        request: &ProviderRequest<'_>,
    ) -> Option<ProviderFault> {
        let failing = correlation.iter().filter_map(|mark| self.failing.get(mark));
        failing.filter(|(failing, _)| failing.concerns(request)).map(|(_, fault)| *fault).next()
    }

    /// Who follows these marks.
    pub(super) fn followers<'m>(
        &'m self,
        correlation: &'m BTreeSet<String>,
    ) -> impl Iterator<Item = &'m Follower> + 'm {
        correlation.iter().filter_map(|mark| self.followed.get(mark))
    }
}

/// Everything that a request says, in lower case; and what in it may be an id.
fn text_of(
    request: &ProviderRequest<'_>,
    mime_message: Option<&MimeMessage>,
    names: &mut BTreeSet<String>,
) -> String {
    let mut text = request.segments.join("/");
    names.extend(request.segments.iter().map(|segment| segment.to_lowercase()));
    for (name, value) in &request.query {
        text.extend(["\n", name, "=", value]);
        let ends = |character: char| character.is_whitespace() || matches!(character, ':' | '"' | '(' | ')');
        names.extend(value.split(ends).map(|word| word.trim_matches(['<', '>']).to_lowercase()));
    }
    match &request.json {
        Some(json) => gather(json, &mut text, names),
        None => text.push_str(&String::from_utf8_lossy(request.body)),
    }
    if let Some(mime_message) = mime_message {
        text.push('\n');
        text.push_str(&mime_message.everything());
        names.extend(mime_message.ancestors().map(str::to_lowercase));
    }
    text.to_lowercase()
}

fn gather(value: &Value, text: &mut String, names: &mut BTreeSet<String>) {
    match value {
        Value::String(string) => {
            text.push('\n');
            text.push_str(string);
            if string.len() < 1024 {
                names.insert(string.to_lowercase());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, text, names)),
        Value::Object(members) => members.values().for_each(|member| gather(member, text, names)),
        _ => {}
    }
}

/// Whether a text has a mark as a word of its own: `run 1` is not mentioned by `run 12`.
fn mentions(text: &str, mark: &str) -> bool {
    if mark.is_empty() {
        return false;
    }
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + mark.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}
