//! The names of the file formats, so that a command line can offer them without a table of its own.
//!
//! Neighbours: one module per format. The terminal text is not here: it is no file and needs a [`crate::Style`].

use std::io::{self, Write};
use std::str::FromStr;

use crate::messages::FeatureText;
use crate::record::RunRecord;

/// A file that is rendered from a run record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The record itself.
    Json,
    /// One self-contained page.
    Html,
    /// JUnit XML for CI systems.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// A summary for a CI job or a pull request.
    Markdown,
    /// Cucumber Messages for the tools of Cucumber.
    Messages,
    /// The verdict as an image.
    Badge,
    /// The verdict as shields.io reads it.
    BadgeJson,
}

impl Format {
    /// All formats, in the order in which they are offered. `certify` writes each of them.
    pub const ALL: [Self; 8] = [
        Self::Json,
        Self::Html,
        Self::Junit,
        Self::Sarif,
        Self::Markdown,
        Self::Messages,
        Self::Badge,
        Self::BadgeJson,
    ];

    /// The name on the command line, for example `junit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Html => "html",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
            Self::Markdown => "markdown",
            Self::Messages => "messages",
            Self::Badge => "badge",
            Self::BadgeJson => "badge-json",
        }
    }

    /// The file's name within the output directory.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Json => "run.json",
            Self::Html => "index.html",
            Self::Junit => "junit.xml",
            Self::Sarif => "results.sarif",
            Self::Markdown => "summary.md",
            Self::Messages => "messages.ndjson",
            Self::Badge => "badge.svg",
            Self::BadgeJson => "badge.json",
        }
    }

    /// Writes the whole file.
    ///
    /// `features` are the feature files that the record names; only [`Format::Messages`] quotes them,
    /// and does without those that are missing.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn write(
        self,
        record: &RunRecord,
        features: &[FeatureText<'_>],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let text = match self {
            Self::Json => crate::json(record),
            Self::Html => crate::html(record),
            Self::Junit => crate::junit(record),
            Self::Sarif => crate::sarif(record),
            Self::Markdown => crate::markdown(record),
            // By far the longest: it is never held as a whole.
            Self::Messages => return crate::messages(record, features, out),
            Self::Badge => crate::badge(record),
            Self::BadgeJson => crate::badge_json(record),
        };
        out.write_all(text.as_bytes())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown report format `{name}`, expected one of {}{}", names(), did_you_mean(.name))]
#[non_exhaustive]
pub struct UnknownFormat {
    /// What was asked for.
    pub name: String,
}

impl UnknownFormat {
    /// The format with the nearest name, if one is near.
    pub fn nearest(&self) -> Option<Format> {
        nearest(&self.name)
    }
}

fn nearest(name: &str) -> Option<Format> {
    /// Names less alike than this are no typing errors of each other.
    const ALIKE: f64 = 0.7;
    let name = name.to_lowercase();
    Format::ALL
        .into_iter()
        .map(|format| (strsim::jaro_winkler(&name, format.name()), format))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, format)| format)
}

fn names() -> String {
    Format::ALL.map(|format| format!("`{}`", format.name())).join(", ")
}

fn did_you_mean(name: &str) -> String {
    nearest(name).map_or_else(String::new, |format| format!("; did you mean `{}`?", format.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name_and_has_a_file_of_its_own() {
        let mut files = std::collections::BTreeSet::new();
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(files.insert(format.file_name()));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_names_and_suggests_the_nearest() {
        let error = "htm".parse::<Format>().expect_err("`htm` is no format");
        assert_eq!(error.nearest(), Some(Format::Html));
        assert_eq!(
            error.to_string(),
            "unknown report format `htm`, expected one of `json`, `html`, `junit`, `sarif`, `markdown`, `messages`, \
             `badge`, `badge-json`; did you mean `html`?"
        );
        let error = "pdf".parse::<Format>().expect_err("`pdf` is no format");
        assert_eq!(error.nearest(), None);
    }
}
