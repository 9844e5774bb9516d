//! A request of the agent, before any transcript has it.

use std::collections::BTreeMap;

use callmark_reports::record::Direction;

use crate::net::http_server::ReceivedRequest;
use crate::transcript::{Frame, Kind};

/// A request as judgements see it.
pub(super) fn frame(request: &ReceivedRequest) -> Frame {
    Frame {
        n: 0,
        at_us: 0,
        direction: Direction::FromTarget,
        kind: Kind::HubRequest,
        channel: request.channel(),
        headers: request.headers.clone().into_iter().collect::<BTreeMap<_, _>>(),
        body: request.body.clone(),
    }
}
