//! A tool runner under test: the suite is its store, its user, its agent, the providers of its language models and the
//! pages of its browser.
//!
//! `in_memory_store` is what the store holds, `store` serves it over HTTP; `store_access` is how breadcrumbs reach a
//! target and come back, `router` gives each to the scenario that it belongs to; `upstream` are the language models,
//! `pages` what a browser sees. `session` starts the runner and learns about it, `scene` is one scenario's calls,
//! `fixtures` what they need, `call` what they ask, `answer` what came back. `judge` looks at frames. An agent under test
//! is in `agent`.

pub mod agent;
pub mod crumb;
pub mod evidence;
mod external_store;
pub mod in_memory_store;
mod json_lines;
pub mod manifest;
mod observer;
pub mod reason;
pub mod router;
pub mod runner;
mod setup;
pub mod store;
mod store_access;
mod store_actions;
pub mod store_watch;

use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// A tool runner, its tools and its workflow.
#[derive(Debug)]
pub struct Runner;

/// What can be certified.
const PROFILES: [Profile; 3] = [
    Profile {
        id: "breadcrumb.runner",
        title: "Tool runner",
        about: "Finds tool requests in breadcrumbs, runs them and routes the answers.",
        peers: "agent, user, breadcrumb store",
        is_complete: true,
    },
    Profile {
        id: "breadcrumb.tools",
        title: "Tools of a runner",
        about: "The tools of the standard, each with its input and output.",
        peers: "agent, breadcrumb store, language models, web pages",
        is_complete: true,
    },
    Profile {
        id: "breadcrumb.workflow",
        title: "Workflow tool",
        about: "Runs several tools in the order of their dependencies, results of one in the input of another.",
        peers: "agent, breadcrumb store",
        is_complete: true,
    },
];

impl Family for Runner {
    fn id(&self) -> &'static str {
        runner::session::RunnerSession::FAMILY
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &setup::Breadcrumb
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<runner::world::World>::NEW
    }

    fn waits(&self) -> u8 {
        4
    }

    fn naming(&self) -> &'static dyn Naming {
        &evidence::NAMING
    }
}
