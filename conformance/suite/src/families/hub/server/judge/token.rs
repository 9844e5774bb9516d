//! What comes of an access token that has expired (Tool Execution Contract L81).

use super::envelope;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::reply::Reply;

/// The request is executed although its access token has just expired. `refreshed` says of each of two tries whether the
/// Hub refreshed the token all the same, behind its answer or for a request that only reads; the last of these is `after`.
///
/// A Hub that goes by the lifetime which it was granted refreshes no token that is refused before.
pub fn is_refreshed(reply: &Reply<'_>, after: Option<&Reply<'_>>, refreshed: [bool; 2]) -> Judgement {
    if reply.is_executed() {
        return Ok(());
    }
    let goes_by_lifetime = || Alternative::GoesByLifetime.seen_in(reply.answer);
    if after.is_none() {
        // Even before it was made to expire, the token was not taken.
        return Err(match reply.code() {
            Some("INTEGRATION_EXPIRED") => goes_by_lifetime(),
            _ => CheckFailure::NotObserved(format!(
                "the customer is not served before its token expires: {}",
                reply.summary()
            )),
        });
    }
    if refreshed == [true, true] { envelope::is_executed(reply) } else { Err(goes_by_lifetime()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::{Value, json};

    use super::*;
    use crate::net::wire::STATUS;
    use crate::transcript::{Frame, Kind};

    fn frame(kind: Kind, status: &str, body: Value) -> Frame {
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind,
            channel: "POST /".to_owned(),
            headers: BTreeMap::from([(STATUS.to_owned(), status.to_owned())]),
            body,
        }
    }

    #[test]
    fn who_refreshes_at_all_refreshes_before_an_expiry_is_reported() {
        let request = frame(Kind::HubRequest, "", json!({}));
        let done = frame(Kind::HubResponse, "200", json!({"success": true, "result": {}}));
        let over = frame(
            Kind::HubResponse,
            "401",
            json!({"success": false, "error": {"code": "INTEGRATION_EXPIRED"}}),
        );
        let reply = |answer| Reply { request: &request, answer: Some(answer), closed: None };
        let check = |own: bool, then: Option<bool>, refreshed: [bool; 2], expect: &str| {
            let answer = |is_done: bool| reply(if is_done { &done } else { &over });
            let found = match is_refreshed(&answer(own), then.map(answer).as_ref(), refreshed) {
                Ok(()) => "held",
                Err(CheckFailure::Broken(_)) => "broken",
                Err(_) => "open",
            };
            assert_eq!(found, expect, "{own} {then:?} {refreshed:?}");
        };
        check(true, None, [false, false], "held");
        check(true, Some(true), [true, false], "held");
        check(false, Some(true), [true, true], "broken");
        check(false, Some(false), [true, false], "open");
        check(false, Some(false), [false, false], "open");
        check(false, None, [false, false], "open");
    }
}
