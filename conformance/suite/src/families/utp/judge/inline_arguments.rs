//! Arguments that stand in a command: where, and the finding for their use.

use crate::engine::judge::Finding;

/// Members that a command should not have (UTP §4.1).
pub(in crate::families::utp) const INLINE: [&str; 3] = ["args", "arguments", "result"];

pub(super) fn inline_used() -> Finding {
    Finding::new(
        "the tool ran with parameters from the command's payload",
        "take parameters from `content.arguments` of the tool.call card, or refuse the command",
    )
    .expected("the card's arguments, or a failed result")
}
