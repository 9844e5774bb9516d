//! Which instances of a fleet are alive: each renews a key of its own, and the broker drops what is not renewed.
//!
//! The lease is 15 s, renewed every 5 s. It must outlast what a living instance may be unable to renew it for: an interval
//! and the election of a leader in the broker's cluster (up to nine seconds); else a call would be carried out twice. It is
//! no longer than that, since what a dead instance left waits for its end.
//! Time is measured by the broker alone, which drops old values by itself, so clocks of instances need not agree.
//! A key that is not there shows death only when it is still not there after another interval: a broker that was away
//! itself has dropped the keys of the living as well, and these renew them first.
//! An instance that starts under the name of another replaces it: what the former one claimed is free at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::bucket::{Bucket, Write};
use crate::cause::Cause;
use crate::log::Log;
use crate::sync::locked;
use crate::utp::ident::random_hex;

/// After this without a renewal an instance is dead.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// Between two renewals.
const RENEWAL: Duration = Duration::from_secs(5);
/// After a renewal that failed.
const RETRY: Duration = Duration::from_secs(1);
/// How long a missing key has to be missing: the living have renewed theirs by then.
const MISSING: Duration = Duration::from_secs(6);
/// How long an instance that was seen alive is taken for alive without another look.
const SEEN: Duration = Duration::from_secs(2);
/// Dead instances that are remembered; beyond that, those that are missing longest are looked at anew.
const MAX_MISSING: usize = 1024;

/// One start of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The instance's name, also its key.
    pub(super) instance: String,
    /// Which of its starts.
    pub(super) start: String,
}

/// The instances of a fleet, and which of them this one is.
pub(super) struct Instances {
    bucket: Bucket,
    own: Mutex<Owner>,
    /// Since when the key of an instance has been missing.
    missing: Mutex<HashMap<Owner, Instant>>,
    /// When an instance was last seen alive.
    seen: Mutex<HashMap<Owner, Instant>>,
    /// When the lease began that this one has.
    leased: Mutex<Instant>,
    log: Log,
}

/// A lease that is held: the revision at which the own key is.
pub(super) struct Lease(u64);

impl Instances {
    /// Takes the name; whoever had it before is dead from here on.
    pub(super) async fn join(bucket: Bucket, name: Option<&str>, log: Log) -> Result<(Self, Lease), Cause> {
        let start = random_hex(1);
        let instance = match name {
            Some(name) => name.chars().map(|char| if is_plain(char) { char } else { '_' }).collect(),
            None => start.clone(),
        };
        let (own, leased) = (Mutex::new(Owner { instance, start }), Mutex::new(Instant::now()));
        let instances = Self { bucket, own, missing: Mutex::default(), seen: Mutex::default(), leased, log };
        let lease = instances.take_name().await?;
        Ok((instances, lease))
    }

    /// Who this instance is.
    pub(super) fn own(&self) -> Owner {
        locked(&self.own).clone()
    }

    async fn take_name(&self) -> Result<Lease, Cause> {
        let own = self.own();
        loop {
            let revision =
                self.bucket.read::<String>(&own.instance).await?.map_or(0, |(revision, _)| revision);
            if let Write::Done(revision) = self.bucket.write(&own.instance, &own.start, revision).await? {
                return Ok(Lease(revision));
            }
        }
    }

    /// Whether the lease is not over.
    pub(super) fn is_leased(&self) -> bool {
        locked(&self.leased).elapsed() < LEASE
    }

    /// Renews the lease until the task is aborted.
    pub(super) async fn renew(self: Arc<Self>, mut lease: Lease) {
        sleep(RENEWAL).await;
        loop {
            let asked = Instant::now();
            match self.renewed(&lease).await {
                Ok(renewed) => {
                    *locked(&self.leased) = asked;
                    lease = renewed;
                    sleep(RENEWAL).await;
                }
                Err(error) => {
                    (self.log)(&format!("the lease of this instance is not renewed: {error}"));
                    sleep(RETRY).await;
                }
            }
        }
    }

    async fn renewed(&self, lease: &Lease) -> Result<Lease, Cause> {
        let own = self.own();
        let mut revision = lease.0;
        loop {
            if let Write::Done(revision) = self.bucket.write(&own.instance, &own.start, revision).await? {
                return Ok(Lease(revision));
            }
            match self.bucket.read::<String>(&own.instance).await? {
                // The broker was away, or this process stood still.
                None => revision = 0,
                Some((current, start)) if start == own.start => revision = current,
                Some(_) => {
                    (self.log)(&format!("another instance has started as `{}`", own.instance));
                    // What is claimed under the old name is the other's to take; what is claimed from here on is not.
                    locked(&self.own).instance = format!("{}-{}", own.instance, own.start);
                    return self.take_name().await;
                }
            }
        }
    }

    /// Whether an instance is certainly gone.
    pub(super) async fn is_dead(&self, owner: &Owner) -> Result<bool, Cause> {
        if locked(&self.seen).get(owner).is_some_and(|seen| seen.elapsed() < SEEN) {
            return Ok(false);
        }
        let found = self.bucket.read::<String>(&owner.instance).await?;
        let mut missing = locked(&self.missing);
        let Some((_, start)) = found else {
            if missing.len() >= MAX_MISSING && !missing.contains_key(owner) {
                missing.clear();
            }
            return Ok(missing.entry(owner.clone()).or_insert_with(Instant::now).elapsed() >= MISSING);
        };
        missing.remove(owner);
        let is_alive = start == owner.start;
        let mut seen = locked(&self.seen);
        seen.retain(|_, seen| seen.elapsed() < SEEN);
        if is_alive {
            seen.insert(owner.clone(), Instant::now());
        }
        Ok(!is_alive)
    }
}

/// Whether a character may stand in a key.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '-'
}
