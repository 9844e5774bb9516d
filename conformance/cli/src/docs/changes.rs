//! What later revisions changed: which of their messages are shown side by side.
//!
//! The rules that came and went are those of the registry; the messages are those that `first` has the reference send.

use callmark_reports::record::FrameExcerpt;
use callmark_reports::site::{Change, Comparison};
use callmark_suite::transcript::Kind;

use super::recorded::Recorded;
use crate::exit::Failure;

/// A step from one revision to the next.
struct Step {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    from: &'static str,
    to: &'static str,
    documents: &'static [&'static str],
    comparisons: &'static [Compared],
}

/// A message in both revisions, or in one of them.
struct Compared {
    title: &'static str,
    about: &'static str,
    before: Option<Place>,
    after: Option<Place>,
}

/// A message of a scenario.
#[derive(Clone, Copy)]
struct Place {
    scenario: &'static str,
    /// The scenario's messages, in the order in which they follow from each other.
    kinds: &'static [Kind],
    /// Which of them it is, from 0.
    at: usize,
}

/// A message of a call of a Tool Service.
const fn of_call(scenario: &'static str, at: usize) -> Place {
    const KINDS: &[Kind] =
        &[Kind::Command, Kind::CardsGet, Kind::CardsReply, Kind::CardSave, Kind::Report, Kind::Wakeup];
    Place { scenario, kinds: KINDS, at }
}

/// A message of a call of an MCP server that leaves artifacts.
const fn of_artifacts(scenario: &'static str, at: usize) -> Place {
    const KINDS: &[Kind] = &[Kind::Request, Kind::Response, Kind::Artifact, Kind::Artifact];
    Place { scenario, kinds: KINDS, at }
}

/// A message of a request to an MCP server.
const fn of_request(scenario: &'static str, at: usize) -> Place {
    Place { scenario, kinds: &[Kind::Request, Kind::Response], at }
}

const UTP_CALL: &str = "utp/tool-service/callback/UTP-4.2-02/1";
const UTP_CALL_LATER: &str = "utp/tool-service/callback/UTP-4.2-02/1@v1r4";
const MCP_CALL: &str = "toolbus/artifacts/storing/BUS-59/1";
const MCP_CALL_LATER: &str = "toolbus/artifacts/storing/BUS-59/1@2026-07-28";
const MCP_DISCOVERY: &str = "toolbus/server/mcp-exchange/MCP-02/1@2026-07-28";
const MCP_REFUSAL: &str = "toolbus/server/mcp-exchange/MCP-08/1@2026-07-28";
const MCP_HTTP: &str = "toolbus/server/mcp-http/MCP-15/4@2026-07-28";

const STEPS: [Step; 2] = [
    Step {
        id: "utp-v1r4",
        title: "UTP: from v1r3 to v1r4",
        about: "The identity of a call (whose it is, in which turn, which call) moved from payloads into headers of \
                the same messages. What is left in a payload is business, and whoever finds a control member there \
                refuses it. Cards are what they were.",
        from: "v1r3",
        to: "v1r4",
        documents: &["utp", "tdg", "utp-v1r4"],
        comparisons: &[
            Compared {
                title: "The command",
                about: "Agent, turn, epoch, step and call are headers; `agent_turn_id` is called `CG-Turn-Id` there, \
                        and numbers are written as decimal texts. The subject has the version token `v1r4`.",
                before: Some(of_call(UTP_CALL, 0)),
                after: Some(of_call(UTP_CALL_LATER, 0)),
            },
            Compared {
                title: "The card of the result",
                about: "`author_id` is the identity that reports the card, and `metadata.function_name` the name of \
                        the tool: a report whose card says otherwise is refused.",
                before: Some(of_call(UTP_CALL, 3)),
                after: Some(of_call(UTP_CALL_LATER, 3)),
            },
            Compared {
                title: "The report",
                about: "It is addressed by the headers that came with the command. Its payload says how the call \
                        ended, and where the result is.",
                before: Some(of_call(UTP_CALL, 4)),
                after: Some(of_call(UTP_CALL_LATER, 4)),
            },
            Compared {
                title: "The wakeup",
                about: "It names agent, turn and epoch in its headers, and neither call nor step nor depth.",
                before: Some(of_call(UTP_CALL, 5)),
                after: Some(of_call(UTP_CALL_LATER, 5)),
            },
        ],
    },
    Step {
        id: "mcp-2026-07-28",
        title: "MCP: from 2025-11-25 to 2026-07-28",
        about: "There is no handshake and no session any more. Every request says in `_meta` which revision it is in \
                and what its client can do, every result says whether it is complete, and over HTTP the headers of a \
                request repeat what its body says. The tool bus's own rules are the same in both.",
        from: "2025-11-25",
        to: "2026-07-28",
        documents: &["toolbus", "mcp"],
        comparisons: &[
            Compared {
                title: "The beginning",
                about: "`initialize` and `notifications/initialized`, which opened a session, are gone. A client that \
                        wants to know what a server has asks `server/discover`; none has to.",
                before: None,
                after: Some(of_request(MCP_DISCOVERY, 0)),
            },
            Compared {
                title: "What a server says of itself",
                about: "`supportedVersions` are the revisions that it has. `ttlMs` and `cacheScope` say how long the \
                        answer may be kept, and by whom.",
                before: None,
                after: Some(of_request(MCP_DISCOVERY, 1)),
            },
            Compared {
                title: "The call of a tool",
                about: "`_meta` has the revision and what the client can do, in each request.",
                before: Some(of_artifacts(MCP_CALL, 0)),
                after: Some(of_artifacts(MCP_CALL_LATER, 0)),
            },
            Compared {
                title: "The answer to a call",
                about: "`resultType` says whether the request is complete. The envelope in the text is the same.",
                before: Some(of_artifacts(MCP_CALL, 1)),
                after: Some(of_artifacts(MCP_CALL_LATER, 1)),
            },
            Compared {
                title: "The call over HTTP",
                about: "Headers repeat revision, method and tool, so that what stands between client and server need \
                        not read bodies. A server refuses a request whose headers and body do not agree.",
                before: None,
                after: Some(of_request(MCP_HTTP, 0)),
            },
            Compared {
                title: "The refusal of a revision that a server does not have",
                about: "It names the revisions that there are, and the one that was asked for. In revisions with a \
                        session the server offered another one in its answer to `initialize`.",
                before: None,
                after: Some(of_request(MCP_REFUSAL, 1)),
            },
        ],
    },
];

/// The scenarios that the messages are from.
pub(super) fn scenarios() -> impl Iterator<Item = &'static str> {
    let compared = STEPS.iter().flat_map(|step| step.comparisons);
    compared.flat_map(|own| [own.before, own.after]).flatten().map(|place| place.scenario)
}

/// What each later revision changed, with what the reference said.
pub(super) fn of(recorded: &Recorded<'_>) -> Result<Vec<Change>, Failure> {
    let message = |place: Option<Place>| -> Result<Option<FrameExcerpt>, Failure> {
        let Some(place) = place else { return Ok(None) };
        let frames = recorded.frames(place.scenario, place.kinds)?;
        Ok(frames.into_iter().nth(place.at))
    };
    let compared = |own: &Compared| {
        Ok(Comparison {
            title: own.title.to_owned(),
            about: own.about.to_owned(),
            before: message(own.before)?,
            after: message(own.after)?,
        })
    };
    let change = |step: &Step| {
        Ok(Change {
            id: step.id.to_owned(),
            title: step.title.to_owned(),
            about: step.about.to_owned(),
            from: step.from.to_owned(),
            to: step.to.to_owned(),
            documents: step.documents.iter().map(|id| (*id).to_owned()).collect(),
            comparisons: step.comparisons.iter().map(compared).collect::<Result<_, Failure>>()?,
        })
    };
    STEPS.iter().map(change).collect()
}
