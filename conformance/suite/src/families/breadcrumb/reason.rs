//! Why a scenario of breadcrumbs may judge nothing although nothing went wrong.

use crate::engine::judge::reasons;

reasons! {
    Undeclared,
    CatalogTool: "breadcrumb.catalog" => "`breadcrumb.catalog` has no `{}`",
}

reasons! {
    Alternative,
    OneCall: "Universal Tool Invocation" => "the agent does not make several calls in one message",
    NoConfiguration: "Universal Tool Invocation" => "the agent names no configuration",
    WholeSeconds: "Universal Tool Invocation" => "the timer takes whole seconds alone",
    NoFallback: "Universal Tool Invocation" => "the agent says that the tool failed and tries no fallback",
    NoOrder: "Universal Tool Invocation, resolution A17"
        => "the workflow gives no order of its steps where one of them fails",
    Deletes: "Universal Tool Invocation" => "the runner deletes what its calls stood in",
    FailureInOutput: "Universal Tool Invocation" => "the tool reports the failure in its output",
}
