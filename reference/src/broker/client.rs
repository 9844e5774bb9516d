//! One client: its queue, and how its task learns that there is something to do.
//!
//! Neighbours: [`super::connection`] makes one per connection; the publishers' tasks append to it,
//! and [`super::writer`] drains it in the client's own.
//! Deliberately absent: the client's options, which only its own task needs, except `headers`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::outbound::{Outbound, Overflow};
use crate::sync::locked;

/// A client as its publishers see it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    /// Whether it declared that it reads `HMSG`.
    pub(super) headers: AtomicBool,
    outbound: Mutex<Outbound>,
    /// Signalled when something waits in `outbound`; the client's task listens.
    pub(super) writable: Notify,
    /// Signalled once when the client is cut off as a slow consumer; the client's task listens.
    pub(super) cut_off: Notify,
}

impl Client {
    pub(super) fn new(id: u64, max_pending: usize) -> Self {
        Self {
            id,
            headers: AtomicBool::new(false),
            outbound: Mutex::new(Outbound::new(max_pending)),
            writable: Notify::new(),
            cut_off: Notify::new(),
        }
    }

    pub(super) fn outbound(&self) -> MutexGuard<'_, Outbound> {
        locked(&self.outbound)
    }

    /// Appends to the queue, or cuts the client off when there is no room.
    pub(super) fn append(&self, append: impl FnOnce(&mut Outbound) -> Result<(), Overflow>) -> Appended {
        let mut outbound = self.outbound();
        let idle = !outbound.has_waiting();
        if let Err(Overflow) = append(&mut outbound) {
            outbound.close();
            self.cut_off.notify_one();
            return Appended::Refused;
        }
        if idle { Appended::ToIdle } else { Appended::ToOthers }
    }
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Appended {
    /// It is the first that waits: the client's task has to be woken.
    ToIdle,
    /// It waits behind others, for which the task is woken already.
    ToOthers,
    /// The client is cut off.
    Refused,
}

/// Appends a frame, notes whom to wake, and says whether the client took it.
pub(super) fn append(
    client: &Arc<Client>,
    to_wake: &mut Vec<Arc<Client>>,
    frame: impl FnOnce(&mut Outbound) -> Result<(), Overflow>,
) -> bool {
    let appended = client.append(frame);
    if appended == Appended::ToIdle {
        to_wake.push(Arc::clone(client));
    }
    appended != Appended::Refused
}
