//! What both transports have in common.

/// The version that the suite asks for (MCP 2025-06-18, lifecycle).
pub(super) const PROTOCOL_VERSION: &str = "2025-06-18";

/// Unknown method (JSON-RPC 2.0, section 5.1).
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// Invalid parameters (JSON-RPC 2.0, section 5.1).
pub(super) const INVALID_PARAMS: i64 = -32602;

/// Header with the HTTP status of a JSON-RPC message, in the modern era.
pub(super) const HTTP_STATUS: &str = "http-status";
/// Header with the place that a redirect leads to.
pub(super) const LOCATION: &str = "location";
/// Header with the session that a server names, in the modern era.
pub(super) const NAMED_SESSION: &str = "mcp-session-id";
/// Header of a message that a server sends of its own accord: the request that it came beside.
pub(super) const BESIDE: &str = "beside";
/// Header of a request to a server that was sent nothing before it.
pub(super) const OPENING: &str = "opening";
/// Channel of a line on standard output that is no message.
pub(super) const STDOUT: &str = "stdout";
/// Header with the length of the text in bytes.
pub(super) const BYTES: &str = "bytes";
/// Header with the length of `structuredContent` in bytes, as compact JSON.
pub(super) const STRUCTURED_BYTES: &str = "structured-bytes";
