"""The agent of the examples behind a hook: `hooked.py EXAMPLE HOST:PORT`.

What is posted goes to the agent, and the answer is the next thing that the agent says, or 204 once it waits for more.
"""

import json
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, sys.argv[1])

import agent

SECONDS = 30


class Inbox:
    """A queue whose reader says when it waits."""

    def __init__(self, session):
        self.session, self.items = session, []

    def put(self, item):
        with self.session.moved:
            self.items.append(item)
            self.session.waits = False
            self.session.moved.notify_all()

    def get(self, timeout=None):
        until = None if timeout is None else time.monotonic() + timeout
        with self.session.moved:
            while not self.items:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise agent.queue.Empty
                self.session.waits = True
                self.session.moved.notify_all()
                self.session.moved.wait(left)
            self.session.waits = False
            return self.items.pop(0)


class Hooked(agent.Session):
    def __init__(self, name):
        self.name, self.said, self.waits, self.moved = name, [], False, threading.Condition()
        self.questions, self.answers = Inbox(self), Inbox(self)
        self.messages, self.count, self.run = [{"role": "system", "content": agent.PROMPT}], 0, uuid.uuid4().hex[:6]
        threading.Thread(target=self.work, daemon=True).start()

    def say(self, message, requests=()):
        context = {"message": message} | ({"tool_requests": list(requests)} if requests else {})
        tags = ["agent:response", f"session:{self.name}"]
        breadcrumb = {"schema_name": agent.INVOCATION, "title": message[:60], "tags": tags, "context": context}
        with self.moved:
            self.said.append({"action": "create", "breadcrumb": breadcrumb})
            self.moved.notify_all()

    def next(self):
        """What it says next; nothing once it waits for somebody else."""
        with self.moved:
            self.moved.wait_for(lambda: self.said or self.waits, SECONDS)
            return self.said.pop(0) if self.said else None


agent.Session = Hooked
SESSIONS, SEEN = {}, {}


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        crumb = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        agent.hear(crumb | {"breadcrumb_id": crumb["id"]}, SESSIONS, SEEN)
        names = [tag.partition(":")[2] for tag in crumb.get("tags") or () if tag.startswith("session:")]
        session = SESSIONS.get(names[0]) if names else None
        said = session.next() if session else None
        body = json.dumps(said).encode() if said else b""
        self.send_response(200 if said else 204)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host, _, port = sys.argv[2].rpartition(":")
ThreadingHTTPServer((host, int(port)), Hook).serve_forever()
