//! The envelope of a certificate: DSSE, version 1, in one form byte for byte.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signature;
use serde::{Deserialize, Serialize};

use super::{CertificateError, PrivateKey, PublicKey, Statement};

/// Type of the payload.
const PAYLOAD: &str = "application/vnd.in-toto+json";

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

/// The text of a certificate with this payload.
pub(super) fn sealed(payload: &[u8], key: &PrivateKey) -> String {
    Envelope {
        payload_type: PAYLOAD.to_owned(),
        payload: STANDARD.encode(payload),
        signatures: vec![Signed { keyid: key.public().id(), sig: key.signature(&signed_bytes(payload)) }],
    }
    .text()
}

/// A certificate whose signature is right.
#[derive(Debug)]
pub struct Opened {
    /// What it says.
    pub statement: Statement,
    /// With which key it is signed.
    pub key: PublicKey,
    payload: Vec<u8>,
}

impl Opened {
    /// Where it says something else than a statement, byte for byte; none where it is that statement.
    pub fn disagreement(&self, statement: &Statement) -> Option<String> {
        super::compare::disagreement(&self.payload, &statement.payload())
    }
}

/// Opens a certificate.
///
/// Without an expected key, anybody may have signed: that somebody stands behind the key is for the caller to know.
///
/// # Errors
/// The text is no certificate, or was changed, or somebody else signed it.
pub fn open(text: &str, expected: Option<&PublicKey>) -> Result<Opened, CertificateError> {
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
    key.check(&signed_bytes(&payload), &signature)?;
    let statement: Statement = serde_json::from_slice(&payload).map_err(|error| form(&error))?;
    if !statement.has_known_types() {
        return Err(form(&"its payload is no test result of in-toto"));
    }
    Ok(Opened { statement, key, payload })
}
