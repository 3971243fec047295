#!/usr/bin/env python3
"""OpenAI's SDK for Python against `etna serve demo`. Usage: python_sdk_test.py ETNA PYTHON...

PYTHON is a command that runs a Python with the package `openai`; `scripts/sid-root python3` is one.
"""

import pathlib
import subprocess
import sys

import serve_test
from serve_test import Server

CLIENT = pathlib.Path(__file__).with_name("python_sdk_client.py")


def main():
    serve_test.ETNA, *python = sys.argv[1:]
    server = Server("demo")
    try:
        return subprocess.run([*python, str(CLIENT), server.address], check=False, timeout=serve_test.LIMIT_S).returncode
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
