//! The exchanges of the first page, as the reference plays them: what is shown is what it says today.

use callmark_reports::site::{AnnotatedFrame, Exchange, Recording};
use callmark_suite::transcript::Kind;

use super::recorded::Recorded;
use super::stories::{STORIES, Story};
use crate::exit::Failure;

/// The scenarios that the exchanges are from.
pub(super) fn scenarios() -> impl Iterator<Item = String> {
    let later = |story: &Story| Some(in_revision(story.scenario, story.later.as_ref()?.revision));
    STORIES.iter().flat_map(move |story| [Some(story.scenario.to_owned()), later(story)]).flatten()
}

/// The exchanges of all stories.
pub(super) fn exchanges(recorded: &Recorded<'_>) -> Result<Vec<Exchange>, Failure> {
    STORIES.iter().map(|story| exchange(recorded, story)).collect()
}

fn exchange(recorded: &Recorded<'_>, story: &Story) -> Result<Exchange, Failure> {
    let first = story.later.as_ref().map_or("", |later| later.first);
    let mut recordings = vec![recording(recorded, story, first, story.scenario.to_owned(), &[])?];
    if let Some(later) = &story.later {
        let scenario = in_revision(story.scenario, later.revision);
        recordings.push(recording(recorded, story, later.revision, scenario, later.notes)?);
    }
    Ok(Exchange {
        document: story.document.to_owned(),
        title: story.title.to_owned(),
        about: story.about.to_owned(),
        recordings,
    })
}

fn recording(
    recorded: &Recorded<'_>,
    story: &Story,
    revision: &str,
    scenario: String,
    notes: &[(usize, &str)],
) -> Result<Recording, Failure> {
    let kinds: Vec<Kind> = story.messages.iter().map(|(kind, ..)| *kind).collect();
    let frames = recorded.frames(&scenario, &kinds)?;
    let messages = frames.into_iter().zip(story.messages).enumerate();
    let messages = messages.map(|(at, (frame, (_, route, note)))| {
        let own = notes.iter().find(|(place, _)| *place == at).map(|(_, note)| *note);
        AnnotatedFrame { frame, route: (*route).to_owned(), note: own.unwrap_or(note).to_owned() }
    });
    Ok(Recording { revision: revision.to_owned(), messages: messages.collect(), scenario })
}

/// The id of a scenario that is run for a later revision.
fn in_revision(scenario: &str, revision: &str) -> String {
    format!("{scenario}@{revision}")
}

#[cfg(test)]
mod tests {
    use callmark_suite::engine::run::Library;

    use super::super::changes;
    use super::*;

    #[test]
    fn every_story_is_a_scenario_and_every_document_has_one() {
        let library = Library::load().expect("sound features");
        for scenario in scenarios().chain(changes::scenarios().map(str::to_owned)) {
            assert!(library.catalogue.cases().iter().any(|case| case.id == scenario), "{scenario}");
        }
        let documents = super::super::texts::documents().into_iter();
        for document in documents.filter(|own| !super::super::texts::LATER.contains(&own.id.as_str())) {
            assert!(STORIES.iter().any(|story| story.document == document.id), "{}", document.id);
        }
    }
}
