//! Copies of what passes: of a request and of its answer, up to a bound, for the judge.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::http::{HeaderMap, request, response};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::engine::recording::MAX_LINE;
use crate::engine::recording::live::Feed;
use crate::engine::recording::observer::{HttpExchange, Traffic};
use crate::transcript::lock;

/// Which body of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// An exchange under way. When nobody holds it any more it is over, and goes to the judge.
pub(super) struct Passing {
    feed: Arc<Feed>,
    began: Instant,
    copy: Mutex<Copied>,
}

struct Copied {
    exchange: HttpExchange,
    /// Bytes of the feed's room that it has.
    held: usize,
    /// Whether the request, and the answer, was seen to its end.
    is_whole: [bool; 2],
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Copied,
    TooLong,
    Dropped,
    /// It is no exchange with the server.
    Forgotten,
}

impl Passing {
    /// A request begins.
    pub(super) fn begin(feed: &Arc<Feed>, parts: &request::Parts) -> Arc<Self> {
        let exchange = HttpExchange {
            method: parts.method.as_str().to_ascii_uppercase(),
            path: parts.uri.path().to_owned(),
            request_headers: lowered(&parts.headers),
            ..HttpExchange::default()
        };
        feed.begun();
        let copy = Copied { exchange, held: 0, is_whole: [false; 2], state: State::Copied };
        Arc::new(Self { feed: Arc::clone(feed), began: Instant::now(), copy: Mutex::new(copy) })
    }

    /// Its answer begins.
    pub(super) fn answered(&self, parts: &response::Parts) {
        let mut copy = lock(&self.copy);
        copy.exchange.status = parts.status.as_u16();
        copy.exchange.response_headers = lowered(&parts.headers);
    }

    /// There was no answer of the server's.
    pub(super) fn forget(&self) {
        self.give_up(&mut lock(&self.copy), State::Forgotten);
    }

    fn add(&self, side: Side, bytes: &Bytes) {
        let mut copy = lock(&self.copy);
        if copy.state != State::Copied {
            return;
        }
        let length = copy.body(side).len() + bytes.len();
        if length > MAX_LINE {
            self.give_up(&mut copy, State::TooLong);
        } else if self.feed.reserve(bytes.len()) {
            copy.held += bytes.len();
            copy.body(side).extend_from_slice(bytes);
        } else {
            self.give_up(&mut copy, State::Dropped);
        }
    }

    fn end(&self, side: Side) {
        lock(&self.copy).is_whole[usize::from(side == Side::Response)] = true;
    }

    fn give_up(&self, copy: &mut Copied, why: State) {
        copy.state = why;
        copy.exchange = HttpExchange::default();
        self.feed.release(std::mem::take(&mut copy.held));
    }
}

impl Copied {
    fn body(&mut self, side: Side) -> &mut Vec<u8> {
        match side {
            Side::Request => &mut self.exchange.request,
            Side::Response => &mut self.exchange.response,
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.feed.ended();
        let copy = self.copy.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let held = std::mem::take(&mut copy.held);
        match copy.state {
            State::Copied if copy.is_whole == [true; 2] => {
                self.feed.took(self.began.elapsed());
                self.feed.offer(Traffic::Http(std::mem::take(&mut copy.exchange)), held);
            }
            // It broke off, by whichever side.
            State::Copied => {
                self.feed.release(held);
                self.feed.broken_off();
            }
            State::TooLong => self.feed.too_long(),
            State::Dropped => self.feed.dropped(),
            State::Forgotten => {}
        }
    }
}

/// A body that passes.
pub(super) struct Tap {
    body: Incoming,
    side: Side,
    /// None when the body was seen to its end.
    passing: Option<Arc<Passing>>,
}

impl Tap {
    pub(super) fn new(body: Incoming, side: Side, passing: &Arc<Passing>) -> Self {
        let mut own = Self { body, side, passing: Some(Arc::clone(passing)) };
        own.look();
        own
    }

    /// Whoever sends a body need not ask for more when it knows that there is none.
    fn look(&mut self) {
        if self.body.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(passing) = self.passing.take() {
            passing.end(self.side);
        }
    }
}

impl Body for Tap {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &polled {
            Some(Ok(frame)) => {
                if let (Some(data), Some(passing)) = (frame.data_ref(), &self.passing) {
                    passing.add(self.side, data);
                }
                self.look();
            }
            None => self.end(),
            Some(Err(_)) => {}
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Names in lower case; several values of a name as one.
fn lowered(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        all.entry(name.as_str().to_owned())
            .and_modify(|own| *own = format!("{own}, {value}"))
            .or_insert_with(|| value.into_owned());
    }
    all
}
