//! Waiting for messages, and whether what had to come came.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Frame, Transcript, lock};
use crate::engine::timing::heartbeat;

impl Transcript {
    /// Whether something that had to come did not come in time, or a connection was lost.
    pub fn fell_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Keeps in mind that something which had to come did not, where that is not the end of a [`Transcript::wait`].
    pub(crate) fn note_silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    /// Whether the target reported a timeout of its own.
    pub(crate) fn reported_timeout(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Keeps in mind that the target reported a timeout of its own.
    pub(crate) fn note_timeout(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// Waits until `find` finds something in the frames that has to come, at most for `deadline`. Where it does not come,
    /// what the scenario ends with may rest on that ([`crate::engine::judge::Basis`]).
    pub async fn wait<T>(&self, deadline: Duration, find: impl FnMut(&[Frame]) -> Option<T>) -> Option<T> {
        let found = self.linger(deadline, find).await;
        if found.is_none() {
            self.note_silence();
        }
        found
    }

    /// Waits until `find` finds something in the frames that need not come, at most for `window`.
    pub async fn linger<T>(
        &self,
        window: Duration,
        mut find: impl FnMut(&[Frame]) -> Option<T>,
    ) -> Option<T> {
        if self.recorder.is_again() {
            // What came before the wait was over is known.
            return self.with(find);
        }
        let mut changes = self.count.subscribe();
        // Only the last look is kept, also of a wait that somebody breaks off.
        let mut last = self.recorder.wait();
        let search = async {
            loop {
                changes.mark_unchanged();
                let found = {
                    let frames = lock(&self.frames);
                    let all = frames.all();
                    last.saw(all.len());
                    find(&all)
                };
                if found.is_some() {
                    return found;
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        heartbeat::within(window, search).await.flatten()
    }
}
