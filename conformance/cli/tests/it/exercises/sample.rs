//! Which mutants are tried: of those whose rule is judged in what the exercise of their role shows, the same ones each time.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use callmark_reports::record::{Outcome as ScenarioOutcome, ScenarioEntry};
use callmark_suite::engine::codec::Codec;
use callmark_suite::engine::invariant::ALWAYS;
use callmark_suite::engine::run::Library;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::families;
use callmark_suite::mutation::mutating_wire::MutatingWire;
use callmark_suite::mutation::{self, Mutant};
use callmark_suite::net::wire::{PassthroughWire, Wire};
use callmark_suite::transcript::Message;
use serde_json::Value;

use super::{PROFILES, Workload, findings, judged, workload};
use crate::behind;

/// Roles that are tried at a time.
const AT_A_TIME: usize = 3;

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A finding says that its rule is broken.
    Found,
    /// None does, though a message was changed, and in a run of the suite a judgement of every exchange sees it.
    Missed,
    /// In a run of the suite, with all its stimuli, no judgement of every exchange sees it either: only an experiment does,
    /// which knows what it asked for.
    TakesAStimulus,
    /// Its fault changed no message of the exercise, so there was nothing to find.
    ShowsNothing,
}

/// A mutant, and what became of it.
pub(super) struct Trial {
    pub(super) mutant: Mutant,
    pub(super) outcome: Outcome,
}

/// The wire of a mutant, which counts what it changes.
struct Counting {
    wire: MutatingWire,
    codec: &'static dyn Codec,
    changed: AtomicUsize,
}

impl Counting {
    fn count(&self, before: Message, after: Vec<Message>) -> Vec<Message> {
        // Two texts may say the same JSON.
        let open = |message: Message| self.codec.open(message).unwrap_or_else(|message| message);
        let is_same = after.len() == 1 && open(after[0].clone()) == open(before);
        self.changed.fetch_add(usize::from(!is_same), Ordering::Relaxed);
        after
    }
}

impl Wire for Counting {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        self.count(message.clone(), self.wire.outgoing(message))
    }

    fn incoming(&self, message: Message) -> Vec<Message> {
        self.count(message.clone(), self.wire.incoming(message))
    }
}

/// Tries mutants until so many have changed a message; answers with all that were tried.
pub(super) fn run(wanted: usize) -> Vec<Trial> {
    let library = Library::load().expect("a sound library");
    let mut all = mutation::mutants(&library.registry).expect("sound mutants");
    all.extend(mutation::late_twins(&all, &library.catalogue));
    // Those that come first in an order of their own, and not those with the first names.
    all.sort_by_key(hash);
    let of = |profile: &str| all.iter().filter(|mutant| mutant.profile == profile).cloned().collect();
    let queue: VecDeque<(usize, Vec<Mutant>)> = PROFILES.into_iter().map(of).enumerate().collect();
    let trials = Mutex::new(Vec::new());
    let queue = Mutex::new(queue);
    let share = |index: usize| wanted / PROFILES.len() + usize::from(index < wanted % PROFILES.len());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some((index, own)) = queue.lock().expect("the queue").pop_front() else { break };
                    let tried = of_role(&library, PROFILES[index], own, share(index));
                    trials.lock().expect("the trials").extend(tried);
                }
            });
        }
    });
    let mut trials = trials.into_inner().expect("the trials");
    trials.sort_by(|left, right| {
        let key = |trial: &Trial| (trial.mutant.profile.clone(), trial.mutant.id.clone());
        key(left).cmp(&key(right))
    });
    trials
}

/// Tries mutants of one role.
fn of_role(library: &Library, profile: &str, mutants: Vec<Mutant>, wanted: usize) -> Vec<Trial> {
    let mut trials = Vec::new();
    if wanted == 0 {
        return trials;
    }
    let mut own = workload(profile, false);
    own.put_between(Arc::new(PassthroughWire));
    let plain = judged(&mut *own, 0, 1);
    assert_eq!(findings(&plain), [""; 0], "{profile}, without a fault");
    let seen = seen(&plain, profile);
    let mut changed = 0;
    let candidates = mutants.into_iter().filter(|mutant| seen.contains(&mutant.rule));
    for (mutant, number) in candidates.zip(1..) {
        if changed >= wanted {
            break;
        }
        let mut outcome = tried(&mut *own, &mutant, number);
        if outcome == Outcome::Missed && !is_seen_in_a_run(library, &mutant) {
            outcome = Outcome::TakesAStimulus;
        }
        changed += usize::from(matches!(outcome, Outcome::Found | Outcome::Missed));
        println!("{outcome:?} {profile} {} {}", mutant.rule, mutant.id);
        trials.push(Trial { mutant, outcome });
    }
    trials
}

/// The rules of a role that an exercise shows.
fn seen(report: &Value, profile: &str) -> BTreeSet<String> {
    let rules = report["rules"].as_array().expect("rules");
    let own = rules.iter().filter(|own| own["profile"] == profile && own["outcome"] == "no-violation");
    own.filter_map(|own| own["id"].as_str().map(str::to_owned)).collect()
}

fn tried(own: &mut dyn Workload, mutant: &Mutant, number: usize) -> Outcome {
    let codec = families::ALL.codec(&mutant.profile);
    let wire = MutatingWire::of(mutant, codec);
    let wire = Arc::new(Counting { wire, codec, changed: AtomicUsize::new(0) });
    own.put_between(Arc::clone(&wire) as Arc<dyn Wire>);
    let report = judged(own, number, 1);
    let found = report["findings"].as_array().expect("findings");
    let is_found = found.iter().any(|own| own["rule"] == *mutant.rule && own["profile"] == *mutant.profile);
    match (is_found, wire.changed.load(Ordering::Relaxed)) {
        (true, _) => Outcome::Found,
        (false, 0) => Outcome::ShowsNothing,
        (false, _) => Outcome::Missed,
    }
}

/// Whether a judgement of every exchange sees a mutant in a run of the suite.
fn is_seen_in_a_run(library: &Library, mutant: &Mutant) -> bool {
    let wire = Arc::new(MutatingWire::of(mutant, families::ALL.codec(&mutant.profile)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let rules = [&*mutant.rule];
    let run = behind::certify(wire, &mutant.profile, &rules, ReplayMode::Off);
    let record = runtime.block_on(run).record;
    let cases = library.catalogue.cases().iter().filter(|case| case.tags.contains(ALWAYS));
    let always: BTreeSet<&str> = cases.map(|case| &*case.id).collect();
    let broken =
        |own: &ScenarioEntry| matches!(own.outcome, ScenarioOutcome::Failed | ScenarioOutcome::Warned);
    let mut scenarios = record.rules.iter().flat_map(|rule| &rule.scenarios);
    scenarios.any(|own| broken(own) && always.contains(&*own.id))
}

/// An order that has nothing to do with names, and is the same each time.
fn hash(mutant: &Mutant) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((&mutant.profile, &mutant.id))
}
