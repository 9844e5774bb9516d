"""Wren: an agent as a vendor writes it from the Tool Execution Contract, on the standard library alone.

First the tools by place of execution (the Hub, the web, the agent itself), then the turn with the model, then the wire.
Deliberately absent: memory across restarts, streaming, and a second try of a call that may have had an effect.
"""

import html
import itertools
import json
import logging
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HUB_URL = os.environ.get("CALLMARK_HUB_URL", "http://127.0.0.1:8000").rstrip("/")
HUB_SECRET = os.environ.get("CALLMARK_HUB_SECRET", "")
AGENT_ID = os.environ.get("CALLMARK_AGENT_ID", "00000000-0000-4000-8000-000000000000")
CUSTOMER_ID = os.environ.get("CALLMARK_CUSTOMER_ID")
MODEL_URL = os.environ.get("CALLMARK_MODEL_URL", "http://127.0.0.1:8081/v1").rstrip("/")
SEARCH_URL = os.environ.get("CALLMARK_SEARCH_URL", "http://127.0.0.1:8082/search")
CHAT_KEY = os.environ.get("WREN_CHAT_KEY")
EXECUTE, STATUS = "/api/internal/tools/execute/", "/api/internal/integrations/status/{}/"
HUB_SECONDS, WEB_SECONDS, MODEL_SECONDS, MAX_BODY, ROUNDS = 30, 15, 60, 4 * 1024 * 1024, 8
WIRE_ERRORS = (OSError, HTTPException, ValueError)
log = logging.getLogger("wren")

TEXT, WHOLE, FLAG, MAP = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"type": "object"}
TEXTS = {"type": "array", "items": TEXT}
EVENT = {"title": TEXT, "start": TEXT, "end": TEXT, "description": TEXT, "location": TEXT, "attendees": TEXTS}
HUB_TOOLS = {  # what the model may give each of them; what it must give comes first, up to the number
    "calendar_get_availability": (3, {"start_date": TEXT, "end_date": TEXT, "timezone": TEXT, "calendars": TEXTS}),
    "calendar_create_event": (3, EVENT | {"send_notifications": FLAG}),
    "calendar_update_event": (2, {"event_id": TEXT, "updates": MAP, "send_notifications": FLAG}),
    "calendar_delete_event": (1, {"event_id": TEXT, "send_notifications": FLAG}),
    "calendar_find_optimal_times": (
        3, {"duration_minutes": WHOLE, "attendees": TEXTS, "date_range": MAP, "preferences": MAP}),
    "email_send": (3, {
        "to": TEXTS, "subject": TEXT, "body": TEXT, "cc": TEXTS, "bcc": TEXTS,
        "body_type": {"enum": ["text", "html"]}, "reply_to_message_id": {"type": ["string", "null"]}}),
    "email_search": (1, {"query": TEXT, "max_results": WHOLE, "include_body": FLAG}),
    "email_read": (1, {"message_id": TEXT, "mark_as_read": FLAG}),
    "email_check_replies": (2, {"thread_id": TEXT, "since": TEXT}),
}  # fmt: skip


class Failure(Exception):
    """A call that failed: why, in words for the user, and perhaps where they can mend it."""

    def __init__(self, message, code="FAILED", setup_url=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"setup_url": setup_url} if setup_url else {})


def ask(url, seconds, body=None, headers=()):
    """Status and text of an answer, whatever its status."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    request = urllib.request.Request(url, data, dict(headers) | ({"Content-Type": "application/json"} if data else {}))
    try:
        with opener.open(request, timeout=seconds) as answer:
            return answer.status, answer.read(MAX_BODY).decode("utf-8", "replace")
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read(MAX_BODY).decode("utf-8", "replace")


# ---- tools of the Hub


def ask_hub(path, body=None):
    try:
        status, text = ask(HUB_URL + path, HUB_SECONDS, body, {"Authorization": f"ServiceSecret {HUB_SECRET}"})
    except WIRE_ERRORS as error:
        raise Failure(f"the Hub cannot be reached: {error}", "HUB_UNREACHABLE") from error
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise Failure(f"the Hub gave no answer that can be read (status {status})", "HUB_UNREADABLE")
    return answer


def look(name, customer_id):
    """Whether the customer has connected what the tool needs. A Hub that does not say so is asked for the tool itself."""
    slug = "google_calendar" if name.startswith("calendar_") else "google_gmail"
    try:
        integrations = ask_hub(STATUS.format(urllib.parse.quote(customer_id, safe=""))).get("integrations")
    except Failure:
        return
    entry = integrations.get(slug) if isinstance(integrations, dict) else None
    if isinstance(entry, dict) and entry.get("connected") is False:
        raise Failure(f"{slug} has to be connected first", "INTEGRATION_NOT_CONNECTED", entry.get("setup_url"))


def execute(name, inputs, who):
    look(name, who["customer_id"])
    context = {"request_id": str(uuid.uuid4())}
    if who.get("conversation_id"):
        context["conversation_id"] = who["conversation_id"]
    answer = ask_hub(EXECUTE, {
        "tool": name, "agent_id": AGENT_ID, "customer_id": who["customer_id"], "user_id": who.get("user_id"),
        "inputs": inputs, "context": context})  # fmt: skip
    if answer.get("success") is True and isinstance(answer.get("result"), dict):
        return answer["result"]
    error = answer.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        raise Failure("the Hub answered neither with a result nor with an error", "HUB_UNREADABLE")
    details = error.get("details") if isinstance(error.get("details"), dict) else {}
    raise Failure(error.get("message") or "the Hub gave no reason", error["code"], details.get("setup_url"))


# ---- tools of the web, and of the agent itself


def fetch_page(url):
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise Failure("only pages of the web can be read")
    status, text = ask(url, WEB_SECONDS, headers={"User-Agent": "Wren/1.0"})
    if status != 200:
        raise Failure(f"the page answers with status {status}")
    text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text)
    return {"url": url, "text": " ".join(html.unescape(text).split())}


def web_search(query):
    status, text = ask(f"{SEARCH_URL}?{urllib.parse.urlencode({'q': query})}", WEB_SECONDS)
    results = json.loads(text).get("results") if status == 200 else None
    if not isinstance(results, list):
        raise Failure("the search does not answer")
    return {"found": [{name: one.get(name) for name in ("title", "url", "content")} for one in results]}


tasks, documents, numbers = {}, {}, itertools.count(1)


def create_task(title, due=None):
    number = next(numbers)
    tasks[number] = {"task": number, "title": title, "due": due, "state": "open"}
    return tasks[number]


def create_document(title, content):
    number = next(numbers)
    documents[number] = content
    return {"document": number, "title": title, "characters": len(content)}


OWN_TOOLS = {
    "research_fetch_page": (fetch_page, {"url": TEXT}),
    "research_web_search": (web_search, {"query": TEXT}),
    "mission_create_task": (create_task, {"title": TEXT, "due": TEXT}),
    "document_create": (create_document, {"title": TEXT, "content": TEXT}),
}


def run(name, inputs, who):
    """The outcome of a call, wherever it is executed.

    Raises Failure, with words for the user.
    """
    if not isinstance(inputs, dict):
        raise Failure("the inputs are no object", "INVALID_INPUT")
    if name in HUB_TOOLS:
        who = who | {"customer_id": who.get("customer_id") or CUSTOMER_ID}
        if not who["customer_id"]:
            raise Failure("nobody is served", "INVALID_INPUT")
        return execute(name, inputs, who)
    if name not in OWN_TOOLS:
        raise Failure(f"there is no tool `{name}`", "UNKNOWN_TOOL")
    try:
        return OWN_TOOLS[name][0](**inputs)
    except TypeError as misfit:
        raise Failure(f"the inputs do not fit: {misfit}", "INVALID_INPUT") from misfit
    except WIRE_ERRORS as error:
        raise Failure(f"the web cannot be reached: {error}") from error


def attempt(name, inputs, who):
    """Whether a call succeeds, and its outcome."""
    try:
        return True, run(name, inputs, who)
    except Failure as failure:
        return False, failure.error
    except Exception:
        log.exception("`%s` failed", name)
        return False, {"code": "FAILED", "message": f"`{name}` failed within the agent"}


# ---- the turn


def offered():
    hub = {name: (inputs, list(inputs)[:needed]) for name, (needed, inputs) in HUB_TOOLS.items()}
    own = {name: (inputs, list(inputs)[:1]) for name, (_, inputs) in OWN_TOOLS.items()}
    return [
        {"type": "function", "function": {
            "name": name, "description": name.replace("_", " "),
            "parameters": {"type": "object", "properties": inputs, "required": required}}}
        for name, (inputs, required) in (hub | own).items()
    ]  # fmt: skip


def called(call, who):
    """The message in which the model reads what became of its call."""
    function = call["function"]
    try:
        inputs = json.loads(function.get("arguments") or "{}")
    except ValueError:
        inputs = None
    ok, outcome = attempt(function["name"], inputs, who)
    content = outcome if ok else {"error": outcome}
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(content, ensure_ascii=False)}


def turn(message, who):
    messages = [{"role": "system", "content": "Use the tools. Say what failed, with its link, and make nothing up."},
                {"role": "user", "content": message}]  # fmt: skip
    for _ in range(ROUNDS):
        body = {"model": "any", "messages": messages, "tools": offered()}
        _, text = ask(f"{MODEL_URL}/chat/completions", MODEL_SECONDS, body)
        said = json.loads(text)["choices"][0]["message"]
        calls = said.get("tool_calls")
        if not calls:
            return said.get("content") or ""
        with ThreadPoolExecutor(len(calls)) as pool:  # what the model asks for at once is done at once
            messages += [said, *pool.map(lambda call: called(call, who), calls)]
    return "This took more steps than one turn may have."


# ---- the wire


class Wire(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MAX_BODY)))
            who = {name: asked.get(name) for name in ("customer_id", "user_id", "conversation_id")}
            if self.path == "/drive":
                ok, outcome = attempt(asked["tool"], asked["inputs"], who)
                self.answer(200, {"ok": ok, "outcome": outcome})
            elif self.path != "/v1/chat":
                self.answer(404, {"error": "there is nothing at this path"})
            elif CHAT_KEY and self.headers.get("Authorization") != f"Bearer {CHAT_KEY}":
                self.answer(401, {"error": "the key is not right"})
            else:
                self.answer(200, {"reply": turn(asked["message"], who)})
        except (*WIRE_ERRORS, LookupError, TypeError, AttributeError) as error:
            self.close_connection = True
            self.answer(400, {"error": f"the request cannot be served: {error}"})

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    host, port = os.environ.get("CALLMARK_LISTEN", "127.0.0.1:8080").rsplit(":", 1)
    server = ThreadingHTTPServer((host, int(port)), Wire)
    log.info("Wren listens on %s:%s", host, port)
    server.serve_forever()


if __name__ == "__main__":
    main()
