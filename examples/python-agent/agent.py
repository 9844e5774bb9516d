"""Heron: an agent as a vendor writes it from the Universal Tool Invocation Standard, without any package.

First what the model is offered, then what it asks for becomes an invocation, then the turn, then the wire.
Deliberately absent: memory across restarts, and limits on what a session may cost.
"""

import json
import logging
import os
import queue
import threading
import time
import urllib.request
import uuid
from http.client import HTTPException

STORE_URL = os.environ.get("CALLMARK_STORE_URL", "http://127.0.0.1:8080").rstrip("/")
MODEL_URL = os.environ.get("CALLMARK_MODEL_URL", "http://127.0.0.1:8081/v1").rstrip("/")
INVOCATION, RESPONSE, QUESTION = "agent.response.v1", "tool.response.v1", "user.message.v1"
ROUNDS, REMEMBERED, MAX_BODY = 16, 10_000, 4 * 1024 * 1024
STORE_SECONDS, MODEL_SECONDS, TOOL_SECONDS, SILENCE_SECONDS, PAUSE = 10, 60, 60, 20, 0.3
WIRE_ERRORS = (OSError, HTTPException, ValueError, LookupError, TypeError)
log = logging.getLogger("heron")

PROMPT = "You help a user, with tools where they serve. Tell the user what failed, and never make a result up."
ROUTE = (
    "true if you need the result: to reason over it, to see whether it worked, or to go on with it;"
    " false if the user is to see it and nothing is left to do"
)


def call(url, method="GET", body=None, seconds=STORE_SECONDS):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # store and model are near, no proxy is
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    return opener.open(urllib.request.Request(url, data, headers, method=method), timeout=seconds)


def read(*request, **more):
    with call(*request, **more) as response:
        return json.loads(response.read(MAX_BODY))


def listed(schema_name):
    return read(f"{STORE_URL}/breadcrumbs?schema_name={schema_name}&include_context=true&limit=100")


def function(tool):
    """One function for each tool of the catalog: its input, and where its result goes."""
    properties = {
        "input": tool["input_schema"],
        "return_to_llm": {"type": "boolean", "description": ROUTE},
        "config_id": {"type": "string", "description": "id of a configuration, where the user names one"},
    }
    parameters = {"type": "object", "properties": properties, "required": ["input", "return_to_llm"]}
    return {"name": tool["name"], "description": tool["description"], "parameters": parameters}


def fault(arguments, tool):
    """What is wrong with a call that the model asks for. It hears of it; the tool does not."""
    if tool is None:
        return "there is no such tool in the catalog"
    given = arguments.get("input") if isinstance(arguments, dict) else None
    if not isinstance(given, dict) or not isinstance(arguments.get("return_to_llm"), bool):
        return "a call needs the object `input` and the boolean `return_to_llm`"
    kinds = {"string": str, "array": list, "object": dict, "boolean": bool, "number": (int, float), "integer": int}
    schema = tool["input_schema"]
    for name, value in given.items():
        kind = kinds.get(schema.get("properties", {}).get(name, {}).get("type"), object)
        if not isinstance(value, kind):
            return f"`{name}` has the wrong type"
    missing = [name for name in schema.get("required", ()) if name not in given]
    return f"`{missing[0]}` is missing" if missing else None


class Session:
    """One conversation: a thread of its own, so that no user waits for another."""

    def __init__(self, name):
        self.name, self.questions, self.answers = name, queue.Queue(), queue.Queue()
        self.messages, self.count, self.run = [{"role": "system", "content": PROMPT}], 0, uuid.uuid4().hex[:6]
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            try:
                self.turn(self.questions.get())
            except Exception:  # one turn that fails ends no session
                log.exception("a turn of %s failed", self.name)
                self.say("Something went wrong on my side.")

    def say(self, message, requests=()):
        context = {"message": message} | ({"tool_requests": list(requests)} if requests else {})
        tags = ["agent:response", f"session:{self.name}"]
        breadcrumb = {"schema_name": INVOCATION, "title": message[:60], "tags": tags, "context": context}
        read(f"{STORE_URL}/breadcrumbs", "POST", breadcrumb)

    def turn(self, words):
        """From the user's words to the last word of the model, by way of as many calls as it takes."""
        self.messages.append({"role": "user", "content": words})
        catalog = {tool["name"]: tool for crumb in listed("tool.catalog.v1") for tool in crumb["context"]["tools"]}
        offered = [{"type": "function", "function": function(tool)} for tool in catalog.values()]
        for _ in range(ROUNDS):
            asked = {"model": "any", "messages": self.messages, "tools": offered}
            reply = read(f"{MODEL_URL}/chat/completions", "POST", asked, seconds=MODEL_SECONDS)["choices"][0]["message"]
            self.messages.append(reply)
            if not reply.get("tool_calls"):
                return self.say(reply.get("content") or "That is all.")
            results = self.invoke(reply["tool_calls"], reply.get("content"), catalog)
            for number, result in results.items():
                answer = {"role": "tool", "tool_call_id": number, "content": json.dumps(result)}
                self.messages.append(answer)
            if all(result.get("status") == "sent" for result in results.values()):
                return None  # the user gets these results from the tools
        return self.say("This takes me too many steps; I stop here.")

    def invoke(self, calls, message, catalog):
        """The calls of one reply, as one invocation: what came of each, by the model's id of the call."""
        requests, results, waiting = [], {}, {}
        for one in calls:
            name = one["function"]["name"]
            try:
                arguments = json.loads(one["function"]["arguments"])
            except ValueError:
                arguments = None
            if wrong := fault(arguments, catalog.get(name)):
                results[one["id"]] = {"status": "error", "error": wrong}
                continue
            self.count += 1
            request = {"tool": name, "input": arguments["input"], "requestId": f"{name}-{self.run}{self.count}"}
            request["return_to_llm"] = arguments["return_to_llm"]
            if config := arguments.get("config_id"):
                request["config_id"] = config
            requests.append(request)
            results[one["id"]] = {"status": "sent"}
            if request["return_to_llm"]:
                waiting[request["requestId"]] = one["id"]
        if requests:
            self.say(message or "One moment.", requests)
        deadline = time.monotonic() + TOOL_SECONDS
        while waiting:
            try:
                answer = self.answers.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                results |= {number: {"status": "error", "error": "no answer came"} for number in waiting.values()}
                break
            if number := waiting.pop(answer.get("request_id"), None):  # in whatever order they come
                results[number] = result_of(answer)
        return results


def result_of(answer):
    """The status decides what an answer is; what else stands in a failure is nobody's result."""
    if answer.get("status") == "success":
        return {"status": "success", "output": answer.get("output")}
    return {"status": "error", "error": answer.get("error") or "the tool failed"}


def follow():
    """The event stream, for ever: questions and answers go to the sessions that their tags name."""
    sessions, seen = {}, {}
    while True:
        try:
            with call(f"{STORE_URL}/events/stream", seconds=SILENCE_SECONDS) as stream:  # a ping comes every 5 s
                while line := stream.readline(MAX_BODY):
                    if line.startswith(b"data:"):
                        hear(json.loads(line[5:]), sessions, seen)
        except WIRE_ERRORS as failure:
            log.warning("%s is not to be had: %s", STORE_URL, failure)
        time.sleep(PAUSE)


def hear(event, sessions, seen):
    names = [tag.partition(":")[2] for tag in event.get("tags") or () if tag.startswith("session:")]
    if event.get("schema_name") not in (QUESTION, RESPONSE) or not names or event["breadcrumb_id"] in seen:
        return
    seen[event["breadcrumb_id"]] = True
    if len(seen) > REMEMBERED:
        del seen[next(iter(seen))]
    context = event["context"]
    if event["schema_name"] == RESPONSE and names[0] in sessions:
        sessions[names[0]].answers.put(context)
    elif event["schema_name"] == QUESTION:
        if names[0] not in sessions:
            sessions[names[0]] = Session(names[0])
        sessions[names[0]].questions.put(context.get("message") or context.get("content") or "")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    follow()
