"""Quartermaster: a PMO as a vendor writes it from the UTP documents, on `nats-py`.

First what the five built-ins do, then the protocol (one command in, one tool.result card and one callback out), then the
wire. Two built-ins wait for the turns that they start, and answer once those are over.
Deliberately absent: running turns, which is the business of runtimes, and memory across restarts.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import signal
import uuid
from datetime import UTC, datetime

import nats

SERVICE = "sys.pmo"
VERSION = os.environ.get("CALLMARK_PROTOCOL_VERSION", "v1r3")
AFTER_EXECUTION = ("suspend", "terminate")
LINEAGE = ("trace_id", "parent_step_id", "step_id")
IDENTITY = ("tool_call_id", "agent_turn_id", "agent_id")
PLATFORM_SECONDS, CHILD_SECONDS = 5, 600
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})")
log = logging.getLogger("quartermaster")


class Failure(Exception):
    """A failure with a code of UTP §5 and a detail object; any other exception is an `internal_error`."""

    def __init__(self, code, message, **detail):
        super().__init__(message)
        self.code, self.detail = code, detail


def text(arguments, name):
    if not isinstance(arguments.get(name), str) or not arguments[name].strip():
        raise Failure("bad_request", f"`{name}` must be a text", field=name)
    return arguments[name]


class Errand:
    """One call of a built-in: what its command and card say, and the ways to agents and turns."""

    def __init__(self, pmo, project, channel, command, called, headers):
        self.pmo, self.project, self.channel, self.command, self.headers = pmo, project, channel, command, headers
        self.metadata = called.get("metadata") if isinstance(called.get("metadata"), dict) else {}
        self.count = 0

    def own_id(self, kind):
        """An id that is the same when the same call comes again, so that nothing is made twice."""
        self.count += 1
        anchor = [self.project, self.command["agent_turn_id"], self.command["tool_call_id"], kind, self.count]
        return f"{kind}_{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(anchor)).hex[:20]}"

    async def agent(self, agent_id):
        try:
            found = (await self.pmo.ask(f"l0.v1.{self.project}.roster.get", {"agent_id": agent_id})).get("agent")
        except LookupError:
            found = None
        return found

    async def enter(self, agent_id, profile, worker_target="worker_generic"):
        row = {"project_id": self.project, "agent_id": agent_id, "worker_target": worker_target, "display_name": profile, "profile": profile}
        row |= {"owner_agent_id": self.command["agent_id"], "status": "active", "metadata": {}}
        await self.pmo.ask(f"l0.v1.{self.project}.roster.save", {"agent": row})
        return row

    async def choose(self, arguments):
        """The agent that a strategy leads to. Others than `reuse` make one."""
        strategy, ref = text(arguments, "target_strategy"), text(arguments, "target_ref")
        if strategy not in ("new", "reuse", "clone"):
            raise Failure("bad_request", f"there is no target_strategy `{strategy}`", field="target_strategy")
        if strategy == "new":
            return (await self.enter(self.own_id("ag"), ref))["agent_id"]
        row = await self.agent(ref)
        if row is None:
            raise Failure("bad_request", f"there is no agent `{ref}`", field="target_ref")
        if strategy == "reuse":
            return ref
        return (await self.enter(self.own_id("ag"), row.get("profile") or ref, row["worker_target"]))["agent_id"]

    async def start(self, agent_id, instruction, context_box_id=None):
        """Starts a turn. Who waits for its end is known before it can end."""
        request = {"agent_id": agent_id, "agent_turn_id": self.own_id("turn"), "instruction": instruction}
        request |= {"parent_agent_turn_id": self.command["agent_turn_id"], "parent_step_id": self.command["step_id"]}
        more = {"trace_id": self.metadata.get("trace_id"), "context_box_id": context_box_id or self.command.get("context_box_id")}
        request |= {name: value for name, value in more.items() if value}
        ended = self.pmo.expect(self.project, request["agent_turn_id"])
        subject = f"l0.v1.{self.project}.{self.channel}.turns.start"
        started = await self.pmo.ask(subject, request, child_span(self.headers))
        # Who runs the turn may give it an id of its own.
        if started["agent_turn_id"] != request["agent_turn_id"]:
            ended = self.pmo.expect(self.project, started["agent_turn_id"])
        return started, ended

    async def outcome(self, started, ended):
        """What became of a turn: its event, with what it delivers."""
        event = await asyncio.wait_for(ended, CHILD_SECONDS)
        card = await self.pmo.card(self.project, event.get("deliverable_card_id"))
        ids = {name: started[name] for name in ("agent_id", "agent_turn_id")}
        more = {"deliverable_card_id": event.get("deliverable_card_id"), "deliverable": card and card.get("content")}
        return ids | {"status": event.get("status"), "error": event.get("error")} | more


async def provision_agent(errand, arguments):
    action, agent_id = text(arguments, "action"), text(arguments, "agent_id")
    if action not in ("ensure", "create", "derive"):
        raise Failure("bad_request", f"there is no action `{action}`", field="action")
    row = await errand.agent(agent_id)
    if row is None or action == "ensure":
        known = row or {}
        profile = arguments.get("profile_name") or known.get("profile") or agent_id
        target = arguments.get("worker_target") or known.get("worker_target") or "worker_generic"
        await errand.enter(agent_id, profile, target)
        return {"agent_id": agent_id, "created": row is None}
    raise Failure("bad_request", f"there is an agent `{agent_id}` already", field="agent_id")


async def delegate_async(errand, arguments):
    instruction = text(arguments, "instruction")
    agent_id = await errand.choose(arguments)
    return (await errand.start(agent_id, instruction, arguments.get("context_box_id")))[0]


async def launch_principal(errand, arguments):
    profile, instruction = text(arguments, "profile_name"), text(arguments, "instruction")
    agent_id = (await errand.enter(errand.own_id("ag"), profile))["agent_id"]
    return (await errand.start(agent_id, instruction))[0]


async def ask_expert(errand, arguments):
    profile, question = text(arguments, "expert_profile"), text(arguments, "question")
    agent_id = (await errand.enter(errand.own_id("ag"), profile))["agent_id"]
    outcome = await errand.outcome(*await errand.start(agent_id, question))
    if outcome["status"] != "success":
        raise Failure("upstream_unavailable", f"the expert's turn ended as {outcome['status']}", child=outcome)
    return outcome


async def fork_join(errand, arguments):
    tasks = arguments.get("tasks")
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise Failure("bad_request", "`tasks` must be a list of tasks", field="tasks")
    chosen = [(await errand.choose(task), text(task, "instruction"), task.get("context_box_id")) for task in tasks]
    children = [await errand.start(*each) for each in chosen]
    outcomes = await asyncio.gather(*(errand.outcome(*child) for child in children))
    if not any(outcome["status"] == "success" for outcome in outcomes):
        raise Failure("upstream_unavailable", "none of the tasks succeeded", children=outcomes)
    return {"tasks": outcomes}


BUILTINS = [provision_agent, delegate_async, launch_principal, ask_expert, fork_join]


def child_span(headers):
    """Headers of a new span below the inbound one, or of a new trace when there is none to continue."""
    inbound = {name.lower(): value for name, value in (headers or {}).items()}
    match = TRACEPARENT.fullmatch(inbound.get("traceparent", ""))
    trace, flags = match.groups() if match else (secrets.token_hex(16), "01")
    child = {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-{flags}"}
    return child | ({"tracestate": inbound["tracestate"]} if match and inbound.get("tracestate") else {})


def arguments_of(command, called):
    """The arguments, from the tool.call card and from nowhere else."""
    for name in ("step_id", "tool_call_card_id"):
        text(command, name)
    if command.get("after_execution") not in AFTER_EXECUTION:
        raise Failure("bad_request", "`after_execution` must be suspend or terminate", field="after_execution")
    if called is None:
        raise Failure("bad_request", f"there is no card `{command['tool_call_card_id']}`", field="tool_call_card_id")
    content = called.get("content")
    typed = isinstance(content, dict) and content.get("__type__", "ToolCallContent") == "ToolCallContent"
    if not typed or called.get("type") != "tool.call" or not isinstance(content.get("tool_name"), str):
        raise Failure("bad_request", "the card holds no ToolCallContent", field="content")
    if not isinstance(content.get("arguments"), dict):
        raise Failure("bad_request", "the card's `arguments` are no object", field="content.arguments")
    return content["arguments"]


class Pmo:
    def __init__(self, connection):
        self.connection, self.calls, self.ends, self.tasks = connection, {}, {}, set()

    async def answer(self, builtin, project, channel, command, headers):
        """Content and card of the result: one shape for success and for every kind of failure."""
        called = await self.card(project, command.get("tool_call_card_id"))
        try:
            arguments = arguments_of(command, called)
            result = await builtin(Errand(self, project, channel, command, called, headers), arguments)
            status, error = "success", None
        except Exception as exception:
            log.info("`%s` failed", builtin.__name__, exc_info=not isinstance(exception, Failure))
            status = "timeout" if isinstance(exception, TimeoutError) else "failed"
            code = getattr(exception, "code", "tool_timeout" if status == "timeout" else "internal_error")
            error = {"code": code, "message": str(exception) or code, "detail": getattr(exception, "detail", {})}
            result = {"error_code": code, "error_message": error["message"]}
        # A callback may not repeat a value outside the two; suspend lets the caller go on and see the failure.
        after = command.get("after_execution") if command.get("after_execution") in AFTER_EXECUTION else "suspend"
        content = {"__type__": "ToolResultContent", "status": status, "after_execution": after, "result": result, "error": error}
        known = called.get("metadata") if called else None
        lineage = {name: known[name] for name in LINEAGE if name in known} if isinstance(known, dict) else {}
        card = {
            "card_id": f"card_{uuid.uuid4().hex}",
            "project_id": project,
            "type": "tool.result",
            "author_id": SERVICE,
            "created_at": datetime.now(UTC).isoformat(),
            "tool_call_id": command["tool_call_id"],
            "content": content,
            "metadata": {name: command[name] for name in ("agent_turn_id", "tool_call_id")}
            | {"role": "tool", "function_name": builtin.__name__}
            | lineage,
        }
        await self.ask(f"l0.v1.{project}.cards.save", {"card": card})
        callback = {name: command[name] for name in (*IDENTITY, "turn_epoch")}
        callback |= {"status": status, "after_execution": after, "tool_result_card_id": card["card_id"]}
        return callback | ({"step_id": lineage["step_id"]} if "step_id" in lineage else {})

    async def handle(self, message, builtin):
        _, _, project, channel, *_ = message.subject.split(".")
        command = json.loads(message.data)
        named = all(isinstance(command.get(name), str) and command[name] for name in IDENTITY)
        if not named or command.get("turn_epoch") in (None, ""):
            log.warning("ignored a command on `%s` that names no call, turn or agent", message.subject)
            return
        anchor = (project, command["agent_turn_id"], command["tool_call_id"])
        if anchor not in self.calls:  # a repeat waits for the outcome of the first, however long its children take
            self.calls[anchor] = asyncio.create_task(self.answer(builtin, project, channel, command, message.headers))
        report = {"message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": SERVICE}
        report["payload"] = await asyncio.shield(self.calls[anchor])
        await self.ask(f"l0.v1.{project}.{channel}.report", report, child_span(message.headers))

    # The wire: the platform, and the ends of children.

    async def ask(self, subject, body, headers=None):
        reply = await self.connection.request(subject, json.dumps(body).encode(), PLATFORM_SECONDS, headers=headers)
        own = reply.headers or {}
        if own.get("Nats-Service-Error-Code") == "404":
            raise LookupError(subject)
        if error := own.get("Nats-Service-Error"):
            raise RuntimeError(f"the platform refused `{subject}`: {error}")
        return json.loads(reply.data)

    async def card(self, project, card_id):
        if not isinstance(card_id, str) or not card_id.strip():
            return None
        cards = (await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [card_id]}))["cards"]
        return cards[0] if cards else None

    def expect(self, project, turn_id):
        return self.ends.setdefault((project, turn_id), asyncio.get_running_loop().create_future())

    async def ended(self, message):
        """A turn is over. Of a turn that nobody expects yet the end is kept: its start may not be answered yet."""
        project, event = message.subject.split(".")[2], json.loads(message.data)
        end = self.expect(project, event.get("agent_turn_id"))
        if not end.done():
            end.set_result(event)

    def spawn(self, work):
        async def guarded():
            try:
                await work
            except Exception:  # one bad command, or a platform that is away, must not end the PMO
                log.exception("a message was not dealt with")

        task = asyncio.create_task(guarded())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self):
        for builtin in BUILTINS:

            async def receive(message, builtin=builtin):
                self.spawn(self.handle(message, builtin))

            await self.connection.subscribe(f"cg.{VERSION}.*.*.cmd.sys.pmo.internal.{builtin.__name__}", cb=receive)

        async def ended(message):
            self.spawn(self.ended(message))

        await self.connection.subscribe(f"cg.{VERSION}.*.*.evt.agent.*.task", cb=ended)
        await self.connection.flush()


async def main():
    logging.basicConfig(level=logging.INFO)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stop.set)
    connection = await nats.connect(os.environ["CALLMARK_NATS_URL"], name=SERVICE, max_reconnect_attempts=-1)
    await Pmo(connection).serve()
    log.info("ready")
    await stop.wait()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
