//! The exchanges of the first page: which scenarios they are, and what each message is for.
//!
//! Neighbours: `first` has the reference play them, `changes` compares some of their messages.

use callmark_suite::transcript::Kind;

/// An exchange to be recorded.
pub(super) struct Story {
    pub(super) document: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) scenario: &'static str,
    /// In the order in which they follow from each other: kind, who sends it to whom, what it is for.
    pub(super) messages: &'static [(Kind, &'static str, &'static str)],
    /// The later revision in which it is recorded, too.
    pub(super) later: Option<Later>,
}

/// The same exchange in a later revision.
pub(super) struct Later {
    /// Name of the revision that the story is of.
    pub(super) first: &'static str,
    /// Name of the later one.
    pub(super) revision: &'static str,
    /// What is said otherwise of a message, by its place in the story.
    pub(super) notes: &'static [(usize, &'static str)],
}

pub(super) const STORIES: [Story; 6] = [
    Story {
        document: "utp",
        title: "A turn with one tool call",
        about: "An agent runtime, which is worker and execution service, takes a turn. The suite plays the \
                model, the Tool Service and the platform's stores.",
        scenario: "utp/execution/lifecycle/UTP-3.1-01/1",
        messages: &[
            (
                Kind::TurnStart,
                "caller → runtime",
                "Somebody asks the runtime for a turn: which agent, and what it shall do. How that is \
                 asked is Callmark's binding, not the protocol's.",
            ),
            (
                Kind::TurnReply,
                "runtime → caller",
                "The runtime takes the turn. `agent_turn_id` and `turn_epoch` name it in every message \
                 that follows.",
            ),
            (
                Kind::ToolsList,
                "runtime → tool registry",
                "Which tools has this project? The answer is the rows of `resource.tools`.",
            ),
            (
                Kind::Model,
                "runtime → model",
                "The model is asked, with the instruction and the tools as functions.",
            ),
            (Kind::ModelReply, "model → runtime", "The model calls a tool. What follows is UTP."),
            (
                Kind::CardSave,
                "runtime → card store",
                "First the arguments are saved, as a `tool.call` card. Messages carry pointers, cards \
                 carry content.",
            ),
            (
                Kind::Command,
                "runtime → Tool Service",
                "Then the command goes to the subject of the tool. It names call, turn and agent, says \
                 what follows after the result (`after_execution`), and points to the card with \
                 `tool_call_card_id`.",
            ),
            (
                Kind::Report,
                "Tool Service → runtime",
                "The Tool Service has done its work and saved a `tool.result` card. It reports a callback: \
                 the ids of the command, how the call ended, and a pointer to the card.",
            ),
            (
                Kind::ReportReply,
                "runtime → Tool Service",
                "The report is taken into the agent's Inbox. Had this call been reported before, \
                 `duplicate` would say so.",
            ),
            (
                Kind::RosterGet,
                "runtime → roster",
                "Where does the worker of this agent listen? The roster knows.",
            ),
            (
                Kind::Wakeup,
                "runtime → worker",
                "The agent is woken there. A wakeup brings no result; it says that something is in the \
                 Inbox.",
            ),
            (Kind::CardsGet, "runtime → card store", "The worker follows the callback's pointer,"),
            (
                Kind::CardsReply,
                "card store → runtime",
                "and finds the result, or the error, in the card. The card may also override what follows \
                 after it.",
            ),
            (
                Kind::Model,
                "runtime → model",
                "The call was a `suspend` call, so the turn goes on: the model is asked again, now with \
                 the tool's result.",
            ),
            (Kind::ModelReply, "model → runtime", "It calls nothing more."),
            (Kind::CardSave, "runtime → card store", "What the turn came to is saved as a card of its own,"),
            (Kind::Task, "runtime → everybody", "and all subscribers are sent that the turn is over."),
        ],
        later: None,
    },
    Story {
        document: "tdg",
        title: "The same call, as a tool's author sees it",
        about: "A Tool Service gets a command. The suite plays the worker, the card store and the report.",
        scenario: "utp/tool-service/callback/UTP-4.2-02/1",
        messages: &[
            (
                Kind::Command,
                "worker → Tool Service",
                "The command arrives on the `target_subject` of the tool's registration, with project and \
                 channel filled in. There are no arguments in it.",
            ),
            (
                Kind::CardsGet,
                "Tool Service → card store",
                "The Tool Service asks for the card that `tool_call_card_id` points to.",
            ),
            (
                Kind::CardsReply,
                "card store → Tool Service",
                "The parameters of the call are in `content.arguments`, and nowhere else.",
            ),
            (
                Kind::CardSave,
                "Tool Service → card store",
                "The work is done. The result becomes a `tool.result` card, whose metadata ties it to the \
                 call, its turn, its step and its trace.",
            ),
            (
                Kind::Report,
                "Tool Service → report",
                "The callback routes and points, and says nothing else: ids and `after_execution` as in \
                 the command, `status`, and the card's id. The trace goes on in the headers.",
            ),
            (
                Kind::Wakeup,
                "platform → worker",
                "The platform wakes whoever waits for the result. That is no longer the Tool Service's \
                 business.",
            ),
        ],
        later: Some(Later {
            first: "v1r3",
            revision: "v1r4",
            notes: &[
                (
                    0,
                    "The command arrives on the `target_subject` of the tool's registration, with project and \
                     channel filled in. Whose call it is stands in its headers, and nowhere else; there are no \
                     arguments in it.",
                ),
                (
                    4,
                    "The callback says how the call ended and points to the card. Its headers are those of the \
                     command, so that the report reaches the turn that made the call.",
                ),
            ],
        }),
    },
    Story {
        document: "hub",
        title: "An event in a customer's calendar",
        about: "A Hub executes a tool. The suite plays the agent, and the provider that keeps the calendar.",
        scenario: "hub/server/events/HUB-67/1",
        messages: &[
            (
                Kind::HubRequest,
                "agent → Hub",
                "The agent posts the tool's name, the customer for whom, and the inputs. The service \
                 secret says that it may; it is not shown.",
            ),
            (
                Kind::Provider,
                "Hub → provider",
                "The Hub has the customer's token and asks the provider. Shown are what the provider made \
                 of the request, and the request itself.",
            ),
            (
                Kind::HubResponse,
                "Hub → agent",
                "The success envelope: `success`, the tool's name, the result, and what the work cost. A \
                 failure has `error` with one of the contract's codes in place of `result`.",
            ),
        ],
        later: None,
    },
    Story {
        document: "breadcrumb",
        title: "An agent asks for two tools, one after the other",
        about: "A user says something to an agent. The suite plays the user, the breadcrumb store, the \
                model and the runner.",
        scenario: "breadcrumb/agent/form/BRD-01/2",
        messages: &[
            (
                Kind::Put,
                "user → store → agent",
                "The user's words are a breadcrumb. Tags say whose conversation it belongs to.",
            ),
            (
                Kind::Model,
                "agent → model",
                "The agent asks its model. What tools there are it knows from a breadcrumb too, the catalog.",
            ),
            (Kind::ModelReply, "model → agent", "The model wants a tool."),
            (
                Kind::Said,
                "agent → store",
                "The agent's invocation: a breadcrumb of schema `agent.response.v1`, whose \
                 `context.tool_requests` names tool, input and an id of its own for each call. \
                 `return_to_llm` says whether the agent wants to see the answer.",
            ),
            (
                Kind::Put,
                "runner → store → agent",
                "The answer is a breadcrumb of schema `tool.response.v1`, which repeats the call's id.",
            ),
            (
                Kind::Model,
                "agent → model",
                "The agent wanted to see it, so the model is asked again, with the answer.",
            ),
            (Kind::ModelReply, "model → agent", "Now it wants another tool, for what the first one found."),
            (Kind::Said, "agent → store", "Another invocation, with an id that no call has had."),
            (Kind::Put, "runner → store → agent", "The second answer."),
            (Kind::Model, "agent → model", "The model is asked with all that was said,"),
            (Kind::ModelReply, "model → agent", "and calls nothing more."),
            (
                Kind::Said,
                "agent → store",
                "So this breadcrumb has a `message` for the user, and no `tool_requests`.",
            ),
        ],
        later: None,
    },
    Story {
        document: "breadcrumb",
        title: "A runner answers",
        about: "A tool runner finds such a breadcrumb. The suite plays the agent and the breadcrumb store.",
        scenario: "breadcrumb/runner/routing/BRD-33/1",
        messages: &[
            (
                Kind::Put,
                "agent → store → runner",
                "An invocation comes up in the store, and the runner takes each of its tool requests.",
            ),
            (
                Kind::Crumb,
                "runner → store",
                "The answer is a breadcrumb of schema `tool.response.v1`. Its `request_id` is the call's \
                 id, `status` says whether it succeeded, and `output` is what the tool says.",
            ),
        ],
        later: None,
    },
    Story {
        document: "toolbus",
        title: "A call, and what stays of it",
        about: "An MCP server of the tool bus is called. The suite plays the MCP client, and looks at the \
                files.",
        scenario: "toolbus/artifacts/storing/BUS-59/1",
        messages: &[
            (
                Kind::Request,
                "client → server",
                "An MCP call of a tool. Beside the tool's own arguments the client gives a trace, so that \
                 calls can be distinguished later.",
            ),
            (
                Kind::Response,
                "server → client",
                "One text block of strict JSON, always with the same keys: tool, action, result, trace, \
                 duration, and where the artifacts are.",
            ),
            (Kind::Artifact, "server → context root", "For people, the call is kept as text,"),
            (
                Kind::Artifact,
                "server → context root",
                "and for programs the envelope as JSON, at the uri that the answer names.",
            ),
        ],
        later: Some(Later {
            first: "2025-11-25",
            revision: "2026-07-28",
            notes: &[
                (
                    0,
                    "An MCP call of a tool. There is no session: `_meta` says which revision the request is in, \
                     and what its client can do. Beside the tool's own arguments the client gives a trace, so \
                     that calls can be distinguished later.",
                ),
                (
                    1,
                    "`resultType` says that the request is complete. The text block and its envelope are those \
                     of the revisions before.",
                ),
            ],
        }),
    },
];
