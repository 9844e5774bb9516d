//! The compiled steps of each World, kept where many runs follow each other.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Mutex;

use cucumber::step::Collection;

use crate::engine::world::FamilyWorld;
use crate::transcript::lock;

/// Steps that were compiled before. A single run keeps none: together they take much memory.
#[derive(Default)]
pub(super) struct Steps {
    keeps: bool,
    kept: Mutex<HashMap<TypeId, Box<dyn Any + Send>>>,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Steps").field("keeps", &self.keeps).finish_non_exhaustive()
    }
}

impl Steps {
    /// Keeps what is compiled.
    pub(super) fn keeping() -> Self {
        Self { keeps: true, kept: Mutex::default() }
    }

    /// Whether anything is kept.
    pub(super) fn keeps(&self) -> bool {
        self.keeps
    }

    /// The steps of a World.
    pub(super) fn of<W: FamilyWorld>(&self) -> Collection<W> {
        if !self.keeps {
            return W::collection();
        }
        let mut kept = lock(&self.kept);
        let steps = kept.entry(TypeId::of::<W>()).or_insert_with(|| Box::new(W::collection()));
        steps.downcast_ref::<Collection<W>>().cloned().unwrap_or_else(W::collection)
    }
}
