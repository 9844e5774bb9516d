//! Commands as the messages of a scenario show them: what `@always` scenarios judge.

use callmark_reports::record::Direction;

use crate::engine::invariant::ExchangeKind;
use crate::families::utp::subject;
use crate::transcript::{Frame, Kind};

/// Every command that the worker sent to one kind of receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryCommand {
    /// A tool.
    ToTool,
    /// The PMO, for one of its built-ins.
    ToPmo,
}

/// A command, and the messages of the scenario in which it was sent.
pub(super) struct ObservedCommand<'a> {
    pub frames: &'a [Frame],
    pub command: &'a Frame,
}

impl ExchangeKind for EveryCommand {
    type Exchange<'a> = ObservedCommand<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedCommand<'a>> {
        frames
            .iter()
            .filter(|frame| frame.kind == Kind::Command && frame.direction == Direction::FromTarget)
            .filter(|frame| match self {
                Self::ToTool => subject::is_tool_command(&frame.channel),
                Self::ToPmo => subject::is_pmo_command(&frame.channel),
            })
            .map(|command| ObservedCommand { frames, command })
            .collect()
    }

    /// The turn that was started last before the command.
    fn stimulus(exchange: &ObservedCommand<'_>) -> u32 {
        let started = exchange.frames.iter().filter(|frame| frame.kind == Kind::TurnStart);
        let mut before = started.filter(|frame| frame.n < exchange.command.n);
        before.next_back().map_or(exchange.command.n, |frame| frame.n)
    }
}
