//! What the documents and the roles are, in a few words.

use callmark_reports::site::{Document, Role};

/// Id, title, beginning of its rules' ids, what it is about.
const DOCUMENTS: [[&str; 4]; 5] = [
    [
        "utp",
        "UTP Tool Protocol",
        "UTP-",
        "An agent's tool call as messages on a bus: the worker saves the arguments as a card and publishes a command, \
         a Tool Service saves the result as a card and reports a callback, and the turn goes on. \
         Messages carry pointers, cards carry content.",
    ],
    [
        "tdg",
        "Tool Development Guide",
        "TDG-",
        "The same protocol for those who write tools: how a tool is registered, what it reads and what it answers, \
         which calls it may refuse, and how an HTTP API becomes a tool without code.",
    ],
    [
        "hub",
        "Tool Execution Contract",
        "HUB-",
        "An agent has a Hub execute nine calendar and mail tools with a customer's credentials: one endpoint, \
         one envelope for results, six errors, and the status of integrations.",
    ],
    [
        "breadcrumb",
        "Universal Tool Invocation Standard",
        "BRD-",
        "An agent says which tools it wants in a breadcrumb, and whoever has the tools answers each call with another: \
         no function calls, only documents in a store that everybody reads.",
    ],
    [
        "toolbus",
        "Tool bus v1",
        "BUS-",
        "Tools behind an MCP server that answer in one envelope, shape and store results on demand, \
         and leave an artifact of each call.",
    ],
];

/// Profile, who that is, what it does, whom the suite plays.
const ROLES: [[&str; 4]; 15] = [
    [
        "utp.tool-service",
        "Tool Service",
        "Takes commands, reads the call's card, does the work, saves a result's card and reports a callback.",
        "worker, card store, report and Inbox, roster",
    ],
    [
        "utp.schema",
        "UTP messages",
        "Messages of any UTP system, as somebody captured them, or as they are seen on the bus.",
        "nobody: it reads along",
    ],
    [
        "utp.pmo",
        "PMO",
        "Takes the commands of its built-ins, such as `delegate_async` and `fork_join`, and has other agents work.",
        "worker, card store, report, child agents",
    ],
    [
        "utp.execution",
        "Execution service",
        "Takes callbacks into the Inbox, wakes the agent, and resumes or ends its turn.",
        "tools, model, card store",
    ],
    [
        "utp.worker",
        "Worker",
        "Turns a model's tool call into a card and a command.",
        "tools, model, card store",
    ],
    [
        "utp.registry",
        "Management API",
        "Takes definitions of tools and keeps them as rows of `resource.tools`.",
        "uploader",
    ],
    [
        "utp.openapi",
        "OpenAPI executor",
        "A Tool Service that turns calls into requests to an HTTP API, as the tool's registration says.",
        "as for a Tool Service, and the API",
    ],
    [
        "hub.server",
        "Hub",
        "Executes calendar and mail tools for agents, with the credentials of their customers.",
        "agent, calendar and mail provider",
    ],
    ["hub.agent", "Agent of a Hub", "Has tools executed, and deals with what comes back.", "Hub, model"],
    [
        "breadcrumb.runner",
        "Tool runner",
        "Finds tool requests in breadcrumbs, runs them and routes the answers.",
        "agent, user, breadcrumb store",
    ],
    [
        "breadcrumb.tools",
        "Tools of a runner",
        "The tools of the standard, each with its input and output.",
        "agent, breadcrumb store, language models, web pages",
    ],
    [
        "breadcrumb.workflow",
        "Workflow tool",
        "Runs several tools in the order of their dependencies, results of one in the input of another.",
        "agent, breadcrumb store",
    ],
    [
        "breadcrumb.agent",
        "Agent with breadcrumbs",
        "Writes invocations, and makes something of the answers.",
        "breadcrumb store, model, tools, user",
    ],
    [
        "toolbus.server",
        "MCP server of the tool bus",
        "Answers calls of its tools in the envelope of the contract.",
        "MCP client",
    ],
    [
        "toolbus.artifacts",
        "Artifact store of the tool bus",
        "Keeps what each call said as files below a context root.",
        "MCP client, and who reads the files",
    ],
];

pub(super) fn documents() -> Vec<Document> {
    let all = DOCUMENTS.map(|[id, title, prefix, about]| Document {
        id: id.to_owned(),
        title: title.to_owned(),
        prefix: prefix.to_owned(),
        about: about.to_owned(),
    });
    all.into()
}

pub(super) fn roles() -> Vec<Role> {
    let all = ROLES.map(|[id, title, about, peers]| Role {
        id: id.to_owned(),
        title: title.to_owned(),
        about: about.to_owned(),
        peers: peers.to_owned(),
    });
    all.into()
}

#[cfg(test)]
mod tests {
    use callmark_suite::registry::{PROFILES, Registry};

    use super::*;

    #[test]
    fn every_profile_is_a_role_in_the_order_of_reports() {
        assert_eq!(ROLES.map(|[id, ..]| id), PROFILES.map(|profile| profile.id));
    }

    #[test]
    fn every_rule_belongs_to_one_document() {
        for rule in Registry::load().expect("a sound registry").rules() {
            let own = DOCUMENTS.iter().filter(|[_, _, prefix, _]| rule.id.starts_with(prefix));
            assert_eq!(own.count(), 1, "{}", rule.id);
        }
    }
}
