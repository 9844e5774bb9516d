"""The contract Tool bus v1 as Acme Depot keeps it: what stands between a call's arguments and a tool, and between
its result and the caller.

First the semantic arguments and their checks, then redaction, shaping and bounds, then state and artifacts, then one
call from end to end. The tools are in `depot.py`, MCP is in `server.py`.
Deliberately absent: any knowledge of transports. A call comes with the name of its session, or with none.
"""

import hashlib
import json
import logging
import re
import uuid
from collections import OrderedDict
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp import types
from mcp.shared.exceptions import MCPError

from depot import TEXT, TOOLS, BadArgument, Reply, Tool, ToolFailure

MAX_TEXT, MAX_KEYS, MAX_SESSIONS = 32 * 1024, 1000, 1000
SCOPES = ["session", "persistent"]
SECRET_KEYS = ("password", "passwd", "apikey", "authorization", "secret", "token", "privatekey", "cookie")
CREDENTIALS = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
IDS = ("trace_id", "span_id", "parent_span_id")
KEYS = {"type": "array", "items": {"type": "string"}}
OUTPUT = {"path": TEXT, "pick": KEYS, "omit": KEYS, "map": {"$ref": "#/$defs/output"}}
SEMANTIC = dict.fromkeys(IDS, TEXT) | {
    "output": {"$ref": "#/$defs/output"},
    "store_as": TEXT,
    "store_scope": {"enum": SCOPES},
    "response_mode": {"enum": ["ai", "compact"]},
}
STATE = {"action": {"enum": ["get", "clear"]}, "key": TEXT, "scope": {"enum": SCOPES}}
ALL_TOOLS = TOOLS | {"mcp_state": Tool(None, "Read or clear what `store_as` has stored.", STATE, ("action", "key"))}
log = logging.getLogger("acme-depot")


def schema_of(tool):
    output = {"type": "object", "properties": OUTPUT, "additionalProperties": False}
    properties = tool.properties | SEMANTIC
    own = {"type": "object", "properties": properties, "required": list(tool.required), "additionalProperties": False}
    return own | {"$defs": {"output": output}}


CHECKS = {name: Draft202012Validator(schema_of(tool)) for name, tool in ALL_TOOLS.items()}


def check(name, arguments):
    """The validator's own messages quote values, and a value may be a secret: ours name the place and the demand."""
    if name not in CHECKS:
        raise BadArgument("there is no such tool")
    error = best_match(CHECKS[name].iter_errors(arguments))
    if error is None:
        return
    place = ".".join(map(str, error.absolute_path))
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        raise BadArgument(f"`{'.'.join([*filter(None, [place]), missing[0]])}` is missing")
    if error.validator == "additionalProperties":
        raise BadArgument(f"`{place or 'arguments'}` has a member that is not known")
    raise BadArgument(f"`{place or 'arguments'}` breaks `{error.validator}` of its schema")


def redact(value):
    match value:
        case dict():
            hidden = {key for key in value if re.sub("[^a-z]", "", key.lower()).endswith(SECRET_KEYS)}
            return {key: "[redacted]" if key in hidden else redact(member) for key, member in value.items()}
        case list():
            return [redact(item) for item in value]
        case str():
            return CREDENTIALS.sub(r"\1 [redacted]", value)
    return value


def shape(value, output):
    """Path, then pick, omit and map. What does not fit is refused: the whole result is never the answer to it."""
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


def strict(value, indent=None):
    return json.dumps(value, allow_nan=False, indent=indent)


def bounded(value):
    text = strict(value)
    return value if len(text) <= MAX_TEXT else {"truncated": True, "bytes": len(text), "head": text[: MAX_TEXT // 2]}


def write_whole(path, text):
    """A reader finds the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid.uuid4().hex}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def path_safe(text):
    return text if SAFE_ID.fullmatch(text) else f"id-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


class Bus:
    def __init__(self, root):
        self.root, self.sessions = Path(root) if root else None, OrderedDict()

    def state(self, scope, session):
        if scope == "session":
            if session is None:
                raise BadArgument("the scope `session` needs an MCP session")
            return self.sessions.get(session, {})
        if self.root is None:
            raise BadArgument("the scope `persistent` needs a context root")
        path = self.root / "state.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def replace_state(self, scope, session, state):
        if len(state) > MAX_KEYS:
            raise ToolFailure(f"the scope `{scope}` is full: clear a key first")
        if scope == "persistent":
            return write_whole(self.root / "state.json", strict(state))
        self.sessions[session] = state
        while len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)

    def mcp_state(self, session, action, key, scope="session"):
        state = self.state(scope, session)
        if action == "clear" and key in state:
            self.replace_state(scope, session, {other: value for other, value in state.items() if other != key})
        return {"key": key, "scope": scope, "value": state.get(key) if action == "get" else None}

    def run(self, name, arguments, session):
        """The result to show, the result to keep and the hints; the first has secrets only if the glass is broken."""
        check(name, arguments)
        tool, key, scope = ALL_TOOLS[name], arguments.get("store_as"), arguments.get("store_scope", "session")
        if key is not None:
            self.state(scope, session)  # a store that is not there is reported before the tool has done its work
        own = {name: arguments[name] for name in tool.properties if name in arguments}
        reply = self.mcp_state(session, **own) if tool.run is None else tool.run(**own)
        result, next_actions = reply if isinstance(reply, Reply) else Reply(reply)
        # Redaction comes first: a path may cut off the key by which a secret is known.
        kept = bounded(shape(redact(result), arguments.get("output", {})))
        if key is not None:
            self.replace_state(scope, session, self.state(scope, session) | {key: kept})
        revealed = tool.break_glass and arguments.get(tool.break_glass)
        return bounded(shape(result, arguments.get("output", {}))) if revealed else kept, kept, next_actions

    def keep(self, envelope):
        """Both artifacts of a call; a store that cannot be written costs the call its uris and nothing else."""
        uris = {"artifact_uri_context": None, "artifact_uri_json": None}
        if self.root is None:
            return uris
        trace = envelope["trace"]
        place = f"runs/{path_safe(trace['trace_id'])}/tool_calls/{path_safe(trace['span_id'])}"
        links = {name: f"artifact://{place}{end}" for name, end in zip(uris, (".context", "/result.json"), strict=True)}
        head = f"{envelope['tool']}: {'failed' if 'error' in envelope else 'done'}\n"
        try:
            text = head + strict(envelope, indent=2)
            write_whole(self.root / "artifacts" / f"{place}.context", text[: 2 * MAX_TEXT] + "\n")
            write_whole(self.root / "artifacts" / place / "result.json", strict(envelope | links))
        except OSError:
            log.exception("no artifacts for the span `%s`", trace["span_id"])
            return uris
        return links

    def failure(self, envelope, exception, message):
        """An MCP error, which the SDK sends as it is; of any other exception it would make the code 0."""
        code = types.INVALID_PARAMS if isinstance(exception, BadArgument) else types.INTERNAL_ERROR
        error = {"code": code, "message": f"{envelope['tool']}: {message}"}
        return MCPError(**error, data={"trace": envelope["trace"]} | self.keep(envelope | {"error": error}))

    def call(self, name, arguments, session):
        given = {key: arguments[key] for key in IDS if isinstance(arguments.get(key), str) and arguments[key]}
        trace = {"trace_id": uuid.uuid4().hex, "span_id": uuid.uuid4().hex[:16], "parent_span_id": None} | given
        action = arguments.get("action") if name in CHECKS and "action" in ALL_TOOLS[name].properties else None
        envelope = {"tool": name[:200], "action": action, "trace": trace}
        try:
            shown, kept, next_actions = self.run(name, arguments, session)
        except (BadArgument, ToolFailure) as exception:
            raise self.failure(envelope, exception, str(exception)) from None
        except Exception as exception:
            # Nobody has looked whether the text of such an exception may be shown.
            log.exception("`%s` failed", envelope["tool"])
            raise self.failure(envelope, exception, type(exception).__name__) from None
        uris = self.keep(envelope | {"result": kept, "next_actions": next_actions})
        return strict(envelope | {"result": shown, "next_actions": next_actions} | uris)
