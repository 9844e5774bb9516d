/**
 * Birch Library: an MCP server as a vendor writes it from the contract Tool bus v1, on `@modelcontextprotocol/server`.
 *
 * Here is the wire, stdio. The contract is in `bus.ts`, the tools are in `library.ts`.
 * Deliberately absent: `structuredContent` and `isError`. The contract wants one text block, and failures as MCP errors,
 * so this is the SDK's low-level `Server`; its `McpServer` turns a tool's exception into a result with `isError`.
 */

import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

import { Bus, DEFINITIONS } from "./bus.ts";

process.umask(0o077); // artifacts and state are the owner's
const bus = new Bus(process.env["SF_CONTEXT_REPO_ROOT"] || process.env["SENTRYFROGG_CONTEXT_REPO_ROOT"]);

serveStdio(() => {
  const server = new Server({ name: "birch-library", version: "3.0.2" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: DEFINITIONS }));
  server.setRequestHandler("tools/call", ({ params }) => ({
    content: [{ type: "text", text: bus.call(params.name, params.arguments ?? {}) }],
  }));
  return server;
});
