//! A command points to the card that it is about.

use super::judge::seen;
use crate::engine::codec::Codec;
use crate::transcript::Frame;

/// Follows the pointers of commands.
#[derive(Debug)]
pub(super) struct Pointers;

impl Codec for Pointers {
    fn repeats_in_scenario(&self) -> bool {
        true
    }

    fn pointed_to<'a>(&self, frames: &'a [Frame], subject: &Frame) -> Option<&'a Frame> {
        seen::card_shown(frames, subject)
    }
}
