"""Starts the whole system: a private PostgreSQL cluster without a port, the bridge, and the service. Ends all of it.

A cluster that is there already is used where DATABASE says so; `tables.sql` has to be in it then.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
USER = "postgres"


def binaries():
    """The programs of the server: on PATH, or where Debian has them."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not installed:
        sys.exit("there is no PostgreSQL: `apt-get install postgresql`")
    return installed[-1].parent


def cluster(home):
    """A cluster that is reached by a socket in this directory alone. PostgreSQL does not run as root."""
    programs, as_user = binaries(), []
    if os.getuid() == 0:
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        shutil.chown(home, USER, USER)
    data = home / "data"
    run = {"check": True, "cwd": home, "stdout": subprocess.DEVNULL}
    subprocess.run([*as_user, programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8"], **run)
    options = f"-c listen_addresses= -c unix_socket_directories={home} -c fsync=off"
    control = [*as_user, programs / "pg_ctl", "-D", data]
    subprocess.run([*control, "-w", "-l", home / "postgres.log", "-o", options, "start"], **run)
    database = f"host={home} user={USER} dbname=postgres"
    subprocess.run([programs / "psql", database, "-q", "-v", "ON_ERROR_STOP=1", "-f", HERE / "tables.sql"], **run)
    return database, lambda: subprocess.run([*control, "-m", "immediate", "stop"], **run | {"check": False})


def serve(database):
    environment = os.environ | {"DATABASE": database}
    both = [subprocess.Popen([sys.executable, HERE / name], env=environment) for name in ("bridge.py", "service.py")]
    signal.signal(signal.SIGTERM, lambda *_: [process.terminate() for process in both])
    signal.signal(signal.SIGINT, lambda *_: [process.terminate() for process in both])
    ended, _ = os.wait()  # neither is of use without the other
    for process in both:
        if process.pid != ended:
            process.terminate()
            process.wait()


def main():
    if database := os.environ.get("DATABASE"):
        return serve(database)
    try:
        pwd.getpwnam(USER)
    except KeyError:
        if os.getuid() == 0:
            sys.exit(f"PostgreSQL does not run as root, and there is no user `{USER}`")
    # Root's own temporary directory is nobody else's, and the path of a socket is short.
    home = Path(tempfile.mkdtemp(prefix="bridge-", dir="/tmp" if os.getuid() == 0 else None))
    stop = None
    try:
        database, stop = cluster(home)
        serve(database)
    finally:
        if stop:
            stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
