#!/usr/bin/env python3
"""What operators of `etna serve` set, and models in folders. Usage: operator_test.py ETNA"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import serve_test
from serve_test import LIMIT_S, QUESTION, Server

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STORIES = SOURCE / "tests" / "data" / "models" / "stories260K.gguf"
DEMO = SOURCE / "core" / "store" / "demo" / "demo.gguf"


def refused(*arguments):
    """What is told by a server that does not start."""
    done = subprocess.run([serve_test.ETNA, "serve", "--port", "0", *arguments], capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode != 0 and done.stdout == b"", (arguments, done.stdout)
    return done.stderr.decode()


class Access(unittest.TestCase):
    def test_names_pages_and_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys.txt"
            keys.write_text("one\r\n\ntwo\n")
            server = Server("--allowed-host", "Box.LAN", "--cors", "https://App.Example/", "--api-key-file", str(keys))

            def status(key="one", **headers):
                return server.request("GET", "/v1/models", Authorization=f"Bearer {key}", **headers)

            try:
                self.assertEqual([status(key)[0] for key in ("one", "two", "three", "")], [200, 200, 401, 401])
                self.assertEqual([status(Host=host)[0] for host in ("box.lan", "BOX.LAN:81", "other.lan")], [200, 200, 403])
                code, headers, _ = status(Origin="https://app.example")
                self.assertEqual((code, headers["access-control-allow-origin"]), (200, "https://app.example"))
                self.assertEqual(status(Origin="https://other.example")[0], 403)
                code, headers, _ = server.request("OPTIONS", "/v1/models", Origin="https://app.example",
                                                  Access_Control_Request_Method="POST", Access_Control_Request_Headers="x-one")
                self.assertEqual((code, headers["access-control-allow-headers"]), (204, "x-one"))
            finally:
                server.stop()

    def test_what_could_never_hold_is_refused_at_the_start(self):
        self.assertIn("--allowed-host: `box.lan:80`", refused("--allowed-host", "box.lan:80"))
        self.assertIn("--cors: `app.example`", refused("--cors", "app.example"))
        self.assertIn("--chat-path: `/a%62c`", refused("--chat-path", "/a%62c"))
        self.assertIn("--models-dir: /nonexistent is no folder", refused("--models-dir", "/nonexistent"))
        self.assertIn(f"--models-dir: {STORIES} is no folder", refused("--models-dir", str(STORIES)))


class Folder(unittest.TestCase):
    def test_files_are_listed_by_what_they_hold_before_they_are_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {"stories": STORIES.read_bytes(), "demo": STORIES.read_bytes(), "talker": DEMO.read_bytes(),
                     "cut": DEMO.read_bytes()[:100_000]}
            for name, data in files.items():
                (pathlib.Path(folder) / f"{name}.gguf").write_bytes(data)
            server = Server("--models-dir", folder, "--models-max", "1")
            try:
                listed = {model["name"]: model for model in json.loads(server.request("GET", "/dynamo/alpha/list-models")[2])["data"]}
                self.assertEqual(listed["talker"], {"name": "talker", "type": ["chat", "completion"], "context": 2048, "loaded": False,
                                                    "endpoint": ["/v1/completions", "/v1/chat/completions"]})
                for name in ("stories", "demo"):
                    self.assertEqual((listed[name]["type"], listed[name]["endpoint"]), (["completion"], ["/v1/completions"]))
                self.assertNotIn(folder, listed["cut"]["error"])
                self.assertEqual([model["id"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]],
                                 ["demo", "stories", "talker"])
                status, answer = server.ask(model="cut")
                self.assertEqual((status, answer["error"]["type"]), (500, "server_error"))
                tokens = [server.request("POST", "/tokenize", {"model": name, "content": "Once"})[2] for name in ("demo", "stories")]
                self.assertEqual(*tokens)  # the file, and not the model that is built in
                self.assertIn("not the model that is built in", server.told())
                shutil.copy(DEMO, pathlib.Path(folder) / "new")
                os.replace(pathlib.Path(folder) / "new", pathlib.Path(folder) / "demo.gguf")
                serve_test.time.sleep(1.1)
                self.assertEqual(server.ask(model="demo")[1]["choices"][0]["message"]["content"], "92")
            finally:
                server.stop()


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--prompt-max", "100", "--request-timeout", "3")
        cls.server.ask()  # loads the model, which may take longer

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_a_begun_answer_is_gone_on_with(self):
        body = {"messages": [{"role": "user", "content": "Count to 7."}, {"role": "assistant", "content": "1, 2, 3"}],
                "continue_final_message": True, "temperature": 0}
        self.assertTrue(json.loads(self.server.request("POST", "/apply-template", body)[2])["prompt"].endswith("\n1, 2, 3"))
        _, answer = self.server.ask(**body)
        self.assertEqual(answer["choices"][0]["message"]["content"], ", 4, 5, 6, 7")
        rendered = subprocess.run([serve_test.ETNA, "render", "demo"], input=json.dumps(body), capture_output=True, text=True, check=True)
        self.assertTrue(rendered.stdout.endswith("\n1, 2, 3"), rendered.stdout)

    def test_prompt_and_time_have_their_limits(self):
        status, answer = self.server.ask(messages=[{"role": "user", "content": "dog " * 200}])
        self.assertEqual((status, answer["error"]["code"]), (400, "context_length_exceeded"))
        begin = serve_test.time.monotonic()
        status, answer = self.server.ask(ignore_eos=True, max_tokens=1900)
        self.assertEqual((status, answer["choices"][0]["finish_reason"]), (200, "length"))
        if answer["usage"]["completion_tokens"] < 1900:  # a device that is faster is done before
            self.assertLess(serve_test.time.monotonic() - begin, 20)

    def test_special_tokens_and_stop_tokens(self):
        end, nine = (json.loads(self.server.request("POST", "/tokenize", {"content": text})[2])["tokens"][-1] for text in ("<|im_end|>", "9"))
        shown = self.server.ask(skip_special_tokens=False, stop_token_ids=[end], include_stop_str_in_output=True, temperature=0)[1]
        self.assertEqual(shown["choices"][0]["message"]["content"], "92<|im_end|>")
        hidden = self.server.ask(stop_token_ids=[end], include_stop_str_in_output=True, temperature=0)[1]
        self.assertEqual(hidden["choices"][0]["message"]["content"], "92")
        _, stopped = self.server.ask(stop_token_ids=[nine], temperature=0)
        self.assertEqual((stopped["choices"][0]["message"]["content"], stopped["choices"][0]["finish_reason"]), ("", "stop"))

    def test_a_strict_client_is_told_by_the_token_routes_too(self):
        for path, body in (("/tokenize", {"content": "a"}), ("/detokenize", {"tokens": [300]}), ("/apply-template", QUESTION)):
            self.assertEqual(self.server.request("POST", path, body, etna_strict="1")[0], 200)
            self.assertEqual(self.server.request("POST", path, {**body, "odd": 1}, etna_strict="1")[0], 400)
            self.assertEqual(self.server.request("POST", path, {**body, "odd": 1})[1]["etna-ignored"], "odd")

    def test_streams_keep_their_connection_and_other_methods_are_told_what_is_taken(self):
        _, headers, _ = self.server.request("POST", "/v1/chat/completions", {**QUESTION, "stream": True})
        self.assertEqual(headers["connection"].lower(), "keep-alive")
        status, headers, text = self.server.request("BREW", "/v1/models")
        self.assertEqual((status, headers["allow"], json.loads(text)["error"]["code"]), (405, "GET, HEAD", "method_not_allowed"))


class Memory(unittest.TestCase):
    def test_a_body_of_many_values_is_refused_before_it_takes_memory(self):
        server = Server()

        def peak_bytes():
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))

        try:
            server.request("POST", "/tokenize", {"content": "a"})
            before = peak_bytes()
            for begin in ('{"prompt":[', '{"prompt":"a","odd":['):
                status, _, text = server.request("POST", "/v1/completions", begin + '"a",' * 7_000_000 + '"a"]}')
                self.assertEqual((status, "values" in json.loads(text)["error"]["message"]), (413, True), text)
            self.assertLess(peak_bytes() - before, 300_000_000)
        finally:
            server.stop()


if __name__ == "__main__":
    serve_test.ETNA = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
