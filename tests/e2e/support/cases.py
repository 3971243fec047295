"""Test cases with a server, and with a home folder."""

import os
import pathlib
import subprocess
import unittest

from support.homes import new_home
from support.program import executable
from support.server import Server
from support.waiting import LIMIT_S


class ServerCase(unittest.TestCase):
    """Tests of one server of `demo`, which they share."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def refused(self, status, part, **body):
        got, answer = self.server.ask(**body)
        self.assertEqual(got, status, answer)
        self.assertEqual(sorted(answer["error"]), ["code", "message", "param", "type"])
        self.assertIn(part, answer["error"]["message"])
        return answer["error"]


class HomeCase(unittest.TestCase):
    """Tests of etna with a separate home folder and folder of models."""

    def setUp(self):
        folder = new_home("etna-home-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.models = self.root / "models"

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ETNA_", "XDG_", "HF_", "OLLAMA_", "LLAMA_")) and "proxy" not in key.lower()}
        return {**kept, "HOME": str(self.root), "ETNA_MODELS": str(self.models), **more}

    def etna(self, *arguments, code=0, **more):
        result = subprocess.run([executable(), *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                                stdin=subprocess.DEVNULL, env=self.environment(**more))
        self.assertEqual(result.returncode, code, result.stderr)
        return result
