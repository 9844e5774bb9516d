"""The tools of Acme Depot: what the vendor sells.

A tool is a function of its own arguments, which have been checked against its schema. It returns a JSON value, or a
`Reply` when there is more to fetch, or raises, and knows nothing of MCP, artifacts or shaping.
"""

from collections.abc import Callable
from typing import NamedTuple

STOCK = {
    "bolt-9": {"count": 12, "bin": "C4"},
    "hinge-2": {"count": 0, "bin": "B7"},
    "nut-3": {"count": 840, "bin": "A1"},
    "plank-1": {"count": 31, "bin": "yard"},
    "washer-5": {"count": 2200, "bin": "A2"},
}
PAGE = 2
MOVEMENT = "2025-11-21 06:40 nut-3 A1 -> dock 2, 40 pieces\n"
PRINTERS = {"dock-1": "offline"}


class BadArgument(Exception):
    """What the caller sent does not fit. The text names the argument and never its value, which may be a secret."""


class ToolFailure(Exception):
    """What the caller sent fits, and yet it cannot be done. The text is fit to be shown."""


class Reply(NamedTuple):
    result: object
    next_actions: list = []


class Tool(NamedTuple):
    run: Callable | None
    description: str
    properties: dict
    required: tuple = ()
    break_glass: str | None = None  # the boolean argument with which a caller asks to see secrets


def stock_find(item):
    if item not in STOCK:
        raise BadArgument("`item` is no item of this depot")
    return {"item": item, **STOCK[item]}


def stock_list(offset=0):
    items, end = sorted(STOCK), int(offset) + PAGE
    rows = [{"item": item, **STOCK[item]} for item in items[int(offset) : end]]
    more = [{"tool": "stock_list", "action": None, "args": {"offset": end}}] if end < len(items) else []
    return Reply({"rows": rows, "total": len(items), "complete": not more}, more)


def label_preview(fields):
    return {"label": fields, "size_mm": [100, 60]}


def label_print(item, printer):
    stock_find(item)
    if printer not in PRINTERS:
        raise BadArgument("`printer` is no printer of this depot")
    raise ToolFailure(f"the printer is {PRINTERS[printer]}")


def movement_log(bytes):
    return {"log": (MOVEMENT * (int(bytes) // len(MOVEMENT) + 1))[: int(bytes)]}


def carrier_check(carrier, login, token=None, reveal=False):
    """What would be sent to a carrier; the tool bus redacts it unless `reveal` is set."""
    return {"carrier": carrier, "login": login, "headers": {"Authorization": f"Bearer {token}"} if token else {}}


TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
TOOLS = {
    "stock_find": Tool(stock_find, "Count and bin of one item.", {"item": TEXT}, ("item",)),
    "stock_list": Tool(stock_list, "Items in stock, by page.", {"offset": {"type": "integer", "minimum": 0}}),
    "label_preview": Tool(label_preview, "A label as it would be printed.", {"fields": {}}, ("fields",)),
    "label_print": Tool(label_print, "Print an item's label.", {"item": TEXT, "printer": TEXT}, ("item", "printer")),
    "movement_log": Tool(
        movement_log,
        "The latest movements, up to a size.",
        {"bytes": {"type": "integer", "minimum": 0, "maximum": 16 * 1024 * 1024}},
        ("bytes",),
    ),
    "carrier_check": Tool(
        carrier_check,
        "The login that a carrier would be sent.",
        {"carrier": TEXT, "login": {"type": "object"}, "token": TEXT, "reveal": {"type": "boolean"}},
        ("carrier", "login"),
        "reveal",
    ),
}
