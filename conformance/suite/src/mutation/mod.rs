//! The saboteur: proves that the suite would notice.
//!
//! For every rule that can be broken there is a mutant, kept as data in `features/mutants/`. A mutant is
//! the correct target behind a crooked wire (`crooked`); the target itself knows nothing of it. The matrix
//! runs each mutant against the features of its profile: it is killed when its own rule fails or warns.

mod body;
pub mod crooked;
pub mod matrix;
pub mod mutant;
mod reach;

pub use callmark_reports::matrix::{Matrix, MutantResult};
pub use matrix::{Bench, Effort, Patience, Workshop, run};
pub use mutant::{Mutant, MutantError, mutants};
