/**
 * Lumen Sun: a Tool Service as a vendor writes it from the Tool Development Guide, on `@nats-io/transport-node`.
 *
 * Here is the wire: subscriptions, card store, report. The protocol is in `protocol.ts`, the tools are in `sun.ts`.
 * Deliberately absent: `state.*` and wakeups, which belong to L0.
 */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import {
  connect,
  credsAuthenticator,
  headers,
  Match,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from "@nats-io/transport-node";
import type { Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";

import { parse, type Json, type JsonObject } from "./json.ts";
import { callbackOf, childSpan, isCommand, isObject, resultCardId, run, SERVICE } from "./protocol.ts";
import type { Card, Command, ResultCard } from "./protocol.ts";
import { TOOLS, type Tool } from "./sun.ts";

const PLATFORM_SECONDS = 5;
const PLATFORM_TRIES = 3;
const REMEMBERED_CALLS = 10_000;
const PARALLEL_CALLS = 64;

/** One (project, agent turn, tool call), however often its command arrives. */
interface Call {
  card?: ResultCard;
  callback?: Promise<JsonObject>;
}

function isAway(error: unknown): boolean {
  return (
    error instanceof TimeoutError ||
    error instanceof NoRespondersError ||
    (error instanceof RequestError && error.isNoResponders())
  );
}

function tracing(inbound: MsgHdrs | undefined): MsgHdrs {
  const header = (name: string) => inbound?.values(name, Match.IgnoreCase)[0];
  const { traceparent, continues } = childSpan(header("traceparent"));
  const state = continues ? header("tracestate") : undefined;
  const outbound = headers();
  outbound.set("traceparent", traceparent);
  if (state) outbound.set("tracestate", state);
  return outbound;
}

class Service {
  readonly #connection: NatsConnection;
  readonly #calls = new Map<string, Call>();
  readonly #running = new Set<Promise<void>>();

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  /** Ask the platform. Its operations may be repeated, so an unanswered one is. */
  async #ask(subject: string, body: Json, headers?: MsgHdrs): Promise<JsonObject> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const options = { timeout: PLATFORM_SECONDS * 1000, ...(headers && { headers }) };
        const reply = await this.#connection.request(subject, JSON.stringify(body), options);
        const refusal = reply.headers?.get("Nats-Service-Error");
        if (refusal) throw new Error(`the platform refused \`${subject}\`: ${refusal}`);
        return parse(reply.string()) as JsonObject;
      } catch (error) {
        if (!isAway(error) || attempt === PLATFORM_TRIES) throw error;
        await sleep(200 * attempt);
      }
    }
  }

  /** Run the tool at most once and store its card; a stored card answers for a call from before a restart. */
  async #answer(call: Call, tool: Tool, project: string, command: Command): Promise<JsonObject> {
    let card = call.card;
    if (card === undefined) {
      const pointer = command["tool_call_card_id"];
      const own = resultCardId(project, command);
      const pointers = typeof pointer === "string" && pointer !== "" ? [pointer, own] : [own];
      const { cards } = await this.#ask(`l0.v1.${project}.cards.get`, { card_ids: pointers });
      const found = new Map((cards as Card[]).map((one) => [one.card_id, one]));
      const stored = found.get(own);
      if (stored) return callbackOf(command, stored as ResultCard);
      card = call.card = await run(
        tool,
        project,
        command,
        typeof pointer === "string" ? found.get(pointer) : undefined,
      );
    }
    await this.#ask(`l0.v1.${project}.cards.save`, { card });
    return callbackOf(command, card);
  }

  /** A repeat that arrives while the tool runs waits for its outcome; after a failure of the platform it tries again. */
  #callback(tool: Tool, project: string, command: Command): Promise<JsonObject> {
    const key = JSON.stringify([project, command.agent_turn_id, command.tool_call_id]);
    const call = this.#calls.get(key) ?? {};
    this.#calls.set(key, call);
    call.callback ??= this.#answer(call, tool, project, command).catch((error: unknown) => {
      delete call.callback;
      throw error;
    });
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= REMEMBERED_CALLS) break;
      this.#calls.delete(oldest);
    }
    return call.callback;
  }

  async #handle(message: Msg, tool: Tool): Promise<void> {
    const [, , project = "", channel = ""] = message.subject.split(".");
    try {
      const command = parse(message.string());
      if (!isCommand(command)) {
        console.error(`ignored a command on \`${message.subject}\` that names no call, turn or agent`);
        return;
      }
      const payload = await this.#callback(tool, project, command);
      const report = {
        message_type: "tool_result",
        correlation_id: command.tool_call_id,
        source_agent_id: SERVICE,
        payload,
      };
      await this.#ask(`l0.v1.${project}.${channel}.report`, report, tracing(message.headers));
    } catch (error) {
      // One bad command, or a platform that is away, must not end the service.
      console.error(`a command on \`${message.subject}\` was not answered:`, error);
    }
  }

  async #serve(target: string, tool: Tool, version: string): Promise<void> {
    for await (const message of this.#connection.subscribe(`cg.${version}.*.*.cmd.tool.${target}`, { queue: "sun" })) {
      while (this.#running.size >= PARALLEL_CALLS) await Promise.race(this.#running);
      const task = this.#handle(message, tool).finally(() => this.#running.delete(task));
      this.#running.add(task);
    }
  }

  async start(version: string): Promise<void> {
    for (const [target, tool] of Object.entries(TOOLS)) void this.#serve(target, tool, version);
    await this.#connection.flush();
  }

  /** Calls that are being carried out are answered, if the platform takes their answers in time. */
  async stop(): Promise<void> {
    await Promise.race([Promise.all(this.#running), sleep(PLATFORM_SECONDS * 1000, undefined, { ref: false })]);
    await this.#connection.close();
  }
}

const credentials = process.env["NATS_CREDS"]; // a file as `nsc` writes it, where the server is in operator mode
const connection = await connect({
  servers: process.env["CALLMARK_NATS_URL"] ?? "nats://127.0.0.1:4222",
  name: SERVICE,
  maxReconnectAttempts: -1,
  ...(credentials && { authenticator: credsAuthenticator(readFileSync(credentials)) }),
});
const service = new Service(connection);
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => void service.stop());
await service.start(process.env["CALLMARK_PROTOCOL_VERSION"] ?? "v1r3");
console.error("ready");
