#!/usr/bin/env python3
"""OpenAI's SDK for Python against `etna serve demo`. Usage: python_sdk_test.py ETNA PYTHON...

PYTHON is a command that runs a Python with the package `openai`; `scripts/sid-root python3` is one.
"""

import pathlib
import subprocess
import sys

from support.program import options
from support.server import Server
from support.waiting import LIMIT_S

CLIENT = pathlib.Path(__file__).with_name("python_sdk_client.py")


def main():
    server = Server("demo")
    try:
        return subprocess.run([*options(), str(CLIENT), server.address], check=False, timeout=LIMIT_S).returncode
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
