"""Servers and requests for tests after llama.cpp's."""

import concurrent.futures
import json
import pathlib
import re
import struct
import unittest

from support.program import is_long
from support.server import Server

SOURCE = pathlib.Path(__file__).resolve().parents[3]
STORIES = SOURCE / "tests" / "data" / "models" / "stories260K.gguf"  # as their preset tinyllama2
MEANING = "I believe the meaning of life is"
SEED = 42
LONG = is_long()
long_only = unittest.skipUnless(LONG, "runs with --long")


def start(*options, model=STORIES, context=512, parallel=2):
    return Server(str(model), "--alias", "tinyllama-2", "--ctx-size", str(context), "--parallel", str(parallel),
                             *options)


class Case(unittest.TestCase):
    """Tests of one server with the options of the class."""

    OPTIONS = ()
    CONTEXT = 512
    PARALLEL = 2
    MODEL = STORIES

    @classmethod
    def setUpClass(cls):
        cls.server = start(*cls.OPTIONS, model=cls.MODEL, context=cls.CONTEXT, parallel=cls.PARALLEL)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None, server=None, **headers):
        """Returns the status and the body, as JSON if it is."""
        status, _, text = (server or self.server).request(method, path, None if body is None else json.dumps(body), **headers)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def good(self, method, path, body=None, server=None, **headers):
        status, answer = self.ask(method, path, body, server, **headers)
        self.assertEqual(status, 200, answer)
        return answer

    def complete(self, server=None, **body):
        return self.good("POST", "/completion", {"n_predict": 64, "seed": SEED, "temperature": 0.8, **body}, server)

    def stream(self, path, server=None, **body):
        """Returns the data of a stream's events, without the last of OpenAI's API."""
        status, _, text = (server or self.server).request("POST", path, json.dumps({**body, "stream": True}))
        self.assertEqual(status, 200, text)
        data = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
        return [json.loads(one) for one in data if one != "[DONE]"]

    def in_parallel(self, *calls):
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            return [one.result() for one in [pool.submit(call) for call in calls]]

    def assert_matches(self, pattern, text):
        self.assertTrue(re.search(pattern, text), (pattern, text))


def with_numbers(source, path, numbers):
    """Writes a copy of a GGUF file with further keys whose values are 32-bit numbers. The keys are inserted before the
    others, in a multiple of the alignment of 32 bytes."""

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    data = source.read_bytes()
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", data)
    added = b"".join(text(key) + struct.pack("<II", 4, value) for key, value in numbers.items())
    head = text("etna.padding") + struct.pack("<I", 8)  # a string
    room = -(len(added) + len(head) + 8) % 32
    added += head + text(" " * room)
    path.write_bytes(struct.pack("<4sIQQ", magic, version, tensors, keys + len(numbers) + 1) + added + data[24:])
    return path
