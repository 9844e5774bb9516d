"""A target that has compiled in where it asks: it runs a program before which it stands, and asks real hosts for it.

`gateway.py VARIABLE=https://host/path … -- COMMAND`: each VARIABLE of the command's environment is a local address, and
what the command asks there goes to that host, as Python's standard library sends it: through the proxy of the
environment, with the issuers of the environment.
"""

import os
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = 30
OF_THE_CONNECTION = {"connection", "host", "transfer-encoding", "keep-alive", "accept-encoding", "content-length"}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


# One context for all: to read the issuers takes longer than to ask.
OPENER = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context()))


def passing(base):
    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            headers = {name: value for name, value in self.headers.items() if name.lower() not in OF_THE_CONNECTION}
            request = urllib.request.Request(base + self.path, body, headers, method=self.command)
            try:
                with OPENER.open(request, timeout=SECONDS) as answer:
                    status, kept, text = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as refused:
                status, kept, text = refused.code, refused.headers, refused.read()
            except OSError:
                self.close_connection = True  # as the host would
                return
            self.send_response(status)
            for name, value in kept.items():
                if name.lower() not in OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

        def log_message(self, *_):
            pass

    return Passing


def main():
    split = sys.argv.index("--")
    environment = dict(os.environ)
    for assigned in sys.argv[1:split]:
        name, base = assigned.split("=", 1)
        host, _, path = base.removeprefix("https://").partition("/")
        server = ThreadingHTTPServer(("127.0.0.1", 0), passing(f"https://{host}"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment[name] = f"http://127.0.0.1:{server.server_port}" + (f"/{path}" if path else "")
    # The program behind it is no client of a proxy.
    command = subprocess.Popen(sys.argv[split + 1 :], env=environment)
    signal.signal(signal.SIGTERM, lambda *_: command.terminate())
    sys.exit(command.wait())


main()
