"""Sandpiper: an agent runtime as a vendor writes it from the UTP documents, on `nats-py`.

First the arguments and messages of a call, then a turn (what the model asks for becomes cards and commands), then the
execution service (reports, Inbox, wakeups, deadlines), then the wire. Worker and execution service share a process, and
still meet over the bus: a worker goes on when it is woken, and takes what it reads in the Inbox.
Deliberately absent: memory across restarts, and limits on what a turn may cost.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import signal
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import nats

AUTHOR, WORKER_TARGET, MODEL = "runtime.sandpiper", "worker_generic", "any"
VERSION = os.environ.get("CALLMARK_PROTOCOL_VERSION", "v1r3")
MODEL_URL = os.environ.get("CALLMARK_MODEL_URL", "http://127.0.0.1:8081/v1").rstrip("/")
PLATFORM_SECONDS, MODEL_SECONDS, MODEL_THREADS = 5, 60, 64
AFTER_EXECUTION = ("suspend", "terminate")
STATUSES = ("success", "failed", "canceled", "timeout", "partial")
REQUIRED = ("tool_call_id", "agent_turn_id", "agent_id", "tool_result_card_id", "status", "after_execution")
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})")
VARIABLE = re.compile(
    r"\{(project_id|channel_id|agent_id|agent_turn_id|step_id|tool_call_id|parent_step_id|trace_id|turn_epoch|context_box_id)\}"
)
SUBMIT = {
    "name": "submit_result",
    "description": "Ends the turn and hands over its result.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
log = logging.getLogger("sandpiper")


class Refused(Exception):
    """What the caller receives, as an error of the binding."""


def new_id(kind):
    return f"{kind}_{uuid.uuid4().hex[:16]}"


def child_span(traceparent, trace=None):
    """A new span below the given one, or in a new trace where there is none to continue."""
    match = TRACEPARENT.fullmatch(traceparent or "")
    trace_id, flags = match.groups() if match else (trace or secrets.token_hex(16), "01")
    return f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"


def part(row, *path):
    """An object inside a row's options; empty where the row has none."""
    found = row.get("options")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def function(row):
    """What the model is offered: neither fixed parameters nor those that the executor fills in."""
    hidden = {*part(row, "args", "fixed"), *part(row, "envs")}
    schema = dict(row.get("parameters") or {"type": "object"})
    schema["properties"] = {name: given for name, given in schema.get("properties", {}).items() if name not in hidden}
    schema["required"] = [name for name in schema.get("required", ()) if name not in hidden]
    return {"name": row["tool_name"], "description": row.get("description") or "", "parameters": schema}


def arguments_of(row, given, ids):
    """The model's arguments with the row's defaults, fixed values and names of variables (Guide §4)."""

    def fill(value):
        return VARIABLE.sub(lambda name: str(ids.get(name[1], "")), value) if isinstance(value, str) else value

    defaults, fixed, envs = part(row, "args", "defaults"), part(row, "args", "fixed"), part(row, "envs")
    arguments = {name: fill(value) for name, value in defaults.items()} | given | {name: fill(value) for name, value in fixed.items()}
    return {name: value for name, value in arguments.items() if name not in envs}


def card(kind, project, content, metadata, **more):
    now = datetime.now(UTC).isoformat()
    ids = {"card_id": new_id("card"), "project_id": project, "type": kind, "author_id": AUTHOR, "created_at": now}
    return ids | more | {"content": content, "metadata": {name: value for name, value in metadata.items() if value is not None}}


def effective(content, callback):
    """What a result leads to: the override in its one place, else what card and callback say."""
    result = content.get("result")
    control = result.get("__cg_control") if isinstance(result, dict) else None
    override = control.get("after_execution") if isinstance(control, dict) else None
    for value in (override, content.get("after_execution"), callback["after_execution"]):
        if isinstance(value, str) and value in AFTER_EXECUTION:
            return value
    return "suspend"


class Turn:
    """One turn: the conversation, and the calls whose results it waits for."""

    def __init__(self, service, project, channel, request, traceparent):
        self.service, self.project, self.channel, self.traceparent = service, project, channel, traceparent
        match = TRACEPARENT.fullmatch(traceparent)
        self.ids = {
            "project_id": project,
            "channel_id": channel,
            "agent_id": request["agent_id"],
            "agent_turn_id": request.get("agent_turn_id") or new_id("turn"),
            "turn_epoch": 1,
            "trace_id": request.get("trace_id") or match[1],
        } | {name: request[name] for name in ("context_box_id",) if request.get(name)}
        if request.get("parent_step_id"):
            self.ids["parent_step_id"] = request["parent_step_id"]
        self.messages = [{"role": "user", "content": request["instruction"]}]
        self.waiting, self.over = {}, False

    async def step(self):
        """Ask the model, and send what it asks for. Ends the turn where it asks for nothing."""
        try:
            rows = {row["tool_name"]: row for row in (await self.service.ask(f"l0.v1.{self.project}.tools.list", {}))["tools"]}
            offered = [{"type": "function", "function": spec} for spec in [*map(function, rows.values()), SUBMIT]]
            reply = await self.service.complete({"model": MODEL, "messages": self.messages, "tools": offered})
            self.messages.append(reply)
            calls = reply.get("tool_calls") or []
            if not calls:
                return await self.end("success", {"text": reply.get("content") or ""})
            for call in calls:
                if call["function"]["name"] == SUBMIT["name"]:
                    return await self.end("success", json.loads(call["function"]["arguments"] or "{}"))
            await self.send(calls, rows)
        except Exception as exception:
            log.exception("turn %s failed", self.ids["agent_turn_id"])
            await self.end("failed", {"text": ""}, error={"code": "internal_error", "message": str(exception)})

    async def send(self, calls, rows):
        step = {"step_id": new_id("step")}
        commands = []
        for call in calls:
            row = rows.get(call["function"]["name"])
            try:
                given = json.loads(call["function"]["arguments"] or "{}")
                if row is None or not isinstance(given, dict):
                    raise ValueError("there is no such tool" if row is None else "the arguments are no object")
            except ValueError as fault:
                self.report(call["id"], {"error": {"code": "bad_request", "message": str(fault)}})
                continue
            self.waiting[call["id"]] = row
            commands.append((row, self.ids | step | {"tool_call_id": call["id"]}, given))
        for row, ids, given in commands:  # all are waited for before the first can be answered
            await self.command(row, ids, given)
        if not commands:
            await self.step()

    async def command(self, row, ids, given):
        content = {"__type__": "ToolCallContent", "tool_name": row["tool_name"], "arguments": arguments_of(row, given, ids), "status": "called"}
        lineage = {name: ids.get(name) for name in ("agent_turn_id", "step_id", "tool_call_id", "trace_id", "parent_step_id")}
        envs = part(row, "envs")
        call = card("tool.call", self.project, content, lineage | {"tool_args_envs": envs or None}, tool_call_id=ids["tool_call_id"])
        await self.service.save(self.project, call)
        carried = ("agent_id", "agent_turn_id", "turn_epoch", "step_id", "tool_call_id", "context_box_id")
        command = {name: ids[name] for name in carried if name in ids}
        command |= {"tool_name": row["tool_name"], "after_execution": row["after_execution"], "tool_call_card_id": call["card_id"]}
        subject = row["target_subject"].replace("{project_id}", self.project).replace("{channel_id}", self.channel)
        headers = {"traceparent": child_span(self.traceparent)}
        await self.service.publish(subject, command, headers)
        seconds = part(row).get("suspend_timeout_seconds")
        if isinstance(seconds, (int, float)):
            self.service.later(seconds, self.service.expire(self, call, command, headers["traceparent"], seconds))

    def report(self, call_id, said):
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(said)})

    async def take(self, callback, result):
        """A result from the Inbox: the model reads it, or the turn is over."""
        if self.over or self.waiting.pop(callback["tool_call_id"], None) is None:
            return
        content = result["content"]
        failed = content["status"] != "success"
        said = {"status": content["status"], "result": content.get("result"), "error": content.get("error")}
        self.report(callback["tool_call_id"], said if failed else content.get("result"))
        if effective(content, callback) == "terminate":
            outcome = {"text": json.dumps(content.get("result")), "result": content.get("result")}
            return await self.end(content["status"], outcome, error=content.get("error"), result=result["card_id"])
        if not self.waiting:
            await self.step()

    async def end(self, status, outcome, error=None, result=None):
        self.over, self.waiting = True, {}
        lineage = {name: self.ids.get(name) for name in ("agent_turn_id", "trace_id", "parent_step_id")}
        deliverable = card("task.deliverable", self.project, outcome, lineage)
        await self.service.save(self.project, deliverable)
        event = {name: self.ids[name] for name in ("agent_id", "agent_turn_id", "turn_epoch")}
        event |= {"status": status, "deliverable_card_id": deliverable["card_id"], "tool_result_card_id": result, "error": error}
        subject = f"cg.{VERSION}.{self.project}.{self.channel}.evt.agent.{self.ids['agent_id']}.task"
        await self.service.publish(subject, event, {"traceparent": child_span(self.traceparent)})


class Service:
    def __init__(self, connection):
        self.connection, self.tasks, self.threads = connection, set(), ThreadPoolExecutor(MODEL_THREADS)
        self.turns, self.records = {}, {}  # by (project, agent turn), and by (project, agent turn, tool call)

    async def start_turn(self, project, channel, request, headers):
        if not all(isinstance(request.get(name), str) and request[name] for name in ("agent_id", "instruction")):
            raise Refused("`agent_id` and `instruction` are needed")
        turn = self.turns.get((project, request.get("agent_turn_id")))
        if turn is None:
            turn = Turn(self, project, channel, request, child_span(headers.get("traceparent"), request.get("trace_id")))
            self.turns[project, turn.ids["agent_turn_id"]] = turn
            self.spawn(turn.step())
        return {name: turn.ids[name] for name in ("agent_id", "agent_turn_id", "turn_epoch")}

    async def report(self, project, channel, request, headers):
        """A callback that is a valid result goes into the Inbox once, and its agent is woken; any other is refused."""
        callback = request.get("payload")
        if request.get("message_type") != "tool_result" or not isinstance(callback, dict):
            raise Refused("this is no tool_result with a payload")
        for name in REQUIRED:
            if not isinstance(callback.get(name), str) or not callback[name].strip():
                raise Refused(f"`{name}` is missing")
        if callback.get("turn_epoch") is None or callback["status"] not in STATUSES or callback["after_execution"] not in AFTER_EXECUTION:
            raise Refused("`turn_epoch`, `status` or `after_execution` is missing or has no valid value")
        anchor = (project, callback["agent_turn_id"], callback["tool_call_id"])
        if known := self.records.get(anchor):
            return {"inbox_id": known["inbox_id"], "duplicate": True}
        await self.result(project, callback)
        if known := self.records.get(anchor):  # the same report may have come while the card was read
            return {"inbox_id": known["inbox_id"], "duplicate": True}
        record = self.records[anchor] = {
            "inbox_id": new_id("inbox"),
            "project_id": project,
            "agent_id": callback["agent_id"],
            "message_type": "tool_result",
            "correlation_id": callback["tool_call_id"],
            "source_agent_id": request.get("source_agent_id"),
            "traceparent": child_span(headers.get("traceparent")),
            "payload": callback,
            "status": "pending",
            "created_at": datetime.now(UTC).isoformat(),
        }
        if target := await self.worker_target(project, callback["agent_id"]):
            wakeup = f"cg.{VERSION}.{project}.{channel}.cmd.agent.{target}.wakeup"
            await self.publish(wakeup, {"agent_id": callback["agent_id"]}, {"traceparent": child_span(record["traceparent"])})
        return {"inbox_id": record["inbox_id"], "duplicate": False}

    async def worker_target(self, project, agent):
        """Where the agent is woken, as the roster says at this moment; nowhere when it does not know the agent."""
        try:
            return (await self.ask(f"l0.v1.{project}.roster.get", {"agent_id": agent}))["agent"]["worker_target"]
        except LookupError:
            return None

    async def result(self, project, callback):
        """The tool.result card of a callback, strictly: it is there, it is typed, and it is this call's."""
        found = (await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [callback["tool_result_card_id"]]}))["cards"]
        content = found[0].get("content") if found else None
        typed = isinstance(content, dict) and content.get("__type__", "ToolResultContent") == "ToolResultContent"
        if not typed or found[0].get("type") != "tool.result" or content.get("status") not in STATUSES:
            raise Refused(f"`{callback['tool_result_card_id']}` is no tool.result card")
        owner = found[0].get("tool_call_id") or (found[0].get("metadata") or {}).get("tool_call_id")
        if owner not in (None, callback["tool_call_id"]):
            raise Refused(f"`{callback['tool_result_card_id']}` is the result of another call")
        return found[0]

    async def inbox(self, project, request):
        mine = (project, request.get("agent_id"))
        return {"records": [record for record in self.records.values() if (record["project_id"], record["agent_id"]) == mine]}

    async def wake(self, project, agent):
        for record in [*self.records.values()]:
            if (record["project_id"], record["agent_id"], record["status"]) != (project, agent, "pending"):
                continue
            record["status"], callback = "consumed", record["payload"]
            turn = self.turns.get((project, callback["agent_turn_id"]))
            if turn and all(turn.ids[name] == callback[name] for name in ("agent_id", "turn_epoch")):
                await turn.take(callback, await self.result(project, callback))

    async def expire(self, turn, call, command, traceparent, seconds):
        """Nobody answered in time: the call gets a result of ours, by the way of every other."""
        if turn.over or command["tool_call_id"] not in turn.waiting:
            return
        error = {"code": "tool_timeout", "message": f"no result within {seconds} s", "detail": {"seconds": seconds}}
        content = {"__type__": "ToolResultContent", "status": "timeout", "after_execution": command["after_execution"]}
        content |= {"result": {"error_code": error["code"], "error_message": error["message"]}, "error": error}
        lineage = {name: call["metadata"].get(name) for name in ("agent_turn_id", "tool_call_id", "step_id", "trace_id", "parent_step_id")}
        result = card("tool.result", turn.project, content, lineage, tool_call_id=command["tool_call_id"])
        await self.save(turn.project, result)
        callback = {name: command[name] for name in ("tool_call_id", "agent_turn_id", "turn_epoch", "agent_id", "after_execution", "step_id")}
        callback |= {"status": "timeout", "tool_result_card_id": result["card_id"]}
        report = {"message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": AUTHOR, "payload": callback}
        await self.report(turn.project, turn.channel, report, {"traceparent": traceparent})

    # The wire: the platform, the bus and the model.

    async def ask(self, subject, body):
        reply = await self.connection.request(subject, json.dumps(body).encode(), PLATFORM_SECONDS)
        own = reply.headers or {}
        if own.get("Nats-Service-Error-Code") == "404":
            raise LookupError(subject)
        if error := own.get("Nats-Service-Error"):
            raise RuntimeError(f"the platform refused `{subject}`: {error}")
        return json.loads(reply.data)

    async def save(self, project, saved):
        await self.ask(f"l0.v1.{project}.cards.save", {"card": saved})

    async def publish(self, subject, body, headers):
        await self.connection.publish(subject, json.dumps(body).encode(), headers=headers)

    async def complete(self, body):
        def post():
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the model is near, no proxy is
            request = urllib.request.Request(f"{MODEL_URL}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with opener.open(request, timeout=MODEL_SECONDS) as response:
                return json.loads(response.read())["choices"][0]["message"]

        return await asyncio.get_running_loop().run_in_executor(self.threads, post)

    def spawn(self, work):
        async def guarded():
            try:
                await work
            except Exception:  # one turn or message that fails must not end the service
                log.exception("something went wrong")

        task = asyncio.create_task(guarded())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def later(self, seconds, work):
        async def wait():
            await asyncio.sleep(seconds)
            await work

        self.spawn(wait())

    async def serve(self):
        async def answer(message, work):
            try:
                reply, headers = await work(json.loads(message.data), message.headers or {}), None
            except (Refused, ValueError, AttributeError) as fault:
                reply = {"error": {"code": "bad_request", "message": str(fault)}}
                headers = {"Nats-Service-Error": str(fault), "Nats-Service-Error-Code": "400"}
            if message.reply:
                await self.connection.publish(message.reply, json.dumps(reply).encode(), headers=headers)

        async def turns(message):
            _, _, project, channel, *_ = message.subject.split(".")
            self.spawn(answer(message, lambda body, headers: self.start_turn(project, channel, body, headers)))

        async def reports(message):
            _, _, project, channel, *_ = message.subject.split(".")
            self.spawn(answer(message, lambda body, headers: self.report(project, channel, body, headers)))

        async def inboxes(message):
            project = message.subject.split(".")[2]
            self.spawn(answer(message, lambda body, _: self.inbox(project, body)))

        async def wakeups(message):
            project = message.subject.split(".")[2]
            self.spawn(self.wake(project, json.loads(message.data).get("agent_id")))

        await self.connection.subscribe("runtime.v1.*.*.turns.start", cb=turns)
        await self.connection.subscribe("runtime.v1.*.*.report", cb=reports)
        await self.connection.subscribe("runtime.v1.*.inbox.list", cb=inboxes)
        await self.connection.subscribe(f"cg.{VERSION}.*.*.cmd.agent.{WORKER_TARGET}.wakeup", cb=wakeups)
        await self.connection.flush()


async def main():
    logging.basicConfig(level=logging.INFO)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    connection = await nats.connect(os.environ["CALLMARK_NATS_URL"], name=AUTHOR, max_reconnect_attempts=-1)
    await Service(connection).serve()
    log.info("ready")
    await stop.wait()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
