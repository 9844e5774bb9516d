"""The contract Tool bus v1 as Acme Tides keeps it, and the tools that it sells.

A call's arguments are checked against the tool's schema, its result is redacted, shaped and bounded, what it stores
is kept, and the call leaves its artifacts below the context root, where there is one. MCP is in `server.py`.
Deliberately absent: the scope `session`. MCP has no session since 2026-07-28.
"""

import hashlib
import json
import logging
import os
import re
import uuid
from pathlib import Path
from threading import RLock
from typing import Any, Callable, NamedTuple

STATIONS = {"dover": [6.7, 1.1], "hilo": [0.7, 0.1], "mumbai": [4.4, 0.9], "saint-malo": [12.2, 1.5]}
PAGE, MAX_TEXT, MAX_KEYS = 2, 32 * 1024, 1000
SECRETS = re.compile(r"(password|passwd|api_?key|authorization|secret|token|private_?key|cookie)$", re.IGNORECASE)
CREDENTIALS = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
IDS = ("trace_id", "span_id", "parent_span_id")
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
log = logging.getLogger("acme-tides")


class BadArgument(Exception):
    """What the caller sent does not fit. The text names the argument and never its value, which may be a secret."""


class ToolFailure(Exception):
    """What the caller sent fits, and yet it cannot be done. The text is fit to be shown."""


class Failure(Exception):
    """A call that failed, as JSON-RPC has it."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = error


class Tool(NamedTuple):
    run: Callable[..., Any]
    description: str
    properties: dict
    required: tuple = ()


def tide_read(station):
    if station not in STATIONS:
        raise BadArgument("`station` is no station of ours")
    high, low = STATIONS[station]
    return {"station": station, "high_m": high, "low_m": low}


def station_list(offset=0):
    end = offset + PAGE
    return {"stations": sorted(STATIONS)[offset:end], "complete": end >= len(STATIONS)}


def note_preview(note):
    return {"note": note}


def buoy_read(buoy):
    raise ToolFailure("the buoy does not answer")


def log_read(size):
    return {"log": ("06:40 dover high water\n" * (size // 23 + 1))[:size]}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
# The header `Mcp-Param-Station` repeats the argument, so that what stands before the server can send the call on by it.
STATION = TEXT | {"x-mcp-header": "Station"}
SCOPE = {"enum": ["persistent"]}
KEYS = {"type": "array", "items": TEXT}
OUTPUT = {"type": "object", "properties": {"path": TEXT, "pick": KEYS, "omit": KEYS, "map": {"type": "object"}}}
SEMANTIC = dict.fromkeys(IDS, TEXT) | {
    "output": OUTPUT | {"additionalProperties": False},
    "store_as": TEXT,
    "store_scope": SCOPE,
    "response_mode": {"enum": ["ai", "compact"]},
}


def check(schema, value, place="arguments"):
    """As much of JSON Schema as the tools use."""
    if "enum" in schema and value not in schema["enum"]:
        raise BadArgument(f"`{place}` is none of {', '.join(schema['enum'])}")
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        raise BadArgument(f"`{place}` is no {kind}")
    if kind == "integer" and value < schema.get("minimum", value):
        raise BadArgument(f"`{place}` is too small")
    if kind == "array":
        for item in value:
            check(schema["items"], item, place)
    if kind == "object" and "properties" in schema:
        for key in schema.get("required", ()):
            if key not in value:
                raise BadArgument(f"`{key}` is missing")
        for key, member in value.items():
            if key in schema["properties"]:
                check(schema["properties"][key], member, key)
            elif not schema.get("additionalProperties", True):
                raise BadArgument(f"`{place}` has a member that is not known")


def redact(value):
    if isinstance(value, dict):
        return {key: "[redacted]" if SECRETS.search(key) else redact(member) for key, member in value.items()}
    if isinstance(value, list):
        return [redact(item) for item in value]
    return CREDENTIALS.sub(r"\1 [redacted]", value) if isinstance(value, str) else value


def shape(value, output):
    """Path, then pick, omit and map. What does not fit is refused: the whole result is never the answer to it."""
    check(SEMANTIC["output"], output, "output")
    for index, key in STEP.findall(output.get("path", "")):
        try:
            value = value[int(index)] if index and isinstance(value, list) else value[key]
        except (KeyError, IndexError, TypeError):
            raise BadArgument("`output.path` leads to nothing") from None
    if output.keys() & {"pick", "omit"} and not isinstance(value, dict):
        raise BadArgument("`output.pick` and `output.omit` need an object")
    if "pick" in output:
        value = {key: value[key] for key in output["pick"] if key in value}
    if "omit" in output:
        value = {key: member for key, member in value.items() if key not in output["omit"]}
    if "map" in output:
        if not isinstance(value, list):
            raise BadArgument("`output.map` needs a list")
        value = [shape(item, output["map"]) for item in value]
    return value


def bounded(value):
    text = json.dumps(value, allow_nan=False)
    return value if len(text) <= MAX_TEXT else {"truncated": True, "bytes": len(text), "head": text[: MAX_TEXT // 2]}


def write_whole(path, text):
    """A reader finds the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid.uuid4().hex}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def path_safe(text):
    return text if SAFE_ID.fullmatch(text) else f"id-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


class Bus:
    """The tools, and what calls have stored: in a file below the context root, without one in memory."""

    def __init__(self, root):
        self.root = Path(root) if root else None
        self.file = self.root / "state.json" if root else None
        self.state, self.lock = {}, RLock()
        if self.file and self.file.exists():
            self.state = json.loads(self.file.read_text(encoding="utf-8"))
        self.tools = {
            "tide_read": Tool(tide_read, "High and low water of a station.", {"station": STATION}, ("station",)),
            "station_list": Tool(station_list, "Stations, by page.", {"offset": COUNT}),
            "note_preview": Tool(note_preview, "A note as it would be printed.", {"note": {}}, ("note",)),
            "buoy_read": Tool(buoy_read, "What a buoy measures.", {"buoy": TEXT}, ("buoy",)),
            "log_read": Tool(log_read, "The latest tides, up to a size.", {"size": COUNT}, ("size",)),
            "mcp_state": Tool(
                self.mcp_state,
                "Read or clear what `store_as` has stored.",
                {"action": {"enum": ["get", "clear"]}, "key": TEXT, "scope": SCOPE},
                ("action", "key"),
            ),
        }

    def schema(self, name):
        tool = self.tools[name]
        own = {"type": "object", "properties": tool.properties | SEMANTIC, "required": list(tool.required)}
        return own | {"additionalProperties": False}

    def list(self):
        return [
            {"name": name, "description": tool.description, "inputSchema": self.schema(name)}
            for name, tool in self.tools.items()
        ]

    def mcp_state(self, action, key, scope="persistent"):
        with self.lock:
            value = self.state.get(key)
            if action == "clear":
                self.keep({other: kept for other, kept in self.state.items() if other != key})
            return {"key": key, "scope": scope, "value": value if action == "get" else None}

    def keep(self, state):
        if len(state) > MAX_KEYS:
            raise ToolFailure("the store is full: clear a key first")
        if self.file:
            write_whole(self.file, json.dumps(state))
        self.state = state

    def run(self, name, arguments):
        if name not in self.tools:
            raise BadArgument("there is no such tool")
        check(self.schema(name), arguments)
        tool, key = self.tools[name], arguments.get("store_as")
        result = tool.run(**{own: arguments[own] for own in tool.properties if own in arguments})
        # Redaction comes first: a path may cut off the key by which a secret is known.
        kept = bounded(shape(redact(result), arguments.get("output", {})))
        if key is not None:
            with self.lock:
                self.keep(self.state | {key: kept})
        return kept

    def artifacts(self, envelope):
        """Both artifacts of a call; a store that cannot be written costs the call its uris and nothing else."""
        uris = {"artifact_uri_context": None, "artifact_uri_json": None}
        if self.root is None:
            return uris
        trace = envelope["trace"]
        place = f"runs/{path_safe(trace['trace_id'])}/tool_calls/{path_safe(trace['span_id'])}"
        links = {name: f"artifact://{place}{end}" for name, end in zip(uris, (".context", "/result.json"), strict=True)}
        try:
            text = f"{envelope['tool']}\n{json.dumps(envelope, indent=2)}"
            write_whole(self.root / "artifacts" / f"{place}.context", text[: 2 * MAX_TEXT])
            write_whole(self.root / "artifacts" / place / "result.json", json.dumps(envelope | links))
        except OSError:
            log.exception("no artifacts for the span `%s`", trace["span_id"])
            return uris
        return links

    def failure(self, envelope, code, message):
        error = {"code": code, "message": f"{envelope['tool']}: {message}"}
        return Failure(error | {"data": {"trace": envelope["trace"]} | self.artifacts(envelope | {"error": error})})

    def call(self, name, arguments):
        """The envelope of a call; raises `Failure`."""
        given = {key: arguments[key] for key in IDS if isinstance(arguments.get(key), str) and arguments[key]}
        trace = {"trace_id": uuid.uuid4().hex, "span_id": uuid.uuid4().hex[:16], "parent_span_id": None} | given
        has_action = name in self.tools and "action" in self.tools[name].properties
        action = arguments.get("action") if has_action else None
        envelope = {"tool": name[:200], "action": action, "trace": trace}
        try:
            envelope["result"] = self.run(name, arguments)
        except BadArgument as exception:
            raise self.failure(envelope, -32602, exception) from None
        except ToolFailure as exception:
            raise self.failure(envelope, -32603, exception) from None
        except Exception as exception:
            # Nobody has looked whether the text of such an exception may be shown.
            log.exception("`%s` failed", envelope["tool"])
            raise self.failure(envelope, -32603, type(exception).__name__) from None
        return envelope | self.artifacts(envelope)
