//! The finding for arguments that stand in a command and were used.

use crate::engine::judge::Finding;

pub(super) fn inline_used() -> Finding {
    Finding::new(
        "the tool ran with parameters from the command's payload",
        "take parameters from `content.arguments` of the tool.call card, or refuse the command",
    )
    .expected("the card's arguments, or a failed result")
}
