"""The calendar and the mailbox of a customer of Tulip Office, and the nine tools on them.

First the forms of inputs, then the account with what it holds from the start, then the tools.
A tool is a function of an account and of its own inputs, which have been checked. It returns a result, or raises.
Deliberately absent: HTTP and envelopes, which are in `hub.py`, and any service outside. All of it is in memory.
"""

import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

HOME = ZoneInfo("Europe/Amsterdam")
ZONES = available_timezones()
WORKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
OPENING, CLOSING = time(8, 30), time(17)
HABITS = {"bo@orchid.example": (time(9), time(10, 30))}  # what is known of others: when they are tied up each day
FIRST_YEAR = 2000
STEP, SEARCHED_DAYS, SUGGESTIONS, SUGGESTIONS_A_DAY = timedelta(minutes=30), 92, 5, 2
SNIPPET_CHARS = 60
TERM = re.compile(r'(?:(\w+):)?("[^"]*"|\S+)')


class Misfit(ValueError):
    """An input that is missing or has the wrong form. Its text is the input's name, and never its value."""


class NotHere(LookupError):
    """What an id stands for is not in this account. Its text is the kind of thing."""


def expect(kind, value):
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError
    return value


def text(value):
    return expect(str, value)


def flag(value):
    return expect(bool, value)


def count(value):
    if expect(int, value) < 1:
        raise ValueError
    return value


def line(value):
    """Text that ends up in a mail's head, where a line break would begin another field."""
    if re.search(r"[\r\n\0]", text(value)):
        raise ValueError
    return value


def address(value):
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", text(value)):
        raise ValueError
    return value


def list_of(form):
    return lambda value: [form(item) for item in expect(list, value)]


def within_era(value):
    """Older times may have offsets with seconds, which no agent expects."""
    if value.year < FIRST_YEAR:
        raise ValueError
    return value


def day(value):
    return within_era(date.fromisoformat(text(value)))


def moment(value):
    """A date-time in UTC; one without an offset is meant in the office's own zone."""
    given = datetime.fromisoformat(text(value))
    return (given if given.tzinfo else given.replace(tzinfo=HOME)).astimezone(UTC)


def event_time(value):
    return within_era(moment(value))


def time_of_day(value):
    if not re.fullmatch(r"[0-9]{2}:[0-9]{2}", text(value)):
        raise ValueError
    return time.fromisoformat(value)


def zone(value):
    if text(value) not in ZONES:
        raise ValueError
    return ZoneInfo(value)


def body_type(value):
    if value not in ("text", "html"):
        raise ValueError
    return value


def record(required, optional):
    """Form of an object. An optional member that is null counts as absent, and one that is not known is left alone."""

    def form(value):
        taken = {}
        for name, member_form in (required | optional).items():
            member = expect(dict, value).get(name)
            if member is None and name in optional:
                continue
            try:
                taken[name] = member_form(member)
            except Misfit as misfit:
                raise Misfit(f"{name}.{misfit}") from None
            except (ValueError, OverflowError):
                raise Misfit(name) from None
        return taken

    return form


@dataclass
class Event:
    title: str
    start: datetime
    end: datetime
    description: str = ""
    location: str = ""
    attendees: tuple = ()


@dataclass
class Message:
    thread_id: str
    sender: str
    to: list
    subject: str
    body: str
    date: datetime
    attachments: tuple = ()
    cc: tuple = ()
    bcc: tuple = ()
    body_type: str = "text"
    unread: bool = True


class Account:
    """What one customer has. Tools run one after another, under its lock."""

    def __init__(self, address):
        self.address, self.lock = address, threading.Lock()
        self.events, self.messages = {}, {}  # by id, in the order of their making
        start = datetime(2031, 3, 5, 11, 0, tzinfo=HOME).astimezone(UTC)
        self.events["event:fitting"] = Event("Greenhouse fitting", start, start + timedelta(minutes=45))
        ana, bo, mine = "ana@orchid.example", "bo@orchid.example", [address]
        sheet = {"mime_type": "text/csv", "size": 5321, "filename": "count.csv"}
        for name, thread, sender, to, subject, body, at, *attachments in (
            ("1001", "plan", ana, mine, "Harvest plan", "Two rows a day, the east side first.", (3, 8, 15)),
            ("1002", "count", ana, mine, "The harvest count", "The sheet is attached.", (4, 9, 0), sheet),
            ("1003", "plan", bo, mine, "Re: Harvest plan", "East side is wet until noon.", (4, 11, 40)),
            ("1004", "plan", address, [ana, bo], "Re: Harvest plan", "Then we begin in the west.", (4, 12, 5)),
            ("1005", "supper", ana, mine, "Supper after the harvest", "Eight o'clock, in the barn.", (5, 18, 30)),
            ("1006", "count", ana, mine, "Re: The harvest count", "Row nine was missing, sorry.", (6, 7, 50)),
            ("1007", "plan", ana, [address, bo], "Re: Harvest plan", "West it is.", (6, 8, 20)),
        ):
            date = datetime(2025, 2, *at, tzinfo=HOME)
            message = Message(f"thread:{thread}", sender, to, subject, body, date, tuple(attachments))
            self.messages[f"inbox:{name}"] = message

    def event(self, event_id):
        if event_id not in self.events:
            raise NotHere("event")
        return self.events[event_id]

    def message(self, message_id):
        if message_id not in self.messages:
            raise NotHere("message")
        return self.messages[message_id]

    def events_between(self, start, end):
        return [event for event in self.events.values() if event.start < end and start < event.end]


def get_availability(account, start_date, end_date, timezone, calendars=("primary",)):
    """The last day is not part of the range; the contract leaves that open."""
    start, end = (datetime.combine(limit, time(), timezone) for limit in (start_date, end_date))
    events = account.events_between(start, end) if "primary" in calendars else []
    shown = [[at.astimezone(timezone).isoformat() for at in (event.end, event.start)] for event in events]
    hours = {"days": WORKDAYS, "end": f"{CLOSING:%H:%M}", "start": f"{OPENING:%H:%M}", "timezone": HOME.key}
    periods = [{"calendar": "primary", "end": end, "start": start} for end, start in shown]
    return {"working_hours": hours, "busy_periods": periods}


def create_event(account, send_notifications=False, **fields):
    event, event_id = Event(**fields), f"event:{uuid.uuid4().hex[:12]}"
    if event.end <= event.start:
        raise Misfit("end")
    account.events[event_id] = event
    return {
        "status": "confirmed",
        "attendees": [{"response_status": "needsAction", "email": email} for email in event.attendees],
        "notified": len(event.attendees) if send_notifications else 0,
        "html_link": f"https://office.tulip.example/calendar?event={event_id}",
        "event_id": event_id,
    }


def update_event(account, event_id, updates, send_notifications=False):
    event = Event(**vars(account.event(event_id)) | updates)
    if event.end <= event.start:
        raise Misfit("updates.end")
    account.events[event_id] = event
    return {"changed": sorted(updates)}


def delete_event(account, event_id, send_notifications=False):
    account.event(event_id)
    del account.events[event_id]
    return {}


def times_of_day(account, day, length, attendees, hours):
    """Times on one day at which the customer is free, by conflicts. In UTC no day has a gap or an hour twice."""
    at, closing = (datetime.combine(day, hours[name], HOME).astimezone(UTC) for name in ("start", "end"))
    events = account.events_between(at, closing)
    known = [email for email in dict.fromkeys(attendees) if email in HABITS]
    habits = {email: [datetime.combine(day, limit, HOME) for limit in HABITS[email]] for email in known}
    while at + length <= closing:
        if not any(event.start < at + length and at < event.end for event in events):
            yield [email for email, (start, end) in habits.items() if start < at + length and at < end], at
        at += STEP


def find_optimal_times(account, duration_minutes, attendees, date_range, preferences=None):
    """The last day is not part of the range here either."""
    preferences, length = preferences or {}, timedelta(minutes=duration_minutes)
    hours = preferences.get("preferred_hours") or {"start": OPENING, "end": CLOSING}
    found, day = [], date_range["start"]
    while day < min(date_range["end"], date_range["start"] + timedelta(days=SEARCHED_DAYS)):
        left_out = day.weekday() >= len(WORKDAYS) or (day.weekday() == 0 and preferences.get("avoid_mondays"))
        times = [] if left_out else times_of_day(account, day, length, attendees, hours)
        found += sorted(times, key=lambda time: len(time[0]))[:SUGGESTIONS_A_DAY]
        day += timedelta(days=1)
    suggestions = [
        {
            "conflicts": [{"type": "tentative", "attendee": email} for email in busy],
            "score": 1 - len(busy) / max(len(attendees), 1),
            "end": (at + length).astimezone(HOME).isoformat(),
            "start": at.astimezone(HOME).isoformat(),
        }
        for busy, at in sorted(found, key=lambda time: len(time[0]))[:SUGGESTIONS]
    ]
    return {"timezone": HOME.key, "suggestions": suggestions}


def send(account, to, subject, body, cc=(), bcc=(), body_type="text", reply_to_message_id=None):
    if not to:
        raise Misfit("to")
    new_thread = f"thread:{uuid.uuid4().hex[:12]}"
    thread_id = account.message(reply_to_message_id).thread_id if reply_to_message_id is not None else new_thread
    message_id = f"sent:{uuid.uuid4().hex[:12]}"
    copies = {"cc": cc, "bcc": bcc, "body_type": body_type, "unread": False}
    account.messages[message_id] = Message(thread_id, account.address, to, subject, body, datetime.now(UTC), **copies)
    return {"status": "sent", "thread_id": thread_id, "message_id": message_id, "recipients": len({*to, *cc, *bcc})}


def snippet(message):
    return " ".join(message.body.split())[:SNIPPET_CHARS]


def head(message_id, message):
    return {
        "date": message.date.isoformat(),
        "subject": message.subject,
        "to": message.to,
        "from": message.sender,
        "unread": message.unread,
        "thread_id": message.thread_id,
        "message_id": message_id,
    }


def matches(message, operator, word):
    word = word.strip('"').lower()
    places = {"from": [message.sender], "to": message.to, "subject": [message.subject]}
    if operator == "has":
        return word == "attachment" and bool(message.attachments)
    return any(word in place.lower() for place in places.get(operator, [message.subject, message.body]))


def search(account, query, max_results=10, include_body=False):
    terms = TERM.findall(query)
    hits = [item for item in account.messages.items() if all(matches(item[1], *term) for term in terms)]
    hits.sort(key=lambda item: item[1].date, reverse=True)
    listed = [
        head(message_id, message)
        | {"has_attachments": bool(message.attachments), "snippet": snippet(message)}
        | ({"body": message.body} if include_body else {})
        for message_id, message in hits[:max_results]
    ]
    return {"total_results": len(hits), "messages": listed}


def read(account, message_id, mark_as_read=False):
    message = account.message(message_id)
    message.unread = message.unread and not mark_as_read
    more = {"cc": message.cc, "bcc": message.bcc, "body_type": message.body_type}
    return {"attachments": message.attachments, "body": message.body} | more | head(message_id, message)


def check_replies(account, thread_id, since=datetime.min.replace(tzinfo=UTC)):
    """What arrives exactly at `since` is listed; the contract leaves that open."""
    thread = [item for item in account.messages.items() if item[1].thread_id == thread_id]
    if not thread:
        raise NotHere("thread")
    replies = [item for item in thread[1:] if item[1].sender != account.address and item[1].date >= since]
    shown = [head(message_id, message) | {"snippet": snippet(message)} for message_id, message in replies]
    return {"replies": shown, "has_new_replies": bool(replies)}


class Tool(NamedTuple):
    integration: str
    run: Callable
    inputs: Callable


CALENDAR, MAIL = "google_calendar", "google_gmail"
TIMES = {"start": event_time, "end": event_time}
DETAILS = {"description": text, "location": text, "attendees": list_of(address)}
EVENT, NOTIFY = {"event_id": text}, {"send_notifications": flag}
RANGE, HOURS = record({"start": day, "end": day}, {}), record({"start": time_of_day, "end": time_of_day}, {})
PREFERENCES = record({}, {"preferred_hours": HOURS, "avoid_mondays": flag})
MAIL_TO = {"to": list_of(address), "subject": line, "body": text}
MAIL_MORE = {"cc": list_of(address), "bcc": list_of(address), "body_type": body_type, "reply_to_message_id": text}
TOOLS = {
    "calendar_get_availability": Tool(
        CALENDAR,
        get_availability,
        record({"start_date": day, "end_date": day, "timezone": zone}, {"calendars": list_of(text)}),
    ),
    "calendar_create_event": Tool(CALENDAR, create_event, record({"title": text} | TIMES, DETAILS | NOTIFY)),
    "calendar_update_event": Tool(
        CALENDAR,
        update_event,
        record(EVENT | {"updates": record({}, {"title": text} | TIMES | DETAILS)}, NOTIFY),
    ),
    "calendar_delete_event": Tool(CALENDAR, delete_event, record(EVENT, NOTIFY)),
    "calendar_find_optimal_times": Tool(
        CALENDAR,
        find_optimal_times,
        record(
            {"duration_minutes": count, "attendees": list_of(address), "date_range": RANGE},
            {"preferences": PREFERENCES},
        ),
    ),
    "email_send": Tool(MAIL, send, record(MAIL_TO, MAIL_MORE)),
    "email_search": Tool(MAIL, search, record({"query": text}, {"max_results": count, "include_body": flag})),
    "email_read": Tool(MAIL, read, record({"message_id": text}, {"mark_as_read": flag})),
    "email_check_replies": Tool(MAIL, check_replies, record({"thread_id": text}, {"since": moment})),
}
