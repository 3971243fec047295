#!/usr/bin/env python3
"""Runs tests after those of llama.cpp's server, see llamacpp/README.md. Usage: llamacpp_test.py ETNA [--long] [NAME...]"""

import os
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent / "llamacpp"


def main():
    etna, *names = sys.argv[1:]
    if "--long" in names:
        names.remove("--long")
        os.environ["ETNA_LLAMACPP_LONG"] = "1"
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
    import serve_test
    serve_test.ETNA = os.path.abspath(etna)
    loader = unittest.TestLoader()
    if names:
        tests = loader.loadTestsFromNames(names)
    else:
        tests = loader.discover(str(FOLDER), top_level_dir=str(FOLDER))
    return 0 if unittest.TextTestRunner(verbosity=1).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
