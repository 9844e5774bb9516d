//! The exchanges of the first page, as the reference plays them: what is shown is what it says today.

use std::collections::BTreeSet;
use std::sync::Arc;

use callmark_reports::record::FrameExcerpt;
use callmark_reports::site::{AnnotatedFrame, Exchange, Recording};
use callmark_suite::engine::run::{Library, RunOutput, Selection};
use callmark_suite::engine::target::guard;
use callmark_suite::families::utp::revision::{CONTROL_MEMBERS, Revision};
use callmark_suite::transcript::Kind;

use super::changes;
use super::stories::{STORIES, Story};
use crate::args::CertifyArguments;
use crate::broker::BrokerChoice;
use crate::certify;
use crate::exit::Failure;
use crate::setup;

/// What the reference said in the scenarios of all stories.
pub(super) struct Recorded<'a> {
    library: &'a Library,
    output: RunOutput,
}

impl<'a> Recorded<'a> {
    /// Runs the reference.
    pub(super) fn run(library: &'a Arc<Library>) -> Result<Self, Failure> {
        Ok(Self { library, output: record(library)? })
    }

    /// The exchanges of all stories.
    pub(super) fn exchanges(&self) -> Result<Vec<Exchange>, Failure> {
        STORIES.iter().map(|story| self.exchange(story)).collect()
    }

    fn exchange(&self, story: &Story) -> Result<Exchange, Failure> {
        let first = story.later.as_ref().map_or("", |later| later.first);
        let mut recordings = vec![self.recording(story, first, story.scenario.to_owned(), &[])?];
        if let Some(later) = &story.later {
            let scenario = in_revision(story.scenario, later.revision);
            recordings.push(self.recording(story, later.revision, scenario, later.notes)?);
        }
        Ok(Exchange {
            document: story.document.to_owned(),
            title: story.title.to_owned(),
            about: story.about.to_owned(),
            recordings,
        })
    }

    fn recording(
        &self,
        story: &Story,
        revision: &str,
        scenario: String,
        notes: &[(usize, &str)],
    ) -> Result<Recording, Failure> {
        let kinds: Vec<Kind> = story.messages.iter().map(|(kind, ..)| *kind).collect();
        let frames = self.frames(&scenario, &kinds)?;
        let messages = frames.into_iter().zip(story.messages).enumerate();
        let messages = messages.map(|(at, (frame, (_, route, note)))| {
            let own = notes.iter().find(|(place, _)| *place == at).map(|(_, note)| *note);
            AnnotatedFrame { frame, route: (*route).to_owned(), note: own.unwrap_or(note).to_owned() }
        });
        Ok(Recording { revision: revision.to_owned(), messages: messages.collect(), scenario })
    }

    /// The messages of a scenario, which are of these kinds in this order.
    pub(super) fn frames(&self, scenario: &str, kinds: &[Kind]) -> Result<Vec<FrameExcerpt>, Failure> {
        let case = self.library.catalogue.cases().iter().find(|case| case.id == scenario);
        let case = case.ok_or_else(|| Failure::internal(format!("there is no scenario `{scenario}`")))?;
        let frames = self.output.exchange(case, kinds).map_err(|error| {
            Failure::incomplete(format!("the reference did not play an exchange of the site: {error}"))
                .hint("`callmark certify --bundled` says what is wrong with it")
        })?;
        Ok(frames.into_iter().map(as_written).collect())
    }
}

/// The message with the names of its headers as UTP writes them: a transcript has those of what arrived in lower case.
fn as_written(mut frame: FrameExcerpt) -> FrameExcerpt {
    let written = |name: &str| {
        let mut all = CONTROL_MEMBERS.iter().filter_map(|member| Revision::V1r4.header(member));
        all.find(|own| own.eq_ignore_ascii_case(name)).map(str::to_owned)
    };
    let headers = std::mem::take(&mut frame.headers).into_iter();
    frame.headers = headers.map(|(name, value)| (written(&name).unwrap_or(name), value)).collect();
    frame
}

/// The id of a scenario that is run for a later revision.
fn in_revision(scenario: &str, revision: &str) -> String {
    format!("{scenario}@{revision}")
}

/// The scenarios of all stories and comparisons.
fn scenarios() -> BTreeSet<String> {
    let first = STORIES.iter().map(|story| story.scenario.to_owned());
    let later =
        STORIES.iter().filter_map(|story| Some(in_revision(story.scenario, story.later.as_ref()?.revision)));
    first.chain(later).chain(changes::scenarios().map(str::to_owned)).collect()
}

fn record(library: &Arc<Library>) -> Result<RunOutput, Failure> {
    let scenarios = scenarios();
    let cases = library.catalogue.cases().iter().filter(|case| scenarios.contains(&case.id));
    let profiles: BTreeSet<String> = cases.map(|case| case.profile.clone()).collect();
    let selection = Selection {
        profiles: profiles.into_iter().collect(),
        scenarios: Some(scenarios),
        ..Selection::default()
    };
    // The reference's logs are of no interest once it has run.
    let logs = guard::directory("docs-").map_err(Failure::incomplete)?;
    let arguments = CertifyArguments {
        bundled: true,
        quiet: true,
        out: logs.path().to_owned(),
        ..CertifyArguments::default()
    };
    let manifest = setup::manifest(&arguments)?;
    let runtime = setup::runtime()?;
    runtime.block_on(certify::certify(
        &arguments,
        library,
        &manifest,
        selection,
        Some(&BrokerChoice::Embedded),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_story_is_a_scenario_and_every_document_has_one() {
        let library = Library::load().expect("sound features");
        for scenario in scenarios() {
            assert!(library.catalogue.cases().iter().any(|case| case.id == scenario), "{scenario}");
        }
        let documents = super::super::texts::documents().into_iter();
        for document in documents.filter(|own| !super::super::texts::LATER.contains(&own.id.as_str())) {
            assert!(STORIES.iter().any(|story| story.document == document.id), "{}", document.id);
        }
    }
}
