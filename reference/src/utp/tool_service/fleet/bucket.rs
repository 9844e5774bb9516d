//! A JetStream key-value bucket as the fleet uses it: read a key, write it if it still is as it was read, remove it.
//!
//! Reads are answered by the leader of the bucket's stream and not by its followers, which may lag behind; so what was
//! acknowledged before a read is seen by it.
//! Every attempt has a deadline, and so have all attempts of an operation together: longer than the servers of a cluster
//! take to elect a leader (up to nine seconds), so that the loss of one server fails no operation.

use std::time::Duration;

use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::kv::{Store, UpdateError};
use async_nats::jetstream::{self, Context, ErrorCode, stream};
use bytes::Bytes;
use futures::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

use crate::cause::Cause;

/// For the broker to answer one attempt.
const ATTEMPT_DEADLINE: Duration = Duration::from_secs(2);
/// For all attempts of one operation.
const OPERATION_DEADLINE: Duration = Duration::from_secs(12);
/// Between two attempts.
const RETRY: Duration = Duration::from_millis(200);
/// For the servers of a cluster to know each other well enough to place a bucket on three of them.
const PLACEMENT_DEADLINE: Duration = Duration::from_secs(10);
/// On how many servers a bucket is kept where there are as many.
const REPLICAS: usize = 3;

/// A bucket.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    store: Store,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    /// The key has this revision now.
    Done(u64),
    /// The key is not, or no longer, at the revision that was expected.
    Conflict,
}

/// An attempt that failed.
enum Attempt {
    /// For good.
    Refused(Cause),
    /// Another one may succeed; whether this one did is not known.
    Again(Cause),
}

impl Bucket {
    /// Opens a bucket, or makes it: on three servers where the cluster has them, else on one. Values that are older than
    /// `max_age` are dropped by the broker, with zero none.
    pub(super) async fn open(
        client: &async_nats::Client,
        name: &str,
        max_age: Duration,
    ) -> Result<Self, Cause> {
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ATTEMPT_DEADLINE);
        let began = Instant::now();
        let mut replicas = REPLICAS;
        loop {
            let error = match make(&context, name, max_age, replicas).await {
                // Where another instance makes it at the same time, a server may not know of it yet.
                Ok(()) => {
                    let store = repeated(|| async {
                        context.get_key_value(name).await.map_err(|error| Attempt::Again(error.into()))
                    });
                    return Ok(Self { store: store.await? });
                }
                Err(error) => error,
            };
            let is_clustered = client.server_info().cluster.is_some();
            if replicas > 1 && is_clustered && began.elapsed() < PLACEMENT_DEADLINE {
                sleep(RETRY).await;
            } else if replicas > 1 {
                replicas = 1;
            } else if is_transient(&error) && began.elapsed() < 2 * PLACEMENT_DEADLINE {
                sleep(RETRY).await;
            } else {
                return Err(format!("the bucket `{name}` cannot be made: {error}").into());
            }
        }
    }

    /// A key's revision and value.
    ///
    /// # Errors
    /// The broker does not answer, or the value is not of the expected form.
    pub(super) async fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<(u64, T)>, Cause> {
        let entry =
            repeated(|| async { self.store.entry(key).await.map_err(|error| Attempt::Again(error.into())) });
        let Some(entry) = entry.await? else { return Ok(None) };
        Ok(Some((entry.revision, serde_json::from_slice(&entry.value)?)))
    }

    /// Writes a key that is at this revision; at zero, one that is not there.
    ///
    /// No two writers may write the same value to a key at the same revision and both need to know who did: where an
    /// acknowledgement was lost, the value tells whether the write counted.
    pub(super) async fn write<T: Serialize>(
        &self,
        key: &str,
        value: &T,
        revision: u64,
    ) -> Result<Write, Cause> {
        let bytes = Bytes::from(serde_json::to_vec(value)?);
        let mut attempts = 0;
        let written = repeated(|| {
            attempts += 1;
            let bytes = bytes.clone();
            async move {
                match self.store.update(key, bytes, revision).await {
                    Ok(revision) => Ok(Write::Done(revision)),
                    Err(error) => refused(error),
                }
            }
        });
        let written = written.await?;
        if written == Write::Conflict && attempts > 1 {
            // An earlier attempt may have written it, and its acknowledgement been lost.
            let entry = self.store.entry(key).await?;
            if let Some(entry) = entry.filter(|entry| entry.value == bytes) {
                return Ok(Write::Done(entry.revision));
            }
        }
        Ok(written)
    }

    /// Removes the value that a key has since this revision, without a trace. Where the key was written since, or is gone,
    /// nothing happens.
    pub(super) async fn remove(&self, key: &str, revision: u64) -> Result<(), Cause> {
        let subject = format!("$KV.{}.{key}", self.store.name);
        let removed = repeated(|| async {
            // Up to this revision, which the key's only message has, or has no longer.
            let purge = self.store.stream.purge().filter(subject.as_str()).sequence(revision + 1);
            purge.await.map(drop).map_err(|error| Attempt::Again(error.into()))
        });
        removed.await
    }

    /// At most `limit` keys that begin with a prefix, which ends with a dot.
    pub(super) async fn keys(&self, prefix: &str, limit: usize) -> Result<Vec<String>, Cause> {
        let base = format!("$KV.{}.", self.store.name);
        let filter = format!("{base}{prefix}>");
        let subjects = timeout(OPERATION_DEADLINE, async {
            let subjects = self.store.stream.info_with_subjects(filter).await?.take(limit);
            let subjects: Vec<_> = subjects.collect().await;
            subjects.into_iter().collect::<Result<Vec<_>, _>>()
        });
        let subjects = subjects.await.map_err(|_elapsed| "the keys of a bucket are not listed in time")??;
        let key = |subject: &str| subject.strip_prefix(&base).map(str::to_owned);
        Ok(subjects.iter().filter_map(|(subject, _)| key(subject)).collect())
    }
}

/// The stream below a bucket. It differs from that of the client library in that reads are not answered by followers.
async fn make(
    context: &Context,
    bucket: &str,
    max_age: Duration,
    num_replicas: usize,
) -> Result<(), CreateStreamError> {
    let config = stream::Config {
        name: format!("KV_{bucket}"),
        subjects: vec![format!("$KV.{bucket}.>")],
        max_messages_per_subject: 1,
        max_age,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: false,
        num_replicas,
        ..stream::Config::default()
    };
    context.get_or_create_stream(config).await.map(drop)
}

fn is_transient(error: &CreateStreamError) -> bool {
    match error.kind() {
        CreateStreamErrorKind::TimedOut => true,
        CreateStreamErrorKind::JetStream(error) => error.code() >= 500,
        _ => false,
    }
}

/// Repeats attempts until one succeeds, is refused for good, or the time is over.
async fn repeated<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, Cause>
where
    F: Future<Output = Result<T, Attempt>>,
{
    let began = Instant::now();
    loop {
        let cause = match timeout(ATTEMPT_DEADLINE, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(Attempt::Refused(cause))) => return Err(cause),
            Ok(Err(Attempt::Again(cause))) => cause,
            Err(_elapsed) => format!("the broker does not answer within {ATTEMPT_DEADLINE:?}").into(),
        };
        if began.elapsed() + RETRY >= OPERATION_DEADLINE {
            return Err(cause);
        }
        sleep(RETRY).await;
    }
}

/// What a failed write means: a conflict, which newer servers report with two codes, a refusal, or nothing for sure.
fn refused(error: UpdateError) -> Result<Write, Attempt> {
    let conflict = [ErrorCode::STREAM_WRONG_LAST_SEQUENCE, ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT];
    match api_error(&error) {
        Some(known) if conflict.contains(&known.error_code()) => Ok(Write::Conflict),
        Some(known) if known.code() < 500 => Err(Attempt::Refused(error.into())),
        _ => Err(Attempt::Again(error.into())),
    }
}

/// The answer of JetStream that is behind an error.
fn api_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a jetstream::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(known) = error.downcast_ref::<jetstream::Error>() {
            return Some(known);
        }
        next = error.source();
    }
    None
}
