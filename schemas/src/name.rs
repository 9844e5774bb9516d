//! The closed list of schemas, with their paths and their text.
//!
//! The text is embedded here and compiled in `validate`. One table serves every accessor, so that a
//! schema cannot have a path without a text.

/// Every schema that Callmark ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SchemaName {
    /// A record of `resource.tools` (UTP Tool Protocol §2).
    ToolRow,
    /// A tool definition as uploaded (Tool Development Guide §3.2).
    ToolUpload,
    /// The payload of a command on a `cmd.tool` subject (UTP Tool Protocol §4.1).
    ToolCommand,
    /// The payload of a command on a `cmd.sys.pmo.internal` subject (UTP Tool Protocol §4.1).
    PmoCommand,
    /// The card that holds a call's arguments (Tool Development Guide §1).
    ToolCallCard,
    /// The card that holds a call's result (UTP Tool Protocol §5).
    ToolResultCard,
    /// The callback payload (UTP Tool Protocol §4.2).
    Callback,
    /// The body of the report operation of Callmark's bindings.
    Report,
    /// An entry of an agent's Inbox (UTP Tool Protocol §4.2).
    InboxRecord,
    /// The payload of a wakeup (UTP Tool Protocol §4.2).
    Wakeup,
    /// The payload of a command on a `cmd.tool` subject of `v1r4` (Migration Guide v1r3 to v1r4 §1.3).
    V1r4ToolCommand,
    /// The callback payload of `v1r4` (Tool Development Guide r4 §1).
    V1r4Callback,
    /// The body of the report operation of Callmark's bindings in `v1r4`.
    V1r4Report,
    /// An entry of an agent's Inbox in `v1r4`, as Callmark's bindings show it.
    V1r4InboxRecord,
    /// The payload of a wakeup of `v1r4` (NATS Communication Protocol §5.1).
    V1r4Wakeup,
    /// The MCP request that calls a tool (Tool bus v1, Request).
    CallRequest,
    /// The MCP response to a call that succeeded (Tool bus v1, Response).
    CallResult,
    /// The JSON in the text of a call's result (Tool bus v1, Response).
    Envelope,
    /// The JSON-RPC error that answers a call that failed (Tool bus v1, Errors).
    CallError,
    /// The `result.json` that a call leaves (Tool bus v1, Artifacts).
    ResultDocument,
    /// The request to execute a tool (Tool Execution Contract, Request Schema and Tool Specifications).
    ExecuteRequest,
    /// The answer of a tool that did its work (Tool Execution Contract, Response Schema (Success)).
    ExecuteSuccess,
    /// The answer of a tool that could not (Tool Execution Contract, Response Schema (Error)).
    ExecuteError,
    /// Which integrations a customer has connected (Tool Execution Contract, Integration Status Endpoint).
    IntegrationStatus,
    /// What an agent says: the envelope around its breadcrumb (Universal Tool Invocation Standard, Structure).
    Invocation,
    /// The breadcrumb with which an agent speaks and calls tools (Universal Tool Invocation Standard, Field definitions).
    AgentResponse,
    /// One call as a breadcrumb of its own (docs/breadcrumbs.md).
    ToolRequest,
    /// The answer to a call (Universal Tool Invocation Standard, Tool response).
    ToolResponse,
    /// The configuration that a call may name (Universal Tool Invocation Standard, Field definitions).
    ToolConfig,
    /// The tools that an agent is offered (docs/breadcrumbs.md).
    Catalog,
    /// One event of the store's stream (docs/breadcrumbs.md).
    Event,
    /// What `openrouter`, `venice` and `ollama_local` are given (docs/breadcrumbs.md, Tools).
    LanguageModelInput,
    /// What `openrouter`, `venice` and `ollama_local` answer (Universal Tool Invocation Standard, Output field access).
    LanguageModelOutput,
    /// What `calculator` is given (docs/breadcrumbs.md, Tools).
    CalculatorInput,
    /// What `calculator` answers (Universal Tool Invocation Standard, Output field access).
    CalculatorOutput,
    /// What `random` is given (docs/breadcrumbs.md, Tools).
    RandomInput,
    /// What `random` answers (Universal Tool Invocation Standard, Output field access).
    RandomOutput,
    /// What `echo` is given (docs/breadcrumbs.md, Tools).
    EchoInput,
    /// What `echo` answers (Universal Tool Invocation Standard, Output field access).
    EchoOutput,
    /// What `timer` is given (docs/breadcrumbs.md, Tools).
    TimerInput,
    /// What `timer` answers (Universal Tool Invocation Standard, Output field access).
    TimerOutput,
    /// What `breadcrumb-create` is given (docs/breadcrumbs.md, Tools).
    BreadcrumbCreateInput,
    /// What `breadcrumb-create` answers (Universal Tool Invocation Standard, Output field access).
    BreadcrumbCreateOutput,
    /// What `breadcrumb-update` is given (docs/breadcrumbs.md, Tools).
    BreadcrumbUpdateInput,
    /// What `breadcrumb-update` answers (Universal Tool Invocation Standard, Output field access).
    BreadcrumbUpdateOutput,
    /// What `breadcrumb-search` is given (docs/breadcrumbs.md, Tools).
    BreadcrumbSearchInput,
    /// What `breadcrumb-search` answers (Universal Tool Invocation Standard, Output field access).
    BreadcrumbSearchOutput,
    /// What `workflow` is given (docs/breadcrumbs.md, Tools).
    WorkflowInput,
    /// What `workflow` answers (Universal Tool Invocation Standard, Output field access).
    WorkflowOutput,
    /// What `astral` is given (docs/breadcrumbs.md, Tools).
    AstralInput,
    /// What `astral` answers to `navigate` (Universal Tool Invocation Standard, Output field access).
    AstralNavigateOutput,
    /// What `astral` answers to `extract` (Universal Tool Invocation Standard, Output field access).
    AstralExtractOutput,
    /// What `astral` answers to `click` (Universal Tool Invocation Standard, Output field access).
    AstralClickOutput,
    /// What `astral` answers to `screenshot` (Universal Tool Invocation Standard, Output field access).
    AstralScreenshotOutput,
    /// What `astral` answers to `evaluate` (Universal Tool Invocation Standard, Output field access).
    AstralEvaluateOutput,
    /// `callmark.toml`, read as JSON.
    Manifest,
    /// `run.json`.
    Run,
    /// The matrix of `callmark sabotage`.
    Sabotage,
    /// What `callmark diff` prints.
    Diff,
    /// What `callmark doctor` prints.
    Doctor,
    /// Failures that are known.
    Baseline,
    /// One line of a capture.
    CaptureLine,
    /// What a certificate signs.
    Statement,
    /// What `callmark load` writes.
    Load,
    /// The report of traffic that nobody staged.
    Recording,
}

/// What is fixed about a schema.
struct Entry {
    path: &'static str,
    source: &'static str,
}

/// Derives the place of the file from the path, so that the two cannot differ.
macro_rules! entry {
    ($path:literal) => {
        Entry { path: $path, source: include_str!(concat!("../", $path, ".schema.json")) }
    };
}

impl SchemaName {
    /// All schemas, those of the peers' messages first.
    pub const ALL: [Self; 65] = [
        Self::ToolRow,
        Self::ToolUpload,
        Self::ToolCommand,
        Self::PmoCommand,
        Self::ToolCallCard,
        Self::ToolResultCard,
        Self::Callback,
        Self::Report,
        Self::InboxRecord,
        Self::Wakeup,
        Self::V1r4ToolCommand,
        Self::V1r4Callback,
        Self::V1r4Report,
        Self::V1r4InboxRecord,
        Self::V1r4Wakeup,
        Self::CallRequest,
        Self::CallResult,
        Self::Envelope,
        Self::CallError,
        Self::ResultDocument,
        Self::ExecuteRequest,
        Self::ExecuteSuccess,
        Self::ExecuteError,
        Self::IntegrationStatus,
        Self::Invocation,
        Self::AgentResponse,
        Self::ToolRequest,
        Self::ToolResponse,
        Self::ToolConfig,
        Self::Catalog,
        Self::Event,
        Self::LanguageModelInput,
        Self::LanguageModelOutput,
        Self::CalculatorInput,
        Self::CalculatorOutput,
        Self::RandomInput,
        Self::RandomOutput,
        Self::EchoInput,
        Self::EchoOutput,
        Self::TimerInput,
        Self::TimerOutput,
        Self::BreadcrumbCreateInput,
        Self::BreadcrumbCreateOutput,
        Self::BreadcrumbUpdateInput,
        Self::BreadcrumbUpdateOutput,
        Self::BreadcrumbSearchInput,
        Self::BreadcrumbSearchOutput,
        Self::WorkflowInput,
        Self::WorkflowOutput,
        Self::AstralInput,
        Self::AstralNavigateOutput,
        Self::AstralExtractOutput,
        Self::AstralClickOutput,
        Self::AstralScreenshotOutput,
        Self::AstralEvaluateOutput,
        Self::Manifest,
        Self::Run,
        Self::Sabotage,
        Self::Diff,
        Self::Doctor,
        Self::Baseline,
        Self::CaptureLine,
        Self::Statement,
        Self::Load,
        Self::Recording,
    ];

    /// The input of a tool of the Universal Tool Invocation Standard, in its usual form.
    ///
    /// `None` for a tool that the standard does not have.
    pub fn tool_input(tool: &str) -> Option<Self> {
        match tool {
            "astral" => Some(Self::AstralInput),
            _ => Self::of_tool(&format!("{}.input", family(tool))),
        }
    }

    /// The output of a tool of the Universal Tool Invocation Standard where it did its work.
    ///
    /// That of `astral` depends on the `action`, which the others do not have.
    /// `None` for a tool or an action that the standard does not have.
    pub fn tool_output(tool: &str, action: Option<&str>) -> Option<Self> {
        match (tool, action) {
            ("astral", action) => Self::of_tool(&format!("astral-{}.output", action?)),
            _ => Self::of_tool(&format!("{}.output", family(tool))),
        }
    }

    /// Folder and name, for example `utp/callback`.
    pub fn path(self) -> &'static str {
        self.entry().path
    }

    /// The schema's `$id`, for example `https://callmark.dev/schemas/utp/callback.schema.json`.
    pub fn id(self) -> String {
        format!("https://callmark.dev/schemas/{}.schema.json", self.path())
    }

    /// The schema as JSON text.
    pub fn source(self) -> &'static str {
        self.entry().source
    }

    /// Position in [`Self::ALL`], which follows the declaration.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    fn of_tool(file: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|name| name.path().strip_prefix("breadcrumb/tools/").is_some_and(|known| known == file))
    }

    fn entry(self) -> &'static Entry {
        const ENTRIES: [Entry; SchemaName::ALL.len()] = [
            entry!("utp/tool-row"),
            entry!("utp/tool-upload"),
            entry!("utp/tool-command"),
            entry!("utp/pmo-command"),
            entry!("utp/tool-call-card"),
            entry!("utp/tool-result-card"),
            entry!("utp/callback"),
            entry!("utp/report"),
            entry!("utp/inbox-record"),
            entry!("utp/wakeup"),
            entry!("utp/v1r4-tool-command"),
            entry!("utp/v1r4-callback"),
            entry!("utp/v1r4-report"),
            entry!("utp/v1r4-inbox-record"),
            entry!("utp/v1r4-wakeup"),
            entry!("toolbus/call-request"),
            entry!("toolbus/call-result"),
            entry!("toolbus/envelope"),
            entry!("toolbus/call-error"),
            entry!("toolbus/result-document"),
            entry!("hub/execute-request"),
            entry!("hub/execute-success"),
            entry!("hub/execute-error"),
            entry!("hub/integration-status"),
            entry!("breadcrumb/invocation"),
            entry!("breadcrumb/agent-response"),
            entry!("breadcrumb/tool-request"),
            entry!("breadcrumb/tool-response"),
            entry!("breadcrumb/tool-config"),
            entry!("breadcrumb/catalog"),
            entry!("breadcrumb/event"),
            entry!("breadcrumb/tools/language-model.input"),
            entry!("breadcrumb/tools/language-model.output"),
            entry!("breadcrumb/tools/calculator.input"),
            entry!("breadcrumb/tools/calculator.output"),
            entry!("breadcrumb/tools/random.input"),
            entry!("breadcrumb/tools/random.output"),
            entry!("breadcrumb/tools/echo.input"),
            entry!("breadcrumb/tools/echo.output"),
            entry!("breadcrumb/tools/timer.input"),
            entry!("breadcrumb/tools/timer.output"),
            entry!("breadcrumb/tools/breadcrumb-create.input"),
            entry!("breadcrumb/tools/breadcrumb-create.output"),
            entry!("breadcrumb/tools/breadcrumb-update.input"),
            entry!("breadcrumb/tools/breadcrumb-update.output"),
            entry!("breadcrumb/tools/breadcrumb-search.input"),
            entry!("breadcrumb/tools/breadcrumb-search.output"),
            entry!("breadcrumb/tools/workflow.input"),
            entry!("breadcrumb/tools/workflow.output"),
            entry!("breadcrumb/tools/astral.input"),
            entry!("breadcrumb/tools/astral-navigate.output"),
            entry!("breadcrumb/tools/astral-extract.output"),
            entry!("breadcrumb/tools/astral-click.output"),
            entry!("breadcrumb/tools/astral-screenshot.output"),
            entry!("breadcrumb/tools/astral-evaluate.output"),
            entry!("callmark/manifest"),
            entry!("callmark/run"),
            entry!("callmark/sabotage"),
            entry!("callmark/diff"),
            entry!("callmark/doctor"),
            entry!("callmark/baseline"),
            entry!("callmark/capture-line"),
            entry!("callmark/statement"),
            entry!("callmark/load"),
            entry!("callmark/recording"),
        ];
        const { &ENTRIES }.get(self.index()).unwrap_or(&ENTRIES[0])
    }
}

/// The name under which the schemas of a tool lie: the language models share theirs.
///
/// An action of `astral` is no tool, though its output has a file.
fn family(tool: &str) -> &str {
    match tool {
        "openrouter" | "venice" | "ollama_local" => "language-model",
        "language-model" => "",
        other if other.starts_with("astral-") => "",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::SchemaName;

    #[test]
    fn the_order_of_the_list_is_the_order_of_declaration() {
        for (index, name) in SchemaName::ALL.into_iter().enumerate() {
            assert_eq!(name.index(), index, "{name:?}");
        }
    }

    #[test]
    fn tools_of_the_standard_have_schemas() {
        for tool in ["openrouter", "venice", "ollama_local"] {
            assert_eq!(SchemaName::tool_input(tool), Some(SchemaName::LanguageModelInput));
            assert_eq!(SchemaName::tool_output(tool, None), Some(SchemaName::LanguageModelOutput));
        }
        let create = SchemaName::tool_output("breadcrumb-create", None);
        assert_eq!(create, Some(SchemaName::BreadcrumbCreateOutput));
        let click = SchemaName::tool_output("astral", Some("click"));
        assert_eq!(click, Some(SchemaName::AstralClickOutput));
        assert_eq!(SchemaName::tool_input("astral"), Some(SchemaName::AstralInput));
    }

    #[test]
    fn other_tools_have_none() {
        for tool in ["", "Calculator", "language-model", "astral-click", "web-notes"] {
            assert_eq!(SchemaName::tool_input(tool), None, "{tool}");
            assert_eq!(SchemaName::tool_output(tool, None), None, "{tool}");
        }
        assert_eq!(SchemaName::tool_output("astral", None), None);
        assert_eq!(SchemaName::tool_output("astral", Some("scroll")), None);
    }

    #[test]
    fn each_variant_has_the_path_of_its_name() {
        for name in SchemaName::ALL {
            let variant = format!("{name:?}").to_lowercase();
            let file = name.path().rsplit('/').next().expect("a path has segments");
            assert_eq!(file.replace(['-', '.'], ""), variant);
        }
    }
}
