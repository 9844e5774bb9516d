"""An MCP server over stdio for which all callers are in one session, whichever one they name: `one_session.py PROGRAM…`."""

import json
import subprocess
import sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    message = json.loads(line)
    message.get("params", {}).get("arguments", {}).pop("session", None)
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
server.stdin.close()
sys.exit(server.wait())
