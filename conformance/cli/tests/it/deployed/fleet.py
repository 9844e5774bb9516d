"""The example's Tool Service with a ledger in SQLite that all replicas share: `fleet.py EXAMPLE LEDGER [FAULT]`.

A call is claimed for a while, and its outcome is stored together with what it counts, unless another replica has stored one
meanwhile. FAULT is one thing that the service does wrong:

- `no-lease`: a claim never ends, so nobody takes over what a replica began that was killed;
- `counts-first`: what it counts is stored with the claim, and so once more by whoever takes over;
- `no-fence`: the outcome is stored although another one is there, by a replica that slept meanwhile;
- `no-reconnect`: a replica whose connection to the broker is lost makes no other.
"""

import asyncio
import json
import sqlite3
import sys
import time
import uuid

EXAMPLE, LEDGER = sys.argv[1:3]
FAULT = sys.argv[3] if len(sys.argv) > 3 else None
sys.path.insert(0, EXAMPLE)
import tool_service  # noqa: E402
from tides import TOOLS  # noqa: E402

LEASE = 1.0
# Long enough for a replica to be disturbed meanwhile.
WORK = 0.4
ME = uuid.uuid4().hex
ledger = sqlite3.connect(LEDGER, timeout=30, isolation_level=None)
# SQLite does not wait for a lock here, and all replicas start at once.
while True:
    try:
        ledger.execute("PRAGMA journal_mode = WAL")
        break
    except sqlite3.OperationalError:
        time.sleep(0.05)
ledger.execute("CREATE TABLE IF NOT EXISTS calls (call TEXT PRIMARY KEY, owner TEXT, until REAL, card TEXT)")
ledger.execute("CREATE TABLE IF NOT EXISTS counters (key TEXT PRIMARY KEY, number INTEGER)")


class transaction:
    def __enter__(self):
        ledger.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind, *_):
        ledger.execute("COMMIT" if kind is None else "ROLLBACK")


def is_counter(tool):
    return tool is TOOLS["tides.probe.count"]


def counted(project, arguments):
    key = json.dumps([project, str(arguments.get("key"))])
    ledger.execute("INSERT INTO counters VALUES (?, 1) ON CONFLICT DO UPDATE SET number = number + 1", [key])
    return ledger.execute("SELECT number FROM counters WHERE key = ?", [key]).fetchone()[0]


class Service(tool_service.Service):
    async def answer(self, call, tool, project, command):
        key = json.dumps([project, command["agent_turn_id"], command["tool_call_id"]])
        called = await self.called(project, command)
        while True:
            card, is_mine, number = self.claim(key, tool, project, called)
            if card is None and is_mine:
                card = await self.work(key, tool, project, command, (called, number))
            if card:
                break
            await asyncio.sleep(0.05)
        call.card = card
        await self.ask(f"l0.v1.{project}.cards.save", {"card": card})
        call.callback = tool_service.callback_of(command, card)

    async def called(self, project, command):
        pointer = command.get("tool_call_card_id")
        if not isinstance(pointer, str) or not pointer:
            return None
        reply = await self.ask(f"l0.v1.{project}.cards.get", {"card_ids": [pointer]})
        return reply["cards"][0] if reply["cards"] else None

    def claim(self, key, tool, project, called):
        with transaction():
            owner, until, card = ledger.execute("SELECT owner, until, card FROM calls WHERE call = ?", [key]).fetchone() or (None, 0, None)
            if card:
                return json.loads(card), False, None
            if owner and (until > time.time() or FAULT == "no-lease"):
                return None, False, None
            ledger.execute("REPLACE INTO calls VALUES (?, ?, ?, NULL)", [key, ME, time.time() + LEASE])
            counts_now = FAULT == "counts-first" and is_counter(tool)
            number = counted(project, called["content"]["arguments"]) if counts_now else None
        return None, True, number

    async def work(self, key, tool, project, command, claimed):
        called, number = claimed
        await asyncio.sleep(WORK)
        content = await tool_service.run_tool(tool, project, command, called)
        with transaction():
            owner, card = ledger.execute("SELECT owner, card FROM calls WHERE call = ?", [key]).fetchone()
            if FAULT != "no-fence" and (card or owner != ME):
                return json.loads(card) if card else None
            if is_counter(tool) and content["status"] == "success":
                content["result"] = {"count": number or counted(project, called["content"]["arguments"])}
            card_id = f"card_{uuid.uuid5(uuid.NAMESPACE_OID, key).hex}"
            card = tool_service.result_card(card_id, project, command, called, content)
            ledger.execute("UPDATE calls SET card = ? WHERE call = ?", [json.dumps(card), key])
        return card


if FAULT == "no-reconnect":
    connect = tool_service.nats.connect
    tool_service.nats.connect = lambda url, **options: connect(url, **options, allow_reconnect=False)
tool_service.Service = Service
asyncio.run(tool_service.main())
