//! The HTTP client with which the suite asks something of the target: whatever of `[target.tls]` and `[target.http]` its
//! address needs is added here, below everything that is written down.
//!
//! The plain client has no TLS, which it would set up for each of its users. What is encrypted has a connection of its
//! own.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Body, Client, Method, Request, RequestBuilder, Response, StatusCode, Url};
use tokio::net::TcpStream;

use super::token::Tokens;
use super::{Outbound, discovery};
use crate::engine::by_hand::{header_of_environment, quoted};
use crate::engine::environment;
use crate::net::http_answer;

/// For a connection, where nothing else is said.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How a client of the target behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderOptions {
    /// For a connection.
    pub connect: Option<Duration>,
    /// For a whole answer.
    pub answer: Option<Duration>,
    /// Whether connections are kept for the next request. Servers of one thread serve one connection at a time, and a
    /// server may close one whenever it likes.
    pub keeps: bool,
    /// Whether it goes where it is redirected.
    pub follows: bool,
    /// Whether the target's token is sent only where its stand-in is, since the protocol has a use for the header.
    pub only_in_place: bool,
}

/// An HTTP client of the target.
#[derive(Clone, Debug)]
pub(crate) struct HttpSender {
    plain: Client,
    outbound: Arc<Outbound>,
    headers: HeaderMap,
    options: SenderOptions,
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

impl HttpSender {
    /// A client of the target.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub(crate) fn new(outbound: &Arc<Outbound>, options: SenderOptions) -> Result<Self, String> {
        let mut builder = Client::builder().no_proxy();
        if let Some(connect) = options.connect {
            builder = builder.connect_timeout(connect);
        }
        if let Some(answer) = options.answer {
            builder = builder.timeout(answer);
        }
        if !options.keeps {
            builder = builder.pool_max_idle_per_host(0);
        }
        let headers = outbound.headers()?;
        outbound.check()?;
        // What the target asks for is for nobody else.
        if !options.follows || !headers.is_empty() || outbound.tokens.is_some() {
            builder = builder.redirect(reqwest::redirect::Policy::none());
        }
        let plain = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { plain, outbound: Arc::clone(outbound), headers, options })
    }

    /// A request, to be sent with [`send`](Self::send).
    pub(crate) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        self.plain.request(method, url)
    }

    /// What the target needs of its clients, for command lines: names of headers, and whether there is a token.
    pub(crate) fn by_hand(&self) -> String {
        let outbound = &self.outbound.target;
        let tls = outbound.tls.iter().flat_map(|tls| {
            let files = [("--cacert", &tls.ca), ("--cert", &tls.certificate), ("--key", &tls.key)];
            files.into_iter().filter_map(|(flag, path)| {
                Some(format!(" {flag} {}", quoted(&path.as_ref()?.display().to_string())))
            })
        });
        let headers = self.headers.keys().map(|name| header_of_environment("CALLMARK_HEADER", name.as_str()));
        let token = (self.outbound.tokens.is_some() && !self.options.only_in_place)
            .then(|| " -H \"Authorization: Bearer ${CALLMARK_TOKEN}\"".to_owned());
        tls.chain(headers).chain(token).collect()
    }

    /// Why nothing more is to be expected from the target.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.outbound.trouble()
    }

    /// Sends a request with what the target asks for, once more with another token where it refuses this one.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, SendError> {
        let mut request = request.build().map_err(SendError::Plain)?;
        for (name, value) in &self.headers {
            // A table of its own knows better.
            if !request.headers().contains_key(name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        let Some(tokens) = self.outbound.tokens.as_ref().filter(|_| self.takes_token(&request)) else {
            return self.sent(request).await;
        };
        Box::pin(self.with_token(tokens, request)).await
    }

    async fn with_token(&self, tokens: &Tokens, mut request: Request) -> Result<Response, SendError> {
        let token = tokens.current(&self.outbound).await.map_err(|why| self.hindered(why))?;
        authorize(&mut request, token.as_deref())?;
        let again = request.try_clone();
        let url = request.url().clone();
        let response = self.sent(request).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.looked_at(response, token.is_some());
        }
        let challenge = challenge(&response);
        let renewed = tokens.renewed(&self.outbound, token.as_deref(), &url, &challenge).await;
        let renewed = renewed.map_err(|why| self.hindered(why))?;
        match (renewed, again) {
            (Some(renewed), Some(mut again)) => {
                authorize(&mut again, Some(&renewed))?;
                let response = self.sent(again).await?;
                self.looked_at(response, true)
            }
            _ => self.looked_at(response, token.is_some()),
        }
    }

    /// Whether the target's token belongs into a request.
    fn takes_token(&self, request: &Request) -> bool {
        match request.headers().get(AUTHORIZATION) {
            None => !self.options.only_in_place,
            Some(own) => {
                let word = own.to_str().ok().and_then(|own| own.split_once(' ')).map(|(_, word)| word);
                word.is_some() && word == self.outbound.stand_in()
            }
        }
    }

    /// An answer, unless who stands before the target refuses the token: what it says is not the target's.
    fn looked_at(&self, response: Response, had_token: bool) -> Result<Response, SendError> {
        let status = response.status();
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !had_token || !is_refused {
            return Ok(response);
        }
        let challenge = challenge(&response);
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let error = discovery::parameter(&challenge, "error")
            .filter(|error| ["invalid_token", "insufficient_scope"].contains(&error.as_str()));
        if error.is_none() && kind.contains("json") {
            return Ok(response);
        }
        let error = error.map(|error| format!(", `{error}`")).unwrap_or_default();
        Err(self.hindered(format!(
            "the token of `[target.http]` is refused ({}{error}): check that it has not expired and is good for this target",
            status.as_u16()
        )))
    }

    fn hindered(&self, why: String) -> SendError {
        self.outbound.hinder(why.clone());
        SendError::Hindered(why)
    }

    async fn sent(&self, request: Request) -> Result<Response, SendError> {
        let sent = self.bare(&self.outbound, request, true).await;
        if let Err(SendError::Hindered(why)) = &sent {
            self.outbound.hinder(why.clone());
        }
        sent
    }

    /// Sends a request as it is, with the TLS of `outbound`; `is_target` where its `server_name` is meant.
    pub(super) async fn bare(
        &self,
        outbound: &Outbound,
        request: Request,
        is_target: bool,
    ) -> Result<Response, SendError> {
        if request.url().scheme() != "https" {
            return self.plain.execute(request).await.map_err(SendError::Plain);
        }
        let deadline = request.timeout().copied().or(self.options.answer);
        let connect = self.options.connect.unwrap_or(CONNECT_DEADLINE);
        // Boxed, so that requests without TLS do not carry it along.
        let exchange = Box::pin(encrypted(outbound, request, connect, is_target));
        match deadline {
            None => exchange.await,
            Some(deadline) => tokio::time::timeout(deadline, exchange)
                .await
                .unwrap_or_else(|_| Err(SendError::Closed("there was no answer in time".to_owned()))),
        }
    }
}

fn challenge(response: &Response) -> String {
    let all = response.headers().get_all(WWW_AUTHENTICATE).iter();
    all.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(", ")
}

fn authorize(request: &mut Request, token: Option<&str>) -> Result<(), SendError> {
    request.headers_mut().remove(AUTHORIZATION);
    let Some(token) = token else { return Ok(()) };
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
        SendError::Hindered("the token of `[target.http]` cannot be sent in a header".to_owned())
    })?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    Ok(())
}

/// One request over a connection of its own.
async fn encrypted(
    outbound: &Outbound,
    request: Request,
    connect: Duration,
    is_target: bool,
) -> Result<Response, SendError> {
    let tls = outbound.tls().map_err(SendError::Hindered)?;
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
    std::iter::successors(Some(error), |&cause| cause.source())
        .last()
        .map_or_else(String::new, ToString::to_string)
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
            Self::Closed(_) => "the connection was closed before the answer was complete".to_owned(),
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
