//! What the engine reads in messages whose JSON does not lie open, and where one message points to another.

use crate::transcript::{Frame, Message};

/// How messages of a family are read.
pub trait Codec: Sync {
    /// Puts the JSON that a message carries as text, or in another form, where JSON Pointers find it.
    ///
    /// # Errors
    /// The message as it was, where it carries none.
    #[expect(clippy::result_large_err, reason = "nothing is cloned on the way of a message")]
    fn open(&self, message: Message) -> Result<Message, Message> {
        Err(message)
    }

    /// Puts it back; what stands `around` it, before and after, makes it a text that is no JSON.
    fn close(&self, message: Message, _around: (&str, &str)) -> Message {
        message
    }

    /// Whether one scenario exchanges several messages of a kind, so that a fault which begins with the second of them
    /// shows in it. Where it does not, such a fault begins with another scenario.
    fn repeats_in_scenario(&self) -> bool {
        false
    }

    /// The message that showed the target what this one points to.
    fn pointed_to<'a>(&self, _frames: &'a [Frame], _subject: &Frame) -> Option<&'a Frame> {
        None
    }
}

/// Of messages whose JSON lies open.
#[derive(Debug)]
pub struct PlainJson;

impl Codec for PlainJson {}
