#!/usr/bin/env python3
"""Time to first token of one client while another takes all it can of `etna serve demo`. Usage: fairness_test.py ETNA [ROUNDS]"""

import http.client
import json
import resource
import sys
import tempfile
import threading
import time
import unittest

import serve_test
from processes import MIB, cpu_s, memory_bytes
from serve_test import QUESTION, Server

ROUNDS = 5
FIRST_TOKEN_S = 2
ENDLESS = {**QUESTION, "ignore_eos": True, "max_tokens": 1900}


def in_flight(server, headers):
    lines = server.request("GET", "/metrics", **headers)[2].splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("etna_requests_in_flight"))


def first_token_s(port, headers, source):
    """Returns the seconds to a chat's first content; the answer must be complete."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=serve_test.LIMIT_S, source_address=(source, 0))
    start, first, text = time.monotonic(), None, ""
    connection.request("POST", "/v1/chat/completions", json.dumps({**QUESTION, "stream": True, "temperature": 0}), headers)
    answer = connection.getresponse()
    if answer.status != 200:
        raise AssertionError((answer.status, answer.read()))
    for line in answer:
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
        if text and first is None:
            first = time.monotonic() - start
    connection.close()
    if text != "92":
        raise AssertionError(text)
    return first


class Crowd:
    """Requests of one client, none of which is read to the end."""

    def __init__(self, port, headers):
        self.port, self.headers, self.connections, self.statuses = port, headers, [], []

    def ask(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=serve_test.LIMIT_S)
        connection.request("POST", path, json.dumps(body), self.headers)
        self.connections.append(connection)

    def leave(self):
        for connection in self.connections:
            connection.close()


class OneOfTwoClients(unittest.TestCase):
    def setUp(self):
        self.keys = tempfile.NamedTemporaryFile("w", suffix=".keys")
        self.keys.write("heavy\nlight\n")
        self.keys.flush()

    def beside(self, attack, *options, has_keys=True, has_proxy=False):
        """Measures the light client's times while `attack` runs a Crowd."""
        server = Server(*options, *(("--api-key-file", self.keys.name) if has_keys else ()),
                        *(("--client-header", "X-Client") if has_proxy else ()))
        crowd = Crowd(server.port, {"Authorization": "Bearer heavy", "X-Client": "heavy"})
        try:
            light = {"Authorization": "Bearer light", "X-Client": "light"}
            source = "127.0.0.1" if has_keys or has_proxy else "127.0.0.2"
            first_token_s(server.port, light, source)  # the model is loaded
            attack(crowd)
            deadline = time.monotonic() + 30
            while in_flight(server, light) < min(10, len(crowd.connections)) and time.monotonic() < deadline:
                time.sleep(0.05)
            times = [first_token_s(server.port, light, source) for _ in range(ROUNDS)]
            print(f"{self.id().rsplit('.', 1)[1]}: first token after {max(times):.2f} s at most, {cpu_s(server.process.pid):.1f} s of "
                  f"processor time, {memory_bytes(server.process.pid) // MIB} MiB", file=sys.stderr)
            self.assertLess(max(times), FIRST_TOKEN_S)
        finally:
            crowd.leave()
            server.stop()

    def test_streams(self):
        def attack(crowd):
            for _ in range(50):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "stream": True})
        self.beside(attack)

    def test_streams_from_another_address(self):
        def attack(crowd):
            for _ in range(50):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "stream": True})
        self.beside(attack, has_keys=False)

    def test_streams_identified_by_a_proxy(self):
        def attack(crowd):
            for _ in range(50):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "stream": True})
        self.beside(attack, has_keys=False, has_proxy=True)

    def test_beam_searches(self):
        def attack(crowd):
            for _ in range(14):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "use_beam_search": True, "n": 16})
        self.beside(attack)

    def test_responses_in_the_background(self):
        def attack(crowd):
            def post(count):
                connection = http.client.HTTPConnection("127.0.0.1", crowd.port, timeout=serve_test.LIMIT_S)
                for _ in range(count):
                    body = {"input": "Tell me a story.", "background": True, "max_output_tokens": 1900, "ignore_eos": True}
                    connection.request("POST", "/v1/responses", json.dumps(body), crowd.headers)
                    answer = connection.getresponse()
                    answer.read()
                    crowd.statuses.append(answer.status)
                connection.close()
            threads = [threading.Thread(target=post, args=(75,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertGreater(crowd.statuses.count(200), 200)
        self.beside(attack, "--drain-timeout", "0")  # background responses outlive their client

    def test_a_full_queue(self):
        def attack(crowd):
            for _ in range(300):
                crowd.ask("/v1/completions", {"prompt": "Once", "ignore_eos": True, "max_tokens": 1900, "stream": True})
        self.beside(attack)

    def test_long_prompts(self):
        for batch_tokens in ("64", "512"):
            def attack(crowd):
                for number in range(8):
                    prompt = f"{number} " + "once upon a time " * 465
                    crowd.ask("/v1/completions", {"prompt": prompt, "max_tokens": 1, "ignore_eos": True})
            with self.subTest(batch_tokens=batch_tokens):
                self.beside(attack, "--batch-tokens", batch_tokens)

    def tearDown(self):
        self.keys.close()


if __name__ == "__main__":
    serve_test.ETNA = sys.argv.pop(1)
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ROUNDS = int(sys.argv.pop(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    unittest.main()
