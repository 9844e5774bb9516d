"""Counts the calls that are open at a runner which reads and writes JSON lines: `counting.py FILE -- COMMAND`.

FILE holds the largest number of breadcrumbs whose calls were open at a time.
"""

import json
import subprocess
import sys
import threading

FILE, COMMAND = sys.argv[1], sys.argv[3:]
LOCK, OPEN, most = threading.Lock(), {}, 0


def calls(crumb):
    """The ids of the calls that a breadcrumb makes."""
    context = crumb.get("context") or {}
    if crumb.get("schema_name") == "agent.response.v1":
        return {one.get("requestId") for one in context.get("tool_requests") or ()}
    if crumb.get("schema_name") == "tool.request.v1":
        return {context.get("requestId")}
    return set()


def note(crumb):
    global most
    with LOCK:
        if ids := calls(crumb):
            OPEN[crumb["id"]] = ids
            most = max(most, len(OPEN))
            with open(FILE, "w") as file:
                file.write(str(most))
        if crumb.get("schema_name") == "tool.response.v1":
            for key, ids in list(OPEN.items()):
                ids.discard(crumb["context"].get("request_id"))
                if not ids:
                    del OPEN[key]


def forward():
    for line in sys.stdin.buffer:
        note(json.loads(line))
        runner.stdin.write(line)
        runner.stdin.flush()
    runner.stdin.close()


runner = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
threading.Thread(target=forward, daemon=True).start()
for line in runner.stdout:
    try:
        note(json.loads(line))
    except (ValueError, AttributeError, TypeError):
        pass  # no breadcrumb
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
