//! All families: the only list of them.
//!
//! A new family is its folder, which implements [`Family`](crate::engine::family::Family), and one line here.

pub mod breadcrumb;
pub mod hub;
pub mod toolbus;
pub mod utp;

use std::path::Path;

use self::utp::{registry, runtime};
use crate::engine::family::Families;
use crate::engine::manifest::{Manifest, ManifestError};
use crate::engine::run::{Library, LibraryError};

/// In the order of reports.
pub static ALL: Families = Families::new(&[
    &utp::Service::V1R3,
    &utp::Service::V1R4,
    &runtime::Runtime::V1R3,
    &runtime::Runtime::V1R4,
    &registry::Registry::V1R3,
    &registry::Registry::V1R4,
    &hub::HubServer,
    &hub::agent::Agent,
    &breadcrumb::Runner,
    &breadcrumb::agent::Agent,
    &toolbus::ToolbusServer::LEGACY,
    &toolbus::ToolbusServer::MODERN,
]);

/// The manifest of a target of which nothing is known but its messages.
pub const ANYONE: &str = include_str!("anyone.toml");

impl Library {
    /// Reads what travels inside the binary: the rules and the scenarios of all families.
    ///
    /// # Errors
    /// A fault of the registry or of the features: a bug of ours.
    pub fn load() -> Result<Self, LibraryError> {
        Self::of(ALL)
    }

    /// Of that, what judges messages that no run caused: the rules, and the scenarios that look at every exchange.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_for_traffic() -> Result<Self, LibraryError> {
        Self::of_traffic(ALL)
    }
}

impl Manifest {
    /// Reads and checks a manifest file.
    ///
    /// # Errors
    /// All faults at once, each with the key that it is about.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        Self::read_for(&ALL.tables(), path)
    }

    /// Checks the text of a manifest.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &str, text: &str, directory: &Path) -> Result<Self, ManifestError> {
        Self::parse_for(&ALL.tables(), path, text, directory)
    }
}
