#!/usr/bin/env python3
"""Runs tests after those of llama.cpp's server, see llamacpp/README.md. Usage: llamacpp_test.py ETNA [--long] [NAME...]"""

import pathlib
import sys
import unittest

from support.program import LONG, options

FOLDER = pathlib.Path(__file__).resolve().parent / "llamacpp"


def main():
    sys.path.insert(0, str(FOLDER))
    names = [option for option in options() if option != LONG]
    loader = unittest.TestLoader()
    if names:
        tests = loader.loadTestsFromNames(names)
    else:
        tests = loader.discover(str(FOLDER), top_level_dir=str(FOLDER))
    return 0 if unittest.TextTestRunner(verbosity=1).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
