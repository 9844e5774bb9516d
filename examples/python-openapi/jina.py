"""What Acme Search asks of Jina: one row of `resource.tools` and the arguments of a card in, the upstream's answer out.

It knows nothing of UTP. Deliberately absent: any host but the two, redirects, keys from anywhere but the environment,
and logging, since a request holds keys wherever one looks.
"""

import http.client
import json
import os
from urllib.parse import quote, urlencode, urlsplit

HOSTS = {"search": "s.jina.ai", "reader": "r.jina.ai"}
SECONDS = 5
# A service's own configuration: parameter name -> environment variable. It wins over the row's `envs`.
SERVICE_ENVS = {"api_key": "CALLMARK_SERVICE_KEY"}


class ToolError(Exception):
    """A failure with a code of UTP §5 and a detail object; any other exception is an `internal_error`."""

    def __init__(self, code, message, **detail):
        super().__init__(message)
        self.code, self.detail = code, detail


def demand(met, field, message):
    if not met:
        raise ToolError("bad_request", message, field=field)


def host_of(jina):
    """The host of the row's address, if it is one of the two as a whole (Guide §4)."""
    demand(jina.get("mode") in HOSTS, "options.jina.mode", "`mode` must be search or reader")
    address = urlsplit(jina.get("base_url") or f"https://{HOSTS[jina['mode']]}")
    demand(address.scheme == "https", "options.jina.base_url", "the address must be https")
    demand(address.netloc.lower() in HOSTS.values(), "options.jina.base_url", "the host of `base_url` is not allowed")
    return address.netloc.lower()


def parameters_of(options, arguments):
    """The arguments, and the value of a variable for each parameter under `envs`."""
    variables = {**(options.get("envs") or {}), **SERVICE_ENVS}
    variables = {name: variable for name, variable in variables.items() if name in (options.get("envs") or {})}
    return arguments | {name: os.environ[variable] for name, variable in variables.items() if variable in os.environ}


def request_of(options, arguments):
    """Host, method, path with query, headers and body."""
    jina = options.get("jina")
    demand(isinstance(jina, dict), "options.jina", "the tool's row has no `options.jina`")
    host, method = host_of(jina), str(jina.get("method") or "GET").upper()
    parameters = parameters_of(options, arguments)
    path = str(jina.get("path") or "/")
    if jina["mode"] == "search":
        demand(isinstance(parameters.get("query"), str), "query", "`query` must be a text")
        parameters["q"] = parameters.pop("query")
    elif isinstance(parameters.get("url"), str):
        path = path.rstrip("/") + "/" + quote(parameters.pop("url"), safe="")
    else:
        demand(False, "url", "`url` must be a text")
    headers = {"Host": host, "Accept": "application/json", "User-Agent": "acme-search/1.4"}
    if key := os.environ.get(jina.get("auth_env") or "JINA_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    if method == "GET":
        return host, method, path + ("?" + urlencode(parameters) if parameters else ""), headers, None
    return host, method, path, headers | {"Content-Type": "application/json"}, json.dumps(parameters)


def connection_to(host):
    """A connection to the host itself, or to what stands in for every host."""
    if stand_in := os.environ.get("CALLMARK_UPSTREAM_URL"):
        return http.client.HTTPConnection(urlsplit(stand_in).netloc, timeout=SECONDS)
    return http.client.HTTPSConnection(host, timeout=SECONDS)


def refusal(status):
    if status in (401, 403):
        return ToolError("auth_failed", "the upstream does not accept the key", status=status)
    if status == 429 or status >= 500:
        return ToolError("upstream_unavailable", f"the upstream answers {status}", status=status)
    return ToolError("upstream_refused", f"the upstream answers {status}", status=status)


def ask(options, arguments):
    """Make the call. Messages of failures are our own: what a library says may quote the request."""
    host, method, path, headers, body = request_of(options, arguments)
    connection = connection_to(host)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    except TimeoutError:
        raise ToolError("tool_timeout", f"no answer within {SECONDS} s", seconds=SECONDS) from None
    except (OSError, http.client.HTTPException) as failed:
        raise ToolError("upstream_unavailable", "the upstream cannot be reached", cause=type(failed).__name__) from None
    finally:
        connection.close()
    if response.status != 200:
        raise refusal(response.status)
    try:
        return json.loads(text)
    except ValueError:
        return {"data": text}
