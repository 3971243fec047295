#!/usr/bin/env python3
"""`etna ps`, `etna stop` and `etna serve --on-request` with running servers. Usage: running_servers_test.py ETNA"""

import concurrent.futures
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from etna_home import LIMIT_S, EtnaHome
from stand_in_hub import StandInHub

STORIES = pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf"


class Servers(EtnaHome):
    def setUp(self):
        super().setUp()
        self.hub = StandInHub()
        self.addCleanup(self.hub.close)

    def environment(self, **more):
        return super().environment(**{"HF_ENDPOINT": self.hub.url, **more})

    def serve(self, *arguments, **more):
        """Starts a server, and returns its process and address."""
        process = subprocess.Popen([self.executable, "serve", "--port", "0", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment(**more))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def complete(self, url, model, **more):
        """Returns status and answer."""
        body = json.dumps({"model": model, "prompt": "Once", "max_tokens": 1, **more}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body), timeout=LIMIT_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def held(self, *arguments):
        """Returns the names of the models in memory, by server."""
        report = json.loads(self.etna("ps", "--json", *arguments).stdout)
        return {server["url"]: [model["name"] for model in server["models"]] for server in report["servers"]}

    def files(self):
        folder = self.root / ".local/state/etna/run"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


class Listing(Servers):
    def test_ps_and_stop_work_on_every_server_of_the_machine_and_on_one(self):
        self.assertIn("no `etna serve`", self.etna("ps").stderr)
        self.assertIn("no `etna serve`", self.etna("stop", "demo", code=1).stderr)
        first, one = self.serve("demo")
        second, two = self.serve("demo", str(STORIES))
        self.assertEqual(self.held(), {one: [], two: []})
        for url, model in ((one, "demo"), (two, "demo"), (two, "stories260K")):
            self.assertEqual(self.complete(url, model)[0], 200)
        self.assertEqual(self.held(), {one: ["demo"], two: ["demo", "stories260K"]})
        self.assertRegex(self.etna("ps").stdout, r"stories260K +[0-9.]+ [KM]iB +2048 +idle for \d+ s +http://127\.0\.0\.1:\d+  \S")
        self.etna("stop", "demo", "--url", one)
        self.assertEqual(self.held(), {one: [], two: ["demo", "stories260K"]})
        self.assertEqual(self.held("--url", two), {two: ["demo", "stories260K"]})
        self.assertIn(f"stopped stories260K of {two}", self.etna("stop", "stories260K").stderr)
        stopped = self.etna("stop", "demo").stderr
        self.assertIn(f"demo is not in the memory of {one}", stopped)
        self.assertIn(f"stopped demo of {two}", stopped)
        self.assertIn("no running server has the model `other`", self.etna("stop", "other", code=1).stderr)
        self.assertEqual(self.complete(two, "demo")[0], 200)
        self.assertEqual(self.held(), {one: [], two: ["demo"]})
        self.assertEqual(len(self.files()), 2)
        first.send_signal(signal.SIGTERM)
        first.wait(LIMIT_S)
        self.assertEqual(len(self.files()), 1)
        second.kill()
        second.wait(LIMIT_S)
        self.assertEqual(self.held(), {})
        self.assertEqual(self.files(), [])

    def test_the_memory_of_a_model_is_the_planned_one(self):
        _, url = self.serve("demo", "--parallel", "2")
        self.complete(url, "demo")
        plan = json.loads(self.etna("plan", "demo", "--parallel", "2", "--json").stdout)
        [server] = json.loads(self.etna("ps", "--json").stdout)["servers"]
        self.assertEqual(server["models"][0]["memory_bytes"], plan["device_bytes"] + plan["host_bytes"])
        self.assertEqual(server["models"][0]["device"], plan["device"])

    def test_a_model_with_a_running_request_is_stopped_after_it(self):
        _, url = self.serve(str(STORIES))
        body = json.dumps({"prompt": "Once", "max_tokens": 1500, "ignore_eos": True, "stream": True}).encode()
        with urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body), timeout=LIMIT_S) as stream:
            self.assertTrue(stream.readline().startswith(b"data: "))
            self.assertRegex(self.etna("ps").stdout, "stories260K .* 1 running ")
            self.assertIn("its memory is freed when the running requests end", self.etna("stop", "stories260K").stderr)
            self.assertTrue(stream.read().rstrip().endswith(b"[DONE]"))

    def test_keys_wrong_servers_and_foreign_answers_are_reported(self):
        _, url = self.serve("demo", "--api-key", "secret")
        result = self.etna("ps", code=1)
        self.assertIn("hint: give its key with --api-key, or in ETNA_API_KEY", result.stderr)
        self.assertEqual(self.held("--api-key", "secret"), {url: []})
        self.assertEqual(json.loads(self.etna("ps", "--json", ETNA_API_KEY="secret").stdout)["servers"][0]["url"], url)
        self.assertIn("hint: check that `etna serve` runs there", self.etna("ps", "--url", "http://127.0.0.1:1", code=1).stderr)
        self.assertIn("not an http or https address", self.etna("ps", "--url", "ftp://a", code=2).stderr)
        self.assertIn("status 404", self.etna("ps", "--url", self.hub.url, code=1).stderr)

    def test_a_server_that_refuses_does_not_keep_the_others_from_stopping(self):
        _, closed = self.serve("demo", "--api-key", "secret")
        _, open_one = self.serve("demo")
        self.complete(open_one, "demo")
        result = self.etna("stop", "demo", code=1)
        self.assertIn(f"stopped demo of {open_one}", result.stderr)
        self.assertIn(f"error: {closed}: ", result.stderr)

    def test_a_server_over_tls_is_asked_with_its_certificate(self):
        certificate, key = self.root / "cert.pem", self.root / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=etna", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        _, url = self.serve("demo", "--tls-cert", str(certificate), "--tls-key", str(key))
        self.assertTrue(url.startswith("https:"))
        self.assertEqual(self.held(), {url: []})
        self.assertIn("hint: name the server as its certificate does", self.etna("ps", "--url", url, code=1).stderr)
        self.etna("ps", "--url", url, SSL_CERT_FILE=str(certificate))


class OnRequest(Servers):
    def test_by_default_a_request_names_served_models_only(self):
        self.hub.add("u/stories", {"stories-F16.gguf": STORIES.read_bytes()})
        self.etna("pull", "hf.co/u/stories")
        _, url = self.serve("demo")
        self.assertEqual(self.complete(url, "hf.co/u/stories:F16")[0], 404)

    def test_stored_models_can_be_named_but_no_paths_and_nothing_is_fetched(self):
        self.hub.add("u/stories", {"stories-F16.gguf": STORIES.read_bytes()})
        self.etna("pull", "hf.co/u/stories")
        self.etna("cp", "u/stories", "mine")
        self.hub.forget()
        _, url = self.serve("demo", "--on-request", "stored")
        for name in ("mine", "hf.co/u/stories:F16", "hf.co/u/stories"):
            self.assertEqual(self.complete(url, name)[0], 200, name)
        self.assertEqual(len(self.held()[url]), 1)  # one file, one model
        shutil.copy(STORIES, self.root / "secret.gguf")
        for name in (str(self.root / "secret.gguf"), "../secret.gguf", "secret.gguf", "hf.co/u/other", "qwen3:0.6b", ""):
            status, answer = self.complete(url, name)
            self.assertIn(status, (400, 404), name)
            self.assertNotIn(str(self.root), answer["error"]["message"].replace(name or "-", ""))
        self.assertEqual(self.hub.requests(), [])

    def test_a_model_of_the_hub_is_fetched_once_for_all_and_then_stored(self):
        self.hub.add("u/stories", {"stories-F16.gguf": STORIES.read_bytes()}, bytes_per_s=500_000)
        process, url = self.serve("demo", "--on-request", "pull", "--verbose")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: self.complete(url, "hf.co/u/stories"), range(4)))
        self.assertEqual([status for status, _ in answers], [200] * 4, answers)
        self.assertEqual(len(self.hub.requests("hub", "/tree/")), 1)
        self.assertIn("hf.co/u/stories:F16", self.etna("list").stdout)
        self.assertEqual(self.held()[url], ["hf.co/u/stories"])
        for name in ("hf:u/stories:F16", "hf.co/u/stories:F16", "hf:u/stories"):
            self.assertEqual(self.complete(url, name)[0], 200)
        self.assertEqual(self.held()[url], ["hf.co/u/stories"])  # one model, whatever it is called
        self.etna("stop", "hf.co/u/stories")
        self.hub.forget()
        self.assertEqual(self.complete(url, "hf.co/u/stories")[0], 200)
        self.assertEqual(self.hub.requests(), [])
        process.terminate()
        log = process.communicate()[1]
        self.assertIn("fetching hf.co/u/stories:F16", log)

    def test_what_cannot_be_fetched_is_the_clients_error_and_can_be_tried_again(self):
        self.hub.add("u/broken", {"m-Q8_0.gguf": b"GGUF" + bytes(1000)})
        self.hub.add("u/gated", {"m-Q8_0.gguf": STORIES.read_bytes()}, token="hf_Secret")
        _, url = self.serve("demo", "--on-request", "pull")
        for name, statuses in (("hf.co/u/none", (404,)), ("hf.co/u/gated", (404,)), ("hf.co/u/broken", (400,)),
                               ("hf.co/../x", (400, 404)), (self.hub.url + "/u/broken/m.gguf", (400,)),
                               ("http://127.0.0.1:1/m.gguf", (400,)), ("other", (404,))):
            for _ in range(2):
                status, answer = self.complete(url, name)
                self.assertIn(status, statuses, (name, answer))
                self.assertNotIn(str(self.root), answer["error"]["message"])
        status, answer = self.complete(url, "hf.co/u/broken", stream=True)
        self.assertEqual(status, 400, answer)
        self.assertIn("hf.co/u/broken: ", answer["error"]["message"])
        self.hub.add("u/none", {"stories-F16.gguf": STORIES.read_bytes()})
        self.assertEqual(self.complete(url, "hf.co/u/none")[0], 200)
        self.assertEqual(self.complete(url, "demo")[0], 200)

    def test_a_server_that_ends_during_a_download_leaves_nothing_to_run(self):
        self.hub.add("u/slow", {"stories-F16.gguf": STORIES.read_bytes()}, bytes_per_s=50_000)
        process, url = self.serve("demo", "--on-request", "pull", "--drain-timeout", "1")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.complete, url, "hf.co/u/slow")
            deadline = time.monotonic() + LIMIT_S
            while not self.hub.requests("cdn") and time.monotonic() < deadline:
                time.sleep(0.05)
            process.terminate()
            self.assertEqual(process.wait(LIMIT_S), 0)
            with self.assertRaises(Exception):
                self.assertEqual(answer.result()[0], 200)
        self.assertNotIn("u/slow", self.etna("list").stdout)

    def test_offline_nothing_is_fetched(self):
        _, url = self.serve("demo", "--on-request", "pull", "--offline")
        self.assertEqual(self.complete(url, "hf.co/u/stories")[0], 404)
        self.assertEqual(self.hub.requests(), [])


if __name__ == "__main__":
    EtnaHome.executable = sys.argv.pop(1)
    unittest.main()
