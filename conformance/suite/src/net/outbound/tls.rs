//! TLS to the target: whom the suite trusts, who it is itself, and in plain words why a connection does not come about.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName,
    Error as TlsError, InconsistentKeys, OtherError, RootCertStore, SignatureScheme,
};
use tokio_rustls::{TlsConnector, rustls};

use super::certificate;
use crate::engine::files;
use crate::engine::manifest::target::{TlsTable, variable};

/// Largest file of certificates or of a key.
const MAX_PEM: u64 = 4 * 1024 * 1024;

/// What connections with TLS are made with.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    verifier: Arc<Explaining>,
    server_name: Option<ServerName<'static>>,
    /// Whether the suite shows a certificate.
    has_certificate: bool,
}

/// Makes [`Tls`] when it is first asked for.
pub(crate) struct TlsSource {
    table: TlsTable,
    directory: PathBuf,
    made: OnceLock<Result<Tls, String>>,
}

impl TlsSource {
    pub(super) fn new(table: TlsTable, directory: PathBuf) -> Self {
        Self { table, directory, made: OnceLock::new() }
    }

    /// What connections with TLS are made with.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub(crate) fn made(&self) -> Result<&Tls, String> {
        self.made.get_or_init(|| Tls::of(&self.table, &self.directory)).as_ref().map_err(Clone::clone)
    }
}

impl Tls {
    /// As the manifest says; a target without `[target.tls]` has a certificate that the system trusts.
    ///
    /// # Errors
    /// What of the manifest cannot be used, with its key.
    fn of(table: &TlsTable, directory: &Path) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        // What of the system's store cannot be read is left out, as browsers do.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(ca) = &table.ca {
            for certificate in certificates("ca", &directory.join(ca))? {
                roots.add(certificate).map_err(|error| {
                    format!(
                        "`target.tls.ca` is `{}`, and a certificate in it is no issuer's: {error}",
                        ca.display()
                    )
                })?;
            }
        }
        if roots.is_empty() {
            return Err("this system trusts no issuer: name one by `ca` under `[target.tls]`".to_owned());
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = explaining(&provider, roots).map_err(|error| error.to_string())?;
        let config = verified_by(&provider, &verifier).map_err(|error| error.to_string())?;
        let mut config = match client(table, directory)? {
            Some((chain, key)) => {
                config.with_client_auth_cert(chain, key).map_err(|error| mismatch(&error))?
            }
            None => config.with_no_client_auth(),
        };
        let server_name = table.server_name.as_deref().map(|name| {
            ServerName::try_from(name.to_owned())
                .map_err(|_| format!("`target.tls.server_name` is `{name}`, which is no name of a host"))
        });
        let has_certificate = table.certificate.is_some();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        Ok(Self { config, verifier, server_name: server_name.transpose()?, has_certificate })
    }

    /// For a client that speaks something else than HTTP, and knows no name but that of the address.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols.clear();
        if let Some(name) = &self.server_name {
            let named = Explaining { name: Some(name.clone()), ..Explaining::clone(&self.verifier) };
            config.dangerous().set_certificate_verifier(Arc::new(named));
        }
        config
    }

    /// Encrypts a connection with a host.
    ///
    /// # Errors
    /// Why that host is not spoken with.
    pub(crate) async fn connect<S>(
        &self,
        host: &str,
        is_target: bool,
        stream: S,
    ) -> Result<TlsStream<S>, std::io::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let own = || ServerName::try_from(host.to_owned()).map_err(std::io::Error::other);
        let name = match self.server_name.clone().filter(|_| is_target) {
            Some(name) => name,
            None => own()?,
        };
        TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await
    }

    /// What an error says of TLS: why there will be no connection however often it is tried. Nothing where it says nothing.
    pub(crate) fn fault(&self, error: &(dyn Error + 'static)) -> Option<String> {
        let error = in_chain(error)?;
        Some(match error {
            TlsError::InvalidCertificate(CertificateError::Other(OtherError(cause))) => cause.to_string(),
            TlsError::InvalidCertificate(other) => format!("its certificate is not valid: {other}"),
            TlsError::AlertReceived(alert) => return self.alert(*alert),
            TlsError::InvalidMessage(_) => {
                "it does not speak TLS at this port: correct the scheme or the port of its address".to_owned()
            }
            TlsError::PeerIncompatible(why) => format!("it speaks no TLS that is known to be safe: {why:?}"),
            _ => return None,
        })
    }

    /// What a target says when it ends a handshake.
    fn alert(&self, alert: AlertDescription) -> Option<String> {
        let is_about_us = matches!(
            alert,
            AlertDescription::CertificateRequired
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
        );
        match (is_about_us, self.has_certificate, alert) {
            (true, true, _) => Some(format!(
                "it refuses the client's certificate (alert `{alert:?}`): `certificate` under `[target.tls]` has to be \
                 one that it trusts, with those of its issuers"
            )),
            (true, false, _) => Some(format!(
                "it asks for a client's certificate (alert `{alert:?}`): name one by `certificate` and `key` under \
                 `[target.tls]`"
            )),
            (_, _, AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion) => Some(format!(
                "it ends the handshake (alert `{alert:?}`): it may ask for a client's certificate, or speak only \
                 versions of TLS before 1.2"
            )),
            (_, _, AlertDescription::UnrecognisedName) => Some(
                "it knows no host of this name: correct the address, or `server_name` under `[target.tls]`"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// The error of TLS in the causes of another.
fn in_chain<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    if let Some(own) = error.downcast_ref::<TlsError>() {
        return Some(own);
    }
    // An error of the operating system's kind holds another without naming it as its source.
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let inner = inner.and_then(|inner| in_chain(inner));
    inner.or_else(|| error.source().and_then(in_chain))
}

type Configured = rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>;

fn explaining(
    provider: &Arc<CryptoProvider>,
    roots: RootCertStore,
) -> Result<Arc<Explaining>, Box<dyn Error>> {
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()?;
    Ok(Arc::new(Explaining { verifier, name: None }))
}

fn verified_by(provider: &Arc<CryptoProvider>, verifier: &Arc<Explaining>) -> Result<Configured, TlsError> {
    let config =
        ClientConfig::builder_with_provider(Arc::clone(provider)).with_safe_default_protocol_versions()?;
    let verifier: Arc<dyn ServerCertVerifier> = Arc::<Explaining>::clone(verifier);
    Ok(config.dangerous().with_custom_certificate_verifier(verifier))
}

/// The client's own certificates, and its key.
type Client = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn client(table: &TlsTable, directory: &Path) -> Result<Option<Client>, String> {
    let Some(path) = &table.certificate else { return Ok(None) };
    let chain = certificates("certificate", &directory.join(path))?;
    let (key, shown) = match (&table.key, &table.key_env) {
        (Some(path), _) => {
            (pem("key", &directory.join(path))?, format!("`target.tls.key` is `{}`", path.display()))
        }
        (None, Some(name)) => {
            let key = variable(name).ok_or_else(|| unset("target.tls.key_env", name))?;
            (key.into_bytes(), format!("`target.tls.key_env` names `{name}`"))
        }
        (None, None) => return Err("`target.tls` has a `certificate` and no `key`".to_owned()),
    };
    let key =
        PrivateKeyDer::from_pem_slice(&key).map_err(|_| format!("{shown}, and no key in PEM is there"))?;
    Ok(Some((chain, key)))
}

/// That an environment variable is not set.
pub(super) fn unset(key: &str, name: &str) -> String {
    format!("the environment variable `{name}`, which `{key}` names, is not set")
}

fn mismatch(error: &TlsError) -> String {
    match error {
        TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            "the key of `[target.tls]` is not that of its `certificate`".to_owned()
        }
        other => format!("the key of `[target.tls]` cannot be used: {other}"),
    }
}

fn pem(key: &str, path: &Path) -> Result<Vec<u8>, String> {
    files::read(path, MAX_PEM)
        .map_err(|error| format!("`target.tls.{key}` is `{}`, which cannot be read: {error}", path.display()))
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = pem(key, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(format!("`target.tls.{key}` is `{}`, and no certificate in PEM is there", path.display())),
    }
}

/// Verifies as the library does, and says in words that help what is wrong.
#[derive(Clone, Debug)]
struct Explaining {
    verifier: Arc<WebPkiServerVerifier>,
    /// The name that is expected in place of that of the address.
    name: Option<ServerName<'static>>,
}

/// What is wrong with a certificate.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Explained(String);

impl ServerCertVerifier for Explaining {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let name = self.name.as_ref().unwrap_or(name);
        let verified = self.verifier.verify_server_cert(own, issuers, name, stapled, now);
        verified.map_err(|error| match error {
            TlsError::InvalidCertificate(why) => {
                let chain = certificate::chain(std::iter::once(own).chain(issuers).map(AsRef::as_ref));
                let explained = Explained(explained(&why, name, &chain));
                TlsError::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(explained))))
            }
            other => other,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.verifier.root_hint_subjects()
    }
}

fn explained(why: &CertificateError, name: &ServerName<'_>, chain: &str) -> String {
    let name = name.to_str();
    let day = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        jiff::Timestamp::from_second(seconds)
            .map_or_else(|_| "an unknown day".to_owned(), |time| time.to_string())
    };
    match why {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("a certificate of its chain expired at {}: {chain}", day(not_after))
        }
        CertificateError::Expired => format!("a certificate of its chain has expired: {chain}"),
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "a certificate of its chain is not valid before {}, or the clock of this machine is wrong: {chain}",
            day(not_before)
        ),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let presented: Vec<String> = presented.iter().map(|name| shown_name(name)).collect();
            let names = if presented.is_empty() { "no host".to_owned() } else { presented.join(", ") };
            format!(
                "its certificate is for {names}, and not for `{name}`: correct the address, or say by `server_name` \
                 under `[target.tls]` whom to expect ({chain})"
            )
        }
        CertificateError::UnknownIssuer => format!(
            "its certificate is of an issuer that is not trusted: {chain}; name that issuer's certificate by `ca` under \
             `[target.tls]`"
        ),
        CertificateError::BadSignature => {
            format!(
                "a signature in its chain is wrong, so `ca` may have another key than its issuer: {chain}"
            )
        }
        other => format!("its certificate is not valid ({other}): {chain}"),
    }
}

/// A name as the library quotes it, without the library's words around it.
fn shown_name(name: &str) -> String {
    let own = name.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map_or(name, |(own, _)| own);
    format!("`{own}`")
}
