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

from support.client import QUESTION
from support.processes import MIB, cpu_s, memory_bytes
from support.program import number_option, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

ROUNDS = number_option(5)
FIRST_TOKEN_S = 2
ENDLESS = {**QUESTION, "ignore_eos": True, "max_tokens": 1900}


def in_flight(server, headers):
    lines = server.request("GET", "/metrics", **headers)[2].splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("etna_requests_in_flight"))


def first_token_s(port, headers, source):
    """Returns the seconds to a chat's first content; the answer must be complete."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S, source_address=(source, 0))
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


def request(port, headers, method, path, body=None):
    """Returns status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        sent = json.dumps(body) if isinstance(body, dict) else body
        connection.request(method, path, sent, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


def upload(port, headers, content):
    form = ('--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n' + content + "\r\n--x--\r\n")
    return request(port, {**headers, "Content-Type": "multipart/form-data; boundary=x"}, "POST", "/v1/files", form)


def batch_lines(count, max_tokens):
    body = {"prompt": "Once", "max_tokens": max_tokens, "ignore_eos": True}
    return "".join(json.dumps({"custom_id": str(number), "method": "POST", "url": "/v1/completions", "body": body}) + "\n"
                   for number in range(count))


def start_batch(port, headers, content):
    """Returns the batch."""
    status, file = upload(port, headers, content)
    if status != 200:
        raise AssertionError(file)
    status, batch = request(port, headers, "POST", "/v1/batches",
                            {"input_file_id": file["id"], "endpoint": "/v1/completions", "completion_window": "24h"})
    if status != 200:
        raise AssertionError(batch)
    return batch


class Crowd:
    """Requests of one client, none of which is read to the end."""

    def __init__(self, port, headers):
        self.port, self.headers, self.connections, self.statuses = port, headers, [], []
        self.threads, self.is_leaving = [], threading.Event()

    def ask(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.request("POST", path, json.dumps(body), self.headers)
        self.connections.append(connection)

    def repeat(self, ask):
        """Calls `ask` again and again, on a thread, until the crowd leaves; it returns a status."""
        def loop():
            while not self.is_leaving.is_set():
                self.statuses.append(ask())
        self.threads.append(threading.Thread(target=loop))
        self.threads[-1].start()

    def leave(self):
        self.is_leaving.set()
        for thread in self.threads:
            thread.join()
        for connection in self.connections:
            connection.close()


class OneOfTwoClients(unittest.TestCase):
    def setUp(self):
        self.keys = tempfile.NamedTemporaryFile("w", suffix=".keys")
        self.keys.write("heavy\nlight\n")
        self.keys.flush()

    def beside(self, attack, *options, has_keys=True, has_proxy=False, counted=True, arrived=10):
        """Measures the light client's times while `attack` runs a Crowd. `counted`: its requests are answers in the metrics,
        of which `arrived` are in flight before the first measurement."""
        server = Server(*options, *(("--api-key-file", self.keys.name) if has_keys else ()),
                        *(("--client-header", "X-Client") if has_proxy else ()))
        crowd = Crowd(server.port, {"Authorization": "Bearer heavy", "X-Client": "heavy"})
        try:
            light = {"Authorization": "Bearer light", "X-Client": "light"}
            source = "127.0.0.1" if has_keys or has_proxy else "127.0.0.2"
            first_token_s(server.port, light, source)  # the model is loaded
            attack(crowd)
            if counted:
                wait_until(lambda: in_flight(server, light) >= min(arrived, len(crowd.connections)), "the flood does not arrive", 30, 0.05)
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
                connection = http.client.HTTPConnection("127.0.0.1", crowd.port, timeout=LIMIT_S)
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

    def test_embeddings(self):
        def attack(crowd):
            texts = [f"{number} " + "once upon a time " * 100 for number in range(200)]
            for _ in range(10):
                crowd.ask("/v1/embeddings", {"input": texts})
        self.beside(attack, arrived=2)  # the first may end before the last arrives

    def test_scores(self):
        def attack(crowd):
            texts = [f"{number} " + "once upon a time " * 100 for number in range(200)]
            for _ in range(10):
                crowd.ask("/v1/score", {"text_1": "once", "text_2": texts})
        self.beside(attack, arrived=2)  # the first may end before the last arrives

    def test_many_choices(self):
        def attack(crowd):
            for _ in range(10):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "n": 64})
        self.beside(attack, "--queue", "1024")

    def test_schemas(self):
        def attack(crowd):
            pattern = "^" + "".join(f"(x{number})?" for number in range(2000)) + "$"
            for number in range(20):
                schema = {"type": "object", "properties": {f"a{number}": {"type": "string", "pattern": pattern}}, "required": [f"a{number}"]}
                crowd.ask("/v1/chat/completions", {**QUESTION, "max_tokens": 500, "stream": True, "response_format": {
                    "type": "json_schema", "json_schema": {"name": "a", "schema": schema}}})
        self.beside(attack)

    def test_requests_that_take_every_thread(self):
        def attack(crowd):
            for _ in range(60):
                crowd.ask("/v1/chat/completions", {**ENDLESS, "stream": True})
        self.beside(attack, "--requests-max", "40")

    def test_downloads_that_are_not_read(self):
        def attack(crowd):
            status, file = upload(crowd.port, crowd.headers, "x" * (8 * MIB))
            self.assertEqual(status, 200)
            for _ in range(60):
                connection = http.client.HTTPConnection("127.0.0.1", crowd.port, timeout=LIMIT_S)
                connection.request("GET", f"/v1/files/{file['id']}/content", headers=crowd.headers)
                crowd.connections.append(connection)
        self.beside(attack, "--requests-max", "40", counted=False)

    def test_batches(self):
        lines = batch_lines(500, 500)

        def attack(crowd):
            for _ in range(4):
                start_batch(crowd.port, crowd.headers, lines)
        self.beside(attack, "--drain-timeout", "0", counted=False)

    def test_unloads_in_a_loop(self):
        server = Server("--api-key-file", self.keys.name)
        light = {"Authorization": "Bearer light"}
        crowd = Crowd(server.port, {"Authorization": "Bearer heavy"})
        try:
            first_token_s(server.port, light, "127.0.0.1")
            for path, body in (("/models/unload", {"model": "demo"}), ("/api/generate", {"model": "demo", "keep_alive": 0})):
                crowd.repeat(lambda path=path, body=body: request(crowd.port, crowd.headers, "POST", path, body)[0])
            for _ in range(ROUNDS):
                first_token_s(server.port, light, "127.0.0.1")
            wait_until(lambda: len(crowd.statuses) >= 20, "the others are not answered", interval_s=0.05)
            crowd.leave()
            self.assertEqual(set(crowd.statuses), {409})
            server.request("GET", "/v1/models", **light)
            self.assertEqual(server.request("GET", "/metrics", **light)[2].count('etna_model_loaded{model="demo"} 1'), 1)
        finally:
            crowd.leave()
            server.stop()

    def test_a_batch_beside_four_long_ones(self):
        server = Server("--api-key-file", self.keys.name, "--drain-timeout", "0")
        light, heavy = ({"Authorization": "Bearer " + key} for key in ("light", "heavy"))
        try:
            long = [start_batch(server.port, heavy, batch_lines(500, 500)) for _ in range(4)]
            wait_until(lambda: in_flight(server, light) >= 4, "the long batches do not run", interval_s=0.05)
            name = start_batch(server.port, light, batch_lines(4, 4))["id"]

            def ended():
                batch = request(server.port, light, "GET", f"/v1/batches/{name}")[1]
                return batch if batch["status"] in ("completed", "failed") else None

            short = wait_until(ended, "the short batch does not end", interval_s=0.05)
            self.assertEqual(short["request_counts"], {"total": 4, "completed": 4, "failed": 0})
            statuses = [request(server.port, heavy, "GET", f"/v1/batches/{batch['id']}")[1]["status"] for batch in long]
            self.assertIn("in_progress", statuses)
            # One owner's batches take turns at the threads, so one of them may not have begun.
            self.assertLessEqual(set(statuses), {"validating", "in_progress"})
        finally:
            server.stop()

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
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    run_tests()
