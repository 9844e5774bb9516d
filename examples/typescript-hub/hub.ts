/**
 * The Hub of Fern Desk: the Tool Execution Contract as a vendor writes it, on `node:http`.
 *
 * First the answers (execution, status), then the wire. The calendar, the mailbox and the tools are in `desk.ts`.
 * Deliberately absent: OAuth, scopes and limits. A customer is connected or is not, and there is no service to fail.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { z } from "zod";

import { Account, CALENDAR, MAIL, TOOLS, Unfit } from "./desk.ts";

const EXECUTE = "/api/internal/tools/execute/";
const STATUS = /^\/api\/internal\/integrations\/status\/([^/]+)\/$/;
const MAX_BODY = 1024 * 1024;
const SCOPES = { [CALENDAR]: ["calendar.events", "calendar.readonly"], [MAIL]: ["gmail.modify", "gmail.send"] };
/** By their ids; an account is there where the customer is connected. */
const CUSTOMERS = new Map<string, Account | null>([
  ["5a1f7c36-8f0b-4d53-9c0e-2b6a9d7e4f10", new Account("desk@fern.example")],
  ["c94be7d2-3e61-4b8a-a7f5-61d0e8c2b935", null],
]);

/** An error that the caller receives, with its status. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: object | undefined;

  constructor(status: number, code: string, message: string, details?: object) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

interface Answer {
  status: number;
  body: object;
}

const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
const text = z.string().nullish();
const requestForm = z.object({
  tool: z.string(),
  agent_id: uuid,
  customer_id: uuid,
  user_id: text,
  inputs: z.record(z.string(), z.unknown()),
  context: z.object({ conversation_id: text, request_id: text }).nullish(),
});

/** What fits the schema. What does not is named, and never quoted: it may be somebody's letter. */
function fitting<S extends z.ZodType>(schema: S, value: unknown, code: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const place = parsed.error.issues[0]?.path.join(".") || "the body";
  throw new Refusal(400, code, `\`${place}\` is missing or has the wrong form`);
}

function setupUrl(integration: string): string {
  return `https://desk.fern.example/connect/${integration}`;
}

function accountOf(customerId: string): Account | null {
  const account = CUSTOMERS.get(customerId.toLowerCase());
  if (account === undefined) throw new Refusal(404, "CUSTOMER_NOT_FOUND", "there is no such customer");
  return account;
}

function refused(error: unknown): { status: number; error: object } {
  if (error instanceof Refusal || error instanceof Unfit) {
    const { status, code, message } = error;
    const details = error instanceof Refusal && error.details ? { details: error.details } : {};
    return { status, error: { code, message, ...details } };
  }
  console.error("a request failed:", error);
  return { status: 500, error: { code: "INTERNAL_ERROR", message: "the Hub failed" } };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new Refusal(400, "INVALID_REQUEST", "the body is no JSON");
  }
}

function execute(body: Buffer): Answer {
  const started = performance.now();
  let name: string | null = null;
  try {
    const request = fitting(requestForm, parse(body), "INVALID_REQUEST");
    name = request.tool;
    const tool = TOOLS.get(name);
    if (tool === undefined) throw new Refusal(404, "TOOL_NOT_FOUND", "there is no such tool");
    const { integration } = tool;
    const account = accountOf(request.customer_id);
    if (account === null) {
      const details = { integration, setup_url: setupUrl(integration) };
      throw new Refusal(400, "INTEGRATION_NOT_CONNECTED", `${integration} is not connected`, details);
    }
    const result = tool.run(account, fitting(tool.inputs, request.inputs, "INVALID_INPUT"));
    const metadata = { execution_time_ms: Math.round(performance.now() - started), api_calls: 0 };
    return { status: 200, body: { success: true, tool: name, result, metadata } };
  } catch (error) {
    const { status, ...members } = refused(error);
    return { status, body: { success: false, tool: name, ...members } };
  }
}

function integrationStatus(customerId: string): Answer {
  try {
    const account = accountOf(fitting(uuid, customerId, "INVALID_REQUEST"));
    const connection = (integration: string, scopes: string[]) =>
      account
        ? { connected: true, scopes, email: account.address, expires_at: "2031-01-01T00:00:00Z" }
        : { connected: false, setup_url: setupUrl(integration) };
    const integrations = Object.fromEntries(
      Object.entries(SCOPES).map(([name, scopes]) => [name, connection(name, scopes)]),
    );
    return { status: 200, body: { customer_id: customerId, integrations } };
  } catch (error) {
    const { status, ...members } = refused(error);
    return { status, body: { success: false, ...members } };
  }
}

function digest(value: string): Buffer {
  return createHash("sha256").update(value).digest();
}

/** The whole body, or nothing where it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function refuse(status: number, message: string): Answer {
  return { status, body: { success: false, error: { code: "REQUEST_REFUSED", message } } };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  const content = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": content.length }).end(content);
}

async function answer(request: IncomingMessage, authorization: Buffer): Promise<Answer> {
  const body = await bodyOf(request);
  const path = request.url ?? "";
  const customerId = STATUS.exec(path)?.[1];
  if (body === undefined) return refuse(413, `a body has at most ${MAX_BODY} bytes`);
  if (!timingSafeEqual(digest(request.headers.authorization ?? ""), authorization)) {
    return refuse(401, "wrong or missing service secret");
  }
  if (path === EXECUTE && request.method === "POST") return execute(body);
  if (customerId !== undefined && request.method === "GET") return integrationStatus(customerId);
  if (path === EXECUTE || customerId !== undefined) return refuse(405, "this path has another method");
  return refuse(404, "there is nothing here");
}

const secret = process.env["CALLMARK_HUB_SECRET"] ?? process.env["HUB_SECRET"];
if (!secret) {
  console.error("HUB_SECRET is not set: the secret that agents send");
  process.exit(2);
}
const authorization = digest(`ServiceSecret ${secret}`);
const listen = new URL(`http://${process.env["CALLMARK_LISTEN"] ?? "127.0.0.1:8080"}`);
const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
  answer(request, authorization).then(
    (answer) => {
      // What is unread of a body that was too large must not be taken for the next request.
      if (answer.status === 413) response.setHeader("Connection", "close");
      send(response, answer);
    },
    () => response.destroy(), // the agent hung up
  );
});
server.listen(Number(listen.port || 80), listen.hostname.replace(/^\[|\]$/g, ""), () =>
  console.error(`listening on ${listen.origin}`),
);
process.once("SIGTERM", () => server.close());
