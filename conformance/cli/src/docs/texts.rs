//! What the documents are, in a few words; the roles' own words stand in their families.

use callmark_reports::site::{Document, Role};
use callmark_suite::engine::family::Profile;
use callmark_suite::families;
use callmark_suite::spec::revision::split;

/// Id, title, beginning of its rules' ids, what it is about.
const DOCUMENTS: [[&str; 4]; 7] = [
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
    [
        "utp-v1r4",
        "UTP v1r4",
        "R4-",
        "What changed in the last revision of UTP's first line: the identity of a call travels in headers, \
         and payloads hold business members only.",
    ],
    [
        "mcp",
        "MCP without sessions",
        "MCP-",
        "What MCP itself asks of a tool bus since its revision 2026-07-28: no handshake and no session, \
         every request says which revision it is in, and over HTTP its headers repeat that.",
    ],
];

/// Those that only say what a later revision changed; what an exchange looks like stands in the document before.
#[cfg(test)]
pub(super) const LATER: [&str; 2] = ["utp-v1r4", "mcp"];

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
    let role = |profile: &Profile| Role {
        id: profile.id.to_owned(),
        title: profile.title.to_owned(),
        about: profile.about.to_owned(),
        peers: profile.peers.to_owned(),
    };
    // A role is one, whatever revisions it is certified for.
    families::ALL.profiles().filter(|profile| split(profile.id).1.is_none()).map(role).collect()
}

#[cfg(test)]
mod tests {
    use callmark_suite::spec::registry::Registry;

    use super::*;

    #[test]
    fn every_rule_belongs_to_one_document() {
        for rule in Registry::load().expect("a sound registry").rules() {
            let own = DOCUMENTS.iter().filter(|[_, _, prefix, _]| rule.id.starts_with(prefix));
            assert_eq!(own.count(), 1, "{}", rule.id);
        }
    }
}
