//! What encrypts connections to a database: whom the client trusts, and in plain words why it does not.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::url::Encryption;
use crate::cause::Cause;

/// Largest file of issuers.
const MAX_PEM: u64 = 4 * 1024 * 1024;

/// What encrypts connections, where they are to be.
///
/// # Errors
/// The file of issuers cannot be read, or there is none that is trusted.
pub(super) fn connector(encryption: &Encryption) -> Result<Option<MakeRustlsConnect>, Cause> {
    let Encryption::Verified(issuers) = encryption else { return Ok(None) };
    let roots = match issuers {
        Some(path) => {
            read(path).map_err(|cause| format!("`sslrootcert` is `{}`: {cause}", path.display()))?
        }
        None => system()?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Some(MakeRustlsConnect::new(config)))
}

/// The issuers that the system trusts.
fn system() -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    // What of the system's store cannot be read is left out, as browsers do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this system trusts no issuer of certificates: name a file of them by `sslrootcert`".into()
        );
    }
    Ok(roots)
}

/// The issuers in a file.
fn read(path: &Path) -> Result<RootCertStore, Cause> {
    let mut text = Vec::new();
    File::open(path)?.take(MAX_PEM).read_to_end(&mut text)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        roots.add(certificate.map_err(|error| format!("not PEM: {error}"))?)?;
    }
    if roots.is_empty() {
        return Err("there is no certificate in it".into());
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use tokio::net::TcpSocket;

    use super::super::cluster::Cluster;
    use super::super::database::Database;
    use crate::cause::Cause;

    /// A cluster that takes connections of `localhost` and has a certificate for that name, its issuer's file, and what keeps
    /// its port from others.
    fn encrypted(directory: &std::path::Path) -> (Cluster, String, TcpSocket) {
        let mut issuer = CertificateParams::new(Vec::<String>::new()).expect("parameters");
        issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(issuer, KeyPair::generate().expect("a key"));
        let issuer = issuer.expect("an issuer");
        let key = KeyPair::generate().expect("a key");
        let named = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let certificate = named.signed_by(&key, &issuer).expect("a certificate").pem();
        let written = |name: &str, text: &str| {
            let path = directory.join(name);
            std::fs::write(&path, text).expect("a file");
            path.to_str().expect("a plain path").to_owned()
        };
        let issuer = written("ca.pem", &issuer.pem());
        let (certificate, key) =
            (written("server.pem", &certificate), written("key.pem", &key.serialize_pem()));
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("permissions");
        let mut cluster = Cluster::start();
        // Whoever runs the server reads them: another user where the test runs as root.
        if Command::new("chown")
            .arg("postgres")
            .args([&certificate, &key])
            .status()
            .expect("`chown`")
            .success()
        {
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        for (name, value) in [("ssl_cert_file", certificate.as_str()), ("ssl_key_file", &key), ("ssl", "on")]
        {
            cluster.psql(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        }
        let held = TcpSocket::new_v4().expect("a socket");
        held.set_reuseaddr(true).expect("an option");
        held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        cluster.port = Some(held.local_addr().expect("an address").port());
        cluster.stop();
        cluster.resume();
        (cluster, issuer, held)
    }

    async fn opened(host: &str, cluster: &Cluster, parameters: &str) -> Result<Arc<Database>, String> {
        let port = cluster.port.expect("a port");
        let url = format!("postgres://postgres:hush@{host}:{port}/postgres?{parameters}");
        let opened = Database::open(&url.parse().expect("a URL"), "").await;
        opened.map_err(|cause: Cause| cause.to_string())
    }

    #[tokio::test]
    async fn a_connection_is_encrypted_with_a_server_whose_certificate_holds() {
        let directory = tempfile::Builder::new().prefix("tls-").tempdir_in("/tmp").expect("a directory");
        let (cluster, issuer, _held) = encrypted(directory.path());
        let full = format!("sslmode=verify-full&sslrootcert={issuer}");
        let is_encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        for (parameters, expect) in [(full.as_str(), true), ("sslmode=disable", false), ("", false)] {
            let database = opened("localhost", &cluster, parameters).await.expect("a database");
            let rows = database.once(is_encrypted, &[]).await.expect("a row");
            assert_eq!(rows[0].get::<_, bool>(0), expect, "{parameters}");
        }

        let refused = async |host: &str, parameters: &str| {
            let error = opened(host, &cluster, parameters).await.err().expect("a refusal");
            assert!(!error.contains("hush"), "{error}");
            error
        };
        let other_name = refused("127.0.0.1", &full).await;
        assert!(other_name.contains("not valid for name"), "{other_name}");
        let unknown = refused("localhost", "sslmode=require").await;
        assert!(unknown.contains("UnknownIssuer") || unknown.contains("sslrootcert"), "{unknown}");
        let no_file = refused("localhost", "sslmode=require&sslrootcert=/nowhere.pem").await;
        assert!(no_file.contains("`sslrootcert` is `/nowhere.pem`"), "{no_file}");
        let no_certificate = refused("localhost", "sslmode=require&sslrootcert=/dev/null").await;
        assert!(no_certificate.contains("no certificate in it"), "{no_certificate}");
        cluster.psql("ALTER SYSTEM SET ssl = off");
        cluster.psql("SELECT pg_reload_conf()");
        let plain = refused("localhost", &full).await;
        assert!(plain.contains("TLS"), "{plain}");
    }
}
