//! Late twins: mutants whose fault begins with the second message that it would change.
//!
//! A rule that is judged in every exchange must notice a fault that the first exchange of a scenario does not show. For
//! each mutant of such a rule a twin is derived that lets one message of a scenario pass and then does what the mutant
//! does; where scenarios have one exchange of a kind, it lets all of one scenario pass
//! ([`Codec::repeats_in_scenario`]). Nobody writes twins; a mutant that can have none says why (`no_late_twin`).

use std::collections::BTreeSet;

#[cfg(doc)]
use crate::engine::codec::Codec;
use crate::engine::invariant::ALWAYS;
use crate::mutation::mutant::Mutant;
use crate::spec::catalog::Catalogue;

/// What the id of a twin ends with.
const SUFFIX: &str = "~late";

/// The twins of those of these mutants whose rule is judged in every exchange.
pub fn late_twins(mutants: &[Mutant], catalogue: &Catalogue) -> Vec<Mutant> {
    let always: BTreeSet<(&str, &str)> = catalogue
        .cases()
        .iter()
        .filter(|case| case.tags.contains(ALWAYS))
        .flat_map(|case| case.rules.iter().map(|rule| (&*case.profile, &**rule)))
        .collect();
    let has_twin = |mutant: &&Mutant| {
        mutant.no_late_twin.is_none() && always.contains(&(&*mutant.profile, &*mutant.rule))
    };
    mutants.iter().filter(has_twin).map(twin).collect()
}

fn twin(mutant: &Mutant) -> Mutant {
    Mutant {
        id: format!("{}{SUFFIX}", mutant.id),
        does: format!("{}, but not to begin with", mutant.does),
        late: true,
        ..mutant.clone()
    }
}
