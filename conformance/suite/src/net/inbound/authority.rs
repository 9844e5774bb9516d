//! The CA of a run: made when it is first needed, never stored, gone with the run.
//!
//! Its certificate is written for the target; its key and those of its leaves stay in memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use crate::transcript::lock;

/// For clocks that are behind: how long before the run certificates are valid.
const BEFORE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long after its start. No run takes that long, and some clients refuse certificates of years.
const AFTER: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Leaves that are kept.
const MAX_LEAVES: usize = 256;

/// Who signs for the hosts that the suite plays.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
    /// Of all leaves: nobody distinguishes them by it.
    key: KeyPair,
    leaves: Mutex<BTreeMap<String, Arc<ServerConfig>>>,
    nobody: Arc<ServerConfig>,
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// No key can be made.
    pub(super) fn new() -> Result<Self, String> {
        let mut params = CertificateParams::default();
        name(&mut params, "Callmark, CA of one run");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(|error| failed(&error))?;
        let own = params.self_signed(&key).map_err(|error| failed(&error))?;
        let nobody = configured(|config| Ok(config.with_cert_resolver(Arc::new(Nobody))))?;
        Ok(Self {
            pem: own.pem(),
            der: own.der().clone(),
            issuer: Issuer::new(params, key),
            key: KeyPair::generate().map_err(|error| failed(&error))?,
            leaves: Mutex::default(),
            nobody,
        })
    }

    /// Its certificate, as PEM.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// TLS of a server with a certificate for these names, the first of which stands for all.
    ///
    /// # Errors
    /// One is no name of a host.
    pub(super) fn server(&self, names: &[&str]) -> Result<Arc<ServerConfig>, String> {
        let first = names.first().copied().unwrap_or_default();
        let mut leaves = lock(&self.leaves);
        if let Some(known) = leaves.get(first) {
            return Ok(Arc::clone(known));
        }
        let all: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(all).map_err(|error| failed(&error))?;
        name(&mut params, "Callmark, a host that the suite plays");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Strict clients ask for it.
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.key, &self.issuer).map_err(|error| failed(&error))?;
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).map_err(|error| failed(&error))?;
        let chain = vec![leaf.der().clone(), self.der.clone()];
        let made = configured(|config| config.with_single_cert(chain, key))?;
        if leaves.len() < MAX_LEAVES {
            leaves.insert(first.to_owned(), Arc::clone(&made));
        }
        Ok(made)
    }

    /// TLS of a server that has a certificate for nobody: it ends each handshake with an alert.
    pub(super) fn nobody(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.nobody)
    }
}

/// The issuers that the system trusts, as PEM.
pub(super) fn system() -> String {
    let mut all = String::new();
    for certificate in rustls_native_certs::load_native_certs().certs {
        let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &certificate);
        all.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(64) {
            let _ = writeln!(all, "{}", String::from_utf8_lossy(line));
        }
        all.push_str("-----END CERTIFICATE-----\n");
    }
    all
}

fn name(params: &mut CertificateParams, text: &str) {
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, text);
    let now = SystemTime::now();
    params.not_before = (now - BEFORE).into();
    params.not_after = (now + AFTER).into();
}

type Unsigned =
    tokio_rustls::rustls::ConfigBuilder<ServerConfig, tokio_rustls::rustls::server::WantsServerCert>;

fn configured(
    signed: impl FnOnce(Unsigned) -> Result<ServerConfig, tokio_rustls::rustls::Error>,
) -> Result<Arc<ServerConfig>, String> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let mut config = signed(config.with_no_client_auth()).map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn failed(error: &dyn std::fmt::Display) -> String {
    format!("no certificate can be made: {error}")
}

/// Has no certificate.
#[derive(Debug)]
struct Nobody;

impl ResolvesServerCert for Nobody {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}
