"""Small targets, each with one fault that the doctor has to name or the suite has to bear: the first argument says which."""
import http.client
import http.server
import json
import os
import runpy
import socket
import sys
import urllib.parse


def serve(handle, closes=False):
    """Serves HTTP where the suite says; `handle` gives status and JSON for a body. With `closes` each connection ends
    after one answer, which does not say so."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = handle(json.loads(text) if text.startswith(b"{") else {})
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = closes

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_):
            pass

    host, port = os.environ["CALLMARK_LISTEN"].rsplit(":", 1)
    http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()


def refuse(status):
    """Lets nobody in."""
    serve(lambda _: (int(status), {"error": "no entry"}))


def hook():
    """An agent that knows one of the nine tools."""

    def drive(call):
        if call.get("tool") != "email_send":
            return 200, {"ok": False, "outcome": {"code": "UNKNOWN", "message": "there is no such tool"}}
        address = urllib.parse.urlsplit(os.environ["CALLMARK_HUB_URL"])
        hub = http.client.HTTPConnection(address.hostname, address.port)
        body = {"tool": call["tool"], "agent_id": os.environ["CALLMARK_AGENT_ID"], "customer_id": call["customer_id"],
                "user_id": call["user_id"], "inputs": call["inputs"], "context": {"request_id": "req-1"}}
        secret = "ServiceSecret " + os.environ["CALLMARK_HUB_SECRET"]
        headers = {"Authorization": secret, "Content-Type": "application/json"}
        hub.request("POST", "/api/internal/tools/execute/", json.dumps(body), headers)
        answer = json.loads(hub.getresponse().read())
        return 200, {"ok": True, "outcome": answer.get("result")}

    serve(drive)


def runner():
    """A tool runner over lines whose calculator does not work."""
    for line in sys.stdin:
        crumb = json.loads(line)
        if crumb.get("schema_name") != "agent.response.v1":
            continue
        for call in crumb["context"].get("tool_requests") or []:
            context = {"request_id": call["requestId"], "tool": call["tool"]}
            if call["tool"] == "echo":
                context |= {"status": "success", "output": {"echo": call["input"]["message"]}}
            else:
                context |= {"status": "error", "error": "its battery is empty"}
            tags = ["tool:response", f"request:{call['requestId']}"]
            answer = {"schema_name": "tool.response.v1", "title": "Answer", "tags": tags, "context": context}
            print(json.dumps(answer), flush=True)


# Revisions of MCP that have a session.
VERSIONS = ["2025-06-18", "2025-11-25"]
# Shapes of a server that has none of them.
MODERN = ("modern", "patient", "closing", "twice")


def mcp(shape):
    """A server whose probes do not all do what the manifest says; with `nested` its results lie one level deeper,
    with `renamed` they do so below `data`, with `banana` it speaks a version that MCP does not have; `modern` has
    revisions without a session only, `dual` others too, `capped` refuses them with what it has, and `silent` answers
    nothing before `initialize`. `patient` is a modern one that keeps its state of a call with the client twice and
    lists its tools in another order each time, `closing` one over HTTP that closes each connection and does not
    say so, and `twice` one that answers each request again, with an error. `journal` and `access`
    write a log to standard output, as JSON."""

    def call(tool, arguments):
        result = {"value": arguments.get("value")} if tool == "echo" else {}
        path = (arguments.get("output") or {}).get("path")
        for part in path.split(".") if path else []:
            if not isinstance(result, dict) or part not in result:
                return {"ok": False, "error": {"code": "PATH_NOT_FOUND", "message": f"there is no {path}"}}
            result = result[part]
        if shape == "flat" and tool == "echo" and not path:
            result = result["value"]
        return {"ok": True, "data" if shape == "renamed" else "result": result, "warnings": []}

    def refused(code, data=None):
        return {"error": {"code": code, "message": "no", "data": data}}

    def in_era(asked):
        """What a server of another era than the legacy one answers; nothing where it goes on as one."""
        version = asked.get("params", {}).get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        if version is None:
            return refused(-32602) if shape in MODERN else None
        if shape == "capped":
            return refused(-32022, {"supported": ["2025-06-18"], "requested": version})
        if shape not in (*MODERN, "dual"):
            return None
        server = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "small", "version": "1"}}}
        about = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **server}
        if asked["method"] == "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **about}}
        if asked["method"] == "tools/list":
            if shape == "patient":
                names.reverse()
            return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names], **about}}
        if asked["method"] != "tools/call":
            return refused(-32601)
        state = asked["params"].get("requestState", "")
        if shape == "patient" and len(state) < 2:
            return {"result": {"resultType": "input_required", "requestState": state + "x", **server}}
        text = json.dumps(call(asked["params"]["name"], asked["params"].get("arguments") or {}))
        return {"result": {"resultType": "complete", "content": [{"type": "text", "text": text}], **server}}

    names = ["echo", "partial"] if shape == "patient" else ["echo"]
    if shape == "closing":
        serve(lambda asked: (200, {"jsonrpc": "2.0", "id": asked.get("id"), **in_era(asked)}), closes=True)
    begun = False
    for line in sys.stdin:
        asked = json.loads(line)
        if shape in ("journal", "access"):
            print(json.dumps({"event" if shape == "journal" else "method": asked["method"], "level": "info"}), flush=True)
        if "id" not in asked:
            continue
        begun = begun or asked["method"] == "initialize"
        if shape == "silent" and not begun:
            continue
        other = in_era(asked)
        if other is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **other}), flush=True)
            if shape == "twice":
                print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **refused(-32603)}), flush=True)
            continue
        if asked["method"] == "initialize":
            version = asked["params"]["protocolVersion"]
            version = "banana" if shape == "banana" else version if version in VERSIONS else VERSIONS[0]
            result = {"protocolVersion": version, "capabilities": {"tools": {}},
                      "serverInfo": {"name": "small", "version": "1"}}
        elif asked["method"] == "tools/list":
            names = ["echo", "fail", "secret", "partial"]
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        else:
            tool = asked["params"]["name"]
            envelope = call(tool, asked["params"].get("arguments") or {})
            fails = tool == "partial" and shape == "flat"
            result = {"content": [{"type": "text", "text": json.dumps(envelope)}], "isError": fails}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


class Bus:
    """A connection to the broker, as far as a subscriber needs one."""

    def __init__(self, *subjects):
        address = urllib.parse.urlsplit(os.environ["CALLMARK_NATS_URL"])
        self.socket = socket.create_connection((address.hostname, address.port))
        self.lines = self.socket.makefile("rb")
        subscriptions = "".join(f"SUB {subject} {number}\r\n" for number, subject in enumerate(subjects, 1))
        self.send('CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n' + subscriptions + "PING\r\n")

    def send(self, text):
        self.socket.sendall(text.encode())

    def messages(self):
        """Subject and payload of each message."""
        for line in self.lines:
            words = line.split()
            if words and words[0] == b"PING":
                self.send("PONG\r\n")
            elif words and words[0] in (b"MSG", b"HMSG"):
                payload = self.lines.read(int(words[-1]))
                start = int(words[-2]) if words[0] == b"HMSG" else 0
                yield words[1].decode(), payload[start:]


def listen(*subjects):
    """Takes commands from there, and does nothing."""
    for _ in Bus(*subjects).messages():
        pass


def junk(cards, each):
    """Stores so many cards that nobody asked for, so many with each command, and answers no command."""
    address = urllib.parse.urlsplit(os.environ["CALLMARK_PLATFORM_URL"])
    platform = http.client.HTTPConnection(address.hostname, address.port)
    left = int(cards)
    # A long text, and many small values, which take up much more than their text; written once, since time is the suite's.
    contents = [json.dumps([[number] for number in range(10_000)]), json.dumps("x" * 100_000)]
    for subject, _ in Bus("cg.v1r3.*.*.cmd.tool.>").messages():
        project = subject.split(".")[2]
        for _ in range(min(left, int(each))):
            card = json.dumps({"card_id": f"junk-{left}", "type": "tool.result", "tool_call_id": f"junk-{left}"})
            body = f'{{"card": {card[:-1]}, "content": {contents[left % 2]}}}}}'
            platform.request("PUT", f"/projects/{project}/cards/junk-{left}", body, {"Content-Type": "application/json"})
            platform.getresponse().read()
            left -= 1
        with open("left", "w", encoding="utf-8") as file:
            file.write(str(left))


def broker():
    """A broker that knows no more than how to greet."""
    with open("broker", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    server = socket.create_server(("127.0.0.1", 0))
    print(f"[1] [INF] Listening for client connections on 127.0.0.1:{server.getsockname()[1]}", file=sys.stderr, flush=True)
    kept = []
    while True:
        client, _ = server.accept()
        client.sendall(b'INFO {"server_id":"x","version":"2.10.0","max_payload":1048576,"headers":true}\r\n')
        kept.append(client)
        if os.fork() == 0:
            for line in client.makefile("rb"):
                if line.startswith(b"PING"):
                    client.sendall(b"PONG\r\n")
            os._exit(0)


def fragile(program):
    """A program that ends, with a long log, on the first text that is no JSON."""
    loads = json.loads

    def load(text, *arguments, **options):
        try:
            return loads(text, *arguments, **options)
        except ValueError:
            for number in range(60):
                print(f"frame {number} of the stack", file=sys.stderr, flush=True)
            os._exit(3)

    json.loads = load
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


def forgetful(program):
    """A Hub that leaves the member `tool` out of its answers about the calendar."""
    dumps = json.dumps

    def dump(value, *arguments, **options):
        if isinstance(value, dict) and str(value.get("tool")).startswith("calendar"):
            value = {name: member for name, member in value.items() if name != "tool"}
        return dumps(value, *arguments, **options)

    json.dumps = dump
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


MODES = {"forgetful": forgetful, "refuse": refuse, "hook": hook, "runner": runner, "mcp": mcp, "listen": listen, "junk": junk, "broker": broker,
         "fragile": fragile}
MODES[sys.argv[1]](*sys.argv[2:])
