#!/usr/bin/env python3
"""Stored models: list, show, cp, create, run and serve by name, rm, verify, and models of other programs.
Usage: store_test.py ETNA"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import unittest
import urllib.request

from support.cases import HomeCase
from support.program import executable, run_tests
from support.stand_in_hub import StandInHub
from support.waiting import LIMIT_S

STORIES = pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf"


class Planned(HomeCase):
    """`etna plan` of models that are not stored."""

    def setUp(self):
        super().setUp()
        self.hub = StandInHub()
        self.addCleanup(self.hub.close)

    def environment(self, **more):
        return super().environment(**{"HF_ENDPOINT": self.hub.url, **more})

    def plan(self, *arguments, **more):
        return json.loads(self.etna("plan", *arguments, "--json", **more).stdout)

    def test_a_model_of_the_hub_is_planned_from_its_header_and_nothing_is_stored(self):
        large = STORIES.read_bytes() + bytes(64 << 20)
        self.hub.add("u/stories", {"stories-F16.gguf": large})
        remote = self.plan("hf.co/u/stories", "-c", "1024")
        self.assertEqual(remote["download_bytes"], len(large))
        self.assertEqual({ranges for *_, ranges in self.hub.requests("cdn")}, {"bytes=0-0", "bytes=0-4194303"})
        self.assertFalse((self.models / "blobs").exists())
        local = self.plan(str(STORIES), "-c", "1024")
        self.assertEqual(local["download_bytes"], 0)
        for name in ("memory", "device_bytes", "context_tokens", "fits"):
            self.assertEqual(remote[name], local[name], name)
        self.assertIn("; the model is not stored\n", self.etna("plan", "hf.co/u/stories", "-c", "1024").stdout)

    def test_a_known_name_is_planned_before_the_download_and_as_a_draft(self):
        self.hub.add("Qwen/Qwen3-8B-GGUF", {"Qwen3-8B-Q4_K_M.gguf": STORIES.read_bytes()})
        self.assertEqual(self.plan("qwen3")["download_bytes"], STORIES.stat().st_size)
        self.assertTrue(any(use["detail"].startswith("draft model") for use in self.plan("demo", "--draft", "qwen3:8b")["memory"]))

    def test_without_a_network_the_table_answers_and_says_so(self):
        for arguments in (["--hub", "http://127.0.0.1:9"], ["--offline"]):
            result = self.etna("plan", "qwen3.6:35b", *arguments)
            self.assertIn("no plan of the memory, only what the table of known models has", result.stderr)
            self.assertIn("download     19.74 GiB\nparameters   34700 million, 3000 million for each token\n", result.stdout)
        facts = self.plan("qwen3.6:35b", "--offline")
        self.assertEqual((facts["model_context_tokens"], facts["memory"]), (262144, None))
        self.assertIn("--offline is set", self.etna("plan", "hf.co/u/stories", "--offline", code=1).stderr)

    def test_what_cannot_be_read_at_the_hub_is_an_error(self):
        self.hub.add("u/broken", {"m-Q8_0.gguf": b"GGUF" + bytes(1000)})
        self.hub.add("u/whole", {"m-Q8_0.gguf": STORIES.read_bytes()}, ignore_range=100)
        self.assertIn("m-Q8_0.gguf", self.etna("plan", "hf.co/u/broken", code=1).stderr)
        self.assertIn("the server sends no parts of files", self.etna("plan", "hf.co/u/whole", code=1).stderr)
        self.assertIn("Repository not found", self.etna("plan", "hf.co/u/none", code=1).stderr)

    def test_the_list_names_the_models_that_fit_this_machine_and_their_speed(self):
        first = self.etna("plan", "--list", "--json")
        listed = json.loads(first.stdout)
        self.assertGreater(min(listed["copy_bytes_s"], listed["matrix_flop_s"], listed["dispatch_us"]), 0)
        self.assertEqual([], self.hub.requests())
        models = {model["name"]: model for model in listed["models"]}
        self.assertTrue(models["qwen3:0.6b"]["fits"])
        self.assertEqual(models["gpt-oss:120b"]["fits"], models["gpt-oss:120b"]["needed_bytes"] <= listed["usable_bytes"])
        self.assertGreater(models["qwen3:0.6b"]["generation_tok_s"], models["qwen3:8b"]["generation_tok_s"])
        again = json.loads(self.etna("plan", "--list", "--json").stdout)  # the best rates so far count
        self.assertGreaterEqual(again["copy_bytes_s"], listed["copy_bytes_s"])
        self.assertGreaterEqual(again["matrix_flop_s"], listed["matrix_flop_s"])
        self.assertLessEqual(again["dispatch_us"], listed["dispatch_us"])
        result = self.etna("plan", "--list")
        self.assertIn("speeds are estimates", result.stderr)
        self.assertRegex(result.stdout, r"qwen3:0.6b +[0-9.]+ [MG]iB +[0-9.]+ +< [0-9.]+ +text")
        self.assertIn("--list takes no model", self.etna("plan", "demo", "--list", code=2).stderr)


class Stored(HomeCase):
    def blobs(self):
        return sorted(path.name for path in (self.models / "blobs").iterdir())

    def test_a_pulled_model_is_listed_shown_copied_created_from_run_and_removed(self):
        hub = StandInHub()
        self.addCleanup(hub.close)
        content = STORIES.read_bytes()
        hub.add("u/stories", {"stories-F16.gguf": content})
        self.etna("pull", "hf.co/u/stories", HF_ENDPOINT=hub.url)
        name = "hf.co/u/stories:F16"
        self.assertRegex(self.etna("list").stdout, name + r" +[0-9.]+ MiB +F16 +2048 +just now\n")
        entry = json.loads(self.etna("list", "--json").stdout)["models"][0]
        self.assertEqual((entry["name"], entry["size_bytes"], entry["owner"]), (name, len(content), "etna"))
        self.assertIn("llama", self.etna("show", "u/stories").stdout)
        self.etna("cp", "u/stories", "mine")
        self.etna("create", "sure", "--from", "mine", "--temp", "0", "--max-tokens", "8")
        typed = self.etna("run", "mine", "Once upon a time", "--temp", "0", "-n", "8").stdout
        self.assertEqual(self.etna("run", "sure", "Once upon a time").stdout, typed)
        self.assertNotEqual(self.etna("run", "sure", "Once upon a time", "-n", "3").stdout, typed)
        self.assertEqual(self.blobs(), ["sha256-" + hashlib.sha256(content).hexdigest()])
        self.assertIn("there is no terminal to ask at", self.etna("rm", "mine", code=1).stderr)
        self.assertIn("stay for other names", self.etna("rm", "--yes", "mine", "u/stories").stderr)
        self.assertEqual(self.etna("verify").stdout, "sure: good\n")
        self.etna("rm", "-y", "sure")
        self.assertEqual(self.blobs(), [])
        self.assertIn("fetch it with `etna pull hf.co/u/stories`", self.etna("run", "hf.co/u/stories", "Once", code=1).stderr)

    def test_serve_takes_the_options_of_a_stored_model(self):
        self.etna("create", "calm", "--from", "demo", "--temp", "0", "--system", "You are calm.")
        post = self.serve("calm")
        message = {"model": "calm", "messages": [{"role": "user", "content": "What is 34 + 58?"}], "max_tokens": 8}
        answers = {post("/v1/chat/completions", message)["choices"][0]["message"]["content"] for _ in range(3)}
        self.assertEqual(len(answers), 1)
        with_system = {**message, "messages": [{"role": "system", "content": "You are calm."}, *message["messages"]]}
        usage = [post("/v1/chat/completions", body)["usage"]["prompt_tokens"] for body in (message, with_system)]
        self.assertEqual(usage[0], usage[1])

    def test_serve_takes_the_limits_of_a_stored_model_where_a_request_sets_none(self):
        self.etna("create", "short", "--from", "demo", "--temp", "0", "--max-tokens", "3", "--stop", "2", "--seed", "7",
                  "--kv-type", "f32")
        post = self.serve("short")

        def answer(**more):
            message = {"role": "user", "content": "Count to 7."}
            answer = post("/v1/chat/completions", {"messages": [message], **more})
            return answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"]

        self.assertEqual(post("/v1/completions", {"prompt": "Once"})["seed"], 7)
        [server] = json.loads(self.etna("ps", "--json").stdout)["servers"]
        plan = json.loads(self.etna("plan", "demo", "--kv-type", "f32", "--parallel", "16", "--json").stdout)
        self.assertEqual(server["models"][0]["memory_bytes"], plan["device_bytes"] + plan["host_bytes"])
        self.assertLessEqual(answer()[1], 3)
        self.assertGreater(answer(max_tokens=6, stop=["@@"])[1], 3)
        self.assertNotIn("2", answer(max_tokens=40)[0])
        self.assertIn("2", answer(max_tokens=40, stop=["@@"])[0])
        response = post("/v1/responses", {"input": "Count to 7."})
        self.assertLessEqual(response["usage"]["output_tokens"], 3)

    def serve(self, model):
        """Starts a server, and returns a function that sends a request to it."""
        server = subprocess.Popen([executable(), "serve", model, "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=self.environment())
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        url = server.stdout.readline().strip()

        def post(path, body):
            request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=LIMIT_S) as response:
                return json.load(response)

        return post

    def test_models_of_other_programs_are_used_in_place(self):
        content = STORIES.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        snapshot = self.root / ".cache/huggingface/hub/models--u--r/snapshots" / ("c" * 40)
        llama = self.root / ".cache/llama.cpp"
        ollama = self.root / ".ollama/models"
        for folder in (snapshot, llama, ollama / "blobs", ollama / "manifests/registry.ollama.ai/library/tiny"):
            folder.mkdir(parents=True)
        shutil.copy(STORIES, snapshot / "r-F16.gguf")
        shutil.copy(STORIES, llama / "v_w_w-Q8_0.gguf")
        shutil.copy(STORIES, ollama / "blobs" / f"sha256-{digest}")
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": len(content)}
        (ollama / "manifests/registry.ollama.ai/library/tiny/latest").write_text(json.dumps({"layers": [layer]}))
        listed = self.etna("list", "--all").stdout
        for name, owner in (("hf.co/u/r:F16", "Hugging Face"), ("v_w_w-Q8_0", "llama.cpp"), ("tiny:latest", "Ollama")):
            self.assertRegex(listed, rf"{name} .*{owner}")
        for name in ("hf.co/u/r", "hf.co/v/w:Q8_0", "tiny"):
            with self.subTest(name=name):
                self.assertEqual(self.etna("tokenize", name, "Once").stdout, self.etna("tokenize", str(STORIES), "Once").stdout)
                self.assertIn("which etna did not store", self.etna("rm", "--yes", name, code=1).stderr)
        self.etna("create", "mine", "--from", "tiny")
        self.etna("tokenize", "mine", "Once")
        (ollama / "blobs" / f"sha256-{digest}").unlink()
        self.assertIn("it came from tiny; pull or create it again", self.etna("tokenize", "mine", "Once", code=1).stderr)
        self.assertEqual(self.etna("verify", code=1).stdout, "mine: damaged\n")

    def test_a_damaged_manifest_is_named_and_can_be_removed(self):
        self.etna("create", "good", "--from", "demo")
        (self.models / "manifests/bad.json").write_text('{"version": 1, "name": "bad"')
        listed = self.etna("list")
        self.assertIn("bad.json: the manifest is not a JSON object", listed.stderr)
        self.assertIn("good", listed.stdout)
        self.assertIn("bad.json", self.etna("run", "bad", "x", code=1).stderr)
        self.etna("rm", "--yes", "bad")
        self.assertEqual(self.etna("list").stderr, "")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_read_only_folder(self):
        self.models.mkdir(mode=0o500)
        self.assertIn("make the folder writable", self.etna("create", "x", "--from", "demo", code=1).stderr)

    def test_a_file_in_place_of_the_folder(self):
        self.models.write_bytes(b"")
        self.assertIn("cannot make the folder", self.etna("create", "x", "--from", "demo", code=1).stderr)
        listed = self.etna("list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], ["NAME", "demo", "demo-embed"])

    def test_completion_offers_stored_names(self):
        self.etna("create", "mine:1b", "--from", "demo")
        script = ("source <(\"$0\" completion bash); COMP_WORDS=(etna run mi); COMP_CWORD=2; _etna; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        result = subprocess.run(["bash", "-c", script, executable()], capture_output=True, text=True, env=self.environment(),
                                cwd=self.root, timeout=LIMIT_S)
        self.assertIn("mine:1b", result.stdout.splitlines(), result.stderr)


if __name__ == "__main__":
    run_tests()
