//! One request to one address: over the plain client, or encrypted over a connection of its own; and why there is no
//! answer.
//!
//! The plain client has no TLS, which it would set up for each of its users.

use std::error::Error;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reqwest::header::{HOST, HeaderValue};
use reqwest::{Body, Client, Request, Response, Url};
use tokio::net::TcpStream;

use super::tls::TlsSource;
use crate::engine::environment;
use crate::net::http_answer;

/// For a connection, where nothing else is said.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long is waited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deadlines {
    /// For a connection.
    pub(super) connect: Option<Duration>,
    /// For a whole answer.
    pub(super) answer: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum SendError {
    /// Below HTTP or in it, over a plain connection.
    Plain(reqwest::Error),
    /// No connection, with TLS or without.
    Connect(String),
    /// What was there ended before the answer.
    Closed(String),
    /// What the target asks of its clients is wrong or not there, so it is no use to try again.
    Hindered(String),
}

/// Sends a request as it is; `is_target` where the name that the manifest gives for its host is meant.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn exchange(
    plain: &Client,
    tls: &TlsSource,
    request: Request,
    deadlines: Deadlines,
    is_target: bool,
) -> Result<Response, SendError> {
    if request.url().scheme() != "https" {
        return plain.execute(request).await.map_err(SendError::Plain);
    }
    let deadline = request.timeout().copied().or(deadlines.answer);
    let connect = deadlines.connect.unwrap_or(CONNECT_DEADLINE);
    // Boxed, so that requests without TLS do not carry it along.
    let exchange = Box::pin(encrypted(tls, request, connect, is_target));
    match deadline {
        None => exchange.await,
        Some(deadline) => tokio::time::timeout(deadline, exchange)
            .await
            .unwrap_or_else(|_| Err(SendError::Closed("there was no answer in time".to_owned()))),
    }
}

/// One request over a connection of its own.
async fn encrypted(
    tls: &TlsSource,
    request: Request,
    connect: Duration,
    is_target: bool,
) -> Result<Response, SendError> {
    let tls = tls.made().map_err(SendError::Hindered)?;
    let url = request.url().clone();
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let connecting = async {
        let address = (host.trim_start_matches('[').trim_end_matches(']'), port);
        let stream = TcpStream::connect(address).await?;
        let _ = stream.set_nodelay(true);
        tls.connect(&host, is_target, stream).await
    };
    let cause = |error: &(dyn Error + 'static)| {
        environment::note(error);
        tls.fault(error).map(SendError::Hindered)
    };
    let stream = match tokio::time::timeout(connect, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(cause(&error).unwrap_or_else(|| SendError::Connect(error.to_string()))),
        Err(_) => {
            return Err(SendError::Connect(format!("no connection within {} s", connect.as_secs_f64())));
        }
    };
    let closed = |error: &hyper::Error| SendError::Closed(deepest(error));
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) =
        handshake.map_err(|error| cause(&error).unwrap_or_else(|| closed(&error)))?;
    // It ends when the answer is read or dropped.
    let connection = tokio::spawn(connection);
    match sender.send_request(into_http(request, &url)?).await {
        Ok(response) => Ok(response.map(Body::wrap).into()),
        Err(error) => {
            drop(sender);
            // What the connection ended with may say more: a target refuses a certificate when the request has left.
            let end = tokio::time::timeout(connect, connection).await;
            let end = end.ok().and_then(Result::ok).and_then(Result::err);
            let fault = cause(&error).or_else(|| end.as_ref().and_then(|end| cause(end)));
            Err(fault.unwrap_or_else(|| closed(&error)))
        }
    }
}

/// A request in the form in which a server gets it.
fn into_http(request: Request, url: &Url) -> Result<hyper::Request<Body>, SendError> {
    let mut request = hyper::Request::try_from(request).map_err(SendError::Plain)?;
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let unusable = |_| SendError::Closed("its address cannot be asked for".to_owned());
    *request.uri_mut() = path.parse().map_err(unusable)?;
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let host =
        HeaderValue::from_str(host).map_err(|_| SendError::Closed("its host is no host".to_owned()))?;
    request.headers_mut().entry(HOST).or_insert(host);
    Ok(request)
}

/// The last cause of an error.
fn deepest(error: &(dyn Error + 'static)) -> String {
    let Some(cause) = std::iter::successors(Some(error), |&cause| cause.source()).last() else {
        return String::new();
    };
    match cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
        // What the TLS library says of it is for its users.
        Some(std::io::ErrorKind::UnexpectedEof) => http_answer::CLOSED.to_owned(),
        _ => cause.to_string(),
    }
}

impl SendError {
    /// Whether nobody is there, perhaps not yet.
    pub(crate) fn is_connect(&self) -> bool {
        match self {
            Self::Plain(error) => error.is_connect(),
            Self::Connect(_) => true,
            Self::Closed(_) | Self::Hindered(_) => false,
        }
    }

    /// What went wrong, without addresses: they differ from run to run.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Plain(error) => http_answer::said(error),
            Self::Connect(_) => "no connection can be made".to_owned(),
            Self::Closed(_) => http_answer::CLOSED.to_owned(),
            Self::Hindered(why) => why.clone(),
        }
    }

    /// The last cause of it.
    pub(crate) fn deepest(&self) -> String {
        match self {
            Self::Plain(error) => {
                environment::note(error);
                error.source().map_or_else(|| error.to_string(), deepest)
            }
            Self::Connect(why) | Self::Closed(why) | Self::Hindered(why) => why.clone(),
        }
    }
}
