//! What both transports have in common.

/// The version that the suite asks for (MCP 2025-06-18, lifecycle).
pub(super) const PROTOCOL_VERSION: &str = "2025-06-18";

/// Header with the length of the text in bytes.
pub(super) const BYTES: &str = "bytes";
/// Header with the length of `structuredContent` in bytes, as compact JSON.
pub(super) const STRUCTURED_BYTES: &str = "structured-bytes";
