"""The Hub of Tulip Office: the Tool Execution Contract as a vendor writes it, on the standard library alone.

First the answers (execution, status), then the wire. The calendar, the mailbox and the tools are in `office.py`.
Deliberately absent: OAuth, scopes and limits. A customer is connected or is not, and there is no service to fail.
"""

import hmac
import json
import logging
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from office import CALENDAR, MAIL, TOOLS, Account, Misfit, NotHere

EXECUTE, STATUS = "/api/internal/tools/execute/", re.compile("/api/internal/integrations/status/([^/]+)/")
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
CUSTOMERS = {
    "7d0c2a5e-41b9-4f0e-8a53-9be1c60f3d21": Account("office@tulip.example"),
    "e2b86f14-9c3d-4a77-b1d8-05f7a94c6e32": None,  # known, and nothing is connected
}
SCOPES = {
    CALENDAR: ["https://www.googleapis.com/auth/calendar.events", "https://www.googleapis.com/auth/calendar.freebusy"],
    MAIL: ["https://www.googleapis.com/auth/gmail.modify"],
}
MAX_BODY, BODY_SECONDS, IDLE_SECONDS = 1024 * 1024, 10, 120
log = logging.getLogger("tulip-hub")


class Refusal(Exception):
    """An error that the caller receives, with its status, its code and perhaps its details."""

    def __init__(self, status, code, message, **details):
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


def setup_url(integration):
    return f"https://office.tulip.example/connect/{integration}"


def customer(customer_id):
    if not isinstance(customer_id, str) or not UUID.fullmatch(customer_id):
        raise Refusal(400, "INVALID_REQUEST", "`customer_id` is no UUID")
    if customer_id.lower() not in CUSTOMERS:
        raise Refusal(404, "UNKNOWN_CUSTOMER", "there is no such customer")
    return CUSTOMERS[customer_id.lower()]


def check(request):
    """The members beside `tool` and `customer_id`; what the contract does not name is left alone."""
    agent_id, context = request.get("agent_id"), request.get("context")
    if not isinstance(agent_id, str) or not UUID.fullmatch(agent_id):
        raise Refusal(400, "INVALID_REQUEST", "`agent_id` is no UUID")
    if not isinstance(request.get("user_id"), str | None):
        raise Refusal(400, "INVALID_REQUEST", "`user_id` is neither a string nor null")
    if not isinstance(request.get("inputs"), dict):
        raise Refusal(400, "INVALID_REQUEST", "`inputs` is no object")
    if not isinstance(context, dict | None) or not all(
        isinstance(context.get(name), str | None) for name in ("conversation_id", "request_id") if context
    ):
        raise Refusal(400, "INVALID_REQUEST", "`context` is no object with strings")


def run(request):
    name = request.get("tool")
    if not isinstance(name, str):
        raise Refusal(400, "INVALID_REQUEST", "`tool` is no string")
    if name not in TOOLS:
        raise Refusal(404, "TOOL_NOT_FOUND", "there is no such tool")
    check(request)
    account, tool = customer(request.get("customer_id")), TOOLS[name]
    if account is None:
        link = {"setup_url": setup_url(tool.integration), "integration": tool.integration}
        raise Refusal(400, "INTEGRATION_NOT_CONNECTED", f"{tool.integration} is not connected", **link)
    try:
        inputs = tool.inputs(request["inputs"])
        with account.lock:
            return tool.run(account, **inputs)
    except Misfit as misfit:
        raise Refusal(400, "INVALID_INPUT", f"`{misfit}` is missing or has the wrong form") from None
    except OverflowError:
        raise Refusal(400, "INVALID_INPUT", "a time is out of the calendar's range") from None
    except NotHere as missing:
        raise Refusal(404, f"NO_SUCH_{missing}".upper(), f"there is no such {missing}") from None


def parse(body):
    def refuse(constant):
        raise ValueError(constant)  # NaN and its like, which Python reads and JSON does not know

    try:
        request = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Refusal(400, "INVALID_REQUEST", "the body is no JSON") from None
    if not isinstance(request, dict):
        raise Refusal(400, "INVALID_REQUEST", "the body is no object")
    return request


def failure(refusal, **members):
    error = {"message": str(refusal), "code": refusal.code}
    return members | {"error": error | ({"details": refusal.details} if refusal.details else {}), "success": False}


def execute(body):
    """Status and answer of one call."""
    started, request = time.perf_counter(), {}
    try:
        request = parse(body)
        result = run(request)
    except Refusal as refusal:
        return refusal.status, failure(refusal, tool=request.get("tool"))
    except Exception:
        log.exception("a tool failed")
        return 500, failure(Refusal(500, "INTERNAL_ERROR", "the Hub failed"), tool=request.get("tool"))
    metadata = {"api_calls": 0, "execution_time_ms": (time.perf_counter() - started) * 1000, "served_by": "tulip-hub"}
    return 200, {"metadata": metadata, "result": result, "tool": request["tool"], "success": True}


def integration_status(customer_id):
    try:
        account = customer(customer_id)
    except Refusal as refusal:
        return refusal.status, failure(refusal)
    apart = {name: {"setup_url": setup_url(name), "connected": False} for name in SCOPES}
    expires = "2031-04-01T02:00:00+02:00"
    joined = {
        name: {"expires_at": expires, "email": account.address, "scopes": scopes, "connected": True}
        for name, scopes in (SCOPES.items() if account else ())
    }
    return 200, {"provider": "tulip", "integrations": joined or apart, "customer_id": customer_id}


class Handler(BaseHTTPRequestHandler):
    protocol_version, server_version = "HTTP/1.1", "tulip-hub"
    timeout = IDLE_SECONDS
    # Head and body leave in one segment; in two, the second would wait for the client's acknowledgement of the first.
    wbufsize, disable_nagle_algorithm = -1, True

    def body(self):
        """The body, or None when it cannot be had; then the connection has no future, for its rest is unread."""
        length, keeps_open = self.headers.get("Content-Length", "0"), not self.close_connection
        self.close_connection = True
        if "Transfer-Encoding" in self.headers:
            return self.send(411, "a length is required")
        if not re.fullmatch("[0-9]{1,18}", length):
            return self.send(400, "the length is no number")
        if int(length) > MAX_BODY:
            return self.send(413, f"a body has at most {MAX_BODY} bytes")
        pieces, left, deadline = [], int(length), time.monotonic() + BODY_SECONDS
        while left:
            self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = self.rfile.read1(left)
            if not piece:
                return None
            pieces.append(piece)
            left -= len(piece)
        self.connection.settimeout(self.timeout)
        self.close_connection = not keeps_open
        return b"".join(pieces)

    def send(self, status, answer):
        plain = isinstance(answer, str)
        content = (answer if plain else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{'text/plain' if plain else 'application/json'}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def is_authorized(self):
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")
        return hmac.compare_digest(given, b"ServiceSecret " + self.server.secret)

    def handle_any(self):
        body, status_path = self.body(), STATUS.fullmatch(self.path)
        if body is None:
            return
        if not self.is_authorized():
            self.send(403, "wrong or missing service secret\n")
        elif self.path == EXECUTE and self.command == "POST":
            self.send(*execute(body))
        elif status_path and self.command == "GET":
            self.send(*integration_status(status_path[1]))
        elif self.path == EXECUTE or status_path:
            self.send(405, "this path has another method\n")
        else:
            self.send(404, "there is nothing here\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_request(self, code="-", size="-"):
        """Not each of them; what goes wrong is still logged."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # five, the default, drops connections when many agents come at once

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # an agent that hangs up is no fault of ours
            super().handle_error(request, client_address)


def main():
    logging.basicConfig(level=logging.INFO)
    secret = os.environ.get("CALLMARK_HUB_SECRET") or os.environ.get("HUB_SECRET")
    if not secret:
        sys.exit("HUB_SECRET is not set: the secret that agents send")
    host, _, port = os.environ.get("CALLMARK_LISTEN", "127.0.0.1:8080").rpartition(":")
    server = Server((host, int(port)), Handler)
    server.secret = secret.encode()
    log.info("listening on http://%s:%d", *server.server_address[:2])
    server.serve_forever()


if __name__ == "__main__":
    main()
