//! The lint as a test: registry, features, steps and mutants agree.

use callmark_suite::run::Library;
use callmark_suite::{lint, saboteur};

#[test]
fn registry_features_and_steps_agree() {
    let library = Library::load().expect("a sound library");
    let faults = lint::faults(&library);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_breakable_rule_of_a_complete_profile_has_a_mutant() {
    let library = Library::load().expect("a sound library");
    if let Err(error) = saboteur::mutants(&library.registry) {
        panic!("\n{}", error.faults.join("\n"));
    }
}

#[test]
fn the_registry_holds_all_536_rules() {
    let library = Library::load().expect("a sound library");
    assert_eq!(library.registry.rules().len(), 536);
    for (profile, waiting) in lint::pending(&library) {
        println!("{profile}: {waiting} rules wait for their features");
    }
}

#[test]
fn few_step_definitions_serve_many_steps() {
    let library = Library::load().expect("a sound library");
    let steps: usize = library.catalogue.cases().iter().map(|case| case.scenario().steps.len()).sum();
    assert!(
        steps >= 8 * lint::definitions().len(),
        "{steps} steps on {} definitions",
        lint::definitions().len()
    );
}
