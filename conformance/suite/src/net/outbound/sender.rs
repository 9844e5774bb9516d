//! The HTTP client with which the suite asks something of the target: whatever of `[target.tls]` and `[target.http]` its
//! address needs is added here, below everything that is written down.
//!
//! Neighbours: `connection` sends what is complete.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, ORIGIN, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, Request, RequestBuilder, Response, StatusCode};

use super::connection::{self, Deadlines, SendError};
use super::token::Tokens;
use super::{Outbound, Turn, discovery};
use crate::engine::by_hand::{header_of_environment, quoted};
use crate::transcript::lock;

/// Before a request that came too soon is sent again, where the target does not say when it may be.
const LIMIT_RETRY: Duration = Duration::from_secs(1);
/// For all tries of such a request; whoever limits the suite for longer is for `[target.manners]`.
const LIMIT_PATIENCE: Duration = Duration::from_secs(6);

/// How a client of the target behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderOptions {
    /// For a connection.
    pub connect: Option<Duration>,
    /// For a whole answer.
    pub answer: Option<Duration>,
    /// Whether it goes where it is redirected.
    pub follows: bool,
    /// Whether the target's token is sent only where its stand-in is, since the protocol has a use for the header.
    pub only_in_place: bool,
    /// Whether 429 is an answer of the protocol; else it is waited out.
    pub judges_limits: bool,
}

/// An HTTP client of the target.
#[derive(Clone, Debug)]
pub(crate) struct HttpSender {
    plain: Client,
    outbound: Arc<Outbound>,
    headers: HeaderMap,
    deadlines: Deadlines,
    /// Whether the target's token is sent only where its stand-in is.
    only_in_place: bool,
    judges_limits: bool,
}

impl HttpSender {
    /// A client of the target.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub(crate) fn new(outbound: &Arc<Outbound>, options: SenderOptions) -> Result<Self, String> {
        // No connection is kept for the next request: servers of one thread serve one connection at a time, and a server
        // may close one after any answer and not say so. What was sent on it meanwhile would be lost.
        let mut builder = Client::builder().no_proxy().pool_max_idle_per_host(0);
        if let Some(connect) = options.connect {
            builder = builder.connect_timeout(connect);
        }
        if let Some(answer) = options.answer {
            builder = builder.timeout(answer);
        }
        let headers = outbound.headers()?;
        outbound.check()?;
        // What the target asks for is for nobody else.
        if !options.follows || !headers.is_empty() || outbound.tokens.is_some() {
            builder = builder.redirect(reqwest::redirect::Policy::none());
        }
        let plain = builder.build().map_err(|error| error.to_string())?;
        let deadlines = Deadlines { connect: options.connect, answer: options.answer };
        let SenderOptions { only_in_place, judges_limits, .. } = options;
        Ok(Self { plain, outbound: Arc::clone(outbound), headers, deadlines, only_in_place, judges_limits })
    }

    /// A client that keeps its connection for the next request, until it is dropped; an encrypted one is not kept.
    pub(crate) fn on_one_connection(&self) -> Self {
        let mut builder = Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(1)
            .redirect(reqwest::redirect::Policy::none());
        if let Some(connect) = self.deadlines.connect {
            builder = builder.connect_timeout(connect);
        }
        // The options are those of a client that there is.
        let plain = builder.build().unwrap_or_else(|_| self.plain.clone());
        Self { plain, ..self.clone() }
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
        let token = (self.outbound.tokens.is_some() && !self.only_in_place)
            .then(|| " -H \"Authorization: Bearer ${CALLMARK_TOKEN}\"".to_owned());
        tls.chain(headers).chain(token).collect()
    }

    /// Why nothing more is to be expected from the target.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.outbound.trouble()
    }

    /// Waits until one more request may be sent. Who has a deadline begins it after that.
    pub(crate) async fn turn(&self) -> Turn {
        self.outbound.turn().await
    }

    /// Sends a request with what the target asks for, and again for a short while where it is asked too often.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn send(&self, mut request: RequestBuilder) -> Result<Response, SendError> {
        let began = Instant::now();
        loop {
            let again = request.try_clone().filter(|_| !self.judges_limits);
            let response = self.send_once(request).await?;
            match (wait_for_limit(&response), again) {
                (Some(wait), Some(again)) if began.elapsed() + wait <= LIMIT_PATIENCE => {
                    tokio::time::sleep(wait).await;
                    request = again;
                }
                _ => return Ok(response),
            }
        }
    }

    /// Sends a request, once more with another token where the target refuses this one.
    async fn send_once(&self, request: RequestBuilder) -> Result<Response, SendError> {
        let mut request = request.build().map_err(SendError::Plain)?;
        for (name, value) in &self.headers {
            // A table of its own knows better.
            if !request.headers().contains_key(name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        let Some(tokens) = self.outbound.tokens.as_ref().filter(|_| self.takes_token(&request)) else {
            // Who is asked by a page of another origin refuses the page, and not the headers.
            if self.headers.is_empty() || request.headers().contains_key(ORIGIN) {
                return self.sent(request).await;
            }
            return Box::pin(self.with_headers(request)).await;
        };
        Box::pin(self.with_token(tokens, request)).await
    }

    /// Sends a request whose credentials are the manifest's headers, unless who stands before the target refuses now what
    /// it let in before.
    async fn with_headers(&self, request: Request) -> Result<Response, SendError> {
        let own = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes().to_vec());
        let control = control(&request);
        let response = self.sent(request).await?;
        if !is_refused(&response) {
            lock(&self.outbound.let_in).insert(own);
            return Ok(response);
        }
        let was_let_in = lock(&self.outbound.let_in).contains(&own);
        if !was_let_in || is_json(&response) {
            return Ok(response);
        }
        // A target may refuse one request in this form, and breaks a rule by that. It refuses no other one alike.
        let _turn = self.outbound.further_turn().await;
        let again = tokio::time::timeout(connection::CONNECT_DEADLINE, self.sent(control)).await;
        let Ok(Ok(again)) = again else { return Ok(response) };
        if !is_refused(&again) || is_json(&again) {
            return Ok(response);
        }
        Err(self.hindered(format!(
            "the headers of `[target.http]` are refused ({}) and were not before: check that they have not expired and are good for this target",
            refusal(&response)
        )))
    }

    async fn with_token(&self, tokens: &Tokens, mut request: Request) -> Result<Response, SendError> {
        let token = tokens.current(&self.outbound.tls).await.map_err(|why| self.hindered(why))?;
        authorize(&mut request, token.as_deref())?;
        // Who is asked by a page of another origin refuses the page, and not the token.
        let counts = !request.headers().contains_key(ORIGIN);
        let again = request.try_clone();
        let url = request.url().clone();
        let response = self.sent(request).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.looked_at(response, token.is_some() && counts);
        }
        let challenge = challenge(&response);
        let renewed = tokens.renewed(&self.outbound.tls, token.as_deref(), &url, &challenge).await;
        let renewed = renewed.map_err(|why| self.hindered(why))?;
        match (renewed, again) {
            (Some(renewed), Some(mut again)) => {
                authorize(&mut again, Some(&renewed))?;
                let response = self.sent(again).await?;
                self.looked_at(response, counts)
            }
            _ => self.looked_at(response, token.is_some() && counts),
        }
    }

    /// Whether the target's token belongs into a request.
    fn takes_token(&self, request: &Request) -> bool {
        match request.headers().get(AUTHORIZATION) {
            None => !self.only_in_place,
            Some(own) => {
                let word = own.to_str().ok().and_then(|own| own.split_once(' ')).map(|(_, word)| word);
                word.is_some() && word == self.outbound.stand_in()
            }
        }
    }

    /// An answer, unless who stands before the target refuses the token: what it says is not the target's.
    fn looked_at(&self, response: Response, had_token: bool) -> Result<Response, SendError> {
        if !had_token || !is_refused(&response) {
            return Ok(response);
        }
        let challenge = challenge(&response);
        let error = discovery::parameter(&challenge, "error")
            .filter(|error| ["invalid_token", "insufficient_scope"].contains(&error.as_str()));
        if error.is_none() && is_json(&response) {
            return Ok(response);
        }
        let error = error.map(|error| format!(", `{error}`")).unwrap_or_default();
        Err(self.hindered(format!(
            "the token of `[target.http]` is refused ({}{error}): check that it has not expired and is good for this target",
            refusal(&response)
        )))
    }

    fn hindered(&self, why: String) -> SendError {
        self.outbound.hinder(why.clone());
        SendError::Hindered(why)
    }

    async fn sent(&self, request: Request) -> Result<Response, SendError> {
        let Self { plain, outbound, deadlines, .. } = self;
        let sent = connection::exchange(plain, &outbound.tls, request, *deadlines, true).await;
        if let Err(SendError::Hindered(why)) = &sent {
            self.outbound.hinder(why.clone());
        }
        sent
    }
}

/// How long to wait, where a request comes too soon after others.
fn wait_for_limit(response: &Response) -> Option<Duration> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let asked = response.headers().get(RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.parse().ok());
    Some(asked.map_or(LIMIT_RETRY, Duration::from_secs).max(LIMIT_RETRY / 4))
}

/// Whether somebody refuses the credentials: by a status, or by sending whoever asks to another host to sign in.
fn is_refused(response: &Response) -> bool {
    matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        || signs_in_at(response).is_some()
}

/// The other host that a temporary redirect leads to.
fn signs_in_at(response: &Response) -> Option<String> {
    let is_temporary = [StatusCode::FOUND, StatusCode::SEE_OTHER, StatusCode::TEMPORARY_REDIRECT]
        .contains(&response.status());
    let location = response.headers().get(LOCATION).filter(|_| is_temporary)?.to_str().ok()?;
    let to = response.url().join(location).ok()?;
    (to.host() != response.url().host()).then(|| to.host_str().map(str::to_owned)).flatten()
}

/// The status of a refusal, and where it leads to.
fn refusal(response: &Response) -> String {
    let status = response.status().as_u16();
    signs_in_at(response).map_or_else(|| status.to_string(), |host| format!("{status}, to `{host}`"))
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.contains("json"))
}

/// Another request with the same credentials that changes nothing where it arrives.
fn control(request: &Request) -> Request {
    let mut url = request.url().clone();
    if request.method() == Method::GET {
        url.set_path("/");
        url.set_query(None);
    }
    let mut control = Request::new(Method::GET, url);
    *control.headers_mut() = request.headers().clone();
    for name in [CONTENT_LENGTH, CONTENT_TYPE] {
        control.headers_mut().remove(name);
    }
    control
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wiremock::matchers::method;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::engine::manifest::Manifest;

    async fn status(options: SenderOptions) -> u16 {
        let server = MockServer::start().await;
        let limited = ResponseTemplate::new(429).insert_header("retry-after", "0");
        Mock::given(method("POST")).respond_with(limited).up_to_n_times(2).mount(&server).await;
        Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
        let manifest = Manifest::parse("callmark.toml", "[target]\nname = \"a\"\n", Path::new("."));
        let outbound = Outbound::of(&manifest.expect("a manifest"));
        let http = HttpSender::new(&outbound, options).expect("a client");
        let answer = http.send(http.request(Method::POST, &server.uri()).body("x")).await.expect("an answer");
        answer.status().as_u16()
    }

    #[tokio::test]
    async fn a_limit_is_waited_out_unless_the_protocol_has_a_meaning_for_it() {
        assert_eq!(status(SenderOptions::default()).await, 200);
        assert_eq!(status(SenderOptions { judges_limits: true, ..SenderOptions::default() }).await, 429);
    }
}
