//! Scenes with several replicas of a server: which of them got a request, and which one gets the next.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::answer;
use super::answer::Answer;
use super::scene::Scene;
use crate::net::wire::REPLICA;
use crate::transcript::Frame;

/// Where replicas keep what they share.
pub const EVERYWHERE: &str = "where all replicas find it";

/// The replica that got a request, from 0; nothing where there are not several.
pub fn asked(frames: &[Frame], id: i64) -> Option<usize> {
    let number: usize = answer::request(frames, id)?.headers.get(REPLICA)?.parse().ok()?;
    number.checked_sub(1)
}

impl Scene {
    /// How many replicas of the server there are.
    pub fn replicas_count(&self) -> usize {
        self.session.table.replicas_count()
    }

    /// The replica that got the last call.
    pub fn last_asked(&self) -> Option<usize> {
        let id = self.made.last()?.id;
        self.client.transcript.with(|frames| asked(frames, id))
    }

    /// Has the next call go to another replica than the last one did: in another session, where there are sessions.
    pub fn aim_at_another(&mut self) {
        self.aim = self.last_asked().map(|last| (last + 1) % self.replicas_count());
    }

    /// Turns to the replica that is aimed at.
    pub(super) fn take_aim(&self) {
        if let Some(aim) = self.aim {
            self.client.turn.store(aim, Ordering::Relaxed);
        }
    }

    /// As [`Scene::read_state`], by one replica: in the session with it, where there are sessions.
    ///
    /// # Errors
    /// The answer, where it is none of the reader's.
    pub async fn read_state_at(
        &mut self,
        replica: usize,
        key: &str,
        scope: &str,
    ) -> Result<(Option<Value>, i64), Answer> {
        let turn = self.client.turn.load(Ordering::Relaxed);
        self.aim = Some(replica);
        let read = self.read_state(key, scope).await;
        self.client.turn.store(turn, Ordering::Relaxed);
        read
    }
}
