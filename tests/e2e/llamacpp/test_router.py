"""After test_router.py: a folder of models in place of their router."""

import pathlib
import shutil
import tempfile

from harness import STORIES, Case, long_only
from support.server import Server
from support.waiting import wait_until


@long_only
class Router(Case):
    MODELS_MAX = 2

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in "abc":
            shutil.copy(STORIES, pathlib.Path(cls.folder.name) / f"{name}.gguf")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.server = Server("--models-dir", self.folder.name, "--models-max", str(self.MODELS_MAX))

    def tearDown(self):
        self.server.stop()

    def state(self, name):
        return next(model["status"]["value"] for model in self.good("GET", "/models")["data"] if model["id"] == name)

    def wait_for(self, name, state):
        wait_until(lambda: self.state(name) == state, lambda: f"{name} is {self.state(name)}, and not {state}", limit_s=30)

    def load(self, name):
        self.assertIs(self.good("POST", "/models/load", {"model": name})["success"], True)
        self.wait_for(name, "loaded")

    def tokenize(self, name):
        return self.good("POST", "/tokenize", {"model": name, "content": "hello world"})

    def test_router_chat_completion_stream(self):
        chunks = self.stream("/chat/completions", model="a", max_tokens=16, messages=[{"role": "user", "content": "hello"}])
        self.assertTrue("".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]))
        status, _ = self.ask("POST", "/chat/completions", {"model": "non-existent/model", "stream": True, "messages": [
            {"role": "user", "content": "hello"}]})
        self.assertEqual(status, 404)

    def test_router_unload_model(self):
        self.load("a")
        self.assertIs(self.good("POST", "/models/unload", {"model": "a"})["success"], True)
        self.wait_for("a", "unloaded")

    def test_router_models_max_evicts_lru(self):
        for name in "abc":
            self.load(name)
        self.assertEqual([self.state(name) for name in "abc"], ["unloaded", "loaded", "loaded"])

    def test_router_queue_coalesces_requests_for_same_model(self):
        self.load("a")
        self.load("b")
        self.in_parallel(*[lambda: self.tokenize("c")] * 3)
        self.assertEqual((self.state("a"), self.state("c")), ("unloaded", "loaded"))
        self.assertEqual(self.state("b"), "loaded")


@long_only
class SmallRouter(Router):
    MODELS_MAX = 1

    def test_router_models_max_evicts_lru(self):
        self.load("a")
        self.load("b")
        self.assertEqual((self.state("a"), self.state("b")), ("unloaded", "loaded"))

    def test_router_queue_coalesces_requests_for_same_model(self):
        """And test_router_queue_two_waiters_share_one_eviction."""
        self.load("a")
        self.in_parallel(lambda: self.tokenize("b"), lambda: self.tokenize("c"))
        self.assertEqual(self.state("a"), "unloaded")
