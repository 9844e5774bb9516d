//! Keys in the forms that OpenSSL and others read: PKCS #8 for the private one, SubjectPublicKeyInfo for the public one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::CertificateError;

/// How an id of a key begins; the key itself follows, in Base64.
const KEY_ID: &str = "ed25519:";

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

    /// Reads PEM (PKCS #8), with or without the public key in it.
    ///
    /// # Errors
    /// It is none.
    pub fn read(pem: &str) -> Result<Self, CertificateError> {
        let key = SigningKey::from_pkcs8_pem(pem.trim());
        key.map(Self).map_err(|error| CertificateError::Key("private", error.to_string()))
    }

    /// As PEM (PKCS #8 version 1, RFC 5208): without the public key, since OpenSSL 3 reads no version 2.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn pem(&self) -> Result<String, CertificateError> {
        let key = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = key.to_pkcs8_pem(LineEnding::LF);
        pem.map(|pem| pem.to_string()).map_err(|error| CertificateError::Key("private", error.to_string()))
    }

    /// The key that others check signatures with.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn signature(&self, bytes: &[u8]) -> String {
        STANDARD.encode(self.0.sign(bytes).to_bytes())
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

    pub(super) fn of_id(id: &str) -> Option<Self> {
        let bytes = STANDARD.decode(id.strip_prefix(KEY_ID)?).ok()?;
        VerifyingKey::from_bytes(&bytes.try_into().ok()?).ok().map(Self)
    }

    pub(super) fn check(&self, bytes: &[u8], signature: &Signature) -> Result<(), CertificateError> {
        self.0.verify_strict(bytes, signature).map_err(|_| CertificateError::Signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The DER of a PEM text.
    fn der(pem: &str) -> Vec<u8> {
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        STANDARD.decode(body).expect("Base64")
    }

    #[test]
    fn a_private_key_is_written_in_the_form_that_openssl_reads() {
        let secret = [7; 32];
        let key = PrivateKey::new(&secret);
        // SEQUENCE { INTEGER 0, SEQUENCE { OID 1.3.101.112 }, OCTET STRING { OCTET STRING secret } } (RFC 8410 §7).
        let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        assert_eq!(der(&key.pem().expect("PEM")), [&head[..], &secret[..]].concat());
        let back = PrivateKey::read(&key.pem().expect("PEM")).expect("a key");
        assert_eq!(back.public(), key.public());
    }

    #[test]
    fn a_private_key_with_its_public_one_in_it_is_still_read() {
        let own = SigningKey::from_bytes(&[7; 32]);
        let pem = own.to_pkcs8_pem(LineEnding::LF).expect("PEM");
        assert_ne!(der(&pem).len(), 48, "version 2");
        assert_eq!(PrivateKey::read(&pem).expect("a key").public(), PrivateKey::new(&[7; 32]).public());
    }
}
