//! Why a scenario of the Hub and its agent may judge nothing although nothing went wrong.

use crate::engine::judge::reasons;

reasons! {
    Undeclared,
    AgentTool: "hub.agent.tools" => "`hub.agent.tools` does not name `{}`",
    HubStub: "hub.stub" => "`hub.stub` is set, and the stub has nothing to look at under `{}`",
    HubProvider: "hub.provider" => "`hub.provider` is not declared: the suite is not the Hub's provider",
}

reasons! {
    Alternative,
    NoStatusQuestion: "Tool Execution Contract L328" => "the agent does not ask for the status",
    NotServed: "Tool Execution Contract L85"
        => "the call fails for a reason that has nothing to do with limits",
    OwnIds: "Tool Execution Contract L157, L172" => "the Hub has ids of its own for events, and knows none of the provider's",
    KeepsContents: "Tool Execution Contract L84"
        => "the Hub answers from what it has kept, and the provider has refused it nothing",
    RefusesLongText: "Tool Execution Contract L123, L197" => "the Hub takes no text of this length",
    GoesByLifetime: "Tool Execution Contract L81"
        => "the Hub goes by the lifetime that its token was granted, and does not refresh one that is refused before",
    RefusesInput: "Tool Execution Contract L33-35, resolution A11" => "the agent does not take this input, and reports the call as failed",
    RefusesRange: "Tool Execution Contract L100-103" => "the Hub takes no such range, or no such calendar",
    RefusesUpdate: "Tool Execution Contract L156-164" => "the Hub takes no such member in `updates`",
    RefusesOffset: "Tool Execution Contract L305" => "the Hub takes no `since` with an offset other than `Z`",
    ListsUpdatesLate: "Tool Execution Contract L110-116" => "the busy times do not show the update that was just made",
    NoErrorCode: "Tool Execution Contract L59-85, resolutions A5 and A27" => "the error has no `error.code`",
}
