//! Calls of a Hub under load: harmless requests of a connected customer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::reply::Reply;
use super::session::HubSession;
use crate::engine::load::{Caller, Exchanged};
use crate::engine::secrets;
use crate::families::hub::manifest::Customer;
use crate::net::http_client::Caller as Client;
use crate::transcript::{Frame, Transcript};

/// Makes the request by which a Hub shows that it is alive.
pub(super) struct HubCaller {
    session: Arc<HubSession>,
}

impl HubCaller {
    /// Calls by this session.
    pub(super) fn new(session: Arc<HubSession>) -> Self {
        Self { session }
    }

    async fn make(&self, number: u64, deadline: Instant) -> Exchanged {
        let transcript = Arc::<Transcript>::default();
        let scenario = self.session.unique(&format!("load, call {number}"));
        let client = Client { scenario, transcript: Arc::clone(&transcript) };
        let request = self.session.sentinel(Customer::Connected);
        let left = deadline.saturating_duration_since(Instant::now());
        let call = self.session.client.send(&client, &request, left).await;
        let (answered, failure) = transcript.peek(|frames| {
            let reply = Reply::of(frames, call);
            let at = reply.and_then(|reply| reply.answer.or(reply.closed)).map(|frame| frame.at_us);
            let at = at.map(|at_us| transcript.began() + Duration::from_micros(at_us));
            match reply {
                Some(reply) if reply.is_executed() => (at, None),
                // What was broken off at the deadline was not answered.
                Some(reply) if reply.answer.is_none() && Instant::now() >= deadline => (None, None),
                Some(reply) => (at, Some(reply.summary())),
                None => (None, None),
            }
        });
        Exchanged { answered, failure, messages: Box::new(move || without_secrets(transcript.all())) }
    }
}

/// The service secret is in no report.
fn without_secrets(mut frames: Vec<Frame>) -> Vec<Frame> {
    for value in frames.iter_mut().filter_map(|frame| frame.headers.get_mut("authorization")) {
        let scheme = value.split_once(' ').map_or("", |(scheme, _)| scheme);
        format!("{scheme} {}", secrets::stand_in(1)).trim_start().clone_into(value);
    }
    frames
}

impl Caller for HubCaller {
    fn profile(&self) -> &'static str {
        HubSession::FAMILY
    }

    fn call(&self, number: u64, deadline: Instant) -> BoxFuture<'_, Exchanged> {
        self.make(number, deadline).boxed()
    }

    /// An answer over HTTP is whole.
    fn linger(&self) -> Duration {
        Duration::ZERO
    }
}
