/**
 * The contract Tool bus v1 as Birch Library keeps it: what stands between a call's arguments and a tool, and between
 * its result and the caller.
 *
 * First the semantic arguments, then redaction, shaping and bounds, then state and artifacts, then one call from end to
 * end. The tools are in `library.ts`, MCP is in `server.ts`.
 */

import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { INTERNAL_ERROR, INVALID_PARAMS, ProtocolError } from "@modelcontextprotocol/server";
import { z } from "zod";

import { BadArgument, text, ToolFailure, TOOLS, type NextAction, type Reply } from "./library.ts";

const MAX_TEXT = 32 * 1024;
const MAX_KEYS = 1000;
const SECRET_KEY = /(password|passwd|apikey|authorization|secret|token|privatekey|cookie)$/;
const CREDENTIALS = /\b(Bearer|Basic)\s+\S+/gi;
const SAFE_ID = /^[A-Za-z0-9_-]{1,100}$/;

type Members = Record<string, unknown>;

const scope = z.enum(["session", "persistent"]);
const keys = z.array(z.string());
const output = z.strictObject({
  path: z
    .string()
    .regex(/^(\/([^~]|~[01])*)?$/)
    .optional(), // a JSON Pointer
  pick: keys.optional(),
  omit: keys.optional(),
  get map() {
    return output.optional();
  },
});
const ids = { trace_id: text.optional(), span_id: text.optional(), parent_span_id: text.optional() };
const semantic = {
  ...ids,
  output: output.optional(),
  store_as: text.optional(),
  store_scope: scope.default("session"),
  response_mode: z.enum(["ai", "compact"]).optional(),
};
const semanticForm = z.object(semantic);
const stateForm = z.object({ action: z.enum(["get", "clear"]), key: text, scope: scope.default("session") });
type Scope = z.output<typeof scope>;
type Output = z.output<typeof output>;

const FORMS = new Map<string, z.ZodObject>(
  Object.entries({ ...TOOLS, mcp_state: { inputs: stateForm } }).map(([name, { inputs }]) => [
    name,
    z.strictObject({ ...inputs.shape, ...semantic }),
  ]),
);

export const DEFINITIONS = [...FORMS].map(([name, form]) => ({
  name,
  description: TOOLS[name]?.description ?? "Read or clear what `store_as` has stored.",
  inputSchema: z.toJSONSchema(form, { io: "input" }) as { type: "object" },
}));

/** The arguments, if they fit. The schema's own messages are not passed on: ours name the place and quote no value. */
function fitting(name: string, args: unknown): Members {
  const form = FORMS.get(name);
  if (form === undefined) throw new BadArgument("there is no such tool");
  const parsed = form.safeParse(args);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue?.path.join(".") || "arguments";
  throw new BadArgument(
    issue?.code === "unrecognized_keys"
      ? `\`${place}\` has a member that is not known`
      : `\`${place}\` is missing or does not fit its schema`,
  );
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function redact(value: unknown): unknown {
  if (typeof value === "string") return value.replace(CREDENTIALS, "$1 [redacted]");
  if (Array.isArray(value)) return value.map(redact);
  if (!isMembers(value)) return value;
  const isSecret = (key: string) => SECRET_KEY.test(key.toLowerCase().replace(/[^a-z]/g, ""));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, isSecret(key) ? "[redacted]" : redact(member)]),
  );
}

function member(value: unknown, token: string): unknown {
  const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
  const isIndex = Array.isArray(value) && /^(0|[1-9]\d*)$/.test(key);
  if ((isIndex || isMembers(value)) && Object.hasOwn(value, key)) return (value as Members)[key];
  throw new BadArgument("`output.path` leads to nothing");
}

/** Path, then pick, omit and map. What does not fit is refused: the whole result is never the answer to it. */
function shape(result: unknown, { path = "", pick, omit, map }: Output): unknown {
  let value = path.split("/").slice(1).reduce(member, result);
  if (pick || omit) {
    if (!isMembers(value)) throw new BadArgument("`output.pick` and `output.omit` need an object");
    const kept = Object.entries(value).filter(([key]) => (pick?.includes(key) ?? true) && !omit?.includes(key));
    value = Object.fromEntries(kept);
  }
  if (!map) return value;
  if (!Array.isArray(value)) throw new BadArgument("`output.map` needs a list");
  return value.map((item) => shape(item, map));
}

function bounded(value: unknown): unknown {
  const json = JSON.stringify(value);
  return json.length <= MAX_TEXT ? value : { truncated: true, bytes: json.length, head: json.slice(0, MAX_TEXT / 2) };
}

/** A reader finds the old file or the new one, never a part. */
function writeWhole(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const part = join(dirname(path), `.${randomUUID()}`);
  writeFileSync(part, content);
  renameSync(part, path);
}

function pathSafe(id: string): string {
  return SAFE_ID.test(id) ? id : `id-${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}

interface Envelope {
  tool: string;
  action: unknown;
  trace: { trace_id: string; span_id: string; parent_span_id: string | null };
  result?: unknown;
  error?: { code: number; message: string };
  next_actions?: NextAction[];
}

export class Bus {
  readonly #root: string | undefined;
  #session: Members = {}; // stdio is one session

  constructor(root: string | undefined) {
    this.#root = root;
  }

  #state(scope: Scope): Members {
    if (scope === "session") return this.#session;
    if (this.#root === undefined) throw new BadArgument("the scope `persistent` needs a context root");
    const path = join(this.#root, "state.json");
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Members) : {};
  }

  #replaceState(scope: Scope, entries: [string, unknown][]): void {
    const state = Object.fromEntries(entries);
    if (Object.keys(state).length > MAX_KEYS)
      throw new ToolFailure(`the scope \`${scope}\` is full: clear a key first`);
    if (scope === "session") this.#session = state;
    else writeWhole(join(this.#root ?? "", "state.json"), JSON.stringify(state));
  }

  #mcpState({ action, key, scope }: z.output<typeof stateForm>): Reply {
    const state = this.#state(scope);
    const value = action === "get" && Object.hasOwn(state, key) ? state[key] : null;
    if (action === "clear")
      this.#replaceState(
        scope,
        Object.entries(state).filter(([other]) => other !== key),
      );
    return { result: { key, scope, value } };
  }

  /** What to show, what to keep and the hints; the first has secrets only if the glass is broken. */
  #run(name: string, args: unknown): { shown: unknown; kept: unknown; nextActions: NextAction[] } {
    const given = fitting(name, args);
    const { store_as, store_scope, output = {} } = semanticForm.parse(given);
    if (store_as !== undefined) this.#state(store_scope); // a store that is not there is reported before the tool has done its work
    const tool = TOOLS[name];
    const { result, nextActions = [] } = tool ? tool.run(given as never) : this.#mcpState(stateForm.parse(given));
    // Redaction comes first: a path may cut off the key by which a secret is known.
    const kept = bounded(shape(redact(result), output));
    if (store_as !== undefined) {
      this.#replaceState(store_scope, [
        ...Object.entries(this.#state(store_scope)).filter(([key]) => key !== store_as),
        [store_as, kept],
      ]);
    }
    const revealed = tool?.breakGlass !== undefined && given[tool.breakGlass] === true;
    return { shown: revealed ? bounded(shape(result, output)) : kept, kept, nextActions };
  }

  /** Both artifacts of a call; a store that cannot be written costs the call its uris and nothing else. */
  #keep(envelope: Envelope): Members {
    if (this.#root === undefined) return { artifact_uri_context: null, artifact_uri_json: null };
    const place = `runs/${pathSafe(envelope.trace.trace_id)}/tool_calls/${pathSafe(envelope.trace.span_id)}`;
    const uris = {
      artifact_uri_context: `artifact://${place}.context`,
      artifact_uri_json: `artifact://${place}/result.json`,
    };
    const head = `${envelope.tool}: ${envelope.error ? "failed" : "done"}\n`;
    try {
      const base = join(this.#root, "artifacts", place);
      writeWhole(`${base}.context`, `${(head + JSON.stringify(envelope, null, 2)).slice(0, 2 * MAX_TEXT)}\n`);
      writeWhole(join(base, "result.json"), JSON.stringify({ ...envelope, ...uris }));
    } catch (error) {
      console.error(`no artifacts for the span \`${envelope.trace.span_id}\`:`, error);
      return { artifact_uri_context: null, artifact_uri_json: null };
    }
    return uris;
  }

  #failure(envelope: Envelope, exception: unknown): ProtocolError {
    const isKnown = exception instanceof BadArgument || exception instanceof ToolFailure;
    if (!isKnown) console.error(`\`${envelope.tool}\` failed:`, exception);
    // Nobody has looked whether the text of an unknown exception may be shown.
    const message = `${envelope.tool}: ${isKnown ? exception.message : "the tool failed"}`;
    const code = exception instanceof BadArgument ? INVALID_PARAMS : INTERNAL_ERROR;
    return new ProtocolError(code, message, {
      trace: envelope.trace,
      ...this.#keep({ ...envelope, error: { code, message } }),
    });
  }

  /** One call: the text of its envelope. */
  call(name: string, args: Members): string {
    const given = z.object(ids).safeParse(args).data ?? {};
    const { trace_id = randomUUID(), span_id = randomBytes(8).toString("hex"), parent_span_id = null } = given;
    const action = FORMS.get(name)?.shape["action"]?.safeParse(args["action"]).data ?? null;
    const envelope = { tool: name.slice(0, 200), action, trace: { trace_id, span_id, parent_span_id } };
    try {
      const { shown, kept, nextActions } = this.#run(name, args);
      const uris = this.#keep({ ...envelope, result: kept, next_actions: nextActions });
      return JSON.stringify({ ...envelope, result: shown, next_actions: nextActions, ...uris });
    } catch (exception) {
      throw this.#failure(envelope, exception);
    }
  }
}
