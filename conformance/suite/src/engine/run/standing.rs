//! What the `@always` scenarios of a role judge, for exchanges that no run caused.

use std::sync::Arc;

use callmark_reports::record::{Evidence, Level};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::company::Company;
use super::scenario_result::ScenarioResult;
use super::vocabulary::Batch;
use super::writer::Facts;
use super::{Library, always, evidence, verdict};
use crate::engine::invariant::Invariant;
use crate::engine::judge::Finding;
use crate::engine::naming::Verbatim;
use crate::engine::session::{Declared, Sessions};
use crate::spec::catalog::Case;
use crate::transcript;
use crate::transcript::{Frame, Transcript};

/// Scenarios at a time: they wait for nothing.
const JOBS: usize = 64;

/// An `@always` scenario, and what it judges.
#[derive(Debug)]
pub struct Standing {
    /// Ids of its rules.
    pub rules: Vec<String>,
    /// The strictest level of these.
    pub level: Level,
    /// Its id.
    pub scenario: String,
    /// Nothing where it asks for what these sessions do not declare, or could not be set up.
    pub invariant: Option<Arc<dyn Invariant>>,
}

/// The `@always` scenarios of a role, in the order of the features; nothing where the role has no session.
pub fn standing<'a>(
    library: &'a Library,
    sessions: &'a Sessions,
    profile: &'a str,
) -> LocalBoxFuture<'a, Vec<Standing>> {
    transcript::again(gather(library, sessions, profile)).boxed_local()
}

async fn gather(library: &Library, sessions: &Sessions, profile: &str) -> Vec<Standing> {
    let family = library.families.of(profile).filter(|family| sessions.of(family.id()).is_some());
    let Some(family) = family else { return Vec::new() };
    let own = library.catalogue.cases().iter().filter(|case| case.profile == profile);
    let all: Vec<&Case> = own.filter(|case| always::is_always(case)).collect();
    let declared = Declared::by(sessions);
    let cases: Vec<&Case> = all.iter().copied().filter(|case| declared.undeclared(case).is_empty()).collect();
    let batch = Batch {
        family: family.id(),
        target: family.target(),
        cases: &cases,
        features: library.catalogue.select(&cases),
        jobs: JOBS,
        may_end_target: false,
        steps: &library.steps,
        sessions,
        company: &Arc::new(Company::default()),
        transcript: Box::new(|_| Arc::new(Transcript::default())),
        may_begin: Box::new(|_| true),
        on_start: Box::new(|_| {}),
        on_result: Box::new(|_| {}),
        on_end: Box::new(|_, _, _| {}),
    };
    let driven = family.vocabulary().drive(batch).await;
    let of = |case: &Case| {
        // One that could not be set up judges nothing.
        let is_set_up = driven.facts.get(&case.at).is_some_and(|facts| facts.trouble.is_none());
        let own = driven.results.get(&case.id).filter(|_| is_set_up);
        Standing {
            rules: case.rules.clone(),
            level: verdict::level(library, case),
            scenario: case.id.clone(),
            invariant: own.and_then(|own| own.invariant.clone()),
        }
    };
    all.into_iter().map(of).collect()
}

/// What a finding rests on, as reports show it, for messages that no run caused. Ids stay as they are, so that they can
/// be looked up where the messages come from.
pub(crate) fn evidence(
    library: &Library,
    scenario: &str,
    check: usize,
    checks: usize,
    finding: &Finding,
    frames: &[Frame],
) -> Option<Evidence> {
    let case = library.catalogue.cases().iter().find(|case| case.id == scenario)?;
    let mut facts = Facts::ended(None);
    facts.step = always::step(case, check, checks);
    let result = ScenarioResult { judged: Some(frames.to_vec()), ..ScenarioResult::default() };
    let context = evidence::Context {
        case,
        naming: &Verbatim,
        codec: library.families.codec(&case.profile),
        rule: case.rules.first().map_or("", String::as_str),
        facts: &facts,
        result: &result,
        rerun: "callmark certify",
        secrets: &Arc::default(),
    };
    Some(evidence::of(finding, &context))
}
