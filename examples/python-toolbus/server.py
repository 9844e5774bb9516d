"""Acme Depot: an MCP server as a vendor writes it from the contract Tool bus v1, on the SDK `mcp`.

Here is the wire: stdio, or streamable HTTP when CALLMARK_LISTEN is set. The contract is in `bus.py`, the tools are in
`depot.py`.
Deliberately absent: `structuredContent` and `isError`. The contract wants one text block, and failures as MCP errors,
so this is the SDK's low-level server; its high-level one turns a tool's exception into a result with `isError`.
"""

import asyncio
import logging
import os

import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from bus import ALL_TOOLS, Bus, schema_of



def server_of(bus):
    async def list_tools(_context, _params):
        tools = [types.Tool(name=n, description=t.description, input_schema=schema_of(t)) for n, t in ALL_TOOLS.items()]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context, params):
        # stdio is one session; over HTTP the request names it, or has none in a protocol version without sessions.
        session = "stdio" if context.request is None else context.request.headers.get("mcp-session-id")
        text = bus.call(params.name, params.arguments or {}, session)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("acme-depot", version="2.0.1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(server):
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main():
    logging.basicConfig(level=logging.INFO)
    os.umask(0o077)  # artifacts and state are the owner's
    root = os.environ.get("SF_CONTEXT_REPO_ROOT") or os.environ.get("SENTRYFROGG_CONTEXT_REPO_ROOT")
    server = server_of(Bus(root))
    if listen := os.environ.get("CALLMARK_LISTEN"):
        host, _, port = listen.rpartition(":")
        # For a loopback host the SDK checks `Host` and `Origin`, so that a page in a browser cannot call the tools.
        app = server.streamable_http_app(host=host)
        uvicorn.run(app, host=host, port=int(port), log_level="warning", timeout_graceful_shutdown=1)
    else:
        asyncio.run(serve_stdio(server))


if __name__ == "__main__":
    main()
