"""Acme Tides: an MCP server of the revision 2026-07-28 alone, in plain Python, without an SDK.

Here is the wire: stdio, or streamable HTTP when CALLMARK_LISTEN is set. The contract and the tools are in `bus.py`.
Deliberately absent: `initialize` and sessions. Every request says which revision it is in, and relies on no other.
"""

import base64
import json
import logging
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from bus import Bus, Failure

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
SERVER = {META + "serverInfo": {"name": "acme-tides", "version": "1.0.0"}}
MAX_BODY = 16 * 1024 * 1024
LOCAL = ("localhost", "127.0.0.1", "::1")
INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022


class Refused(Exception):
    """A request that is answered with an error of the protocol, and over HTTP with this status."""

    def __init__(self, code, message, status=400, data=None):
        super().__init__(message)
        self.status = status
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


def decoded(header):
    """What a header cannot hold as it is comes in base64."""
    if header and header.startswith("=?base64?") and header.endswith("?="):
        return base64.b64decode(header[9:-2]).decode("utf-8", "replace")
    return header


def agrees(headers, name, value):
    if decoded(headers.get(name)) != value:
        raise Refused(HEADER_MISMATCH, f"the header `{name}` and the body do not agree")


class Server:
    def __init__(self, bus):
        self.bus = bus
        self.methods = {"server/discover": self.discover, "tools/list": self.list, "tools/call": self.call}

    def answer(self, message, headers=None):
        """Status and answer of a message; over stdio there are no headers. A notification has no answer."""
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return 400, self.error(None, {"code": INVALID_REQUEST, "message": "this is no request"})
        if "id" not in message:
            return 202, None
        number = message["id"]
        try:
            self.check(message, headers)
            result = self.methods[message["method"]](message.get("params", {}), headers)
        except Refused as refused:
            return refused.status, self.error(number, refused.error)
        except Failure as failure:
            return 200, self.error(number, failure.error)
        return 200, {"jsonrpc": "2.0", "id": number, "result": result | {"resultType": "complete", "_meta": SERVER}}

    def error(self, number, error):
        return {"jsonrpc": "2.0", "id": number, "error": error}

    def check(self, message, headers):
        """What every request must say, in `_meta` and over HTTP in its headers."""
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, f"`_meta` has no `{META}protocolVersion`")
        if headers is not None:
            agrees(headers, "MCP-Protocol-Version", version)
        if version != REVISION:
            data = {"supported": [REVISION], "requested": version}
            raise Refused(UNSUPPORTED_VERSION, "there is no such revision", data=data)
        if not isinstance(meta.get(META + "clientCapabilities"), dict):
            raise Refused(INVALID_PARAMS, f"`_meta` has no `{META}clientCapabilities`")
        if headers is not None:
            agrees(headers, "Mcp-Method", message["method"])
        if message["method"] not in self.methods:
            raise Refused(UNKNOWN_METHOD, "there is no such method", 404)

    def discover(self, _params, _headers):
        return {"supportedVersions": [REVISION], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public"}

    def list(self, _params, _headers):
        return {"tools": self.bus.list(), "ttlMs": 60_000, "cacheScope": "public"}

    def call(self, params, headers):
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise Refused(INVALID_PARAMS, "`name` is a text, and `arguments` an object")
        if headers is not None:
            agrees(headers, "Mcp-Name", name)
            tool = self.bus.tools.get(name)
            for own, schema in tool.properties.items() if tool else ():
                if "x-mcp-header" in schema and isinstance(arguments.get(own), str):
                    agrees(headers, f"Mcp-Param-{schema['x-mcp-header']}", arguments[own])
        text = json.dumps(self.bus.call(name, arguments), allow_nan=False)
        return {"content": [{"type": "text", "text": text}], "isError": False}


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def serve_stdio(server):
    for line in sys.stdin.buffer:
        _, answer = server.answer(parsed(line))
        if answer is not None:
            print(json.dumps(answer), flush=True)


def serve_http(server, host, port):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            origin = self.headers.get("Origin")
            length = int(self.headers.get("Content-Length", 0))
            # A page in a browser could call the tools of a server on the reader's own machine.
            if origin and urlsplit(origin).hostname not in LOCAL:
                return self.reply(403, None)
            if length > MAX_BODY:
                return self.reply(413, None)
            return self.reply(*server.answer(parsed(self.rfile.read(length)), self.headers))

        def do_GET(self):
            self.reply(405, None)

        do_DELETE = do_GET

        def reply(self, status, answer):
            body = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status in (403, 413):
                # What was not read would be taken for the next request.
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer((host, port), Handler).serve_forever()


def main():
    logging.basicConfig(level=logging.INFO)
    os.umask(0o077)  # what is stored is the owner's
    root = os.environ.get("SF_CONTEXT_REPO_ROOT") or os.environ.get("SENTRYFROGG_CONTEXT_REPO_ROOT")
    server = Server(Bus(root))
    if listen := os.environ.get("CALLMARK_LISTEN"):
        host, _, port = listen.rpartition(":")
        serve_http(server, host, int(port))
    else:
        serve_stdio(server)


if __name__ == "__main__":
    main()
