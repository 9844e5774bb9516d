//! The project of a message.

use crate::transcript::Frame;

/// The project that the subject of a message names, or its path.
pub(super) fn project(frame: &Frame) -> Option<&str> {
    match frame.channel.split_once(' ') {
        Some((_, path)) => path.split('/').nth(2),
        None => frame.token(2),
    }
}
