//! The certificate: who conformed to what, signed.
//!
//! An in-toto Statement (v1) with the test-result predicate (v0.1) in a DSSE envelope (v1), signed with Ed25519
//! (RFC 8032). The statement holds digests; the files that they are of stand beside the certificate.
//! One certificate has one form, byte for byte, so that a changed byte is always found: even one between two members.
//!
//! Deliberately absent: reading files and judging (`cli`, `suite`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::record::{Outcome, RunRecord, Verdict};

/// Type of a statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// Type of what it says.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// Type of the envelope's payload.
const PAYLOAD: &str = "application/vnd.in-toto+json";
/// How an id of a key begins; the key itself follows, in Base64.
const KEY_ID: &str = "ed25519:";

/// A certificate that cannot be made or is no good.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Only who conforms is certified.
    #[error("the run is {0}, and only a conformant one is certified")]
    Verdict(&'static str),
    /// The text is no key.
    #[error("this is no Ed25519 {0} key in PEM (PKCS #8): {1}")]
    Key(&'static str, String),
    /// The text is no certificate.
    #[error("this is no certificate: {0}")]
    Form(String),
    /// It says something that it was not signed with.
    #[error("the signature is not that of what the certificate says: the certificate was changed, or the key is another's")]
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
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self::known(name, sha256)
    }

    /// What has this digest.
    pub fn known(name: &str, sha256: String) -> Self {
        Self { name: name.to_owned(), digest: Sum { sha256 } }
    }
}

/// What is certified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    /// The run: its record and its messages.
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
    /// Profiles and rules that hold, as `profile/rule`.
    pub passed_tests: Vec<String>,
    /// Those whose recommendation was not followed.
    pub warned_tests: Vec<String>,
    /// None: who fails is not certified.
    pub failed_tests: Vec<String>,
}

impl Statement {
    /// Of the record of a conformant run.
    ///
    /// # Errors
    /// The verdict is another one.
    pub fn of(
        record: &RunRecord,
        subject: Vec<Item>,
        configuration: Vec<Item>,
    ) -> Result<Self, CertificateError> {
        match record.verdict {
            Verdict::Conformant => {}
            Verdict::Nonconformant => return Err(CertificateError::Verdict("nonconformant")),
            Verdict::Incomplete => return Err(CertificateError::Verdict("incomplete")),
        }
        let with = |wanted: &[Outcome]| -> Vec<String> {
            let rules = record.rules.iter().filter(|rule| wanted.contains(&rule.outcome));
            rules.map(|rule| format!("{}/{}", rule.profile, rule.id)).collect()
        };
        let warned_tests = with(&[Outcome::Warned]);
        Ok(Self {
            kind: STATEMENT.to_owned(),
            subject,
            predicate_type: TEST_RESULT.to_owned(),
            predicate: TestResult {
                result: if warned_tests.is_empty() { "PASSED" } else { "WARNED" }.to_owned(),
                configuration,
                passed_tests: with(&[Outcome::Passed, Outcome::Noted]),
                warned_tests,
                failed_tests: Vec::new(),
            },
        })
    }

    /// Everything that it has digests of.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.subject.iter().chain(&self.predicate.configuration)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload_type: String,
    payload: String,
    signatures: Vec<Signed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    keyid: String,
    sig: String,
}

impl Envelope {
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// What is signed: the envelope's type and its payload, each with its length.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD} {} ", PAYLOAD.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// A private key. It does not show itself.
pub struct PrivateKey(SigningKey);

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateKey")
    }
}

impl PrivateKey {
    /// The key of this secret, which is 32 random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// Reads PEM (PKCS #8).
    ///
    /// # Errors
    /// It is none.
    pub fn read(pem: &str) -> Result<Self, CertificateError> {
        let key = SigningKey::from_pkcs8_pem(pem.trim());
        key.map(Self).map_err(|error| CertificateError::Key("private", error.to_string()))
    }

    /// As PEM (PKCS #8).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn pem(&self) -> Result<String, CertificateError> {
        let pem = self.0.to_pkcs8_pem(LineEnding::LF);
        pem.map(|pem| pem.to_string()).map_err(|error| CertificateError::Key("private", error.to_string()))
    }

    /// The key that others check signatures with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The text of the certificate of a statement.
    pub fn sign(&self, statement: &Statement) -> String {
        let payload = serde_json::to_vec(statement).unwrap_or_default();
        let signature = self.0.sign(&signed_bytes(&payload));
        Envelope {
            payload_type: PAYLOAD.to_owned(),
            payload: STANDARD.encode(&payload),
            signatures: vec![Signed {
                keyid: self.public().id(),
                sig: STANDARD.encode(signature.to_bytes()),
            }],
        }
        .text()
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads PEM (SubjectPublicKeyInfo).
    ///
    /// # Errors
    /// It is none.
    pub fn read(pem: &str) -> Result<Self, CertificateError> {
        let key = VerifyingKey::from_public_key_pem(pem.trim());
        key.map(Self).map_err(|error| CertificateError::Key("public", error.to_string()))
    }

    /// As PEM (SubjectPublicKeyInfo).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn pem(&self) -> Result<String, CertificateError> {
        let pem = self.0.to_public_key_pem(LineEnding::LF);
        pem.map_err(|error| CertificateError::Key("public", error.to_string()))
    }

    /// `ed25519:` and the key in Base64.
    pub fn id(&self) -> String {
        format!("{KEY_ID}{}", STANDARD.encode(self.0.as_bytes()))
    }

    fn of_id(id: &str) -> Option<Self> {
        let bytes = STANDARD.decode(id.strip_prefix(KEY_ID)?).ok()?;
        VerifyingKey::from_bytes(&bytes.try_into().ok()?).ok().map(Self)
    }
}

/// What a certificate says, and with which key it is signed; the signature is right.
///
/// Without an expected key, anybody may have signed: that somebody stands behind the key is for the caller to know.
///
/// # Errors
/// The text is no certificate, or was changed, or somebody else signed it.
pub fn open(text: &str, expected: Option<&PublicKey>) -> Result<(Statement, PublicKey), CertificateError> {
    let form = |error: &dyn std::fmt::Display| CertificateError::Form(error.to_string());
    let envelope: Envelope = serde_json::from_str(text).map_err(|error| form(&error))?;
    if envelope.text() != text {
        return Err(form(&"it is not written as Callmark writes it, so something in it was changed"));
    }
    let [signed] = &envelope.signatures[..] else { return Err(form(&"it has not one signature")) };
    if envelope.payload_type != PAYLOAD {
        return Err(form(&format!("its payload is `{}`, not `{PAYLOAD}`", envelope.payload_type)));
    }
    let payload = STANDARD.decode(&envelope.payload).map_err(|error| form(&error))?;
    let key = PublicKey::of_id(&signed.keyid).ok_or_else(|| form(&"its `keyid` is no Ed25519 key"))?;
    if let Some(expected) = expected.filter(|expected| **expected != key) {
        return Err(CertificateError::Signer { expected: expected.id(), found: key.id() });
    }
    let bytes = STANDARD.decode(&signed.sig).map_err(|error| form(&error))?;
    let signature = Signature::from_slice(&bytes).map_err(|error| form(&error))?;
    key.0.verify_strict(&signed_bytes(&payload), &signature).map_err(|_| CertificateError::Signature)?;
    let statement: Statement = serde_json::from_slice(&payload).map_err(|error| form(&error))?;
    if statement.kind != STATEMENT || statement.predicate_type != TEST_RESULT {
        return Err(form(&"its payload is no test result of in-toto"));
    }
    Ok((statement, key))
}
