#!/usr/bin/env python3
"""Two replicas of `etna serve demo` behind routers: multi-turn chats find their prompts in the caches as with one replica.

Usage: router_test.py ETNA [--long]

HAProxy hashes a header; the picker of node/support/picker.mjs reads the events and gauges of the replicas. 20 chats, and
200 with --long. Parts whose programs are missing are skipped with a message."""

import json
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.request

from support.program import is_long, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

HERE = pathlib.Path(__file__).resolve().parent
CHATS = 200 if is_long() else 20
TURNS = 3
SHARE_MIN = 0.9
"""Cached tokens behind a router, as a share of those of one replica that gets every request."""
WORDS = "tea rain seven river what is the sum of a blue door and why never mind count to ten name one colour".split()
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 120s
    timeout server 120s
    option redispatch
frontend chats
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance hdr(x-session)
    hash-type consistent
    option httpchk GET /ready
    server a 127.0.0.1:{a} check inter 200ms
    server b 127.0.0.1:{b} check inter 200ms
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def chat(address, messages, **more):
    """Returns the answer to a chat, and its headers."""
    body = {"model": "demo", "messages": messages, "max_tokens": 8, "temperature": 0, **more.pop("body", {})}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json", **more})
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        return json.load(answer), answer.headers


def run_chats(address, chats):
    """Runs the chats turn by turn, mixed with each other. Returns the cached tokens of each request."""
    draw = random.Random(7)
    talks = [[{"role": "system", "content": "You answer in few words. " + " ".join(draw.choices(WORDS, k=12))}] for _ in range(chats)]
    turns = [number for number in range(chats) for _ in range(TURNS)]
    draw.shuffle(turns)
    cached = []
    for number in turns:
        talk = talks[number]
        talk.append({"role": "user", "content": " ".join(draw.choices(WORDS, k=draw.randint(20, 40)))})
        answer, _ = chat(address, talk, **{"x-session": f"chat {number}"})
        cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
        talk.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"] or ""})
    return cached


class Replicas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="etna-router-")
        one = Server("demo")
        try:
            cls.of_one = sum(run_chats(one.address, CHATS))
        finally:
            one.stop()

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()

    def setUp(self):
        self.replicas = []
        self.endpoints = []
        for name in ("a", "b"):
            events, replay = (f"ipc://{self.home.name}/{self.id()[-8:]}-{name}-{kind}" for kind in ("events", "replay"))
            self.endpoints.append(f"{events}={replay}")
            self.replicas.append(Server("demo", "--kv-events", events, "--kv-events-replay", replay, "--kv-events-partial"))
        self.addCleanup(self.stop_replicas)

    def stop_replicas(self):
        for replica in self.replicas:
            if replica.process.poll() is None:
                replica.stop()

    def start(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def check_share(self, address):
        cached = sum(run_chats(address, CHATS))
        print(f"{self.id().rsplit('.', 1)[1]}: {cached} cached tokens of {CHATS} chats, {self.of_one} with one replica")
        self.assertGreaterEqual(cached, SHARE_MIN * self.of_one)
        for replica in self.replicas:
            text = replica.request("GET", "/metrics")[2]
            count = [line for line in text.splitlines() if line.startswith("vllm:time_to_first_token_seconds_count")]
            self.assertGreater(int(count[0].rsplit(" ", 1)[1]), CHATS * TURNS / 8, "each replica has its share")

    def haproxy(self):
        if shutil.which("haproxy") is None:
            self.skipTest("haproxy is missing; run scripts/install-packages all-tests")
        port = free_port()
        config = pathlib.Path(self.home.name) / f"{port}.cfg"
        config.write_text(HAPROXY.format(port=port, a=self.replicas[0].port, b=self.replicas[1].port))
        self.start("haproxy", "-db", "-f", str(config))

        def listens():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        wait_until(listens, "haproxy does not listen", limit_s=10)
        return f"http://127.0.0.1:{port}"

    def test_haproxy_with_a_hash_of_a_header(self):
        self.check_share(self.haproxy())

    def test_haproxy_survives_the_end_of_a_replica(self):
        address = self.haproxy()
        talk = [{"role": "user", "content": "What is 34 + 58?"}]
        for number in range(4):
            chat(address, talk, **{"x-session": str(number)})
        self.replicas[0].stop()
        for number in range(8):
            answer, headers = chat(address, talk, **{"x-session": str(number), "endpoint-load-metrics-format": "JSON"})
            self.assertEqual(answer["choices"][0]["message"]["content"], "92")
            self.assertIn("kv_cache_usage_perc", headers["endpoint-load-metrics"])

    def test_picker_that_reads_events_and_gauges(self):
        node = shutil.which("node")
        if node is None or not (HERE / "node_modules" / "zeromq").exists():
            self.skipTest("node or its packages are missing; run scripts/install-packages all-tests and scripts/node-packages")
        given = [f"{replica.address}={endpoints}" for replica, endpoints in zip(self.replicas, self.endpoints)]
        picker = self.start(node, str(HERE / "node" / "support" / "picker.mjs"), *given)
        self.check_share(picker.stdout.readline().decode().strip())


if __name__ == "__main__":
    run_tests(verbosity=2)
