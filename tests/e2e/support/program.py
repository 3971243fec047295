"""The command line of a test program: PROGRAM ETNA [NUMBER] [--long] [NAME...]."""

import os
import sys
import unittest

LONG = "--long"


def executable():
    """Returns the absolute path of the executable under test, the first argument."""
    return os.path.abspath(sys.argv[1])


def options():
    """Returns the arguments after the executable."""
    return sys.argv[2:]


def is_long():
    """Returns true if the long form of the test is asked for."""
    return LONG in options()


def number_option(default):
    """Returns the number after the executable; `default` if there is none."""
    return int(options()[0]) if options() and options()[0].isdigit() else default


def run_tests(names=None, verbosity=1):
    """Runs the test cases of the main program, and exits. `names`: arguments of unittest, by default the options without a number
    and --long."""
    if names is None:
        names = [option for option in options() if option != LONG and not option.isdigit()]
    unittest.main(argv=[sys.argv[0], *names], verbosity=verbosity)
