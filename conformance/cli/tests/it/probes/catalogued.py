"""A tool runner that looks its tools up by ids it has compiled in, and uses what real stores have beside PATCH. The
first argument is the example that it is in all else."""
import json
import os
import runpy
import sys
import urllib.error
import urllib.request

STORE = os.environ["CALLMARK_STORE_URL"]
DEFINITION = "6f1d8c52-0a77-4b8e-9c35-21d4e7b0aa19"


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(STORE + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code


def demand(met, what):
    if not met:
        sys.exit(f"the store is not what it should be: {what}")


definition = ask("GET", f"/breadcrumbs/{DEFINITION}")
demand(definition["title"] == "Echo", definition)
own = ask("POST", "/breadcrumbs", {"title": "Draft", "tags": ["draft"], "context": {"limits": {"ms": 5}, "code": "x"}})["id"]
ask("POST", f"/breadcrumbs/{own}/tags/add", {"tags": ["tool", "old"]})
ask("POST", f"/breadcrumbs/{own}/tags/remove", {"tags": ["old"]})
ask("POST", f"/breadcrumbs/{own}/context/merge", {"context": {"limits": {"kb": 1}}})
ask("POST", f"/breadcrumbs/{own}/approve", {"reason": "safe"})
crumb = ask("GET", f"/breadcrumbs/{own}/full")
demand(crumb["tags"] == ["tool", "approved"] and crumb["version"] == 5, crumb)
demand(crumb["context"] == {"limits": {"ms": 5, "kb": 1}, "code": "x"}, crumb)
ask("POST", f"/breadcrumbs/{own}/reject")
history = ask("GET", f"/breadcrumbs/{own}/history")
demand([entry["version"] for entry in history] == [1, 2, 3, 4, 5, 6], history)
demand(history[0]["context"] == {"limits": {"ms": 5}, "code": "x"}, history)
demand(ask("POST", f"/breadcrumbs/{own}/tags/add", {"tags": 5}) == 422, "a body of another shape")
demand(ask("DELETE", f"/breadcrumbs/{own}") == {"ok": True}, "DELETE")
demand(ask("GET", f"/breadcrumbs/{own}") == 404 and ask("DELETE", f"/breadcrumbs/{own}") == 404, "it is still there")
sys.path.insert(0, os.path.dirname(sys.argv[1]))
runpy.run_path(sys.argv[1], run_name="__main__")
