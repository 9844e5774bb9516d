//! The certificate: who conformed to what, and what was left out, signed.
//!
//! An in-toto Statement (v1) with the test-result predicate (v0.1) in a DSSE envelope (v1), signed with Ed25519
//! (RFC 8032). The statement holds digests; the files that they are of stand beside the certificate.
//! One certificate has one form, byte for byte, so that a changed byte is always found: even one between two members.
//! All of a statement but the [`Word`] of who signs follows from those files, so it can be made again and compared.
//!
//! Deliberately absent: reading files and judging (`cli`, `suite`).

mod compare;
mod envelope;
mod keys;
mod moment;

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use self::envelope::{Opened, open};
pub use self::keys::{PrivateKey, PublicKey};
pub use self::moment::{Moment, NoMoment};
use crate::coverage::{CERTIFIABLE_PERCENT, Coverage};
use crate::record::{Edition, Outcome, Partial, RunRecord, Shard, Verdict};
use crate::{text, view};

/// Type of a statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// Type of what it says.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// A certificate that cannot be made or is no good.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Only who conforms is certified.
    #[error("the run is {0}, and only a conformant one is certified")]
    Verdict(&'static str),
    /// A part of a run shows nothing of the whole.
    #[error("the record is shard {0} of a run, and only a whole run is certified")]
    Shard(Shard),
    /// Nor does any other part.
    #[error("the run is a part ({}), and only a whole run is certified", view::part(*.0))]
    Partial(Partial),
    /// Only who let itself be judged is certified.
    #[error("{}", too_little(.0))]
    Level(Vec<Coverage>),
    /// The text is no key.
    #[error("this is no Ed25519 {0} key in PEM (PKCS #8): {1}")]
    Key(&'static str, String),
    /// The text is no certificate.
    #[error("this is no certificate: {0}")]
    Form(String),
    /// It says something that it was not signed with.
    #[error(
        "the signature is not that of what the certificate says: the certificate was changed, or the key is another's"
    )]
    Signature,
    /// It was signed by somebody else.
    #[error("the certificate is signed with the key `{found}`, not with `{expected}`")]
    Signer {
        /// That was asked for.
        expected: String,
        /// That signed.
        found: String,
    },
}

/// What keeps profiles from a certificate.
fn too_little(profiles: &[Coverage]) -> String {
    let profiles: Vec<String> = profiles
        .iter()
        .map(|own| format!("{} of {} of {}", own.must_judged, own.must, text::line(&own.profile, 80)))
        .collect();
    format!(
        "fewer than {CERTIFIABLE_PERCENT} % of the MUST rules of a profile were judged: {}",
        profiles.join(", ")
    )
}

impl CertificateError {
    /// What to declare so that enough is judged: a line for each reason for which rules were left out, most rules first.
    pub fn to_declare(&self) -> Vec<String> {
        let Self::Level(profiles) = self else { return Vec::new() };
        let mut lines = Vec::new();
        for own in profiles {
            let mut reasons: Vec<_> = own.not_applicable.iter().collect();
            reasons.sort_by_key(|own| std::cmp::Reverse(own.rules.len()));
            let profile = text::line(&own.profile, 80);
            lines.extend(reasons.into_iter().map(|own| {
                let rules = text::count(own.rules.len(), "rule");
                format!("{rules} of {profile}: {}", text::line(&own.reason, text::LINE))
            }));
        }
        lines
    }
}

/// Something that a certificate is about: a name, and the SHA-256 of the bytes, lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Of a file, or of what travels inside the binary.
    pub name: String,
    /// Its digest.
    pub digest: Sum,
}

/// A digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}

impl Item {
    /// What these bytes are called.
    pub fn of(name: &str, bytes: &[u8]) -> Self {
        Self::digested(name, &Sha256::digest(bytes))
    }

    /// What is called so and written by `write`, which never is in memory as a whole.
    ///
    /// # Errors
    /// What `write` answers.
    pub fn written(name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Self> {
        let mut hash = Hashing(Sha256::new());
        write(&mut hash)?;
        Ok(Self::digested(name, &hash.0.finalize()))
    }

    /// What has this digest.
    pub fn known(name: &str, sha256: String) -> Self {
        Self { name: name.to_owned(), digest: Sum { sha256 } }
    }

    fn digested(name: &str, digest: &[u8]) -> Self {
        let hex = digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Self::known(name, hex)
    }

    /// Whether its digest has the form of one.
    fn is_sound(&self) -> bool {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        self.digest.sha256.len() == 64 && self.digest.sha256.bytes().all(is_hex)
    }
}

/// Takes bytes in, and keeps their digest.
struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is certified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    /// The run: its record, its messages, and every report about it.
    pub subject: Vec<Item>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    /// What came of it.
    pub predicate: TestResult,
}

/// What came of a run (in-toto test-result, v0.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestResult {
    /// `PASSED`, or `WARNED` where a recommendation was not followed.
    pub result: String,
    /// What was run, and against whom: features and registry, manifest, account.
    pub configuration: Vec<Item>,
    /// Rules that hold, as `profile/rule`. What was only noted is not among them.
    pub passed_tests: Vec<String>,
    /// Those whose recommendation was not followed.
    pub warned_tests: Vec<String>,
    /// None: who fails is not certified.
    pub failed_tests: Vec<String>,
    /// What in-toto has no member for. Who does not know it passes over it.
    #[serde(rename = "callmark_run")]
    pub run: Run,
}

/// How a run was made, and what it left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// Version of the suite that judged.
    pub suite_version: String,
    /// Which checks counted; absent where the suite has no editions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<EditionName>,
    /// Whether recommendations counted as requirements.
    pub strict: bool,
    /// Whether the Hub answers with made-up data, as its manifest says.
    pub stub: bool,
    /// What the target declares, as `@cap:` tags name it.
    pub capabilities: Vec<String>,
    /// What was judged and what was left out, by profile.
    pub profiles: Vec<Coverage>,
    /// What no message shows.
    pub word: Word,
}

/// Which checks counted. What came of those that did not stands in the record, and no statement vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditionName {
    /// As the record has it.
    pub name: String,
    /// Whether only its checks counted.
    pub pinned: bool,
    /// Scenarios of the run that are newer.
    pub newer: u32,
}

impl EditionName {
    fn of(edition: &Edition) -> Self {
        Self { name: edition.name.clone(), pinned: edition.pinned, newer: edition.newer }
    }
}

/// What a certificate says that nobody can work out from the messages: the word of who signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Word {
    /// When the run was made (RFC 3339, UTC).
    pub date: String,
    /// The programs that the suite started for it, and their scripts, as the manifest names them.
    pub programs: Vec<Item>,
}

impl Word {
    /// What has not the form of a word, where the manifest starts the programs of these names.
    pub fn fault(&self, started: &[String], scripts: &[String]) -> Option<String> {
        if self.date.parse::<Moment>().is_err() {
            return Some(format!("the date of the run is `{}`: {NoMoment}", text::line(&self.date, 80)));
        }
        if let Some(item) = self.programs.iter().find(|item| !item.is_sound()) {
            let name = text::line(&item.name, 80);
            return Some(format!(
                "the digest of the program `{name}` is no SHA-256 in lower-case hexadecimal"
            ));
        }
        let is_known = |item: &&Item| started.contains(&item.name) || scripts.contains(&item.name);
        if let Some(item) = self.programs.iter().find(|item| !is_known(item)) {
            return Some(format!("the manifest starts no program `{}`", text::line(&item.name, 80)));
        }
        let is_there = |name: &&String| self.programs.iter().any(|item| item.name == **name);
        let missing = started.iter().find(|name| !is_there(name))?;
        Some(format!("the digest of the program `{}` is missing", text::line(missing, 80)))
    }
}

/// What a statement says beside its record.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The run: its record, its messages, and every report about it.
    pub subject: Vec<Item>,
    /// What was run, and against whom.
    pub configuration: Vec<Item>,
    /// Whether recommendations counted as requirements.
    pub strict: bool,
    /// Whether the Hub answers with made-up data.
    pub stub: bool,
    /// What the target declares.
    pub capabilities: Vec<String>,
    /// What nobody can work out.
    pub word: Word,
}

impl Statement {
    /// Whether a record can be certified.
    ///
    /// # Errors
    /// Its verdict is another than conformant, or it judged too little.
    pub fn certifiable(record: &RunRecord) -> Result<Vec<Coverage>, CertificateError> {
        if let Some(shard) = record.shard {
            return Err(CertificateError::Shard(shard));
        }
        if let Some(partial) = record.partial {
            return Err(CertificateError::Partial(partial));
        }
        if record.verdict != Verdict::Conformant {
            return Err(CertificateError::Verdict(record.verdict.name()));
        }
        let coverage = Coverage::of(record);
        let little: Vec<Coverage> = coverage.iter().filter(|own| !own.is_certifiable()).cloned().collect();
        if little.is_empty() { Ok(coverage) } else { Err(CertificateError::Level(little)) }
    }

    /// Of the record of a conformant run.
    ///
    /// # Errors
    /// As [`Statement::certifiable`].
    pub fn of(record: &RunRecord, facts: Facts) -> Result<Self, CertificateError> {
        let profiles = Self::certifiable(record)?;
        let with = |wanted: Outcome| -> Vec<String> {
            let rules = record.rules.iter().filter(|rule| rule.outcome == wanted);
            rules.map(|rule| format!("{}/{}", rule.profile, rule.id)).collect()
        };
        let warned_tests = with(Outcome::Warned);
        Ok(Self {
            kind: STATEMENT.to_owned(),
            subject: facts.subject,
            predicate_type: TEST_RESULT.to_owned(),
            predicate: TestResult {
                result: if warned_tests.is_empty() { "PASSED" } else { "WARNED" }.to_owned(),
                configuration: facts.configuration,
                passed_tests: with(Outcome::Passed),
                warned_tests,
                failed_tests: Vec::new(),
                run: Run {
                    suite_version: record.suite.version.clone(),
                    edition: record.edition.as_ref().map(EditionName::of),
                    strict: facts.strict,
                    stub: facts.stub,
                    capabilities: facts.capabilities,
                    profiles,
                    word: facts.word,
                },
            },
        })
    }

    /// Everything that it has digests of.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.subject.iter().chain(&self.predicate.configuration)
    }

    /// The certificate, signed.
    pub fn sign(&self, key: &PrivateKey) -> String {
        envelope::sealed(&self.payload(), key)
    }

    fn payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn has_known_types(&self) -> bool {
        self.kind == STATEMENT && self.predicate_type == TEST_RESULT
    }

    /// What it says of a run, for people, a line each; nothing in it acts on a terminal.
    pub fn lines(&self, record: &RunRecord) -> Vec<String> {
        let run = &self.predicate.run;
        let mut lines = vec![format!("`{}` conforms:", view::target(record))];
        for own in &run.profiles {
            lines.push(format!("  {}", own.sentence()));
            lines.extend(own.details().into_iter().map(|detail| format!("    {detail}")));
        }
        if let Some(edition) = view::edition(record) {
            lines.push(format!("edition:   {edition}"));
        }
        if run.stub {
            lines.push("stub:      the Hub answers with made-up data, as its manifest says".to_owned());
        }
        if run.strict {
            lines.push("strict:    recommendations counted as requirements".to_owned());
        }
        if !run.capabilities.is_empty() {
            lines.push(format!("declared:  {}", text::line(&run.capabilities.join(", "), 2000)));
        }
        lines.push(format!("by the signer's word: run of {}", text::line(&run.word.date, 80)));
        let programs = run.word.programs.iter();
        lines.extend(programs.map(|item| {
            let name = text::line(&item.name, 80);
            format!("by the signer's word: program `{name}` sha256:{}", text::line(&item.digest.sha256, 80))
        }));
        lines
    }
}
