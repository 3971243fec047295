#!/usr/bin/env python3
"""Kills `etna serve` at random moments under load: nothing acknowledged is lost, no entry is partial.
Usage: crash_test.py ETNA [KILLS]"""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import unittest

from support.program import number_option, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

KILLS = number_option(15 if os.environ.get("ETNA_TEST_LONG") == "1" else 8)
CLIENTS = 4
LOAD_S = (0.05, 2.5)  # from the first request to the kill
SHORT = {"input": "Count to 9.", "temperature": 0, "max_output_tokens": 6}
TERMINAL = ("completed", "incomplete", "failed", "cancelled")


class Known:
    """State that the server has acknowledged, and requests in progress when it was killed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.responses = {}  # id -> object as received
        self.answers = {}  # id -> (answer, previous response), including deleted responses
        self.events = {}  # id -> the lines of its stream
        self.deleted = set()
        self.background = set()
        self.running = set()  # ids of streams without a received end
        self.conversations = collections.defaultdict(list)  # id -> ids of items, in order
        self.asked_items = collections.defaultdict(set)  # id -> texts of items that may be stored
        self.chats = {}


class Client:
    """Sends one request after another until the server is gone."""

    def __init__(self, port, known, seed):
        self.port, self.known, self.chooser = port, known, random.Random(seed)
        self.own = []  # responses not deleted
        self.talk = None
        self.wrong = None

    def run(self):
        works = (self.whole, self.streamed, self.in_background, self.conversation, self.said, self.chat, self.delete)
        try:
            while True:
                self.chooser.choices(works, weights=(4, 4, 2, 3, 3, 3, 1))[0]()
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return  # it was killed
        except AssertionError as error:
            self.wrong = error

    def ask(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
        assert answer.status == 200, (method, path, body, answer.status, text)
        return text

    def onward(self):
        """Returns a request that may continue the client's newest response."""
        is_chained = self.own and self.chooser.random() < 0.5
        return {**SHORT, "previous_response_id": self.own[-1]} if is_chained else SHORT

    def whole(self):
        self.keep(json.loads(self.ask("POST", "/v1/responses", self.onward())))

    def keep(self, made, events=None):
        with self.known.lock:
            self.known.responses[made["id"]] = made
            self.known.answers[made["id"]] = (made["output_text"], made["previous_response_id"])
            if events:
                self.known.events[made["id"]] = events
        self.own.append(made["id"])

    def streamed(self):
        lines, made = [], None
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)) as connection:
            connection.request("POST", "/v1/responses", json.dumps({**self.onward(), "stream": True}))
            for line in connection.getresponse():
                if line.startswith(b"data: {"):
                    lines.append(line)
                    made = self.take(json.loads(line[6:])) or made
        if made:
            self.keep(made, lines)

    def take(self, event):
        """Records the complete response when its event arrives."""
        with self.known.lock:
            if event["type"] == "response.created":
                self.known.running.add(event["response"]["id"])
            elif event["type"] in ("response.completed", "response.incomplete"):
                self.known.running.discard(event["response"]["id"])
                return event["response"]
        return None

    def in_background(self):
        made = json.loads(self.ask("POST", "/v1/responses", {**SHORT, "background": True}))
        with self.known.lock:
            self.known.background.add(made["id"])

    def conversation(self):
        with self.known.lock:
            old = [one for one in self.known.asked_items if self.known.conversations[one]]
        if not old or self.chooser.random() < 0.4:
            made = json.loads(self.ask("POST", "/v1/conversations", {}))
            with self.known.lock:
                self.known.conversations[made["id"]] = []
            conversation = made["id"]
        else:
            conversation = self.chooser.choice(old)
        texts = [f"item {self.chooser.random()}" for _ in range(self.chooser.randint(1, 5))]
        with self.known.lock:
            self.known.asked_items[conversation].add(tuple(texts))
        added = json.loads(self.ask("POST", f"/v1/conversations/{conversation}/items", {"items": [{"role": "user", "content": text} for text in texts]}))
        with self.known.lock:
            self.known.conversations[conversation].extend(item["id"] for item in added["data"])

    def said(self):
        """Requests a response in the client's conversation, which receives the question and the answer."""
        if self.talk is None:
            self.talk = json.loads(self.ask("POST", "/v1/conversations", {}))["id"]
            with self.known.lock:
                self.known.conversations[self.talk] = []
        made = json.loads(self.ask("POST", "/v1/responses", {**SHORT, "conversation": self.talk}))
        with self.known.lock:
            self.known.responses[made["id"]] = made
            self.known.conversations[self.talk] += [item["id"] for item in made["output"]]

    def chat(self):
        made = json.loads(self.ask("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Count to 9."}], "max_tokens": 6, "temperature": 0,
                                                                    "store": True, "metadata": {"by": str(id(self) % 7)}}))
        with self.known.lock:
            self.known.chats[made["id"]] = made

    def delete(self):
        if len(self.own) < 2:
            return
        gone = self.own.pop(self.chooser.randrange(len(self.own) - 1))
        with self.known.lock:
            self.known.deleted.add(gone)  # may be deleted from now on
        self.ask("DELETE", f"/v1/responses/{gone}")
        with self.known.lock:
            del self.known.responses[gone]


class Crashes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="etna-crash-")
        self.file = pathlib.Path(self.folder.name) / "store.db"
        self.known = Known()

    def tearDown(self):
        self.folder.cleanup()

    def counts(self):
        return [len(kind) for kind in (self.known.responses, self.known.deleted, self.known.conversations, self.known.chats)]

    def load_and_kill(self, server, seed):
        clients = [Client(server.port, self.known, seed * CLIENTS + number) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        time.sleep(random.Random(seed).uniform(*LOAD_S))  # kills come at any moment of the load
        if seed == KILLS - 1:  # a slow server (with sanitizers) may not have done enough for the checks yet
            wait_until(lambda: all(self.counts()), self.counts, interval_s=0.1)
        server.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()
        self.assertEqual([client.wrong for client in clients if client.wrong], [])

    def found(self, server, path):
        status, _, text = server.request("GET", path)
        self.assertIn(status, (200, 404), text)
        return json.loads(text) if status == 200 else None

    def ended(self, server, name):
        def found():
            response = self.found(server, f"/v1/responses/{name}")
            return response if response["status"] in TERMINAL else None

        return wait_until(found, f"{name} does not end", interval_s=0.01)

    def check_responses(self, server, those):
        for name in those:
            if name in self.known.deleted:
                continue
            self.assertEqual(self.found(server, f"/v1/responses/{name}"), self.known.responses[name])
        for name in self.known.running:  # may or may not be stored, but never partially
            response = self.found(server, f"/v1/responses/{name}")
            self.assertTrue(response is None or (response["status"] in TERMINAL and response["output"]), response)
        self.known.running.clear()
        for name in self.known.background:  # it continues, unless the response before it was deleted
            response = self.ended(server, name)
            if response["status"] == "failed":
                self.assertIn("no response `", response["error"]["message"])
            else:
                self.assertTrue(response["output"])
        self.known.background.clear()

    def replayed(self, server, name):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)) as connection:
            connection.request("GET", f"/v1/responses/{name}?stream=true")
            return [line for line in connection.getresponse() if line.startswith(b"data: {")]

    def tokens(self, server, body):
        status, _, text = server.request("POST", "/v1/responses/input_tokens", body)
        self.assertEqual(status, 200, text)
        return json.loads(text)["input_tokens"]

    def check_uses(self, server, those, chooser):
        """Checks stored responses: lists their items, replays their streams, continues them."""
        for name in chooser.sample(sorted(those), min(2, len(those))):
            items = self.found(server, f"/v1/responses/{name}/input_items")["data"]
            self.assertEqual([item["content"][0]["text"] for item in items], [SHORT["input"]])
            history, at = [], name
            while at:
                text, at = self.known.answers[at]
                history[:0] = [{"role": "user", "content": SHORT["input"]}, {"role": "assistant", "content": text}]
            asked = {"role": "user", "content": "And now?"}
            self.assertEqual(self.tokens(server, {"previous_response_id": name, "input": [asked]}), self.tokens(server, {"input": [*history, asked]}))
        streamed = sorted(name for name in those if name in self.known.events)
        for name in chooser.sample(streamed, min(2, len(streamed))):
            self.assertEqual(self.replayed(server, name), self.known.events[name])

    def items_of(self, server, name):
        items, after = [], ""
        while True:
            page = self.found(server, f"/v1/conversations/{name}/items?order=asc&limit=100{after}")
            self.assertIsNotNone(page, name)
            items += page["data"]
            if not page["has_more"]:
                return items
            after = f"&after={page['last_id']}"

    def check_conversations(self, server):
        """Checks that every acknowledged item is there, in order, and that items added together are complete."""
        for name, known in self.known.conversations.items():
            items = self.items_of(server, name)
            ids = [item["id"] for item in items]
            self.assertTrue(set(known) <= set(ids), (name, known, ids))
            talk = [item["role"] for item in items if item["content"][0]["text"][:4] != "item"]
            self.assertEqual(talk, ["user", "assistant"] * (len(talk) // 2), (name, talk))  # every question has its answer
            texts = {item["content"][0]["text"] for item in items}
            for added in self.known.asked_items[name]:
                self.assertIn(len(texts & set(added)), (0, len(added)), (name, added))

    def check_chats(self, server):
        listed, after = {}, ""
        while True:
            page = self.found(server, f"/v1/chat/completions?limit=100{after}")
            listed.update((chat["id"], chat) for chat in page["data"])
            if not page["has_more"]:
                break
            after = f"&after={page['last_id']}"
        for name, known in self.known.chats.items():
            self.assertEqual({member: listed[name][member] for member in known}, known)

    def check_deleted(self, server):
        for name in self.known.deleted:
            if name not in self.known.responses:  # acknowledged by the server
                self.assertIsNone(self.found(server, f"/v1/responses/{name}"))

    def check_file(self):
        database = sqlite3.connect(self.file)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
        self.assertEqual(database.execute("SELECT count(*) FROM responses WHERE is_pending").fetchone(), (0,))
        database.close()

    def test_nothing_acknowledged_is_lost(self):
        for seed in range(KILLS):
            before = set(self.known.responses)
            server = Server("--store", str(self.file))
            self.load_and_kill(server, seed)
            again = Server("--store", str(self.file))
            self.check_responses(again, set(self.known.responses) - before)
            self.check_conversations(again)
            self.check_uses(again, self.known.answers.keys() - self.known.deleted, random.Random(seed))
            self.assertNotIn("damaged", again.log_text())
            again.stop(signal.SIGKILL if seed % 2 else signal.SIGTERM)
        last = Server("--store", str(self.file))
        self.check_responses(last, self.known.responses)
        self.check_conversations(last)
        self.check_chats(last)
        self.check_deleted(last)
        counts = self.counts()
        self.assertTrue(all(counts), counts)
        last.stop()
        self.check_file()
        print("{} kills; {} responses stored, {} deleted, {} conversations, {} chats".format(KILLS, *counts), file=sys.stderr)


if __name__ == "__main__":
    run_tests()
