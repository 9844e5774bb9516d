"""A target that gives its secrets away, in every form and everywhere: `hub` over HTTP, `mcp` over standard input and output.

With `forms` it prints the forms as a JSON array, so that whoever looks for them has not derived them itself.
"""
import base64
import http.server
import json
import os
import sys
import urllib.parse


def forms(secret):
    raw = secret.encode()
    user = b"user:" + raw
    escaped = json.dumps(secret)[1:-1]
    return [
        secret,
        secret[:-1],
        secret.swapcase(),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        base64.b64encode(user).decode(),
        raw.hex(),
        raw.hex().upper(),
        urllib.parse.quote(secret, safe=""),
        "".join(f"%{byte:02x}" for byte in raw),
        escaped,
        json.dumps(escaped)[1:-1],
    ]


SECRETS = [os.environ[name] for name in ("ECHO_SECRET", "CALLMARK_HUB_SECRET") if name in os.environ]
ALL = [form for secret in SECRETS for form in forms(secret)]
TEXT = " ".join(ALL)


def log():
    sys.stderr.write(TEXT + "\n::error::" + TEXT + "\n")
    # In two parts, in the middle of a form.
    half = len(TEXT) // 2
    sys.stderr.write(TEXT[:half])
    sys.stderr.flush()
    sys.stderr.write(TEXT[half:] + "\n")
    sys.stderr.flush()


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        log()
        asked = json.loads(body) if body.startswith("{") else {}
        text = f"{self.path} {TEXT}"
        said = {
            "ok": self.headers.get("Authorization") == "ServiceSecret " + os.environ["CALLMARK_HUB_SECRET"],
            "tool": asked.get("tool", text), "data": {"echo": text, TEXT: [text, json.dumps({"inner": TEXT})]},
            "error": {"code": TEXT, "message": text},
        }
        answer = json.dumps(said).encode()
        self.send_response(200 if said["ok"] else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", ALL[3])
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


def mcp():
    log()
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        if asked["method"] == "initialize":
            result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": TEXT, "version": TEXT}}
        elif asked["method"] == "tools/list":
            result = {"tools": [{"name": "echo", "description": TEXT, "inputSchema": {"type": "object"}}]}
        else:
            log()
            value = asked.get("params", {}).get("arguments", {})
            envelope = {"ok": True, "result": value, "warnings": [TEXT], "echo": TEXT,
                        "inner": json.dumps({"token": TEXT})}
            result = {"content": [{"type": "text", "text": json.dumps(envelope)}], "isError": False}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


if sys.argv[1] == "forms":
    print(json.dumps(ALL))
elif sys.argv[1] == "hub":
    host, port = os.environ["CALLMARK_LISTEN"].rsplit(":", 1)
    http.server.ThreadingHTTPServer((host, int(port)), Hub).serve_forever()
else:
    mcp()
