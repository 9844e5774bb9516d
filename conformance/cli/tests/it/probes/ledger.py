"""A server as vendors have them: its notes belong to a profile that has to be opened first, each note says when it was
made, and the profiles are in a directory that no two servers may share. The first argument is the folder of the
example whose contract it keeps."""
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import bus
import server

profiles = Path(os.environ["ACME_PROFILES_DIR"])
owner = profiles / "owner"
root = os.environ.get("SF_CONTEXT_REPO_ROOT") or os.environ.get("SENTRYFROGG_CONTEXT_REPO_ROOT") or "nobody"
if owner.exists() and owner.read_text() != root:
    sys.exit(f"{profiles} belongs to another server")
owner.write_text(root)
opened = set()


def profile_open(name):
    (profiles / name).touch()
    opened.add(name)
    return {"profile": name, "since": time.time_ns()}


def note_put(profile, fields):
    if profile not in opened:
        raise bus.ToolFailure("the profile is not open")
    return {"note": fields | {"updated_at": time.time_ns()} if isinstance(fields, dict) else fields}


class Ledger(bus.Bus):
    def __init__(self, place):
        super().__init__(place)
        kept = {name: self.tools[name] for name in ("tide_read", "mcp_state")}
        self.tools = kept | {
            "profile_open": bus.Tool(profile_open, "Opens a profile.", {"name": bus.TEXT}, ("name",)),
            "note_put": bus.Tool(note_put, "Keeps a note.", {"profile": bus.TEXT, "fields": {}}, ("profile", "fields")),
        }


server.Bus = Ledger
server.main()
