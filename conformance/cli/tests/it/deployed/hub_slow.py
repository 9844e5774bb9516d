"""The reference's Hub behind one that takes its time to answer: `hub_slow.py CALLMARK [FAULT]`.

FAULT is one thing that it does wrong:

- `again`: what took longer than it should is asked for again, although it was done.
"""

import http.client
import os
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALLMARK = sys.argv[1]
FAULT = sys.argv[2] if len(sys.argv) > 2 else None
# Long enough for a replica to be disturbed meanwhile.
WORK = 0.4
PATIENCE = 1.5

with socket.create_server(("127.0.0.1", 0)) as held:
    INNER = held.getsockname()[1]
child = subprocess.Popen([CALLMARK, "serve", "hub"], env=os.environ | {"CALLMARK_LISTEN": f"127.0.0.1:{INNER}"})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True

    def forward(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", INNER, timeout=10)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def handle_any(self):
        body, began = self.rfile.read(int(self.headers.get("Content-Length", 0))), time.monotonic()
        try:
            answer, content = self.forward(body)
            if b'"calendar_create_event"' in body:
                time.sleep(WORK)
            if FAULT == "again" and time.monotonic() - began > PATIENCE:
                answer, content = self.forward(body)
        except OSError:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name in ("Content-Type", "Retry-After"):
            if value := answer.headers.get(name):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_):
        """Nothing."""


class Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True


host, _, port = os.environ["CALLMARK_LISTEN"].rpartition(":")
try:
    Server((host, int(port)), Handler).serve_forever()
finally:
    child.kill()
