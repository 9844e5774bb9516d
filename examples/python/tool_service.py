"""Acme Tides: a Tool Service as a vendor writes it from the Tool Development Guide, on `nats-py`.

First the protocol (one command in, one tool.result card and one callback out), then the wire (subscriptions,
card store, report). The tools themselves are in `tides.py`. It serves v1r3, and v1r4, where the identity of a call is in
headers; what differs is in `command_of` and `report_of`.
Deliberately absent: `state.*` and wakeups, which belong to L0, and any reading of arguments from a command.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import signal
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from itertools import product

import nats
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from tides import TOOLS, ToolError

SERVICE = "tool.tides"
AFTER_EXECUTION = ("suspend", "terminate")
LINEAGE = ("trace_id", "parent_step_id", "step_id")
TOOL_SECONDS, PLATFORM_SECONDS, PLATFORM_TRIES = 30, 5, 3
REMEMBERED_CALLS, PARALLEL_CALLS = 10_000, 64
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})")
# Where v1r4 has what v1r3 has in the payload, and what no payload of v1r4 may have.
HEADERS = {
    "agent_id": "CG-Agent-Id",
    "agent_turn_id": "CG-Turn-Id",
    "turn_epoch": "CG-Turn-Epoch",
    "tool_call_id": "CG-Tool-Call-Id",
    "step_id": "CG-Step-Id",
    "recursion_depth": "CG-Recursion-Depth",
}
CONTROL = {*HEADERS, "project_id", "channel_id", "channel", "trace_id", "traceparent", "tracestate", "parent_agent_id"}
CONTROL |= {"parent_agent_turn_id", "parent_step_id", "parent_traceparent"}
log = logging.getLogger(SERVICE)


def command_of(message, version):
    """The command as v1r3 has it; what is wrong with its headers or its payload is its `violation`."""
    payload = json.loads(message.data)
    if version == "v1r3" or not isinstance(payload, dict):
        return payload
    headers = message.headers or {}
    _, _, project, channel, *_ = message.subject.split(".")
    for name, own in (("CG-Project-Id", project), ("CG-Channel-Id", channel)):
        if headers.get(name) not in (None, "", own):
            raise ValueError(f"`{name}` is not that of the subject")
    command = {field: value for field, value in payload.items() if field not in CONTROL}
    command |= {field: headers[name] for field, name in HEADERS.items() if headers.get(name)}
    strays = sorted(field for field in CONTROL if payload.get(field) is not None)
    numbers = [HEADERS[field] for field in ("turn_epoch", "recursion_depth") if not re.fullmatch(r"\d+", command.get(field, "0"))]
    missing = [HEADERS[field] for field in ("tool_call_id", "agent_turn_id") if field not in command]
    faults = [f"`{field}` belongs in a header" for field in strays] + [f"`{name}` is no number" for name in numbers]
    faults += [f"`{name}` is missing" for name in missing]
    return {"turn_epoch": "0", **command, "violation": "; ".join(faults)}


def is_answerable(command):
    """Without these four there is no valid callback, nor anybody to send it to."""
    ids = [command.get(field) for field in ("tool_call_id", "agent_turn_id", "agent_id")]
    return all(isinstance(text, str) and text for text in ids) and command.get("turn_epoch") not in (None, "")


def arguments_of(command, card):
    """The tool's arguments, from the tool.call card and from nowhere else (Guide §1)."""

    def demand(met, field, message):
        if not met:
            raise ToolError("bad_request", message, field=field)

    if command.get("violation"):
        raise ToolError("protocol_violation", command["violation"])
    for field in ("args", "arguments", "result"):
        demand(field not in command, field, f"inline `{field}` is refused, arguments belong in the card")
    for field in ("tool_call_card_id", "tool_name"):
        demand(isinstance(command.get(field), str) and command[field], field, f"`{field}` is missing")
    demand(command.get("after_execution") in AFTER_EXECUTION, "after_execution", "`after_execution` must be suspend or terminate")
    demand(card, "tool_call_card_id", f"there is no card `{command['tool_call_card_id']}`")
    content = card.get("content")
    typed = isinstance(content, dict) and content.get("__type__", "ToolCallContent") == "ToolCallContent"
    demand(typed and card.get("type") == "tool.call", "content", "the card holds no ToolCallContent")
    demand(isinstance(content.get("tool_name"), str), "content.tool_name", "the card's `tool_name` is no string")
    demand(isinstance(content.get("arguments"), dict), "content.arguments", "the card's `arguments` are no object")
    return content["arguments"]


def failure(exception):
    match exception:
        case ToolError():
            return "failed", exception.code, exception.detail
        case TimeoutError():
            return "timeout", "tool_timeout", {"seconds": TOOL_SECONDS}
    return "failed", "internal_error", {"exception": type(exception).__name__}


async def run_tool(tool, project, command, card):
    """Content of the tool.result card: one shape for success and for every kind of failure."""
    try:
        result, error, status = await asyncio.wait_for(tool(project, arguments_of(command, card)), TOOL_SECONDS), None, "success"
        json.dumps(result, allow_nan=False)  # what cannot be stored is the tool's failure, not a lost callback
    except Exception as exception:
        status, code, detail = failure(exception)
        error = {"code": code, "message": str(exception) or code, "detail": detail}
        result = {"error_code": code, "error_message": error["message"]}
    # A callback may not repeat a value outside the two; suspend lets the caller go on and see the failure.
    after = command.get("after_execution") if command.get("after_execution") in AFTER_EXECUTION else "suspend"
    return {"__type__": "ToolResultContent", "status": status, "after_execution": after, "result": result, "error": error}


def result_card(card_id, project, command, called, content):
    metadata = called.get("metadata") if called else None
    lineage = {field: metadata[field] for field in LINEAGE if field in metadata} if isinstance(metadata, dict) else {}
    ids = {field: command[field] for field in ("agent_turn_id", "tool_call_id")}
    return {
        "card_id": card_id,
        "project_id": project,
        "type": "tool.result",
        "author_id": SERVICE,
        "created_at": datetime.now(UTC).isoformat(),
        "tool_call_id": command["tool_call_id"],
        "content": content,
        "metadata": {**ids, "role": "tool", "function_name": str(command.get("tool_name") or "unknown"), **lineage},
    }


def callback_of(command, card):
    """Routing and pointers only; `after_execution` is the command's, whatever `__cg_control` asks for."""
    callback = {field: command[field] for field in ("tool_call_id", "agent_turn_id", "turn_epoch", "agent_id")}
    callback |= {field: card["content"][field] for field in ("status", "after_execution")}
    step = {"step_id": card["metadata"]["step_id"]} if "step_id" in card["metadata"] else {}
    return callback | {"tool_result_card_id": card["card_id"]} | step


def report_of(command, callback, version):
    """Payload and headers of a report. v1r4 has the identity that came in in headers, and pointers alone in the payload."""
    if version == "v1r3":
        return callback, {}
    headers = {name: str(command[field]) for field, name in HEADERS.items() if command.get(field)}
    return {field: callback[field] for field in ("status", "after_execution", "tool_result_card_id")}, headers


def child_span(headers):
    """Headers of a new span below the inbound one, or of a new trace when there is none to continue."""
    inbound = {name.lower(): value for name, value in (headers or {}).items()}
    match = TRACEPARENT.fullmatch(inbound.get("traceparent", ""))
    trace, flags = match.groups() if match else (secrets.token_hex(16), "01")
    child = {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-{flags}"}
    return child | ({"tracestate": inbound["tracestate"]} if match and inbound.get("tracestate") else {})


class Call:
    """One (project, agent turn, tool call), however often its command arrives."""

    def __init__(self):
        self.lock, self.card, self.callback = asyncio.Lock(), None, None


class Service:
    def __init__(self, connection):
        self.connection, self.calls, self.tasks = connection, OrderedDict(), set()
        self.slots = asyncio.Semaphore(PARALLEL_CALLS)

    async def ask(self, subject, body, headers=None):
        """Ask the platform. Its operations may be repeated, so an unanswered one is."""
        for attempt in range(1, PLATFORM_TRIES + 1):
            try:
                reply = await self.connection.request(subject, json.dumps(body).encode(), PLATFORM_SECONDS, headers=headers)
                break
            except (NatsTimeout, NoRespondersError):
                if attempt == PLATFORM_TRIES:
                    raise
                await asyncio.sleep(0.2 * attempt)
        if error := (reply.headers or {}).get("Nats-Service-Error"):
            raise RuntimeError(f"the platform refused `{subject}`: {error}")
        return json.loads(reply.data)

    async def answer(self, call, tool, project, command):
        """Run the tool at most once and store its card; a stored card answers for a call from before a restart."""
        pointer, anchor = command.get("tool_call_card_id"), [project, command["agent_turn_id"], command["tool_call_id"]]
        card, card_id = call.card, f"card_{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(anchor)).hex}"
        if card is None:
            pointers = [pointer] if isinstance(pointer, str) and pointer else []
            reply = await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [*pointers, card_id]})
            found = {card["card_id"]: card for card in reply["cards"]}
            called, card = found.get(pointers[0]) if pointers else None, found.get(card_id)
            if card is None:
                content = await run_tool(tool, project, command, called)
                card = call.card = result_card(card_id, project, command, called, content)
        if call.card:
            await self.ask(f"l0.v1.{project}.cards.save", {"card": card})
        call.callback = callback_of(command, card)

    async def named(self, project, command):
        """The command with the call and the turn of its card, where its headers do not name them."""
        pointer = command.get("tool_call_card_id")
        reply = await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [pointer] if isinstance(pointer, str) else []})
        card = reply["cards"][0] if reply["cards"] else {}
        metadata = card.get("metadata") if isinstance(card.get("metadata"), dict) else {}
        return {field: metadata[field] for field in ("tool_call_id", "agent_turn_id") if metadata.get(field)} | command

    async def handle(self, message, tool):
        _, version, project, channel, *_ = message.subject.split(".")
        try:
            command = command_of(message, version)
            if isinstance(command, dict) and command.get("violation"):
                command = await self.named(project, command)
            if not isinstance(command, dict) or not is_answerable(command):
                log.warning("ignored a command on `%s` that names no call, turn or agent", message.subject)
                return
            call = self.calls.setdefault((project, command["agent_turn_id"], command["tool_call_id"]), Call())
            async with call.lock:  # a repeat that arrives while the tool runs waits for its outcome
                if call.callback is None:
                    await self.answer(call, tool, project, command)
            while len(self.calls) > REMEMBERED_CALLS:
                self.calls.popitem(last=False)
            report = {"message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": SERVICE}
            payload, identity = report_of(command, call.callback, version)
            if identity:
                identity |= {"CG-Project-Id": project, "CG-Channel-Id": channel}
            await self.ask(f"l0.v1.{project}.{channel}.report", report | {"payload": payload}, identity | child_span(message.headers))
        except Exception:  # one bad command, or a platform that is away, must not end the service
            log.exception("a command on `%s` was not answered", message.subject)

    async def serve(self, versions):
        for version, (target, tool) in product(versions, TOOLS.items()):

            async def receive(message, tool=tool):
                await self.slots.acquire()
                task = asyncio.create_task(self.handle(message, tool))
                self.tasks.add(task)
                task.add_done_callback(lambda done: (self.tasks.discard(done), self.slots.release()))

            await self.connection.subscribe(f"cg.{version}.*.*.cmd.tool.{target}", queue="tides", cb=receive)
        await self.connection.flush()


async def main():
    logging.basicConfig(level=logging.INFO)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    # A file as `nsc` writes it, where the server is in operator mode.
    credentials = os.environ.get("NATS_CREDS")
    url = os.environ["CALLMARK_NATS_URL"]
    connection = await nats.connect(url, name=SERVICE, max_reconnect_attempts=-1, user_credentials=credentials)
    service = Service(connection)
    await service.serve(os.environ.get("CALLMARK_PROTOCOL_VERSION", "v1r3").split(","))
    log.info("ready")
    await stop.wait()
    if service.tasks:
        await asyncio.wait(service.tasks, timeout=PLATFORM_SECONDS)
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
