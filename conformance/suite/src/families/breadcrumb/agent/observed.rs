//! What the agent said in a scenario, whatever it was asked: what `@always` scenarios judge.

use super::judge::Seen;
use crate::engine::invariant::ExchangeKind;
use crate::transcript::{Frame, Kind};

/// Everything that the agent said in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EveryConversation;

/// A scenario's conversation, from what the agent was sent first.
pub(super) struct Conversation<'a> {
    /// As judgements see it, without what the scenario wanted.
    pub(super) seen: Seen<'a>,
    first: u32,
}

impl ExchangeKind for EveryConversation {
    type Exchange<'a> = Conversation<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<Conversation<'a>> {
        let first = frames.iter().find(|frame| frame.kind == Kind::Put);
        first.map(|first| Conversation { seen: Seen::of(frames, &[]), first: first.n }).into_iter().collect()
    }

    fn stimulus(exchange: &Conversation<'_>) -> u32 {
        exchange.first
    }
}
