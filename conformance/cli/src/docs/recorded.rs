//! What the reference says in some scenarios today.

use std::collections::BTreeSet;
use std::sync::Arc;

use callmark_reports::record::FrameExcerpt;
use callmark_suite::engine::run::{Library, RunOutput, Selection};
use callmark_suite::families::utp::revision::{CONTROL_MEMBERS, Revision};
use callmark_suite::guard;
use callmark_suite::transcript::Kind;

use crate::args::CertifyArguments;
use crate::broker::BrokerChoice;
use crate::certify;
use crate::exit::Failure;
use crate::setup;

/// The messages of the scenarios that were run.
pub(super) struct Recorded<'a> {
    library: &'a Library,
    output: RunOutput,
}

impl<'a> Recorded<'a> {
    /// Runs these scenarios against the reference.
    pub(super) fn run(library: &'a Arc<Library>, scenarios: BTreeSet<String>) -> Result<Self, Failure> {
        Ok(Self { library, output: record(library, scenarios)? })
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

fn record(library: &Arc<Library>, scenarios: BTreeSet<String>) -> Result<RunOutput, Failure> {
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
