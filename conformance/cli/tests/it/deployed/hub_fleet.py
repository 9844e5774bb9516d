"""The example's Hub with a calendar in SQLite that all replicas share: `hub_fleet.py EXAMPLE CALENDAR [FAULT]`.

FAULT is one thing that the Hub does wrong:

- `behind`: an event is kept in memory first, and stored a second after it was acknowledged;
- `forgets`: a replica that is started again does not know the customer that has connected nothing.
"""

import os
import pickle
import sqlite3
import sys
import threading
import time
from collections.abc import MutableMapping
from pathlib import Path

EXAMPLE, CALENDAR = sys.argv[1:3]
FAULT = sys.argv[3] if len(sys.argv) > 3 else None
sys.path.insert(0, EXAMPLE)
import hub  # noqa: E402

BEHIND = 1.0


def connected():
    """A connection for each use: a tool runs in any thread."""
    return sqlite3.connect(CALENDAR, timeout=30, isolation_level=None)


class Events(MutableMapping):
    def __init__(self):
        self.late = {}
        with connected() as calendar:
            calendar.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, event BLOB)")

    def __getitem__(self, event_id):
        if event_id in self.late:
            return self.late[event_id]
        with connected() as calendar:
            row = calendar.execute("SELECT event FROM events WHERE id = ?", [event_id]).fetchone()
        if row is None:
            raise KeyError(event_id)
        return pickle.loads(row[0])

    def __setitem__(self, event_id, event):
        if FAULT == "behind" and event_id not in self:
            self.late[event_id] = event
            threading.Thread(target=self.catch_up, args=[event_id], daemon=True).start()
            return
        self.store(event_id, event)

    def store(self, event_id, event):
        with connected() as calendar:
            calendar.execute("REPLACE INTO events VALUES (?, ?)", [event_id, pickle.dumps(event)])

    def catch_up(self, event_id):
        time.sleep(BEHIND)
        self.store(event_id, self.late[event_id])
        del self.late[event_id]

    def __delitem__(self, event_id):
        self.late.pop(event_id, None)
        with connected() as calendar:
            calendar.execute("DELETE FROM events WHERE id = ?", [event_id])

    def __iter__(self):
        with connected() as calendar:
            return iter([row[0] for row in calendar.execute("SELECT id FROM events")])

    def values(self):
        """At one time: another replica may delete one of them meanwhile."""
        with connected() as calendar:
            rows = calendar.execute("SELECT id, event FROM events").fetchall()
        return ({event_id: pickle.loads(event) for event_id, event in rows} | self.late).values()

    def __len__(self):
        return len(list(iter(self)))


seed = {}
for account in filter(None, hub.CUSTOMERS.values()):
    seed, account.events = account.events, Events()
    account.events.update({own: event for own, event in seed.items() if own not in account.events})
been = Path(f"{CALENDAR}.{os.environ.get('CALLMARK_REPLICA')}")
if FAULT == "forgets" and been.exists():
    hub.CUSTOMERS = {own: account for own, account in hub.CUSTOMERS.items() if account}
been.touch()
hub.main()
