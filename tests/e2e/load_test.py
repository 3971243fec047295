#!/usr/bin/env python3
"""Many clients of `etna serve demo`: nothing is lost, mixed or leaked. Usage: load_test.py ETNA [SECONDS]"""

import http.client
import json
import pathlib
import random
import resource
import socket
import sys
import threading
import time
import unittest

from support.processes import MIB, memory_bytes
from support.program import number_option, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

SECONDS = number_option(10)
STREAMS = 64
ABORTED = 0.1
GROWTH_MAX = 1.05  # resident memory, from a quarter of the time to the end
IDLE_CONNECTIONS = 1000
QUESTIONS = ["What is 34 + 58?", "Count to 9.", "Reply with: blue kettle", "What is the capital of France?", "Which month is after March?",
             "Who are you?", "What can you do?", "What is 71 - 25?", "Count to 15.", "Reply with: seven small lanterns", "Tell me a joke.",
             "Nobody in the village believed that Mira had seen a small fox near the river."]


def body(question):
    return {"messages": [{"role": "user", "content": question}], "stream": True, "temperature": 0, "max_tokens": 60}


class Stream:
    """One streamed answer, which may be abandoned at any chunk."""

    def __init__(self, port, question):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        self.connection.request("POST", "/v1/chat/completions", json.dumps(body(question)))
        self.answer = self.connection.getresponse()
        if self.answer.status != 200:
            raise AssertionError((self.answer.status, self.answer.read()))

    def read(self, pieces=None):
        """Returns the text; drops the connection after `pieces` chunks."""
        text, is_done = "", False
        for line in self.answer:
            if not line.startswith(b"data: "):
                continue
            if line.startswith(b"data: [DONE]"):
                is_done = True
                break
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
            pieces = pieces and pieces - 1
            if pieces == 0:
                break
        if not is_done and pieces != 0:
            raise AssertionError(f"the stream ended after {text!r}")
        self.connection.close()
        return text


class Crowd:
    """Clients that send requests until the time is over and compare each answer with the one to the same request alone."""

    def __init__(self, server, alone):
        self.server, self.alone = server, alone
        self.wrong, self.answered, self.left = [], 0, 0
        self.lock = threading.Lock()

    def client(self, number, end):
        chooser = random.Random(number)
        while time.monotonic() < end:
            question = chooser.choice(QUESTIONS)
            leaves = chooser.random() < ABORTED
            try:
                text = Stream(self.server.port, question).read(chooser.randint(1, 8) if leaves else None)
            except (OSError, AssertionError, http.client.HTTPException) as failure:
                text, leaves = repr(failure), False
            is_right = self.alone[question].startswith(text) if leaves else text == self.alone[question]
            with self.lock:
                self.answered, self.left = self.answered + 1, self.left + leaves
                if not is_right:
                    self.wrong.append((question, text))

    def run(self, seconds):
        """Returns the resident memory after a quarter of the time and at the end."""
        begin = time.monotonic()
        threads = [threading.Thread(target=self.client, args=(number, begin + seconds)) for number in range(STREAMS)]
        for thread in threads:
            thread.start()
        time.sleep(seconds / 4)  # the load lasts for a given time, with a look at the memory within it
        quarter = memory_bytes(self.server.process.pid)
        time.sleep(seconds * 3 / 4)  # the rest of it
        end = memory_bytes(self.server.process.pid)
        for thread in threads:
            thread.join()
        return quarter, end


def figures(server):
    text = server.request("GET", "/metrics")[2]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


def sum_of(found, name):
    return sum(value for label, value in found.items() if label.split("{")[0] == name)


class Load(unittest.TestCase):
    def setUp(self):
        self.server = Server("--parallel", "32", "--connections-max", "2000")

    def tearDown(self):
        self.assertEqual(self.server.stop(), 0)

    def settled(self):
        """Returns the metrics once no request is running."""
        def idle():
            found = figures(self.server)
            names = ("etna_requests_in_flight", "etna_requests_running", "etna_requests_waiting", "etna_kv_pages_used")
            return found if all(sum_of(found, name) == 0 for name in names) else None

        return wait_until(idle, lambda: figures(self.server), interval_s=0.2)

    def test_concurrent_answers_equal_the_answers_alone(self):
        alone = {question: Stream(self.server.port, question).read() for question in QUESTIONS}
        self.assertEqual(alone["What is 34 + 58?"], "92")
        tokens_before = sum_of(figures(self.server), "etna_completion_tokens_total")
        crowd = Crowd(self.server, alone)
        quarter, end = crowd.run(SECONDS)
        self.assertEqual(crowd.wrong[:3], [])
        self.assertGreater(crowd.answered, STREAMS)
        self.assertGreater(crowd.left, 0)
        found = self.settled()
        tokens = sum_of(found, "etna_completion_tokens_total") - tokens_before
        print(f"{STREAMS} streams, {SECONDS} s: {crowd.answered} answers, {crowd.left} left early, {tokens / SECONDS:.0f} tokens/s; "
              f"resident {quarter / MIB:.0f} MiB after a quarter, {end / MIB:.0f} MiB at the end", file=sys.stderr)
        self.assertLessEqual(end, quarter * GROWTH_MAX)

    def test_idle_connections_delay_no_client(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.assertEqual(self.server.ask()[0], 200)  # the model is loaded
        idle = [socket.create_connection(("127.0.0.1", self.server.port), LIMIT_S) for _ in range(IDLE_CONNECTIONS)]
        try:
            begin = time.monotonic()
            status, answer = self.server.ask()
            self.assertEqual((status, answer["choices"][0]["message"]["content"]), (200, "92"))
            self.assertLess(time.monotonic() - begin, 30)
            threads = int(next(line for line in pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines()
                               if line.startswith("Threads:")).split()[1])
            self.assertLess(threads, 100)
        finally:
            for connection in idle:
                connection.close()
        self.settled()


if __name__ == "__main__":
    run_tests()
