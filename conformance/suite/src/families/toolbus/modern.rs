//! The modern era of MCP: no handshake and no session; each request says for itself which revision it is in, and over
//! HTTP headers repeat what its body says.
//!
//! Sans I/O: bodies and headers in, bodies and headers out. Neighbours: `server` sends them, `judge::protocol` judges
//! what comes back.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::answer::{self, integer};
use super::link::Headers;
use super::revision::{MODERN, is_date};
use crate::transcript::{Frame, shorten};

/// Beginning of the names of the members of `_meta` that MCP defines.
const NAMESPACE: &str = "io.modelcontextprotocol/";
/// Member of `_meta` with the revision of a request.
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Member of `_meta` with what the client can do.
pub(super) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Member of `_meta` that asks for log messages.
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// The revision that a request names.
pub(super) fn revision_of(request: &Frame) -> Option<&str> {
    request.member("/params/_meta")?.get(PROTOCOL_VERSION)?.as_str()
}

/// Beginning of the names of headers that repeat a body, in lower case.
const OWN_HEADERS: &str = "mcp-";
/// Header that repeats the revision.
pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
/// Header that repeats the method.
const METHOD_HEADER: &str = "mcp-method";
/// Header that repeats the name of the tool.
const NAME_HEADER: &str = "mcp-name";
/// Beginning of the headers that repeat an argument.
const PARAM_HEADER: &str = "mcp-param-";
/// Beginning of the value of a header that is in base64.
const ENCODED: &str = "=?base64?";
/// Member of a tool's schema with the rest of the name of such a header.
const MARK: &str = "x-mcp-header";

/// Letters of the name of a header, in lower case (RFC 9110, Tokens).
const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";

/// Headers and body do not agree.
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the request needs.
pub(super) const MISSING_CAPABILITY: i64 = -32021;
/// The server does not have the revision.
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// `resultType` of an answer that asks for more.
pub(super) const INPUT_REQUIRED: &str = "input_required";
/// `resultType` of any other.
pub(super) const COMPLETE: &str = "complete";

/// Arguments that are repeated in headers, by the name of the tool: a JSON Pointer to the argument, and the name of the
/// header.
pub(super) type Marks = BTreeMap<String, Vec<(String, String)>>;

/// What a request does otherwise than MCP asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It has no `_meta`.
    NoMeta,
    /// Its `_meta` lacks the member with this name.
    WithoutMeta(String),
    /// Its `_meta` has this as the member with this name.
    Meta(String, Value),
    /// It is in another revision, which `_meta` and header name.
    Version(String),
    /// It lacks a header.
    WithoutHeader(String),
    /// A header says this, whatever the body says.
    Header(String, String),
}

/// How a header that repeats a body can differ from it in a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderChange {
    /// Capitals are small letters, or the other way round.
    Case,
    /// Its last letter is missing.
    CutShort,
    /// It has a letter more.
    Longer,
    /// Nothing is left of it.
    Empty,
    /// It is in base64, which says the same.
    Encoded,
}

impl HeaderChange {
    /// The changed value; nothing where the change leaves it as it is, or where the value goes in base64.
    pub(super) fn of(self, value: &str) -> Option<String> {
        let changed = match self {
            Self::Case if value.chars().any(|letter| letter.is_ascii_lowercase()) => {
                value.to_ascii_uppercase()
            }
            Self::Case => value.to_ascii_lowercase(),
            Self::CutShort => {
                let mut letters = value.chars();
                letters.next_back()?;
                // An empty one is another change.
                Some(letters.as_str()).filter(|rest| !rest.is_empty())?.to_owned()
            }
            Self::Longer => format!("{value}x"),
            Self::Empty => String::new(),
            Self::Encoded => format!("{ENCODED}{}?=", STANDARD.encode(value)),
        };
        (changed != value && !value.starts_with(ENCODED)).then_some(changed)
    }
}

/// A request with the `_meta` that each has (MCP 2026-07-28, Basic, General fields). One that has a `_meta` keeps it.
pub(super) fn with_meta(mut body: Value) -> Value {
    if !body["params"].is_object() {
        body["params"] = json!({});
    }
    if let Some(params) = body["params"].as_object_mut() {
        params.entry("_meta").or_insert_with(|| {
            json!({
                PROTOCOL_VERSION: MODERN,
                CLIENT_CAPABILITIES: {},
                CLIENT_INFO: {"name": "callmark", "version": env!("CARGO_PKG_VERSION")},
            })
        });
    }
    body
}

/// Changes the body of a request.
pub(super) fn deviate(body: &mut Value, deviation: &Deviation) {
    if *deviation == Deviation::NoMeta {
        body["params"].as_object_mut().and_then(|params| params.shift_remove("_meta"));
        return;
    }
    let meta = body["params"]["_meta"].as_object_mut();
    match (deviation, meta) {
        (Deviation::WithoutMeta(member), Some(meta)) => {
            meta.shift_remove(&format!("{NAMESPACE}{member}"));
        }
        (Deviation::Meta(member, value), Some(meta)) => {
            meta.insert(format!("{NAMESPACE}{member}"), value.clone());
        }
        (Deviation::Version(version), Some(meta)) => {
            meta.insert(PROTOCOL_VERSION.to_owned(), Value::from(version.clone()));
        }
        _ => {}
    }
}

/// The headers of a request over HTTP (MCP 2026-07-28, Streamable HTTP), with what it does otherwise.
pub(super) fn headers(
    body: &Value,
    marks: &Marks,
    deviation: Option<&Deviation>,
) -> BTreeMap<String, String> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let mut headers = BTreeMap::from([(VERSION_HEADER.to_owned(), MODERN.to_owned())]);
    let version = body["params"]["_meta"][PROTOCOL_VERSION].as_str();
    headers.extend(version.map(|version| (VERSION_HEADER.to_owned(), version.to_owned())));
    headers.extend(text("/method").map(|method| (METHOD_HEADER.to_owned(), method.to_owned())));
    if text("/method") == Some("tools/call")
        && let Some(tool) = text("/params/name")
    {
        headers.insert(NAME_HEADER.to_owned(), header_value(tool));
        for (argument, name) in marks.get(tool).into_iter().flatten() {
            let value = body.pointer(&format!("/params/arguments{argument}")).and_then(argument_value);
            headers.extend(value.map(|value| (param_header(name), value)));
        }
    }
    match deviation {
        Some(Deviation::WithoutHeader(name)) => drop(headers.remove(&name.to_lowercase())),
        Some(Deviation::Header(name, value)) => drop(headers.insert(name.to_lowercase(), value.clone())),
        _ => {}
    }
    headers
}

/// The state that the answer to a call asks the client to send with the call again, where it asks for nothing else
/// (MCP 2026-07-28, Multi round-trip requests).
pub(super) fn state_to_return(frames: &[Frame], id: i64) -> Option<Value> {
    let result = answer::frame(frames, id)?.member("/result")?;
    let asks =
        result.get("inputRequests").and_then(Value::as_object).is_some_and(|requests| !requests.is_empty());
    let is_open = result.get("resultType").is_some_and(|kind| kind == INPUT_REQUIRED);
    result.get("requestState").filter(|state| is_open && !asks && state.is_string()).cloned()
}

/// The headers of a message that are sent as such.
pub(super) fn sent_headers(headers: &BTreeMap<String, String>) -> Headers {
    let is_own = |name: &str| name.starts_with(OWN_HEADERS) || name == "origin";
    headers
        .iter()
        .filter(|(name, _)| is_own(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Of the headers of a request, those that repeat its body.
pub(super) fn own_headers(headers: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = headers.iter().filter(|(name, _)| name.starts_with(OWN_HEADERS));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The header of a call that repeats something else than an argument, by its name.
pub(super) fn header_of_call(tool: &str, name: &str) -> Option<String> {
    let body = with_meta(json!({"method": "tools/call", "params": {"name": tool}}));
    headers(&body, &Marks::new(), None).remove(&name.to_lowercase())
}

/// What no header can hold as it is, and what looks like that, goes in base64.
pub(super) fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    let looks_encoded = text.starts_with(ENCODED) && text.ends_with("?=");
    if is_plain && !looks_encoded { text.to_owned() } else { format!("{ENCODED}{}?=", STANDARD.encode(text)) }
}

/// The header that repeats an argument.
fn param_header(name: &str) -> String {
    format!("{PARAM_HEADER}{}", name.to_lowercase())
}

/// An argument as its header has it; nothing where it has none.
fn argument_value(argument: &Value) -> Option<String> {
    match argument {
        Value::String(text) => Some(header_value(text)),
        value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
        _ => None,
    }
}

/// The headers that repeat these arguments of a tool, each with its value: those of arguments that `suits`.
pub(super) fn headers_of_arguments(
    marks: &Marks,
    tool: &str,
    arguments: &Map<String, Value>,
    suits: impl Fn(&Value) -> bool,
) -> Vec<(String, String)> {
    let arguments = Value::Object(arguments.clone());
    let sent = |argument: &str| arguments.pointer(argument).filter(|own| suits(own)).and_then(argument_value);
    let marked = marks.get(tool).into_iter().flatten();
    marked.filter_map(|(argument, name)| Some((param_header(name), sent(argument)?))).collect()
}

/// The arguments that a page of `tools/list` marks for headers, by tool; only those whose type can stand in one.
pub(super) fn marks(tools: &[Value]) -> Marks {
    let of = |tool: &Value| {
        let mut marked = Vec::new();
        gather_marks(tool.get("inputSchema")?, "", &mut marked);
        (!marked.is_empty()).then_some((tool.get("name")?.as_str()?.to_owned(), marked))
    };
    tools.iter().filter_map(of).collect()
}

/// Marks of the properties of a schema, and of those below them (MCP 2026-07-28, Tools, `x-mcp-header`).
fn gather_marks(schema: &Value, pointer: &str, marked: &mut Vec<(String, String)>) {
    for (argument, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let pointer = format!("{pointer}/{}", argument.replace('~', "~0").replace('/', "~1"));
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let header = schema.get(MARK).and_then(Value::as_str);
        if let Some(header) = header.filter(|_| ["string", "integer", "boolean"].contains(&kind)) {
            marked.push((pointer.clone(), header.to_owned()));
        }
        gather_marks(schema, &pointer, marked);
    }
}

/// Whether a client can follow all marks of a tool: each stands where a call shows the argument, and names a header of
/// its own.
pub(super) fn has_sound_marks(tool: &Value) -> bool {
    let Some(schema) = tool.get("inputSchema") else { return true };
    let mut marked = Vec::new();
    gather_marks(schema, "", &mut marked);
    let names: BTreeSet<String> = marked.iter().map(|(_, name)| name.to_lowercase()).collect();
    let is_token = |name: &String| !name.is_empty() && name.bytes().all(|byte| TOKEN.contains(&byte));
    names.len() == marked.len() && names.iter().all(is_token) && count_marks(schema) == marked.len()
}

fn count_marks(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            usize::from(members.contains_key(MARK)) + members.values().map(count_marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_marks).sum(),
        _ => 0,
    }
}

/// Whether the answer to a `server/discover` in the modern revision is that of a modern server (MCP 2026-07-28,
/// Versioning): a result that names a modern version, or an error that only such a server has.
///
/// # Errors
/// It is not: what came, for people.
pub(super) fn is_modern(answer: &Frame) -> Result<(), String> {
    let has_modern = |pointer: &str| {
        let versions = answer.member(pointer).and_then(Value::as_array).into_iter().flatten();
        let dates = versions.filter_map(Value::as_str).filter(|version| is_date(version));
        dates.filter(|version| *version >= MODERN).map(str::to_owned).collect::<Vec<_>>()
    };
    let versions = match answer.member("/error/code").and_then(integer) {
        Some(HEADER_MISMATCH | MISSING_CAPABILITY) => return Ok(()),
        Some(UNSUPPORTED_VERSION) => has_modern("/error/data/supported"),
        Some(_) => Vec::new(),
        None => has_modern("/result/supportedVersions"),
    };
    if versions.iter().any(|version| version == MODERN) {
        return Ok(());
    }
    match versions.first() {
        Some(_) => Err(format!(
            "the server has MCP {}, and this suite speaks {MODERN} of the revisions without `initialize`",
            versions.join(", ")
        )),
        None => Err(format!(
            "`server/discover` is answered by {}; a server that begins with `initialize` is certified without \
             `revisions`, or with one of its own, under `[toolbus]`",
            shorten(&answer.body)
        )),
    }
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;

    use super::*;
    use crate::transcript::Kind;

    fn answered(body: Value) -> Result<(), String> {
        let (headers, channel) = (BTreeMap::new(), String::new());
        let (direction, kind) = (Direction::FromTarget, Kind::Response);
        is_modern(&Frame { n: 1, at_us: 0, direction, kind, channel, headers, body })
    }

    #[test]
    fn a_server_is_modern_by_what_it_discovers_or_by_an_error_of_its_own() {
        let result = |versions: &[&str]| json!({"id": -2, "result": {"supportedVersions": versions}});
        let error = |code: i64, data: Value| json!({"id": -2, "error": {"code": code, "data": data}});
        for modern in [
            result(&["2025-11-25", MODERN]),
            error(HEADER_MISMATCH, Value::Null),
            error(MISSING_CAPABILITY, Value::Null),
            error(UNSUPPORTED_VERSION, json!({"supported": [MODERN]})),
        ] {
            assert_eq!(answered(modern.clone()), Ok(()), "{modern}");
        }
        for legacy in [
            result(&["2025-11-25"]),
            result(&[]),
            json!({"id": -2, "result": {}}),
            error(-32601, Value::Null),
            error(-32602, json!({"supported": [MODERN]})),
            error(UNSUPPORTED_VERSION, json!({"supported": ["2025-06-18"]})),
            error(UNSUPPORTED_VERSION, Value::Null),
            result(&["banana"]),
            result(&["zzzz"]),
            json!("Not Found"),
        ] {
            assert!(answered(legacy.clone()).is_err(), "{legacy}");
        }
        let later = answered(result(&["2027-03-01"])).expect_err("not spoken");
        assert!(later.contains("has MCP 2027-03-01"), "{later}");
    }

    #[test]
    fn a_header_is_changed_in_a_little() {
        let check = |change: HeaderChange, value: &str, expect: Option<&str>| {
            assert_eq!(change.of(value).as_deref(), expect, "{change:?} of {value}");
        };
        check(HeaderChange::Case, "bolt-9", Some("BOLT-9"));
        check(HeaderChange::Case, "BOLT", Some("bolt"));
        check(HeaderChange::Case, "42", None);
        check(HeaderChange::CutShort, "bolt-9", Some("bolt-"));
        check(HeaderChange::CutShort, "b", None);
        check(HeaderChange::CutShort, "", None);
        check(HeaderChange::Longer, "bolt-9", Some("bolt-9x"));
        check(HeaderChange::Empty, "bolt-9", Some(""));
        check(HeaderChange::Empty, "", None);
        check(HeaderChange::Case, "=?base64?w7w=?=", None);
        check(HeaderChange::Encoded, "bolt-9", Some("=?base64?Ym9sdC05?="));
    }

    #[test]
    fn headers_repeat_the_body() {
        let tools = [json!({"name": "find", "inputSchema": {"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limit": {"type": "integer", "x-mcp-header": "Limit"},
            "deep": {"type": "object", "x-mcp-header": "Deep"},
            "text": {"type": "string"},
        }}})];
        let marks = marks(&tools);
        let call = |arguments: Value| {
            let params = json!({"name": "find", "arguments": arguments});
            let body = with_meta(json!({"method": "tools/call", "params": params}));
            headers(&body, &marks, None)
        };
        let sent = call(json!({"region": "eu", "limit": 3, "text": "x", "deep": {}}));
        let expected = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "find"),
            ("mcp-param-limit", "3"),
            ("mcp-param-region", "eu"),
            ("mcp-protocol-version", MODERN),
        ];
        let sent: Vec<(&str, &str)> =
            sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(sent, expected);
        for (text, expected) in [
            ("eu", "eu"),
            ("", ""),
            (" eu", "=?base64?IGV1?="),
            ("ü", "=?base64?w7w=?="),
            ("=?base64?eu?=", "=?base64?PT9iYXNlNjQ/ZXU/PQ==?="),
        ] {
            assert_eq!(call(json!({"region": text}))["mcp-param-region"], expected, "{text}");
        }
        assert!(!call(json!({"region": null})).contains_key("mcp-param-region"));
    }

    #[test]
    fn marks_are_followed_below_properties_and_nowhere_else() {
        let check = |properties: Value, expect: &[(&str, &str)], is_sound: bool| {
            let tool = json!({"name": "find", "inputSchema": {"properties": properties}});
            let marked = marks(std::slice::from_ref(&tool)).remove("find").unwrap_or_default();
            let marked: Vec<(&str, &str)> =
                marked.iter().map(|(at, name)| (at.as_str(), name.as_str())).collect();
            assert_eq!(marked, expect, "{tool}");
            assert_eq!(has_sound_marks(&tool), is_sound, "{tool}");
        };
        let text = |name: &str| json!({"type": "string", "x-mcp-header": name});
        check(json!({"a": {"type": "string"}}), &[], true);
        check(json!({"a/b": {"properties": {"c": text("C")}}}), &[("/a~1b/c", "C")], true);
        check(json!({"a": {"items": text("C")}}), &[], false);
        check(json!({"a": {"type": "number", "x-mcp-header": "A"}}), &[], false);
        check(json!({"a": text("A"), "b": text("a")}), &[("/a", "A"), ("/b", "a")], false);
        check(json!({"a": text("A B")}), &[("/a", "A B")], false);
    }
}
