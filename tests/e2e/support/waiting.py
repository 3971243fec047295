"""Waiting for something that another process does."""

import time

LIMIT_S = 120  # for everything that must happen, also on a slow machine


def wait_until(condition, problem="the condition did not become true", limit_s=LIMIT_S, interval_s=0.02):
    """Polls until `condition()` is true, and returns its value. Raises AssertionError after `limit_s`, with the problem: a text,
    or a function that returns it."""
    end = time.monotonic() + limit_s
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit_s} s: {problem() if callable(problem) else problem}")
        time.sleep(interval_s)
    return value
