//! Names for what a target makes up, for reports.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::judge::Finding;
use crate::transcript::Frame;

/// Names for what a target makes up, so that two runs of one target give the same report.
pub trait Naming: Sync {
    /// Names for the ids in these frames, in the order of their first appearance. Such an id may also be a part of a
    /// text.
    fn ids(&self, _frames: &[Frame]) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Names for the ids that a report shows as whole texts: those in the frames that it shows, and in the finding.
    fn whole_ids(
        &self,
        _finding: &Finding,
        _frames: &[Frame],
        _shown: &[&Frame],
    ) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Names for the ids of an exchange that is shown as a whole, but for those that have one already.
    fn ids_of_exchange(
        &self,
        _shown: &[&Frame],
        _is_named: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// A body with names in place of what the target measured or numbered.
    fn normalized(&self, body: &Value) -> Value {
        body.clone()
    }
}

/// Leaves everything as it is.
#[derive(Debug)]
pub(crate) struct Verbatim;

impl Naming for Verbatim {}
