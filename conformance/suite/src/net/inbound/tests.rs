//! Clients of the proxy and of the suite's own servers with TLS, good and bad ones.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::net::http_server::{HttpReply, HttpServer, ReceivedRequest};

/// For everything that has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy before a party that plays `a.example`.
struct Bench {
    inbound: Inbound,
    variables: BTreeMap<String, String>,
    party: HttpServer,
    heard: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Bench {
    async fn start() -> Self {
        let inbound = Inbound { intercepts: true, serves_tls: true, ..Inbound::default() };
        let heard = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let hearing = Arc::clone(&heard);
        let handler = move |request| {
            lock(&hearing).push(request);
            HttpReply::json(200, &json!({"said": "hello"}))
        };
        let party = HttpServer::start(None, Arc::new(handler)).await.expect("a party");
        let address = party.url().trim_start_matches("http://").parse().expect("an address");
        let played = Played::at(address, |host| host == "a.example");
        let variables = inbound.around(vec![played]).await.expect("a proxy");
        Self { inbound, variables, party, heard }
    }

    async fn proxy(&self) -> TcpStream {
        let address = self.variables["HTTPS_PROXY"].trim_start_matches("http://");
        TcpStream::connect(address).await.expect("the proxy listens")
    }

    /// A tunnel, and the first line of the answer.
    async fn tunnel(&self, to: &str) -> (TcpStream, String) {
        let mut stream = self.proxy().await;
        let asked = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.expect("sent");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
        (stream, line)
    }

    async fn encrypted(
        &self,
        to: &str,
        name: &'static str,
        roots: &str,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let (stream, line) = self.tunnel(to).await;
        assert!(line.contains(" 200 "), "{line}");
        connector(roots).connect(ServerName::try_from(name).expect("a name"), stream).await
    }

    /// The certificate of the run.
    fn trusted(&self) -> String {
        std::fs::read_to_string(&self.variables["NODE_EXTRA_CA_CERTS"]).expect("a certificate")
    }

    /// What is remarked, when there is something.
    async fn remark(&self) -> String {
        let looking = async {
            loop {
                if let Some(remark) = self.inbound.remarks().pop() {
                    return remark;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("a remark")
    }
}

fn connector(roots: &str) -> TlsConnector {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(roots.as_bytes()) {
        store.add(certificate.expect("PEM")).expect("an issuer");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(store)
        .with_no_client_auth();
    Arc::new(config).into()
}

/// The whole answer to a request that asks for the connection to be closed.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    let answering = async {
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        // A peer that closes without ceremony has answered all the same.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::time::timeout(PATIENCE, answering).await.expect("an answer in time")
}

const REQUEST: &str =
    "POST /a?b=c HTTP/1.1\r\nHost: a.example\r\nX-Of: me\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

#[tokio::test]
async fn a_party_is_asked_through_the_proxy_as_it_is_directly() {
    let bench = Bench::start().await;
    let direct =
        TcpStream::connect(bench.party.url().trim_start_matches("http://")).await.expect("the party");
    assert!(ask(direct, REQUEST).await.contains("hello"));
    let stream = bench.encrypted("a.example:443", "a.example", &bench.trusted()).await.expect("TLS");
    assert!(ask(stream, REQUEST).await.contains("hello"));
    // A plain request with a whole address, and one within a tunnel.
    let whole = REQUEST
        .replace("/a?b=c", "http://A.example/a?b=c")
        .replace("Host: a", "Proxy-Authorization: x\r\nHost: b");
    let answer = ask(bench.proxy().await, &whole).await;
    assert!(answer.contains("hello"), "{answer}");
    let (stream, _) = bench.tunnel("a.example:80").await;
    assert!(ask(stream, REQUEST).await.contains("hello"));
    let heard = lock(&bench.heard).clone();
    assert_eq!(heard.len(), 4, "{heard:?}");
    for other in &heard[1..] {
        let mut other = other.clone();
        other.headers.entry("host".to_owned()).and_modify(|host| host.make_ascii_lowercase());
        assert_eq!(other, heard[0]);
    }
    assert_eq!(bench.inbound.remarks(), [""; 0]);
}

#[tokio::test]
async fn another_host_is_refused_and_this_machine_is_not() {
    let bench = Bench::start().await;
    let (mut stream, line) = bench.tunnel("telemetry.example:443").await;
    assert!(line.contains(" 403 "), "{line}");
    let mut why = String::new();
    stream.read_to_string(&mut why).await.expect("a reason");
    assert!(why.contains("does not play this host"), "{why}");
    let answer = ask(bench.proxy().await, &REQUEST.replace("/a?b=c", "http://other.example/")).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let remark = bench.remark().await;
    assert!(
        remark.contains("`telemetry.example`, `other.example`, which the suite does not play"),
        "{remark}"
    );
    let own = bench.party.url();
    let answer = ask(bench.proxy().await, &REQUEST.replace("/a?b=c", &format!("{own}/"))).await;
    assert!(answer.contains("hello"), "{answer}");
    let (stream, _) = bench.tunnel(own.trim_start_matches("http://")).await;
    assert!(ask(stream, REQUEST).await.contains("hello"));
}

#[tokio::test]
async fn who_does_not_trust_the_ca_is_named() {
    let bench = Bench::start().await;
    let other = Authority::new().expect("another CA");
    bench.encrypted("a.example:443", "a.example", other.pem()).await.expect_err("no trust");
    let remark = bench.remark().await;
    assert!(remark.contains("did not trust the CA of the run for `a.example`"), "{remark}");
    assert!(remark.contains("`SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`"), "{remark}");
}

#[tokio::test]
async fn who_leaves_after_the_certificate_may_not_trust_the_ca() {
    let bench = Bench::start().await;
    let mut stream = bench.encrypted("a.example:443", "a.example", &bench.trusted()).await.expect("TLS");
    stream.shutdown().await.expect("closed");
    drop(stream);
    let remark = bench.remark().await;
    assert!(remark.contains("closed its connections to `a.example` without a request"), "{remark}");
    let stream = bench.encrypted("a.example:443", "a.example", &bench.trusted()).await.expect("TLS");
    assert!(ask(stream, REQUEST).await.contains("hello"));
    assert_eq!(bench.inbound.remarks(), [""; 0]);
}

#[tokio::test]
async fn another_name_in_tls_is_refused() {
    let bench = Bench::start().await;
    let refused = bench.encrypted("a.example:443", "b.example", &bench.trusted()).await;
    refused.expect_err("no certificate");
    let remark = bench.remark().await;
    assert!(remark.contains("`a.example and b.example`"), "{remark}");
    assert!(lock(&bench.heard).is_empty());
}

#[tokio::test]
async fn what_is_no_tls_ends_and_what_is_cut_says_nothing() {
    let bench = Bench::start().await;
    drop(bench.proxy().await);
    let (stream, _) = bench.tunnel("a.example:443").await;
    drop(stream);
    // The beginning of a handshake.
    let (mut stream, _) = bench.tunnel("a.example:443").await;
    stream.write_all(&[22, 3, 1, 2]).await.expect("sent");
    drop(stream);
    let (mut stream, _) = bench.tunnel("a.example:443").await;
    stream.write_all(b"SSH-2.0-x\r\n").await.expect("sent");
    drop(stream);
    let (stream, _) = bench.tunnel("a.example:443").await;
    assert_eq!(ask(stream, "\u{0}\u{1}\u{2}").await, "");
    let remark = bench.remark().await;
    assert!(remark.contains("sent to `a.example` after `CONNECT` was no TLS"), "{remark}");
    let stream = bench.encrypted("a.example:443", "a.example", &bench.trusted()).await.expect("TLS");
    assert!(ask(stream, REQUEST).await.contains("hello"));
    assert_eq!(bench.inbound.remarks().len(), 1);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let bench = Bench::start().await;
    for head in [
        format!("CONNECT a.example:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(60_000)),
        format!("CONNECT {}", "x".repeat(60_000)),
    ] {
        let answer = ask(bench.proxy().await, &head).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    for head in [
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example HTTP/1.1\r\n\r\n",
        "\r\n\r\n\r\n\r\n",
    ] {
        let answer = ask(bench.proxy().await, head).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{head:?}: {answer}");
    }
    assert_eq!(bench.inbound.remarks(), [""; 0]);
}

#[tokio::test]
async fn the_suites_own_servers_have_tls_where_the_manifest_says_so() {
    let bench = Bench::start().await;
    let url = bench.inbound.url(&format!("{}/v1", bench.party.url())).await.expect("a URL");
    let address = url.strip_prefix("https://").and_then(|rest| rest.strip_suffix("/v1")).expect("TLS");
    for name in ["127.0.0.1", "localhost"] {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let name = ServerName::try_from(name).expect("a name");
        let stream = connector(&bench.trusted()).connect(name, stream).await.expect("TLS");
        assert!(ask(stream, REQUEST).await.contains("hello"));
    }
    assert_eq!(lock(&bench.heard).len(), 2);
}

#[tokio::test]
async fn only_certificates_are_written_and_they_go_with_the_run() {
    let bench = Bench::start().await;
    let all = std::fs::read_to_string(&bench.variables["SSL_CERT_FILE"]).expect("issuers");
    assert!(all.starts_with(&bench.trusted()), "the CA of the run stands before those of the system");
    let directory = Path::new(&bench.variables["SSL_CERT_FILE"]).parent().expect("a directory").to_owned();
    for entry in std::fs::read_dir(&directory).expect("a directory") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
        assert!(!text.contains("PRIVATE KEY"), "{text}");
    }
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        assert!(bench.variables[name].starts_with("http://127.0.0.1:"), "{name}");
    }
    assert_eq!(bench.variables["no_proxy"], DIRECT);
    assert_eq!(bench.variables["NODE_USE_ENV_PROXY"], "1");
    drop(bench);
    assert!(!directory.exists());
}

#[tokio::test]
async fn without_the_keys_nothing_is_made() {
    let inbound = Inbound::default();
    assert_eq!(inbound.around(Vec::new()).await, Ok(BTreeMap::new()));
    assert_eq!(inbound.url("http://127.0.0.1:1/v1").await, Ok("http://127.0.0.1:1/v1".to_owned()));
    assert!(inbound.trust.get().is_none());
}
