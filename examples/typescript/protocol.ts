/**
 * UTP as Lumen Sun keeps it: one command in, one `tool.result` card and one callback out.
 *
 * The tools are in `sun.ts`, NATS is in `service.ts`.
 * Deliberately absent: any reading of arguments from a command, which belong in the `tool.call` card (Guide §1).
 */

import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Json, JsonObject } from "./json.ts";
import { ToolError, type Tool } from "./sun.ts";

export const SERVICE = "tool.sun";
const TOOL_SECONDS = 30;
const AFTER_EXECUTION: unknown[] = ["suspend", "terminate"];
const INLINE = ["args", "arguments", "result"];
const LINEAGE = ["trace_id", "parent_step_id", "step_id"];
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** A command that can be answered: with less there is no valid callback, nor anybody to send it to. */
export interface Command extends JsonObject {
  tool_call_id: string;
  agent_turn_id: string;
  agent_id: string;
  turn_epoch: Json;
}

export interface Card extends JsonObject {
  card_id: string;
}

export interface ResultCard extends Card {
  content: { status: string; after_execution: string; result: Json; error: Json } & JsonObject;
  metadata: JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export function isCommand(value: unknown): value is Command {
  return (
    isObject(value) &&
    ["tool_call_id", "agent_turn_id", "agent_id"].every((field) => isText(value[field])) &&
    value["turn_epoch"] != null &&
    value["turn_epoch"] !== ""
  );
}

/** The id that a call's result has, before and after a restart. */
export function resultCardId(project: string, command: Command): string {
  const anchor = JSON.stringify([project, command.agent_turn_id, command.tool_call_id]);
  return `card_${createHash("sha256").update(anchor).digest("hex").slice(0, 32)}`;
}

function demand(met: boolean, field: string, message: string): asserts met {
  if (!met) throw new ToolError("bad_request", message, { field });
}

/** The tool's arguments, from the `tool.call` card and from nowhere else. */
function argumentsOf(command: Command, card: Card | undefined): JsonObject {
  for (const field of INLINE) {
    demand(!(field in command), field, `inline \`${field}\` is refused, arguments belong in the card`);
  }
  for (const field of ["tool_call_card_id", "tool_name"]) {
    demand(isText(command[field]), field, `\`${field}\` is missing`);
  }
  const after = command["after_execution"];
  demand(AFTER_EXECUTION.includes(after), "after_execution", "`after_execution` must be suspend or terminate");
  demand(card !== undefined, "tool_call_card_id", `there is no card \`${command["tool_call_card_id"]}\``);
  const content = card["content"];
  const isCall = card["type"] === "tool.call" && isObject(content);
  demand(
    isCall && (content["__type__"] ?? "ToolCallContent") === "ToolCallContent",
    "content",
    "the card holds no ToolCallContent",
  );
  demand(isText(content["tool_name"]), "content.tool_name", "the card's `tool_name` is no string");
  demand(isObject(content["arguments"]), "content.arguments", "the card's `arguments` are no object");
  return content["arguments"];
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(TOOL_SECONDS * 1000, undefined, { signal: timer.signal }).then(() => {
    throw new ToolError("tool_timeout", `the tool took more than ${TOOL_SECONDS} s`, { seconds: TOOL_SECONDS });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    late.catch(() => {}); // what was aborted, or lost the race, is nobody's failure
  }
}

function failureOf(exception: unknown): { code: string; message: string; detail: JsonObject } {
  if (exception instanceof ToolError) {
    return { code: exception.code, message: exception.message, detail: exception.detail };
  }
  const { name, message } = exception instanceof Error ? exception : { name: typeof exception, message: "" };
  return { code: "internal_error", message: message || "internal_error", detail: { exception: name } };
}

/** Runs the tool. The card has one shape for success and for every kind of failure. */
export async function run(
  tool: Tool,
  project: string,
  command: Command,
  called: Card | undefined,
): Promise<ResultCard> {
  let [status, result, error]: [string, Json, Json] = ["success", null, null];
  try {
    result = await inTime(tool(project, argumentsOf(command, called)));
  } catch (exception) {
    const failure = failureOf(exception);
    status = failure.code === "tool_timeout" ? "timeout" : "failed";
    result = { error_code: failure.code, error_message: failure.message };
    error = failure;
  }
  // A callback may not repeat a value outside the two; suspend lets the caller go on and see the failure.
  const after = command["after_execution"];
  const after_execution = AFTER_EXECUTION.includes(after) ? (after as string) : "suspend";
  const { agent_turn_id, tool_call_id } = command;
  const lineage = Object.entries(isObject(called?.["metadata"]) ? called["metadata"] : {});
  return {
    card_id: resultCardId(project, command),
    project_id: project,
    type: "tool.result",
    author_id: SERVICE,
    created_at: new Date().toISOString(),
    tool_call_id,
    content: { __type__: "ToolResultContent", status, after_execution, result, error },
    metadata: {
      role: "tool",
      function_name: isText(command["tool_name"]) ? command["tool_name"] : "unknown",
      agent_turn_id,
      tool_call_id,
      ...Object.fromEntries(lineage.filter(([name]) => LINEAGE.includes(name))),
    },
  };
}

/** Routing and pointers only; `after_execution` is the command's, whatever `__cg_control` asks for. */
export function callbackOf(command: Command, card: ResultCard): JsonObject {
  const { tool_call_id, agent_turn_id, turn_epoch, agent_id } = command;
  const { status, after_execution } = card.content;
  const step = "step_id" in card.metadata ? { step_id: card.metadata["step_id"] } : {};
  return {
    tool_call_id,
    agent_turn_id,
    turn_epoch,
    agent_id,
    status,
    after_execution,
    tool_result_card_id: card.card_id,
    ...step,
  };
}

/** A new span below the inbound one, or of a new trace where there is none to continue. */
export function childSpan(inbound: string | undefined): { traceparent: string; continues: boolean } {
  const match = TRACEPARENT.exec(inbound ?? "");
  const [trace, flags] = match ? [match[1], match[2]] : [randomBytes(16).toString("hex"), "01"];
  return { traceparent: `00-${trace}-${randomBytes(8).toString("hex")}-${flags}`, continues: match !== null };
}
