"""A server as vendors have them: its notes belong to a profile that has to be opened first, each note says when it was
made, and the profiles are in a directory that no two processes may share. The first argument is the folder of the
example whose contract it keeps."""
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import depot
from depot import TEXT, Tool, ToolFailure

profiles = Path(os.environ["ACME_PROFILES_DIR"])
lock = profiles / f"lock-{os.environ.get('SF_CONTEXT_REPO_ROOT', '')[-40:].replace('/', '_')}"
if any(profiles.glob("lock-*")) and not lock.exists():
    sys.exit(f"{profiles} belongs to another process")
lock.touch()
opened = set()


def profile_open(name):
    (profiles / name).touch()
    opened.add(name)
    return {"profile": name, "since": time.time_ns()}


def note_put(profile, fields):
    if profile not in opened:
        raise ToolFailure("the profile is not open")
    return {"note": fields | {"updated_at": time.time_ns()} if isinstance(fields, dict) else fields}


depot.TOOLS = {
    "profile_open": Tool(profile_open, "Opens a profile.", {"name": TEXT}, ("name",)),
    "note_put": Tool(note_put, "Keeps a note.", {"profile": TEXT, "fields": {}}, ("profile", "fields")),
    "stock_find": depot.TOOLS["stock_find"],
}

import server

server.main()
