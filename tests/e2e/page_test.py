#!/usr/bin/env python3
"""Runs the tests in page/: the page of `etna serve demo` in Chromium.

Usage: page_test.py ETNA

scripts/node-packages tests/e2e/page installs their packages, and scripts/install-packages all-tests the browser. Screenshots
go to the folder `page` beside the executable. With ETNA_TEST_LONG=1 also every width and look, and the figures that need an
idle machine."""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent / "page"


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 1


def main():
    etna = pathlib.Path(sys.argv[1]).resolve()
    node = shutil.which("node")
    if node is None:
        return fail("node is missing; run scripts/install-packages all-tests")
    if not (HERE / "node_modules" / ".etna-installed").exists():
        return fail("the npm packages are not there; run scripts/node-packages tests/e2e/page")
    env = {**os.environ, "ETNA_TEST_EXECUTABLE": str(etna), "ETNA_TEST_PICTURES": str(etna.parent / "page")}
    return subprocess.run([node, "--test", "--test-concurrency=1", *sorted(map(str, HERE.glob("*.test.mjs")))], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
