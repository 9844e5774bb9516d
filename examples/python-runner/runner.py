"""Brook: a tool runner as a vendor writes it from the Universal Tool Invocation Standard, without any package.

First the tools, then what a call becomes, then the wire: a breadcrumb store over HTTP, or JSON lines with `--lines`.
Deliberately absent: workflows, a browser, language models that want a key, and any memory across restarts.
"""

import ast
import json
import logging
import math
import os
import random
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from itertools import chain
from operator import add, mod, mul, neg, pos, sub, truediv

INVOCATION, RESPONSE, CONFIGURATION = "agent.response.v1", "tool.response.v1", "tool.config.v1"
STORE_URL = os.environ.get("CALLMARK_STORE_URL", "http://127.0.0.1:8080")
OLLAMA_URL, MODEL = os.environ.get("CALLMARK_OLLAMA_URL", "http://127.0.0.1:11434"), "llama3.2"
SETTINGS = {"temperature": "temperature", "topP": "top_p", "maxTokens": "num_predict"}  # here, and as Ollama has them
PARALLEL_CALLS, REMEMBERED, LISTED = 64, 10_000, 100
MAX_BODY, MAX_EXPRESSION, MAX_NUMBERS, MAX_WAIT = 4 * 1024 * 1024, 500, 1000, 60
STORE_SECONDS, MODEL_SECONDS, SILENCE_SECONDS, TRIES, PAUSE = 10, 60, 20, 3, 0.3  # the stream has a ping every five seconds
BINARY = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Mod: mod, ast.Pow: pow}
UNARY = {ast.USub: neg, ast.UAdd: pos}
WIRE_ERRORS = (OSError, HTTPException, ValueError, LookupError, TypeError)  # not there, hung up, or no such answer
log = logging.getLogger("brook")


class ToolError(Exception):
    """Why a tool could not do its work, in words for a person."""


def member(given, name, kind, default=None):
    """A member of a tool's input. Python takes `True` for a number and reads `NaN`, JSON does neither."""
    value = given.get(name, default)
    is_odd = isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))
    if is_odd or not isinstance(value, kind):
        raise ToolError(f"`{name}` is missing or has the wrong type")
    return value


def echo(given):
    return {"echo": member(given, "message", str)}


def value_of(node):
    match node:
        case ast.Expression(body):
            return value_of(body)
        case ast.Constant(number) if type(number) in (int, float):
            return float(number)  # floats overflow at `9 ** 9 ** 9`, where integers would take all memory
        case ast.BinOp(left, sign, right) if type(sign) in BINARY:
            return BINARY[type(sign)](value_of(left), value_of(right))
        case ast.UnaryOp(sign, operand) if type(sign) in UNARY:
            return UNARY[type(sign)](value_of(operand))
    raise SyntaxError


def calculator(given):
    """Arithmetic, and nothing else of the language that parses it."""
    expression = member(given, "expression", str)
    if len(expression) > MAX_EXPRESSION:
        raise ToolError(f"the expression has more than {MAX_EXPRESSION} characters")
    try:
        result = value_of(ast.parse(expression.strip(), mode="eval"))
    except ArithmeticError:
        raise ToolError("the expression divides by zero, or its result is too large") from None
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ToolError("the expression is no arithmetic that can be worked out") from None
    if isinstance(result, complex) or not math.isfinite(result):
        raise ToolError("the result is no real number")
    return {"result": int(result) if result.is_integer() and abs(result) < 2**53 else result}


def draw(given):
    low, high = member(given, "min", int | float, 0), member(given, "max", int | float, 100)
    count = member(given, "count", int, 1)
    if not 0 <= high - low < math.inf or not 1 <= count <= MAX_NUMBERS:
        raise ToolError(f"`max` is below `min` or too far above it, or `count` is not between 1 and {MAX_NUMBERS}")
    one = random.randint if isinstance(low, int) and isinstance(high, int) else random.uniform
    return {"numbers": [one(low, high) for _ in range(count)]}


def timer(given):
    seconds = member(given, "seconds", int | float)
    if not 0 <= seconds <= MAX_WAIT:
        raise ToolError(f"`seconds` is not between 0 and {MAX_WAIT}")
    time.sleep(seconds)
    return {"waited": seconds}


def breadcrumb_create(given):
    breadcrumb = {"title": member(given, "title", str), "context": member(given, "context", dict)}
    breadcrumb |= {"tags": member(given, "tags", list), "schema_name": member(given, "schema_name", str)}
    stored = asked(STORE, "POST", "/breadcrumbs", breadcrumb, {"Idempotency-Key": str(uuid.uuid4())})
    return {"id": stored["id"], "success": True}


def breadcrumb_update(given):
    """Only of the version that the caller has seen, where it names one."""
    path = f"/breadcrumbs/{urllib.parse.quote(member(given, 'breadcrumb_id', str), safe='')}"
    seen = {"If-Match": str(member(given, "version", int))} if "version" in given else {}
    asked(STORE, "PATCH", path, member(given, "updates", dict), seen)
    return {"success": True, "new_version": asked(STORE, "GET", path)["version"]}


def breadcrumb_search(given):
    wanted = {name: member(given, name, str) for name in ("tag", "schema_name") if name in given}
    wanted["limit"] = member(given, "limit", int, LISTED)
    found = asked(STORE, "GET", f"/breadcrumbs?{urllib.parse.urlencode(wanted)}")
    return {"breadcrumbs": found, "count": len(found)}


def ollama_local(given, settings):
    """A model on this machine, which costs nothing."""
    body = {"model": given.get("model") or settings.get("defaultModel") or MODEL, "stream": False}
    body["messages"] = member(given, "messages", list)
    body["options"] = {own: settings[name] for name, own in SETTINGS.items() if name in settings}
    said = asked(OLLAMA, "POST", "/api/chat", body, {}, MODEL_SECONDS)
    tokens = said.get("prompt_eval_count", 0) + said.get("eval_count", 0)
    output = {"content": said["message"]["content"], "model": said["model"], "usage": {"total_tokens": tokens}}
    return output | {"cost_estimate": 0}


TOOLS = {"echo": echo, "calculator": calculator, "random": draw, "timer": timer, "ollama_local": ollama_local}
TOOLS |= {"breadcrumb-create": breadcrumb_create, "breadcrumb-update": breadcrumb_update}
TOOLS |= {"breadcrumb-search": breadcrumb_search}
CONFIGURED = {"ollama_local"}


def asked(host, *request):
    """What a host answers to a tool."""
    try:
        return host.call(*request)
    except WIRE_ERRORS as failure:
        raise ToolError(f"{host.url} did not do it: {failure}") from None


def settings_of(call):
    """What the configuration says that a call names. Another's would be wrong, so one that is none is an error."""
    if call.get("config_id") is None:
        return {}
    path = f"/breadcrumbs/{urllib.parse.quote(member(call, 'config_id', str), safe='')}/full"
    found = asked(STORE, "GET", path)
    if found.get("schema_name") != CONFIGURATION:
        raise ToolError("`config_id` is not the id of a configuration")
    return member(member(found, "context", dict), "config", dict)


def is_answerable(call):
    """Without these two there is nothing to name in an answer."""
    return isinstance(call, dict) and all(isinstance(call.get(name), str) for name in ("tool", "requestId"))


def answer(call):
    """What a call becomes: a status and an output, or a status and an error. A failure never looks like a success."""
    try:
        if call["tool"] not in TOOLS:
            raise ToolError(f"there is no tool `{call['tool'][:80]}`")
        more = [settings_of(call)] if call["tool"] in CONFIGURED else []
        return {"status": "success", "output": TOOLS[call["tool"]](member(call, "input", dict), *more)}
    except ToolError as failure:
        return {"status": "error", "error": str(failure)}
    except Exception:
        log.exception("a tool failed")  # the trace is ours to read; the caller hears that it is not their fault
        return {"status": "error", "error": "the tool failed, for a reason that its operators find in the log"}


def serve(peer, call, session, key):
    """One call from its input to its answer, which goes one way only: to the agent, or straight to the user."""
    result, name, request_id = answer(call), call["tool"], call["requestId"]
    if call.get("return_to_llm") is False:
        text = ", ".join(map(str, result["output"].values())) if "output" in result else result["error"]
        breadcrumb = {"schema_name": INVOCATION, "title": f"Result: {name}", "tags": ["agent:response", *session]}
        breadcrumb["context"] = {"message": f"{name}: {text}", "result": result}
    else:
        tags = ["tool:response", f"request:{request_id}", *session]
        breadcrumb = {"schema_name": RESPONSE, "title": f"Response: {name}", "tags": tags}
        breadcrumb["context"] = {"request_id": request_id, "tool": name, **result}
    try:
        peer.put(breadcrumb, key)
    except Exception:  # nobody asks a thread how it ended
        log.exception("the answer to `%s` is lost", request_id)


class Runner:
    def __init__(self, peer):
        self.peer, self.seen, self.pool = peer, {}, ThreadPoolExecutor(PARALLEL_CALLS)

    def is_new(self, breadcrumb_id):
        """Whether it is met for the first time: a breadcrumb may be delivered twice, and may change later."""
        if breadcrumb_id in self.seen:
            return False
        self.seen[breadcrumb_id] = True
        if len(self.seen) > REMEMBERED:
            del self.seen[next(iter(self.seen))]
        return True

    def hear(self, breadcrumb):
        """Starts the calls of an invocation, all at once."""
        try:
            breadcrumb_id = breadcrumb.get("breadcrumb_id") or breadcrumb.get("id")  # of an event, of anything else
            if breadcrumb.get("schema_name") != INVOCATION or not self.is_new(breadcrumb_id):
                return
            session = [tag for tag in breadcrumb["tags"] if tag.startswith("session:")]
            for number, call in enumerate(filter(is_answerable, breadcrumb["context"].get("tool_requests") or ())):
                self.pool.submit(serve, self.peer, call, session, f"brook-{breadcrumb_id}-{number}")
        except (AttributeError, LookupError, TypeError) as failure:
            log.warning("what has not the form of an invocation is left alone: %r", failure)


class Host:
    """A server of JSON over HTTP."""

    def __init__(self, url):
        self.url, self.headers = url.rstrip("/"), {"Content-Type": "application/json"}
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the store is near, no proxy is

    def open(self, method, path, body=None, headers=None, seconds=STORE_SECONDS):
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        request = urllib.request.Request(self.url + path, data, self.headers | (headers or {}), method=method)
        return self.opener.open(request, timeout=seconds)

    def call(self, *request):
        with self.open(*request) as response:
            return json.loads(response.read(MAX_BODY))


class Store(Host):
    """The breadcrumb store, as its client."""

    def put(self, breadcrumb, key):
        """Stores an answer, once: where only the receipt of an attempt was lost, the store knows its key (409)."""
        for tries_left in reversed(range(TRIES)):
            try:
                return self.call("POST", "/breadcrumbs", breadcrumb, {"Idempotency-Key": key})
            except (OSError, HTTPException) as failure:
                status = getattr(failure, "code", 500)
                if status == 409:
                    return None
                if status < 500 or not tries_left:
                    raise
            time.sleep(PAUSE)

    def invocations(self):
        found = self.call("GET", f"/breadcrumbs?schema_name={INVOCATION}&include_context=true&limit={LISTED}")
        return reversed(found)  # the newest came first

    def events(self, stream):
        data = b""
        while line := stream.readline(MAX_BODY):
            if line.startswith(b"data:"):
                data += line[5:]
            elif not line.strip() and data:
                yield json.loads(data)
                data = b""

    def run(self, runner):
        """Follows the stream for ever. What was stored while there was none is asked for when there is one again.

        What is in the store from the start is somebody else's; to see that, one looks once before one listens.
        """
        is_first = True
        while True:
            try:
                granted = self.call("POST", "/auth/token", {"roles": ["emitter", "subscriber"]})
                self.headers["Authorization"] = f"Bearer {granted['token']}"
                for breadcrumb in self.invocations() if is_first else ():
                    runner.is_new(breadcrumb["id"])
                is_first = False
                with self.open("GET", "/events/stream", seconds=SILENCE_SECONDS) as stream:
                    for breadcrumb in chain(self.invocations(), self.events(stream)):
                        runner.hear(breadcrumb)
                log.warning("the stream of %s ended", self.url)
            except WIRE_ERRORS as failure:
                log.warning("%s is not to be had: %s", self.url, failure)
            time.sleep(PAUSE)


class Lines:
    """JSON lines: breadcrumbs come on standard input and leave on standard output."""

    def __init__(self):
        self.lock = threading.Lock()

    def put(self, breadcrumb, key):
        with self.lock:
            print(json.dumps(breadcrumb, allow_nan=False), flush=True)

    def run(self, runner):
        """Until the input ends; calls that are under way end by themselves, as the interpreter waits for its pool."""
        while line := sys.stdin.buffer.readline(MAX_BODY):
            try:
                runner.hear(json.loads(line))
            except ValueError:
                log.warning("a line is no JSON")


STORE, OLLAMA = Store(STORE_URL), Host(OLLAMA_URL)

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)  # on standard error
    peer = Lines() if sys.argv[1:] == ["--lines"] else STORE
    peer.run(Runner(peer))
