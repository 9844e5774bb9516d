//! Steps: the vocabulary of the features, one module a noun.
#![expect(clippy::needless_pass_by_value, reason = "cucumber hands over owned values")]

mod act;
mod arrange;
mod outcome;

use std::str::FromStr;

use cucumber::Parameter;

use super::yaml;

/// How a definition is written.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "writing",
    regex = "in block style|in flow style|with comments|with a text over several lines|with texts that are not quoted|with \
             texts in single quotes|with the line ends of Windows"
)]
struct Writing(yaml::Writing);

impl FromStr for Writing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = yaml::Writing::ALL.into_iter();
        all.find(|own| own.name() == text).map(Self).ok_or_else(|| format!("`{text}` is no way of writing"))
    }
}
