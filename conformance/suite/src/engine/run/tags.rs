//! Tag expressions: `@UTP-4.1-35 and not @cap:probe.count`, with `and`, `or`, `not` and parentheses.

use std::collections::BTreeSet;
use std::str::FromStr;

use gherkin::tagexpr::TagOperation;
use thiserror::Error;

/// A parsed tag expression.
#[derive(Clone, Debug)]
pub struct Expression(TagOperation);

impl Expression {
    /// Whether a scenario with these tags is selected.
    pub fn holds(&self, tags: &BTreeSet<String>) -> bool {
        holds(&self.0, tags)
    }
}

fn holds(operation: &TagOperation, tags: &BTreeSet<String>) -> bool {
    match operation {
        TagOperation::And(left, right) => holds(left, tags) && holds(right, tags),
        TagOperation::Or(left, right) => holds(left, tags) || holds(right, tags),
        TagOperation::Not(inner) => !holds(inner, tags),
        TagOperation::Tag(tag) => tags.contains(tag.trim_start_matches('@')),
    }
}

/// Not a tag expression.
#[derive(Clone, Debug, Error)]
#[error("`{0}` is no tag expression; write for example `@cap:probe.count and not @level:should`")]
pub struct TagsError(String);

impl FromStr for Expression {
    type Err = TagsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| TagsError(text.to_owned()))
    }
}
