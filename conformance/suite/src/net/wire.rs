//! The wire between the suite and a target, as a place where something can go wrong.
//!
//! A run has a wire that changes nothing. A mutant puts a mutating one in its place and so makes a faulty
//! target out of a correct one, without a line of fault in any implementation.

use crate::transcript::Message;

/// Header under which a frame names its scenario, where its body does not.
pub const SCENARIO: &str = "scenario";
/// Header under which a frame names the call that it is, or answers.
pub const CALL: &str = "call";
/// Header with the number of an exchange of a scenario, for the question and for the answer.
pub const EXCHANGE: &str = "exchange";
/// Header under which a frame names the tool that was called.
pub const TOOL: &str = "tool";
/// Header with the HTTP status of an answer.
pub const STATUS: &str = "status";
/// The replica of the target that sent or received a message, where there are several; from 1.
pub const REPLICA: &str = "callmark-replica";

/// Passes messages on.
///
/// Outgoing messages have been recorded as the suite meant them; incoming ones are recorded after
/// the wire, as what the target is taken to have sent.
pub trait Wire: Send + Sync {
    /// A message of the suite, on its way to the target: what really arrives there.
    fn outgoing(&self, message: Message) -> Vec<Message>;

    /// A message of the target: what really arrives at the suite, in order.
    ///
    /// When nothing arrives, a request is answered as if it had.
    fn incoming(&self, message: Message) -> Vec<Message>;
}

/// Changes nothing.
#[derive(Debug)]
pub struct PassthroughWire;

impl Wire for PassthroughWire {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        vec![message]
    }

    fn incoming(&self, message: Message) -> Vec<Message> {
        vec![message]
    }
}
