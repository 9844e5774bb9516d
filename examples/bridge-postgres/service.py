"""A Tool Service that knows its database and the bus on which commands come, and nothing of a platform.

The protocol is that of `../python/tool_service.py`; here is only where its cards and reports go: into tables. A card that a
command points to arrives there by itself, and the service waits for it as it would for any replication.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import tool_service

REPLICATION_SECONDS = 5
DATABASE = os.environ["DATABASE"]


class DatabaseService(tool_service.Service):
    def __init__(self, connection):
        super().__init__(connection)
        self.database, self.arrived = None, asyncio.Condition()

    async def serve(self, versions):
        self.database = await psycopg.AsyncConnection.connect(DATABASE, autocommit=True)
        self.listening = await psycopg.AsyncConnection.connect(DATABASE, autocommit=True)
        await self.listening.execute("LISTEN cards")
        self.replication = asyncio.create_task(self.listen())
        await super().serve(versions)

    async def listen(self):
        async for _ in self.listening.notifies():
            async with self.arrived:
                self.arrived.notify_all()

    async def ask(self, subject, body, headers=None):
        """What the protocol asks of a platform, asked of the database."""
        _, _, project, *operation = subject.split(".")
        match operation:
            case ["cards", "get"]:
                *pointers, own = body["card_ids"]
                cards = [await self.replicated(project, pointer) for pointer in pointers] + [await self.card(project, own)]
                return {"cards": [card for row in cards if row and (card := row[0])]}
            case ["cards", "save"]:
                card = body["card"]
                await self.database.execute(
                    "INSERT INTO cards (project_id, card_id, card) VALUES (%s, %s, %s) ON CONFLICT (project_id, card_id)"
                    " DO UPDATE SET card = EXCLUDED.card",
                    (project, card["card_id"], json.dumps(card)),
                )
            case [channel, "report"]:
                await self.database.execute(
                    "INSERT INTO inbox (project_id, channel_id, report, headers) VALUES (%s, %s, %s, %s)",
                    (project, channel, json.dumps(body), json.dumps(headers or {})),
                )
        return {}

    async def card(self, project, card_id):
        """The row of a card: nothing where there is none yet, and none in it where the platform has none."""
        query = "SELECT card::text FROM cards WHERE project_id = %s AND card_id = %s"
        row = await (await self.database.execute(query, (project, card_id))).fetchone()
        return row and [json.loads(row[0]) if row[0] else None]

    async def replicated(self, project, card_id):
        async with asyncio.timeout(REPLICATION_SECONDS):
            async with self.arrived:
                while (row := await self.card(project, card_id)) is None:
                    await self.arrived.wait()
        return row


tool_service.Service = DatabaseService

if __name__ == "__main__":
    asyncio.run(tool_service.main())
