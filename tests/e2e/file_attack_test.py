#!/usr/bin/env python3
"""Model files that are made to hurt `etna serve`, or change while it serves them. Usage: file_attack_test.py ETNA"""

import json
import os
import pathlib
import shutil
import struct
import tempfile
import time
import unittest

from support.gguf_files import GgufFile, bytes_value, string_value, strings_value
from support.processes import MIB, cpu_s, memory_bytes
from support.program import run_tests
from support.server import Server
from support.waiting import wait_until

ROOT = pathlib.Path(__file__).parents[2]
DEMO = ROOT / "core/store/demo/demo.gguf"
STORIES = ROOT / "tests/data/models/stories260K.gguf"
COUNTING = ("{% for i in range(99999) %}{% for j in range(99999) %}{% set x = j %}{% endfor %}{% endfor %}"
            "{% for m in messages %}{{ m.content }}{% endfor %}")
SCAN_S = 1.2  # the time that a folder listing is cached


def character_map(letter, replacement):
    """A trie with one rule: the letter becomes the replacement."""
    units = [0] * 512
    units[0] = 1 << 10 | 0x200  # its children are at 256
    node = 256 ^ ord(letter)
    units[node] = ord(letter) | 1 << 8 | (node ^ 256) << 10  # a leaf at 256
    units[256] = 0x80000000
    return struct.pack("<I512I", 4 * 512, *units) + replacement + b"\0"


class Attack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-files-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self, *arguments):
        server = Server("--models-dir", str(self.folder), *arguments)
        self.addCleanup(lambda: server.process.poll() is None and server.stop())
        return server

    def write(self, name, base=STORIES, **values):
        file = GgufFile(base)
        file.values.update({f"tokenizer.{key.replace('__', '.')}": value for key, value in values.items()})
        file.write(self.folder / f"{name}.gguf")

    def peak_bytes(self, server):
        return memory_bytes(server.process.pid, "VmHWM")


class Tokenizers(Attack):
    def test_a_character_map_of_a_mebibyte_per_letter_asks_for_its_memory(self):
        self.write("x", ggml__model=string_value("t5"),
                   ggml__precompiled_charsmap=bytes_value(character_map("z", b"a" * MIB)))
        server = self.serve("--bodies-max", "64M")
        status, _, text = server.request("POST", "/tokenize", {"model": "x", "content": "a"})
        self.assertEqual(status, 200, text)
        before = memory_bytes(server.process.pid)
        for count in (100, 1000, 100_000):
            status, _, text = server.request("POST", "/tokenize", {"model": "x", "content": "z" * count})
            self.assertIn(status, (413, 503), text)
        self.assertLess(self.peak_bytes(server) - before, 160 * MIB)
        self.assertEqual(server.request("POST", "/tokenize", {"model": "x", "content": "a"})[0], 200)

    def test_a_token_of_100_kilobytes_with_a_space_costs_no_more_than_others(self):
        tokens = GgufFile(STORIES).strings("tokenizer.ggml.tokens")
        tokens[-1] = b"a" * 50_000 + "\u2581".encode() + b"a" * 50_000
        for model in ("llama", "t5"):
            self.write("x", ggml__model=string_value(model), ggml__tokens=strings_value(tokens))
            server = self.serve()
            status, _, text = server.request("POST", "/tokenize", {"model": "x", "content": "a a" * 35_000})
            self.assertEqual(status, 200, text[:200])
            self.assertGreater(json.loads(text)["count"], 1000)
            self.assertLess(cpu_s(server.process.pid), 30)
            self.assertEqual(server.stop(), 0)


class Templates(Attack):
    def test_templates_that_count_for_long_do_not_hold_up_the_start(self):
        for name in ("a", "b", "c", "d"):
            self.write(name, chat_template=string_value(COUNTING))
        shutil.copyfile(DEMO, self.folder / "good.gguf")
        server = self.serve()
        self.assertLess(cpu_s(server.process.pid), 20)
        listed = json.loads(server.request("GET", "/v1/models")[2])["data"]
        self.assertEqual([model["id"] for model in listed], ["a", "b", "c", "d", "good"])
        status, answer = server.ask(model="good")
        self.assertEqual((status, answer["choices"][0]["message"]["content"]), (200, "92"))


class Overwritten(Attack):
    MESSAGES = {"messages": [{"role": "user", "content": "Hello"}]}
    REQUESTS = {
        "/v1/chat/completions": {**MESSAGES, "max_tokens": 1},
        "/v1/completions": {"prompt": "Once", "max_tokens": 1},
        "/v1/responses": {"input": "Hello", "max_output_tokens": 16},
        "/v1/messages": {**MESSAGES, "max_tokens": 1},
        "/v1/messages/count_tokens": MESSAGES,
        "/v1/embeddings": {"input": "Once"},
        "/v1/rerank": {"query": "a", "documents": ["b"]},
        "/api/chat": {**MESSAGES, "stream": False},
        "/api/generate": {"prompt": "Once", "stream": False},
        "/completion": {"prompt": "Once", "n_predict": 1},
        "/tokenize": {"content": "Once"},
        "/apply-template": MESSAGES,
    }

    def test_every_api_reports_503_and_the_log_names_the_file(self):
        file = self.folder / "x.gguf"
        whole = DEMO.read_bytes()
        file.write_bytes(whole)
        server = self.serve()
        self.assertEqual(server.ask(model="x", max_tokens=1)[0], 200)
        contents = {"cut": whole[:len(whole) // 2], "short": whole[:1000], "empty": b"", "zeros": bytes(len(whole)),
                    "a page": b"<!doctype html><html>" + whole[21:], "other numbers": b"GGUF" + whole[8:]}
        for name, content in contents.items():
            with open(file, "r+b") as written:  # in place, as a careless copy does
                written.write(content)
                written.truncate(len(content))
            time.sleep(SCAN_S)  # an answer before it may come from the listing with the earlier content
            for path, body in self.REQUESTS.items():
                with self.subTest(content=name, path=path):
                    status, headers, text = server.request("POST", path, {**body, "model": "x"})
                    self.assertEqual(status, 529 if path.startswith("/v1/messages") else 503, text)
                    self.assertIn("changed on the server", text)
                    self.assertIn("retry-after", headers)
                    self.assertNotIn(str(self.folder), text)
        self.assertIn(str(file), server.log_text())
        self.assertEqual(server.request("GET", "/health")[0], 200)
        file.write_bytes(whole)
        wait_until(lambda: server.ask(model="x", max_tokens=1)[0] == 200, "the whole file is not served again")
        self.assertEqual(server.ask(model="x", max_tokens=1)[0], 200)
        self.assertEqual(server.stop(), 0)

    def test_a_named_file_that_is_removed_or_cut_gets_503(self):
        file = self.folder / "x.gguf"
        shutil.copyfile(DEMO, file)
        server = Server(str(file))
        self.addCleanup(server.stop)
        self.assertEqual(server.ask(max_tokens=1)[0], 200)
        os.truncate(file, 5000)
        wait_until(lambda: server.ask(max_tokens=1)[0] == 503, "the short file is served")
        self.assertEqual(server.ask(max_tokens=1)[0], 503)
        file.unlink()
        self.assertEqual(server.ask(max_tokens=1)[0], 503)
        self.assertEqual(server.request("GET", "/health")[0], 200)


if __name__ == "__main__":
    run_tests(verbosity=2)
