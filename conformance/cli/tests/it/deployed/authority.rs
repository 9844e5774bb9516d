//! Certificates for a test, made when it runs.

use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// Who signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: CertificateDer<'static>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    pem: String,
    der: CertificateDer<'static>,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        Self { pem: own.pem(), der: own.der().clone(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names, valid or expired.
    pub(crate) fn identity(&self, names: &[&str], is_valid: bool) -> Identity {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names.clone()).expect("names");
        params.distinguished_name.push(DnType::CommonName, names[0].clone());
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if !is_valid {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 2, 3));
        }
        let key = KeyPair::generate().expect("a key");
        let own = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { pem: own.pem(), der: own.der().clone(), key }
    }

    /// Writes its certificate, for who is to trust it.
    pub(crate) fn write(&self, path: &Path) {
        std::fs::write(path, &self.pem).expect("a file");
    }
}

impl Identity {
    /// Writes certificate and key.
    pub(crate) fn write(&self, directory: &Path, name: &str) {
        std::fs::write(directory.join(format!("{name}.pem")), &self.pem).expect("a file");
        std::fs::write(directory.join(format!("{name}.key")), self.key.serialize_pem()).expect("a file");
    }

    /// TLS of a server with this certificate, which asks for one of `clients` where there is such an authority.
    pub(crate) fn server(&self, clients: Option<&Authority>) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS");
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.der.clone()).expect("an issuer");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                config.with_client_cert_verifier(verifier.expect("a verifier"))
            }
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).expect("a key");
        Arc::new(config.with_single_cert(vec![self.der.clone()], key).expect("a certificate with its key"))
    }
}
