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
    /// `callmark.toml`, read as JSON.
    Manifest,
    /// `run.json`.
    Run,
    /// The matrix of `callmark sabotage`.
    Sabotage,
    /// One line of a capture.
    CaptureLine,
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
    pub const ALL: [Self; 23] = [
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
        Self::CallRequest,
        Self::CallResult,
        Self::Envelope,
        Self::CallError,
        Self::ResultDocument,
        Self::ExecuteRequest,
        Self::ExecuteSuccess,
        Self::ExecuteError,
        Self::IntegrationStatus,
        Self::Manifest,
        Self::Run,
        Self::Sabotage,
        Self::CaptureLine,
    ];

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
            entry!("toolbus/call-request"),
            entry!("toolbus/call-result"),
            entry!("toolbus/envelope"),
            entry!("toolbus/call-error"),
            entry!("toolbus/result-document"),
            entry!("hub/execute-request"),
            entry!("hub/execute-success"),
            entry!("hub/execute-error"),
            entry!("hub/integration-status"),
            entry!("callmark/manifest"),
            entry!("callmark/run"),
            entry!("callmark/sabotage"),
            entry!("callmark/capture-line"),
        ];
        const { &ENTRIES }.get(self.index()).unwrap_or(&ENTRIES[0])
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
    fn each_variant_has_the_path_of_its_name() {
        for name in SchemaName::ALL {
            let variant = format!("{name:?}").to_lowercase();
            let file = name.path().rsplit('/').next().expect("a path has segments");
            assert_eq!(file.replace('-', ""), variant);
        }
    }
}
