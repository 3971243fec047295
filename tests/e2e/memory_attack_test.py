#!/usr/bin/env python3
"""Attacks on the memory, the connections and the model file of `etna serve`. Usage: memory_attack_test.py ETNA [--long]"""

import http.client
import json
import pathlib
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time
import unittest

from support.processes import MIB, cpu_s, has_ended, memory_bytes
from support.program import is_long, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

LONG = is_long()
MODEL = pathlib.Path(__file__).parents[2] / "core/store/demo/demo.gguf"
OTHER_MODEL = pathlib.Path(__file__).parents[2] / "tests/data/models/stories260K.gguf"
IDLE_S = 10  # until freed memory is returned to the system
SLACK_BYTES = 96 * MIB  # memory that an idle server may keep


class Watch:
    """CPU time and peak memory of a server during an attack; printed at the end."""

    def __init__(self, server, name):
        self.pid, self.name = server.process.pid, name

    def __enter__(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")  # resets the peak
        self.before, self.cpu_s, self.begin = memory_bytes(self.pid, "VmRSS"), cpu_s(self.pid), time.monotonic()
        return self

    def __exit__(self, *_):
        if has_ended(self.pid):
            print(f"  {self.name}: the server ended", flush=True)
            return
        self.peak = memory_bytes(self.pid, "VmHWM") - self.before
        print(f"  {self.name}: {time.monotonic() - self.begin:.1f} s, {cpu_s(self.pid) - self.cpu_s:.1f} s of CPU, "
              f"{self.before / MIB:.0f} MiB before, {self.peak / MIB:.0f} MiB more at most", flush=True)

    def left(self):
        """Returns the growth of resident memory once the server has been idle."""
        begin = time.monotonic()
        growth = lambda: memory_bytes(self.pid, "VmRSS") - self.before  # noqa: E731
        left, = wait_until(lambda: [left for left in [growth()] if left < SLACK_BYTES], lambda: f"{growth() / MIB:.0f} MiB left", IDLE_S, 0.2)
        print(f"  {self.name}: {left / MIB:.0f} MiB left after {time.monotonic() - begin:.0f} s", flush=True)
        return left


def post(server, path, body):
    """Returns (status, first and last bytes of the body, its length); the status is 0 if the connection was closed."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        first, last, length = b"", b"", 0
        while piece := answer.read(MIB):
            first, last, length = first or piece[:100], (last + piece)[-200:], length + len(piece)
        return answer.status, first, last, length
    except (OSError, http.client.HTTPException):
        return 0, b"", b"", 0
    finally:
        connection.close()


def at_once(count, ask):
    results, lock = [], threading.Lock()

    def run():
        result = ask()
        with lock:
            results.append(result)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def words(size):
    text = "Nobody in the village believed that Mira had seen a small fox near the river. "
    return text * (size // len(text))


def conversation(messages):
    return json.dumps({"messages": [{"role": ("user", "assistant")[i % 2], "content": f"message {i}"} for i in range(messages + 1)]})


class Memory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.ask()  # loads the model

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def alive(self):
        self.assertEqual(self.server.ask()[1]["choices"][0]["message"]["content"], "92")

    def test_a_long_text_with_pieces(self):
        body = json.dumps({"content": words(10 * MIB), "with_pieces": True})
        with Watch(self.server, "10 MB with pieces") as watch:
            status, first, last, length = post(self.server, "/tokenize", body)
        self.assertEqual(status, 200, first)
        self.assertTrue(first.startswith(b'{"tokens":[{"id":'), first)
        self.assertIn(b'"count":', last)
        self.assertGreater(length, 50 * MIB)
        self.assertLess(watch.peak, 200 * MIB)
        self.assertLess(watch.left(), SLACK_BYTES)

    def test_many_long_texts(self):
        for path, member in (("/tokenize", "content"), ("/v1/responses/input_tokens", "input")):
            body = json.dumps({member: words((30 if LONG else 10) * MIB)})
            with Watch(self.server, f"{len(body) // MIB} MB at {path}, 8 times") as watch:
                answers = at_once(8, lambda: post(self.server, path, body))
            statuses = sorted({status for status, *_ in answers})
            self.assertIn(200, statuses)
            self.assertLessEqual(set(statuses), {200, 503})
            self.assertLess(watch.peak, 1100 * MIB)  # --bodies-max, and a little
            self.assertLess(watch.left(), SLACK_BYTES)
        self.alive()

    def test_many_conversations_of_many_messages(self):
        body = conversation(40_000)
        count = 50 if LONG else 16
        with Watch(self.server, f"40,000 messages at /apply-template, {count} times") as watch:
            answers = at_once(count, lambda: post(self.server, "/apply-template", body))
        statuses = [status for status, *_ in answers]
        self.assertIn(200, statuses)
        self.assertLessEqual(set(statuses), {200, 503})
        self.assertLess(watch.peak, 1100 * MIB)
        self.assertLess(watch.left(), SLACK_BYTES)
        self.alive()

    def test_aborted_uploads(self):
        with Watch(self.server, "32 uploads of 30 MB that break off") as watch:
            clients = []
            for _ in range(32):
                client = socket.create_connection(("127.0.0.1", self.server.port))
                client.sendall(f"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: {31 * MIB}\r\n\r\n".encode())
                client.sendall(b"x" * (30 * MIB if LONG else 8 * MIB))
                clients.append(client)
            for client in clients:
                client.close()
        self.assertLess(watch.left(), SLACK_BYTES)
        self.alive()


class Limited(unittest.TestCase):
    """With less memory than --bodies-max, requests are refused; the server may end while it frees JSON, but loses no response."""

    def attack(self, server, bodies, expected, name):
        """Sends each body several times at once; returns the statuses."""
        seen = set()
        for path, body in bodies.items():
            with Watch(server, f"{path} {name}"):
                for status, first, *_ in at_once(8 if LONG else 4, lambda: post(server, path, body)):
                    seen.add(status)
                    self.assertIn(status, expected, first)
            if has_ended(server.process.pid):
                server.process.wait(LIMIT_S)
                break
        return seen

    def answer_is_right(self, server):
        status, answer = server.ask()
        self.assertEqual((status, answer["choices"][0]["message"]["content"]), (200, "92"))

    def bodies(self):
        return {"/tokenize": json.dumps({"content": words(20 * MIB), "with_pieces": True}),
                "/detokenize": json.dumps({"tokens": [300] * 1_900_000}),
                "/apply-template": conversation(100_000),
                "/v1/responses/input_tokens": json.dumps({"input": words(20 * MIB)}),
                "/v1/chat/completions": conversation(100_000)}

    def test_a_failed_allocation_gets_503(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-memory-")
        arguments = ("--bodies-max", "64G", "--store", str(pathlib.Path(folder.name) / "store.db"))
        server = Server(*arguments)
        stored = json.loads(server.request("POST", "/v1/responses", {"input": "What is 34 + 58?", "temperature": 0})[2])
        seen, ends = set(), 0
        for more in (16, 48, 128, 300) if LONG else (16, 48):
            server.ask()
            pid = server.process.pid
            _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
            resource.prlimit(pid, resource.RLIMIT_AS, (memory_bytes(pid, "VmSize") + more * MIB, hard))
            seen |= self.attack(server, self.bodies(), {0, 200, 400, 503}, f"with {more} MiB available")
            if server.process.poll() is None:
                resource.prlimit(pid, resource.RLIMIT_AS, (hard, hard))
            else:
                ends += 1
                log = server.log_text()
                self.assertEqual(server.wait(), -signal.SIGABRT, log)
                server = Server(*arguments)
            stored_later = json.loads(server.request("GET", f"/v1/responses/{stored['id']}")[2])
            self.assertEqual(stored_later["output"], stored["output"])
        print(f"  the server ended {ends} times", flush=True)
        self.assertIn(503, seen)
        self.answer_is_right(server)
        self.assertEqual(server.stop(), 0)
        folder.cleanup()

    def test_a_server_with_memory_for_bodies_max_continues(self):
        server = Server("--bodies-max", "256M")
        server.ask()
        pid = server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (memory_bytes(pid, "VmSize") + 1024 * MIB, hard))
        seen = self.attack(server, self.bodies(), {0, 200, 400, 413, 503}, "with memory for --bodies-max")
        self.assertIsNone(server.process.poll(), server.log_text())
        self.assertTrue(seen & {413, 503}, seen)
        self.answer_is_right(server)
        self.assertEqual(server.stop(), 0)


class Files(unittest.TestCase):
    def test_a_model_that_is_cut_while_it_loads(self):
        with tempfile.TemporaryDirectory(prefix="etna-cut-") as folder:
            file = pathlib.Path(folder) / "x.gguf"
            whole = MODEL.read_bytes()
            file.write_bytes(whole)
            server = Server("--models-dir", folder)
            ended = threading.Event()

            def rewrite():  # as `cp` does, slowly and repeatedly
                while not ended.is_set():
                    with open(file, "wb") as written:
                        for begin in range(0, len(whole), len(whole) // 16):
                            written.write(whole[begin:begin + len(whole) // 16])
                            written.flush()
                            time.sleep(0.01)  # as a slow disk

            writer = threading.Thread(target=rewrite)
            writer.start()
            statuses = []
            end = time.monotonic() + (120 if LONG else 8)
            while time.monotonic() < end and server.process.poll() is None:
                statuses.append(server.ask(model="x", max_tokens=1)[0])
            ended.set()
            writer.join()
            self.assertIsNone(server.process.poll(), server.log_text())
            self.assertTrue(any(status >= 500 for status in statuses), statuses)
            print(f"  a model that is written to: {len(statuses)} requests, {statuses.count(200)} of them answered", flush=True)
            shutil.copyfile(MODEL, file)
            wait_until(lambda: server.ask(model="x")[0] == 200, "the whole file is not served again")
            status, answer = server.ask(model="x")
            self.assertEqual((status, answer["choices"][0]["message"]["content"]), (200, "92"), server.log_text())
            shutil.copyfile(OTHER_MODEL, file)  # over the loaded file
            self.assertEqual(server.request("GET", "/health")[0], 200)
            time.sleep(1.2)  # an answer before it may come from the listing with the earlier file
            self.assertEqual(server.request("POST", "/v1/completions", {"model": "x", "prompt": "Once", "max_tokens": 4})[0], 200)
            self.assertEqual(server.stop(), 0)


class Connections(unittest.TestCase):
    def test_idle_connections_do_not_lock_out_other_clients(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = min(4200, hard - 200)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        server = Server()
        server.ask()
        mine = socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.9", 0))
        idle = []
        with Watch(server, f"{count} idle connections"):
            for number in range(count):
                idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S))
                if number % 2:
                    idle[-1].sendall(b"GET /he")
            for _ in range(5):
                begin = time.monotonic()
                self.assertEqual(server.request("GET", "/health")[0], 200)
                self.assertEqual(server.ask()[0], 200)
                self.assertLess(time.monotonic() - begin, 10)  # and not the 75 s of --idle-timeout
        mine.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")  # from an address with few connections
        self.assertTrue(mine.recv(100).startswith(b"HTTP/1.1 200 "))
        for client in [mine, *idle]:
            client.close()
        self.assertEqual(server.stop(), 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    run_tests(verbosity=2)
