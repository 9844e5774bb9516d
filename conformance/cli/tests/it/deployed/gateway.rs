//! What stands before a deployed target: it ends TLS, looks at each request, and lets it through or answers itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// A request, as the gateway sees it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// What becomes of it.
pub(crate) enum Decision {
    /// The target gets it, with what is in its headers now.
    Pass,
    /// The gateway's own answer: status, a header with its value, and a body.
    Answer(u16, (&'static str, String), String),
    /// The connection is closed.
    Cut,
}

/// It ends with the test.
pub(crate) struct Gateway {
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

type Decide = dyn Fn(&mut Asked) -> Decision + Send + Sync;

impl Gateway {
    /// Stands before `target`, with TLS where there is a configuration.
    pub(crate) fn start(
        tls: Option<Arc<ServerConfig>>,
        target: &str,
        decide: impl Fn(&mut Asked) -> Decision + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (target, acceptor) = (target.to_owned(), tls.map(TlsAcceptor::from));
        let decide: Arc<Decide> = Arc::new(decide);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (target, acceptor, decide) = (target.clone(), acceptor.clone(), Arc::clone(&decide));
                tokio::spawn(async move {
                    match acceptor {
                        // A handshake that fails is the client's to report.
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => serve(stream, &target, &*decide).await,
                            Err(_) => None,
                        },
                        None => serve(stream, &target, &*decide).await,
                    }
                });
            }
        });
        Self { address, _runtime: runtime }
    }

    /// Lets everything through.
    pub(crate) fn open(tls: Arc<ServerConfig>, target: &str) -> Self {
        Self::start(Some(tls), target, |_| Decision::Pass)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

/// One request; a gateway keeps no connection.
async fn serve<S>(mut stream: S, target: &str, decide: &Decide) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut asked = read(&mut stream).await?;
    match decide(&mut asked) {
        Decision::Cut => {}
        Decision::Answer(status, (name, value), body) => {
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} Scripted\r\n{name}: {value}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.ok()?;
            let _ = stream.shutdown().await;
        }
        Decision::Pass => {
            let mut behind = TcpStream::connect(target).await.ok()?;
            asked.headers.insert("connection".to_owned(), "close".to_owned());
            asked.headers.insert("host".to_owned(), target.to_owned());
            let mut request = format!("{} {} HTTP/1.1\r\n", asked.method, asked.path);
            for (name, value) in &asked.headers {
                request.extend([name, ": ", value, "\r\n"]);
            }
            request.extend(["\r\n", &asked.body]);
            behind.write_all(request.as_bytes()).await.ok()?;
            tokio::io::copy(&mut behind, &mut stream).await.ok()?;
            let _ = stream.shutdown().await;
        }
    }
    Some(())
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?;
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok().filter(|read| *read > 0)?;
        body.extend_from_slice(&more[..read]);
    }
    Some(Asked { method, path, headers, body: String::from_utf8(body).ok()? })
}
