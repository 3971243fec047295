#!/usr/bin/env python3
"""Runs the tests in node/ against `etna serve demo`: OpenAI's Node SDK, its Agents SDK and the Vercel AI SDK.

Usage: node_test.py ETNA [FILE...]

scripts/node-packages installs their packages. Each FILE is the name of a test; without FILE all run."""

import os
import pathlib
import shutil
import subprocess
import sys

from support.program import executable
from support.server import Server

HERE = pathlib.Path(__file__).resolve().parent
KEY = "the-right-key"


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 1


def main():
    files = [str(HERE / "node" / name) for name in sys.argv[2:]] or sorted(map(str, (HERE / "node").glob("*.test.mjs")))
    node = shutil.which("node")
    if node is None:
        return fail("node is missing; run scripts/install-packages all-tests")
    if not (HERE / "node_modules" / ".etna-installed").exists():
        return fail("the npm packages are not there; scripts/node-packages installs them")
    server, guarded = Server("demo"), Server("demo", "--api-key", KEY)
    try:
        # The first request loads and checks the model, which may take longer than a test may wait.
        server.ask(max_tokens=1)
        addresses = {"ETNA_TEST_SERVER": server.address, "ETNA_TEST_GUARDED_SERVER": guarded.address, "ETNA_TEST_KEY": KEY,
                     "ETNA_TEST_EXECUTABLE": executable()}
        code = subprocess.run([node, "--test", *files], env={**os.environ, **addresses}, check=False).returncode
        died = [one for one in (server, guarded) if one.process.poll() is not None]
        for one in died:
            print(one.log_text(), file=sys.stderr)
        return fail("a server has ended") if died else code
    finally:
        for one in (server, guarded):
            if one.process.poll() is None:
                one.stop()


if __name__ == "__main__":
    sys.exit(main())
