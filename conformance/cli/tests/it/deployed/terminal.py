"""Somebody at a terminal: `terminal.py ANSWER COMMAND…` runs a command there, and types ANSWER when it asks.

The terminal is the command's standard input and error. What it shows is printed, and the exit code is the command's.
An ANSWER of nothing is the end of what is typed (Ctrl-D).
"""

import os
import pty
import subprocess
import sys

QUESTION = b"[y/N]"


def main():
    answer, command = sys.argv[1], sys.argv[2:]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    is_answered = False
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # as Linux says that nobody has the terminal open any more
            break
        if not more:
            break
        shown += more
        if QUESTION in shown and not is_answered:
            is_answered = True
            os.write(ours, answer.encode() + b"\n" if answer else b"\x04")
    sys.stdout.buffer.write(shown)
    sys.exit(process.wait())


main()
