"""Acme Registry: the management API of `resource.tools` as a vendor writes it from the Tool Development Guide (§3.2).

`POST /projects/{project_id}/tools` takes a definition in YAML, `GET` below the same path gives rows back.
First what a definition must be, then HTTP. Rows live in memory; deliberately absent: a database, users, deletion.
"""

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import yaml

AFTER_EXECUTION = ("suspend", "terminate")
BUILT_IN = ("delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent")
LARGEST_DEFINITION = 1024 * 1024


class Refused(Exception):
    """A definition that cannot be stored, and which of its members is at fault."""

    def __init__(self, field, message):
        super().__init__(message)
        self.field = field


def demand(met, field, message):
    if not met:
        raise Refused(field, message)


def is_tool_subject(subject):
    """`cg.<ver>.<project_id>.<channel_id>.cmd.tool.<target>…`, with no token left empty."""
    tokens = subject.split(".") if isinstance(subject, str) else []
    return len(tokens) > 6 and all(tokens) and tokens[0] == "cg" and tokens[4:6] == ["cmd", "tool"]


def row_of(project, text):
    """The row that a definition makes; nothing in it is filled in or left out."""
    try:
        definition = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Refused("", f"the definition is no YAML: {error}") from None
    demand(isinstance(definition, dict), "", "a definition is a mapping")
    name, subject = definition.get("tool_name"), definition.get("target_subject")
    demand(isinstance(name, str) and name.strip(), "tool_name", "`tool_name` must be a text")
    demand(name not in BUILT_IN, "tool_name", f"`{name}` is a tool of the PMO")
    demand(is_tool_subject(subject), "target_subject", "`target_subject` must be of the family cmd.tool")
    after = definition.get("after_execution")
    demand(after in AFTER_EXECUTION, "after_execution", "`after_execution` must be suspend or terminate")
    parameters, options = definition.get("parameters", {}), definition.get("options", {})
    demand(isinstance(parameters, dict), "parameters", "`parameters` must be a JSON Schema")
    demand(isinstance(options, dict), "options", "`options` must be a mapping")
    description = definition.get("description")
    demand(description is None or isinstance(description, str), "description", "`description` must be a text")
    return {
        "project_id": project,
        "tool_name": name,
        "description": description,
        "parameters": parameters,
        "target_subject": subject,
        "after_execution": after,
        "options": options,
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rows, lock = {}, threading.Lock()

    def answer(self, status, body):
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, message, **detail):
        self.answer(status, {"error": {"code": "not_found" if status == 404 else "bad_request", "message": message, **detail}})

    def place(self):
        """Project and tool of the path; either is None where it names none."""
        match [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]:
            case ["projects", project, "tools"]:
                return project, None
            case ["projects", project, "tools", tool]:
                return project, tool
        return None, None

    def do_GET(self):
        project, tool = self.place()
        with self.lock:
            rows = [row for (owner, _), row in self.rows.items() if owner == project]
        if project is None:
            return self.refuse(404, "there is no such path")
        if tool is None:
            return self.answer(200, {"tools": rows})
        found = next((row for row in rows if row["tool_name"] == tool), None)
        return self.answer(200, found) if found else self.refuse(404, f"there is no tool `{tool}`")

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        self.close_connection = not length.isdigit() or int(length) > LARGEST_DEFINITION
        if self.close_connection:
            return self.refuse(413, "a definition comes with its length, which is at most 1 MB")
        text = self.rfile.read(int(length))
        project, tool = self.place()
        if project is None or tool is not None:
            return self.refuse(404, "definitions are posted to /projects/{project_id}/tools")
        try:
            row = row_of(project, text)
            data = json.loads(json.dumps(row, allow_nan=False))
        except Refused as refused:
            return self.refuse(400, str(refused), field=refused.field)
        except (TypeError, ValueError):
            return self.refuse(400, "the definition holds what JSON cannot: texts that look like dates need quotes")
        with self.lock:
            self.rows[project, row["tool_name"]] = data
        return self.answer(201, data)

    def log_message(self, text, *values):
        print(text % values, file=sys.stderr)


def main():
    host, _, port = os.environ.get("CALLMARK_LISTEN", "127.0.0.1:8080").rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()


if __name__ == "__main__":
    main()
