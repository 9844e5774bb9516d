//! A reverse proxy: what clients send goes to one server as it is, what that answers comes back as it is, and a copy of both
//! goes to a judge.
//!
//! Only what belongs to a single connection is changed (RFC 9110, section 7.6.1), and `Host`, which names the server.
//! Bodies pass piece by piece, as they come. Passing on never waits for the judge: `tap` copies what there is room for.
//! Deliberately absent: HTTP/2, upgrades to other protocols, retries.

mod tap;
mod upstream;

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version};
use axum::serve::Listener as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

use self::tap::{Passing, Side, Tap};
use self::upstream::Connector;
use crate::engine::recording::live::Feed;
use crate::net::http_connections::Accepting;
use crate::net::outbound::Outbound;

/// For the head of a request, and between two requests of one connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(75);
/// How long a connection to the server is kept for the next request: less than servers keep it, so that none is lost on one
/// that the server is about to close.
const KEPT: Duration = Duration::from_secs(1);
/// Headers that belong to a single connection, beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// A running proxy. Dropped, it breaks off whatever passes.
#[derive(Debug)]
pub struct ReverseProxy {
    url: String,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

/// Where requests go.
struct Route {
    client: Client<Connector, Tap>,
    /// `http://host:port` and the path before that of each request, without a slash at its end.
    base: String,
    host: HeaderValue,
    feed: Arc<Feed>,
}

impl ReverseProxy {
    /// Listens, and passes on to the server at `to`, as `outbound` says how that is reached.
    ///
    /// # Errors
    /// What of the address cannot be used, or why it cannot listen.
    pub async fn start(
        listen: SocketAddr,
        to: &Url,
        outbound: &Arc<Outbound>,
        feed: &Arc<Feed>,
    ) -> Result<Self, String> {
        let route = Arc::new(Route::new(to, outbound, feed)?);
        let failed = |error: std::io::Error| format!("`{listen}` cannot be listened on: {error}");
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(serve(Accepting(listener), route, stopped));
        Ok(Self { url, stop, serving })
    }

    /// `http://host:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Takes no more requests, and lets those that are under way end within this time.
    pub async fn shutdown(mut self, within: Duration) {
        let _ = self.stop.send(true);
        if tokio::time::timeout(within, &mut self.serving).await.is_err() {
            self.serving.abort();
            let _ = (&mut self.serving).await;
        }
    }
}

impl Drop for ReverseProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut listener: Accepting, route: Arc<Route>, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop(&mut stopped) => break,
        };
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, Arc::clone(&route), stopped.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Returns when no more requests are to be taken.
async fn stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn connection(stream: TcpStream, route: Arc<Route>, mut stopped: watch::Receiver<bool>) {
    // Small pieces of a stream are to leave at once.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let route = Arc::clone(&route);
        async move { Ok::<_, Infallible>(route.pass(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .preserve_header_case(true)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // A client that goes away is no business of the proxy's.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop(&mut stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

impl Route {
    fn new(to: &Url, outbound: &Arc<Outbound>, feed: &Arc<Feed>) -> Result<Self, String> {
        let unusable = |why: &str| format!("`{}` cannot be passed on to: {why}", shown(to));
        if !matches!(to.scheme(), "http" | "https") {
            return Err(unusable("it begins with neither `http://` nor `https://`"));
        }
        if !to.username().is_empty() || to.password().is_some() {
            return Err(unusable("it holds a user, which each client sends itself"));
        }
        if to.query().is_some() || to.fragment().is_some() {
            return Err(unusable("it has more than host, port and path"));
        }
        if to.scheme() == "https" {
            outbound.tls()?;
        }
        let host = &to[url::Position::BeforeHost..url::Position::AfterPort];
        let base = format!("{}://{host}{}", to.scheme(), to.path().trim_end_matches('/'));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .http1_preserve_header_case(true)
            .build(Connector::new(outbound));
        let host = HeaderValue::from_str(host).map_err(|_| unusable("its host is no host"))?;
        Ok(Self { client, base, host, feed: Arc::clone(feed) })
    }

    /// Passes a request on, and its answer back.
    async fn pass(&self, request: Request<Incoming>) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map(PathAndQuery::as_str).filter(|path| path.starts_with('/'));
        let uri = path.and_then(|path| format!("{}{path}", self.base).parse::<Uri>().ok());
        let Some(uri) = uri else {
            return said(StatusCode::BAD_REQUEST, "callmark: a request without a path is not passed on\n");
        };
        let passing = Passing::begin(&self.feed, &parts);
        parts.uri = uri;
        parts.version = Version::HTTP_11;
        end_to_end(&mut parts.headers);
        parts.headers.insert(HOST, self.host.clone());
        let body = Tap::new(body, Side::Request, &passing);
        match self.client.request(Request::from_parts(parts, body)).await {
            Ok(response) => {
                let (mut parts, body) = response.into_parts();
                passing.answered(&parts);
                end_to_end(&mut parts.headers);
                parts.version = Version::HTTP_11;
                Response::from_parts(parts, Body::new(Tap::new(body, Side::Response, &passing)))
            }
            Err(error) => {
                passing.forget();
                let why = deepest(&error);
                let text = format!("callmark: no answer from `{}`: {why}\n", self.base);
                said(StatusCode::BAD_GATEWAY, text)
            }
        }
    }
}

/// A URL without its user and its query, which may hold a secret.
fn shown(url: &Url) -> String {
    format!("{}://{}", url.scheme(), &url[url::Position::BeforeHost..url::Position::AfterPath])
}

/// Leaves out what belongs to a single connection.
fn end_to_end(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// An answer of the proxy's own.
fn said(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The last cause of an error.
fn deepest(error: &(dyn Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |&cause| cause.source()).last();
    last.map_or_else(String::new, ToString::to_string)
}
