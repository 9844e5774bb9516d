//! Sends every event to every open stream, without waiting for any of them.
//!
//! Each stream has a bounded queue. One that is full belongs to a reader who does not keep up: the stream is ended, the
//! reader can open another and list what it missed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::record::now;
use crate::sync::locked;

/// All open streams.
pub(super) struct Fanout {
    streams: Mutex<Streams>,
    /// How many there may be.
    limit: usize,
    /// How many events may wait in one.
    queue: usize,
}

#[derive(Default)]
struct Streams {
    /// Nothing is published any more, and no streams are opened.
    closed: bool,
    /// Streams that were opened so far.
    opened: u64,
    /// A stream without a sender has been ended, and keeps its place until its connection has gone.
    senders: BTreeMap<u64, Option<mpsc::Sender<Bytes>>>,
}

/// One open stream.
struct Subscription {
    fanout: Arc<Fanout>,
    number: u64,
    events: mpsc::Receiver<Bytes>,
    pings: Interval,
}

impl Fanout {
    pub(super) fn new(limit: usize, queue: usize) -> Arc<Self> {
        Arc::new(Self { streams: Mutex::default(), limit, queue })
    }

    /// Opens a stream of what happens from now on; nothing when there are too many.
    pub(super) fn open(
        self: &Arc<Self>,
        ping: Duration,
    ) -> Option<impl Stream<Item = Result<Bytes, std::convert::Infallible>> + use<>> {
        let (sender, events) = mpsc::channel(self.queue);
        let mut streams = locked(&self.streams);
        if streams.closed || streams.senders.len() >= self.limit {
            return None;
        }
        let number = streams.opened;
        streams.opened += 1;
        streams.senders.insert(number, Some(sender));
        drop(streams);
        let mut pings = tokio::time::interval_at(Instant::now() + ping, ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let subscription = Subscription { fanout: Arc::clone(self), number, events, pings };
        Some(stream::unfold(subscription, |mut subscription| async move {
            let bytes = tokio::select! {
                event = subscription.events.recv() => event?,
                _ = subscription.pings.tick() => frame(&json!({"type": "ping", "ts": now()})),
            };
            Some((Ok(bytes), subscription))
        }))
    }

    /// Sends an event to all of them.
    pub(super) fn publish(&self, event: &Value) {
        let bytes = frame(event);
        for sender in locked(&self.streams).senders.values_mut() {
            if sender.as_ref().is_some_and(|sender| sender.try_send(bytes.clone()).is_err()) {
                *sender = None;
            }
        }
    }

    /// Ends all of them.
    pub(super) fn close(&self) {
        let mut streams = locked(&self.streams);
        streams.closed = true;
        streams.senders.values_mut().for_each(|sender| *sender = None);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        locked(&self.fanout.streams).senders.remove(&self.number);
    }
}

/// One event without a name. JSON on one line needs no further care.
fn frame(event: &Value) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{FutureExt as _, StreamExt as _};
    use serde_json::json;

    use super::Fanout;

    const PING: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_stream_that_is_not_read_ends_and_the_others_go_on() {
        let fanout = Fanout::new(2, 2);
        let mut slow = Box::pin(fanout.open(PING).expect("a stream"));
        let mut quick = Box::pin(fanout.open(PING).expect("a stream"));
        assert!(fanout.open(PING).is_none());
        for number in 0..5 {
            fanout.publish(&json!(number));
            let frame = quick.next().await.expect("an event").expect("bytes");
            assert_eq!(frame, format!("data: {number}\n\n"));
        }
        assert!(slow.next().await.is_some());
        assert!(slow.next().await.is_some());
        assert!(slow.next().await.is_none());
        assert!(quick.next().now_or_never().is_none());
        drop(slow);
        assert!(fanout.open(PING).is_some());
        fanout.close();
        assert!(quick.next().await.is_none());
        assert!(fanout.open(PING).is_none());
    }
}
