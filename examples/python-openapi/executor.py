"""Acme Search: an executor of Jina tools as a vendor writes it from the Tool Development Guide, on `nats-py`.

First the protocol (one command in, one tool.result card and one callback out), then the wire (subscription, platform,
report). What is asked of Jina is in `jina.py`.
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

import nats

from jina import ToolError, ask, demand

SERVICE = "tool.acme-search"
AFTER_EXECUTION = ("suspend", "terminate")
LINEAGE = ("trace_id", "parent_step_id", "step_id")
PLATFORM_SECONDS, REMEMBERED_CALLS, PARALLEL_CALLS = 5, 10_000, 64
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})")
log = logging.getLogger(SERVICE)


def is_answerable(command):
    """Without these four there is no valid callback, nor anybody to send it to."""
    ids = [command.get(field) for field in ("tool_call_id", "agent_turn_id", "agent_id")]
    return all(isinstance(text, str) and text for text in ids) and command.get("turn_epoch") not in (None, "")


def check(command):
    for field in ("args", "arguments", "result"):
        demand(field not in command, field, f"inline `{field}` is refused, arguments belong in the card")
    for field in ("tool_call_card_id", "tool_name"):
        demand(isinstance(command.get(field), str) and command[field], field, f"`{field}` is missing")
    demand(command.get("after_execution") in AFTER_EXECUTION, "after_execution", "`after_execution` must be suspend or terminate")


def arguments_of(card):
    """The arguments, from the tool.call card and from nowhere else (Guide §1)."""
    demand(card, "tool_call_card_id", "the tool.call card is not there")
    content = card.get("content")
    typed = isinstance(content, dict) and content.get("__type__", "ToolCallContent") == "ToolCallContent"
    demand(typed and isinstance(content.get("tool_name"), str), "content", "the card holds no ToolCallContent")
    demand(isinstance(content.get("arguments"), dict), "content.arguments", "the card's `arguments` are no object")
    return content["arguments"]


def content_of(command, status, result, error=None):
    # A callback may not repeat a value outside the two; suspend lets the caller go on and see the failure.
    after = command.get("after_execution") if command.get("after_execution") in AFTER_EXECUTION else "suspend"
    return {"__type__": "ToolResultContent", "status": status, "after_execution": after, "result": result, "error": error}


def failed_content(command, failure):
    """One shape for every kind of failure (UTP §5)."""
    known = isinstance(failure, ToolError)
    code, message = (failure.code, str(failure)) if known else ("internal_error", "an unexpected error")
    detail = failure.detail if known else {"exception": type(failure).__name__}
    error = {"code": code, "message": message, "detail": detail}
    status = "timeout" if code == "tool_timeout" else "failed"
    return content_of(command, status, {"error_code": code, "error_message": message}, error)


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
    """Routing and pointers only."""
    callback = {field: command[field] for field in ("tool_call_id", "agent_turn_id", "turn_epoch", "agent_id")}
    callback |= {field: card["content"][field] for field in ("status", "after_execution")}
    step = {"step_id": card["metadata"]["step_id"]} if "step_id" in card["metadata"] else {}
    return callback | {"tool_result_card_id": card["card_id"]} | step


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
        self.lock, self.callback = asyncio.Lock(), None


class Service:
    def __init__(self, connection):
        self.connection, self.calls, self.tasks = connection, OrderedDict(), set()
        self.slots = asyncio.Semaphore(PARALLEL_CALLS)

    async def request(self, subject, body, headers=None):
        reply = await self.connection.request(subject, json.dumps(body).encode(), PLATFORM_SECONDS, headers=headers)
        if error := (reply.headers or {}).get("Nats-Service-Error"):
            raise RuntimeError(f"the platform refused `{subject}`: {error}")
        return json.loads(reply.data)

    async def options_of(self, project, tool_name):
        try:
            row = (await self.request(f"l0.v1.{project}.tools.get", {"tool_name": tool_name}))["tool"]
        except RuntimeError:
            raise ToolError("bad_request", f"there is no tool `{tool_name}`", field="tool_name") from None
        return row.get("options") or {}

    async def content(self, project, command, called):
        try:
            check(command)
            arguments = arguments_of(called)
            options = await self.options_of(project, command["tool_name"])
            return content_of(command, "success", await asyncio.to_thread(ask, options, arguments))
        except Exception as failure:
            return failed_content(command, failure)

    async def answer(self, project, command):
        """A stored card answers for a call from before a restart."""
        pointer, anchor = command.get("tool_call_card_id"), [project, command["agent_turn_id"], command["tool_call_id"]]
        card_id = f"card_{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(anchor)).hex}"
        pointers = [pointer] if isinstance(pointer, str) and pointer else []
        reply = await self.request(f"l0.v1.{project}.cards.get", {"card_ids": [*pointers, card_id]})
        found = {card["card_id"]: card for card in reply["cards"]}
        card = found.get(card_id)
        if card is None:
            called = found.get(pointers[0]) if pointers else None
            card = result_card(card_id, project, command, called, await self.content(project, command, called))
            await self.request(f"l0.v1.{project}.cards.save", {"card": card})
        return callback_of(command, card)

    async def handle(self, message):
        _, _, project, channel, *_ = message.subject.split(".")
        try:
            command = json.loads(message.data)
            if not isinstance(command, dict) or not is_answerable(command):
                log.warning("ignored a command on `%s` that names no call, turn or agent", message.subject)
                return
            call = self.calls.setdefault((project, command["agent_turn_id"], command["tool_call_id"]), Call())
            async with call.lock:  # a repeat that arrives while the call runs waits for its outcome
                if call.callback is None:
                    call.callback = await self.answer(project, command)
            while len(self.calls) > REMEMBERED_CALLS:
                self.calls.popitem(last=False)
            report = {"message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": SERVICE}
            await self.request(f"l0.v1.{project}.{channel}.report", report | {"payload": call.callback}, child_span(message.headers))
        except Exception:  # one bad command, or a platform that is away, must not end the service
            log.exception("a command on `%s` was not answered", message.subject)

    async def receive(self, message):
        await self.slots.acquire()
        task = asyncio.create_task(self.handle(message))
        self.tasks.add(task)
        task.add_done_callback(lambda done: (self.tasks.discard(done), self.slots.release()))


async def main():
    logging.basicConfig(level=logging.INFO)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    connection = await nats.connect(os.environ["CALLMARK_NATS_URL"], name=SERVICE, max_reconnect_attempts=-1)
    service = Service(connection)
    version = os.environ.get("CALLMARK_PROTOCOL_VERSION", "v1r3")
    await connection.subscribe(f"cg.{version}.*.*.cmd.tool.acme-search", queue="acme-search", cb=service.receive)
    await connection.flush()
    log.info("ready")
    await stop.wait()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
