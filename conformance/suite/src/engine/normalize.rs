//! What the other side makes up differs from run to run; in reports a name stands for it.
//!
//! Which members those are, each family says (`hub::evidence`, `breadcrumb::evidence`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::naming::Naming;
use crate::transcript::Frame;

/// Shorter ids may stand in any text.
const SHORTEST: usize = 4;

/// The members of a family's messages whose values are made up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Volatile {
    /// Ids that the other side made.
    pub(crate) ids: &'static [&'static str],
    /// What is measured, or made from the clock.
    pub(crate) measured: &'static [&'static str],
    /// Which values of such ids were made by a program.
    pub(crate) is_made: fn(&str) -> bool,
    /// Frames of which it made nothing.
    pub(crate) is_foreign: fn(&Frame) -> bool,
}

impl Naming for Volatile {
    fn ids(&self, frames: &[Frame]) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for frame in frames.iter().filter(|frame| !(self.is_foreign)(frame)) {
            self.meet(&frame.body, &mut names);
        }
        names
    }

    fn normalized(&self, body: &Value) -> Value {
        match body {
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| match member {
                    Value::Number(_) | Value::String(_) if self.measured.contains(&name.as_str()) => {
                        (name.clone(), Value::from("<time>"))
                    }
                    other => (name.clone(), self.normalized(other)),
                })
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.normalized(item)).collect(),
            plain => plain.clone(),
        }
    }
}

impl Volatile {
    fn meet(&self, value: &Value, names: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| match member {
                Value::String(id)
                    if self.ids.contains(&name.as_str()) && id.len() >= SHORTEST && (self.is_made)(id) =>
                {
                    let next = names.len() + 1;
                    names.entry(id.clone()).or_insert_with(|| format!("<id {next}>"));
                }
                other => self.meet(other, names),
            }),
            Value::Array(items) => items.iter().for_each(|item| self.meet(item, names)),
            _ => {}
        }
    }
}
