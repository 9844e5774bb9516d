//! The World of one scenario with an agent under test.

use cucumber::World as CucumberWorld;

use crate::world::{Core, FamilyWorld, Remains};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
}

impl std::fmt::Debug for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.core.fmt(formatter)
    }
}

impl FamilyWorld for World {
    fn core(&self) -> &Core {
        &self.core
    }

    fn core_mut(&mut self) -> &mut Core {
        &mut self.core
    }

    fn remains(&self) -> Remains {
        Remains::default()
    }
}
