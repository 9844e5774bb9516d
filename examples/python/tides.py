"""The tools of Acme Tides: what the vendor sells, and the four probes of `docs/bindings.md` beside it.

A tool is an async function of (project, arguments). It returns a JSON value or raises, and knows nothing of UTP.
"""

import math
from collections import Counter

HARBOURS = {"Brest": (2.1, 4.1), "Saint-Malo": (3.9, 6.8), "Cuxhaven": (1.5, 2.0)}  # amplitude, mean level, metres
LUNAR_TIDE_HOURS = 12.42
counts = Counter()


class ToolError(Exception):
    """A failure with a code of UTP §5 and a detail object; any other exception is an `internal_error`."""

    def __init__(self, code, message, **detail):
        super().__init__(message)
        self.code, self.detail = code, detail


async def tide_table(_project, arguments):
    harbour, days = arguments.get("harbour"), arguments.get("days", 1)
    if not isinstance(harbour, str) or harbour not in HARBOURS:
        raise ToolError("bad_request", f"unknown harbour `{harbour}`", field="harbour", known=sorted(HARBOURS))
    if not isinstance(days, int) or not 1 <= days <= 14:
        raise ToolError("bad_request", f"`days` must be 1 to 14, not `{days}`", field="days")
    amplitude, mean = HARBOURS[harbour]
    phase = math.tau / LUNAR_TIDE_HOURS
    return {"harbour": harbour, "metres": [round(mean + amplitude * math.cos(hour * phase), 2) for hour in range(24 * days)]}


async def echo(_project, arguments):
    return {"echo": arguments}


async def count(project, arguments):
    counter = (project, str(arguments.get("key")))
    counts[counter] += 1
    return {"count": counts[counter]}


async def fail(_project, arguments):
    raise RuntimeError(arguments.get("message"))


async def control(_project, arguments):
    wanted = arguments.get("control")
    if not isinstance(wanted, dict) or wanted.get("after_execution") not in ("suspend", "terminate"):
        raise ToolError("bad_request", "`control` must ask for suspend or terminate", field="control")
    return {"done": True, "__cg_control": wanted}


TOOLS = {  # by what follows `cmd.tool.` in the target_subject of the resource.tools row
    "tides.lookup": tide_table,
    "tides.probe.echo": echo,
    "tides.probe.count": count,
    "tides.probe.fail": fail,
    "tides.probe.ctl": control,
}
