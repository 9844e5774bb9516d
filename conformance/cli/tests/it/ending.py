"""An MCP server over stdio that ends by itself: `ending.py N WORD PROGRAM…` ends with the N-th message that has WORD."""

import subprocess
import sys

left, word = int(sys.argv[1]), sys.argv[2].encode()
server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    left -= word in line
    if left == 0:
        server.kill()
        server.wait()
        sys.exit(3)
    server.stdin.write(line)
    server.stdin.flush()
server.stdin.close()
sys.exit(server.wait())
