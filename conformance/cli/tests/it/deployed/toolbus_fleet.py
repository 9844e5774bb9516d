"""The example's MCP server with a lock on the state that all replicas share: `toolbus_fleet.py EXAMPLE [FAULT]`.

FAULT is one thing that the server does wrong:

- `behind`: what a call stores is kept in memory first, and written a second after the call was answered;
- `artifacts-behind`: so are its artifacts.
"""

import fcntl
import sys
import threading
import time

EXAMPLE = sys.argv[1]
FAULT = sys.argv[2] if len(sys.argv) > 2 else None
sys.path.insert(0, EXAMPLE)
import bus  # noqa: E402
import server  # noqa: E402

BEHIND = 1.0


def later(act):
    def acts():
        time.sleep(BEHIND)
        act()

    threading.Thread(target=acts, daemon=True).start()


class locked:
    def __init__(self, root):
        self.path = root / "state.lock"

    def __enter__(self):
        self.file = self.path.open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


class Bus(bus.Bus):
    late = {}

    def state(self, scope, session):
        return super().state(scope, session) | (self.late if scope == "persistent" else {})

    def replace_state(self, scope, session, state):
        if scope != "persistent":
            return super().replace_state(scope, session, state)
        known = bus.Bus.state(self, scope, session)
        changed = {key: value for key, value in state.items() if known.get(key) != value}
        if FAULT == "behind":
            self.late = self.late | changed
            return later(lambda: self.add(changed))
        self.add(changed)

    def add(self, changed):
        with locked(self.root):
            bus.Bus.replace_state(self, "persistent", None, bus.Bus.state(self, "persistent", None) | changed)

    def keep(self, envelope):
        if FAULT == "artifacts-behind" and self.root is not None:
            later(lambda: bus.Bus.keep(self, envelope))
            return {"artifact_uri_context": None, "artifact_uri_json": None}
        return super().keep(envelope)


server.Bus = Bus
server.main()
