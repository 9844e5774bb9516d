"""The bridge: mirrors three tables of a database to and from a platform that is reached over NATS.

In: a command on the bus says which card and which agent the system is about to need, so both are fetched and written
into `cards` and `roster`. Out: what the system writes into `cards` and `inbox` is in `outgoing`, put there by triggers; it
leaves in that order, so that a card is saved before the report that points to it.
Deliberately absent: the protocol. The bridge carries cards and reports, and looks into neither.
"""

import asyncio
import json
import logging
import os
import signal

import nats
import psycopg
from nats.errors import Error as NatsError

COMMANDS = "cg.v1r3.*.*.cmd.tool.tides.>"
SECONDS, TRIES = 5, 3
DATABASE = os.environ["DATABASE"]
log = logging.getLogger("bridge")


class Bridge:
    def __init__(self, bus, database):
        self.bus, self.database, self.tasks = bus, database, set()

    async def ask(self, subject, body, headers=None):
        """Ask the platform. Its operations may be repeated, so an unanswered one is."""
        for attempt in range(1, TRIES + 1):
            try:
                reply = await self.bus.request(subject, json.dumps(body).encode(), SECONDS, headers=headers or None)
                break
            except NatsError:
                if attempt == TRIES:
                    raise
        if error := (reply.headers or {}).get("Nats-Service-Error"):
            raise LookupError(error)
        return json.loads(reply.data)

    async def arrives(self, message):
        """Fetch what a command points to. What the platform has not is written down as well, or the system would wait."""
        project = message.subject.split(".")[2]
        try:
            command = json.loads(message.data)
        except ValueError:
            return
        pointer, agent = (command.get(name) if isinstance(command, dict) else None for name in ("tool_call_card_id", "agent_id"))
        if isinstance(agent, str) and agent:
            await self.mirror_agent(project, agent)
        if isinstance(pointer, str) and pointer:
            reply = await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [pointer]})
            card = json.dumps(reply["cards"][0]) if reply["cards"] else None
            await self.database.execute(
                "INSERT INTO cards VALUES (%s, %s, %s, 'platform') ON CONFLICT (project_id, card_id)"
                " DO UPDATE SET card = EXCLUDED.card WHERE cards.origin = 'platform'",
                (project, pointer, card),
            )

    async def mirror_agent(self, project, agent):
        try:
            row = json.dumps((await self.ask(f"l0.v1.{project}.roster.get", {"agent_id": agent}))["agent"])
        except LookupError:
            row = None
        await self.database.execute(
            "INSERT INTO roster VALUES (%s, %s, %s) ON CONFLICT (project_id, agent_id) DO UPDATE SET agent = EXCLUDED.agent",
            (project, agent, row),
        )

    async def departs(self):
        """Send what waits in `outgoing`, one after the other."""
        rows = await self.database.execute("SELECT id, subject, body::text, headers::text, inbox FROM outgoing ORDER BY id")
        for number, subject, body, headers, inbox in await rows.fetchall():
            try:
                reply = await self.ask(subject, json.loads(body), json.loads(headers))
                if inbox:
                    await self.database.execute("UPDATE inbox SET inbox_id = %s WHERE id = %s", (reply.get("inbox_id"), inbox))
            except LookupError as error:  # refused for good
                log.warning("`%s` was refused: %s", subject, error)
            await self.database.execute("DELETE FROM outgoing WHERE id = %s", (number,))

    async def carry(self):
        async with await psycopg.AsyncConnection.connect(DATABASE, autocommit=True) as listening:
            await listening.execute("LISTEN outgoing")
            await self.departs()  # what was written while nobody listened
            async for _ in listening.notifies():
                await self.departs()

    async def serve(self):
        async def receive(message):
            task = asyncio.create_task(self.arrives(message))
            self.tasks.add(task)
            task.add_done_callback(self.ended)

        await self.bus.subscribe(COMMANDS, cb=receive)
        await self.bus.flush()
        log.info("ready")
        await self.carry()

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception():
            log.error("a command was not mirrored", exc_info=task.exception())


async def main():
    logging.basicConfig(level=logging.INFO)
    bus = await nats.connect(os.environ["CALLMARK_NATS_URL"], name="bridge", max_reconnect_attempts=-1)
    async with await psycopg.AsyncConnection.connect(DATABASE, autocommit=True) as database:
        serving = asyncio.create_task(Bridge(bus, database).serve())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.result()


if __name__ == "__main__":
    asyncio.run(main())
