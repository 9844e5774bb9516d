//! The MCP side: rmcp's handler over a `Bus`, one per session.
//!
//! Tools run on threads that may wait, a few at a time: a call may take as much memory as its result is large.
//! A tool that panics is an internal error of that call and of nothing else.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::arguments::{self, Arguments};
use super::bus::Bus;
use super::failure::{Failure, INTERNAL_ERROR, INVALID_PARAMS};
use super::state::SessionStore;
use super::tools::tool::BusTool;

/// How many calls of a server run at once.
const CALLS_AT_ONCE: usize = 4;
/// How many calls of a server may wait for their turn; a transport that can slow its client down stays below.
const CALLS_WAITING: usize = 256;
/// Member of `_meta` with the server's name and version.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// What this server takes for itself of the methods of MCP.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];
const INSTRUCTIONS: &str = "Every tool takes trace_id, span_id, parent_span_id, output, store_as, store_scope and \
                            response_mode, and answers one JSON envelope.";

/// The revisions of MCP that are served.
pub(crate) fn protocol_versions() -> &'static [ProtocolVersion] {
    ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28)
}

/// One session of a server.
pub(crate) struct Server {
    shared: Arc<ServerState>,
    session: Arc<SessionStore>,
}

struct ServerState {
    bus: Arc<Bus>,
    running: Semaphore,
    admitted: Semaphore,
}

impl Server {
    pub(crate) fn new(bus: Arc<Bus>) -> Self {
        let shared = ServerState {
            bus,
            running: Semaphore::new(CALLS_AT_ONCE),
            admitted: Semaphore::new(CALLS_AT_ONCE + CALLS_WAITING),
        };
        Self { shared: Arc::new(shared), session: Arc::default() }
    }

    /// Another session of the same server: it shares everything but the scope `session`.
    pub(crate) fn session(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), session: Arc::default() }
    }

    async fn call(&self, name: String, arguments: Arguments) -> Result<Value, Failure> {
        let Ok(_admitted) = self.shared.admitted.try_acquire() else {
            return Err(
                Failure::internal("too many calls are waiting").hint("call again when others have answered")
            );
        };
        let Ok(_running) = self.shared.running.acquire().await else {
            return Err(Failure::internal("the server is ending"));
        };
        let (bus, session) = (Arc::clone(&self.shared.bus), Arc::clone(&self.session));
        let called = tokio::task::spawn_blocking(move || bus.call(&session, &name, &arguments));
        called.await.unwrap_or_else(|_panicked| Err(Failure::internal("the tool ended in an unforeseen way")))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(ProtocolVersion::V_2025_06_18)
            .with_server_info(implementation())
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(protocol_versions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(self.shared.bus.tools().map(listed).collect());
        list.meta = meta(&context);
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.shared.bus.tools().find(|tool| tool.definition().name == name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.call(request.name.into_owned(), request.arguments.unwrap_or_default());
        let called = tokio::select! {
            called = call => called,
            // The client does not wait any more; a tool that runs already runs to its end.
            () = context.ct.cancelled() => Err(Failure::internal("the call was cancelled")),
        };
        let envelope = called.map_err(|failure| to_error(&failure))?;
        let mut result = CallToolResult::success(vec![ContentBlock::text(envelope.to_string())]);
        result.meta = meta(&context);
        Ok(result.into())
    }

    /// rmcp hands a request here when it does not know the method, and also when it knows the method but cannot
    /// read the parameters; the two are different errors.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if !METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                "this server does not have the method",
                None,
            ));
        }
        let failure = match request.params.as_ref().and_then(Value::as_object) {
            None => Failure::invalid("`params` must be an object"),
            Some(params) if request.method != "tools/call" => Failure::invalid(format!(
                "`params` of {} members do not have the method's form",
                params.len()
            )),
            Some(params) if !params.get("name").is_some_and(Value::is_string) => {
                Failure::argument("name", "`name` must be a string that names the tool")
                    .hint("`params` are `{\"name\": …, \"arguments\": {…}}`")
            }
            Some(_) => Failure::argument("arguments", "`arguments` must be an object"),
        };
        Err(to_error(&failure))
    }
}

fn implementation() -> Implementation {
    Implementation::new("callmark-reference-toolbus", env!("CARGO_PKG_VERSION"))
}

/// The `_meta` of a result: it names the server where no `initialize` has (MCP 2026-07-28, Basic, General fields).
fn meta(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    let revision = context.protocol_version()?;
    (revision.as_str() >= ProtocolVersion::V_2026_07_28.as_str()).then(|| {
        let mut meta = MetaObject::default();
        let server = implementation();
        let info = serde_json::json!({"name": server.name, "version": server.version});
        meta.0.insert(SERVER_INFO.to_owned(), info);
        meta
    })
}

fn to_error(failure: &Failure) -> ErrorData {
    debug_assert!([INVALID_PARAMS, INTERNAL_ERROR].contains(&failure.code));
    let data = (!failure.data.is_empty()).then(|| Value::Object(failure.data.clone()));
    ErrorData::new(ErrorCode(failure.code), failure.message.clone(), data)
}

fn listed(tool: &dyn BusTool) -> rmcp::model::Tool {
    let definition = tool.definition();
    let schema = arguments::schema(definition.arguments);
    rmcp::model::Tool::new(definition.name, definition.description, schema)
}
