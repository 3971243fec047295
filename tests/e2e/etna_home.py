"""etna with a separate home folder, for tests of stored models and of servers."""

import os
import pathlib
import subprocess
import unittest

from homes import new_home

LIMIT_S = 120


class EtnaHome(unittest.TestCase):
    executable = ""

    def setUp(self):
        folder = new_home("etna-home-", self.executable)
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.models = self.root / "models"

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ETNA_", "XDG_", "HF_", "OLLAMA_", "LLAMA_")) and "proxy" not in key.lower()}
        return {**kept, "HOME": str(self.root), "ETNA_MODELS": str(self.models), **more}

    def etna(self, *arguments, code=0, **more):
        result = subprocess.run([self.executable, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                                stdin=subprocess.DEVNULL, env=self.environment(**more))
        self.assertEqual(result.returncode, code, result.stderr)
        return result
