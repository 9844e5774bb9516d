//! Mutation testing: shows that the suite would notice a broken target.
//!
//! For every rule that can be broken there is a mutant, kept as data in `features/mutants/`. A mutant is
//! the correct target behind a mutating wire (`mutating_wire`); the target itself knows nothing of it. The matrix
//! runs each mutant against the features of its profile: it is killed when its own rule fails or warns.

mod attempt;
mod body;
mod concerned;
mod late;
mod listen;
pub mod matrix;
pub mod mutant;
pub mod mutating_wire;
mod passed;
mod reach;
mod sample;
mod target;

pub use callmark_reports::matrix::{Matrix, MutantResult};
pub use concerned::Breadth;
pub use late::late_twins;
pub use matrix::{Effort, Pace, run};
pub use mutant::{Mutant, MutantError, mutants};
pub use sample::sample;
pub use target::{Patience, TargetFactory, TargetInstance};
