#!/usr/bin/env python3
"""`etna ps`, `stop`, `launch`, and `etna serve` with --on-request, --pin, --models-memory and --sleep-after. Usage: running_servers_test.py ETNA"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

from support.cases import HomeCase
from support.program import executable, run_tests
from support.stand_in_hub import StandInHub
from support.waiting import LIMIT_S, wait_until

STORIES = pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf"


class Servers(HomeCase):
    def setUp(self):
        super().setUp()
        self.hub = StandInHub()
        self.addCleanup(self.hub.close)

    def certificate(self):
        """Returns the files of a new certificate and its key."""
        certificate, key = self.root / "cert.pem", self.root / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=etna", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        return certificate, key

    def environment(self, **more):
        return super().environment(**{"HF_ENDPOINT": self.hub.url, **more})

    def serve(self, *arguments, **more):
        """Starts a server, and returns its process and address."""
        process = subprocess.Popen([executable(), "serve", "--port", "0", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
        self.assertIn("note: no model is in memory", self.etna("ps").stderr)
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
        body = json.dumps({"prompt": "Once", "max_tokens": 800, "ignore_eos": True, "stream": True}).encode()
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
        certificate, key = self.certificate()
        _, url = self.serve("demo", "--tls-cert", str(certificate), "--tls-key", str(key))
        self.assertTrue(url.startswith("https:"))
        self.assertEqual(self.held(), {url: []})
        self.assertIn("hint: name the server as its certificate does", self.etna("ps", "--url", url, code=1).stderr)
        self.etna("ps", "--url", url, SSL_CERT_FILE=str(certificate))


class Residency(Servers):
    def memory_of(self, model):
        plan = json.loads(self.etna("plan", model, "--parallel", "16", "--json").stdout)
        return plan["device_bytes"] + plan["host_bytes"]

    def shown(self, url):
        [server] = json.loads(self.etna("ps", "--json", "--url", url).stdout)["servers"]
        return {model["name"]: model for model in server["models"]}

    def test_models_leave_by_bytes_and_a_pinned_one_stays(self):
        for name in ("a", "b", "c"):
            shutil.copy(STORIES, self.root / f"{name}.gguf")
        each = self.memory_of(str(self.root / "a.gguf"))
        limit = 3 * each - 2**20
        _, url = self.serve("--models-dir", str(self.root), "--models-memory", str(limit), "--pin", "A")
        self.assertEqual(self.held("--url", url), {url: ["a"]})  # before any request
        self.assertEqual(self.complete(url, "b")[0], 200)
        self.assertEqual(self.held("--url", url), {url: ["a", "b"]})
        self.assertEqual(self.complete(url, "c")[0], 200)
        self.assertEqual(self.held("--url", url), {url: ["a", "c"]})
        models = self.shown(url)
        self.assertLessEqual(sum(model["memory_bytes"] for model in models.values()), limit)
        self.assertEqual([models[name]["pinned"] for name in ("a", "c")], [True, False])
        self.assertRegex(self.etna("ps").stdout, r"a .* idle for \d+ s, pinned ")

    def test_pins_that_cannot_be_kept_are_refused(self):
        for arguments, problem in ((("--pin", "other"), "--pin: the model `other` does not exist"),
                                   (("--pin", "demo", "--models-max", "1", str(STORIES)), "--models-max 1 leaves no room for others")):
            self.assertIn(problem, self.etna("serve", "--port", "0", "demo", *arguments, code=1).stderr)
        for text in ("5x", "0", "-5s", ""):
            self.assertIn("--sleep-after", self.etna("serve", "--sleep-after", text, code=2).stderr)

    def test_an_idle_model_sleeps_and_wakes_on_use(self):
        _, url = self.serve("demo", str(STORIES), "--sleep-after", "500ms", "--pin", "demo")
        self.assertEqual(self.complete(url, "stories260K")[0], 200)
        self.assertEqual(self.shown(url)["stories260K"]["unloads_in_s"], 0)
        self.assertIsNone(self.shown(url)["demo"]["unloads_in_s"])
        wait_until(lambda: "stories260K" not in self.held()[url], "the model does not sleep", interval_s=0.05)
        self.assertEqual(self.held(), {url: ["demo"]})
        self.assertEqual(self.complete(url, "stories260K")[0], 200)
        body = json.dumps({"model": "stories260K", "prompt": "Once", "max_tokens": 600, "ignore_eos": True, "stream": True}).encode()
        with urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body), timeout=LIMIT_S) as stream:
            self.assertTrue(stream.read().rstrip().endswith(b"[DONE]"))  # an answer that takes longer than the limit is complete

    def test_priorities_of_waiting_requests_are_shown_and_kept(self):
        process, url = self.serve(str(STORIES), "--parallel", "1")
        ends = []

        def ask(priority):
            more = {"max_tokens": 300, "ignore_eos": True, "temperature": 0, "priority": priority}
            status, answer = self.complete(url, "stories260K", **more)
            ends.append(priority)
            return status, answer["choices"][0]["text"]

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            answers = [pool.submit(ask, 0)]
            wait_until(lambda: self.shown(url).get("stories260K", {}).get("requests_running") == 1, lambda: self.shown(url))
            answers += [pool.submit(ask, priority) for priority in (9, 5)]
            wait_until(lambda: self.shown(url)["stories260K"]["requests_waiting_lowered"] == 2, lambda: self.shown(url))
            self.assertRegex(self.etna("ps").stdout, r"1 running, 2 waiting \(2 lowered\)")
            results = {answer.result() for answer in answers}
        self.assertEqual(ends, [0, 5, 9])
        self.assertEqual(len(results), 1)  # the text does not depend on it
        process.terminate()
        self.assertRegex(process.communicate()[1], r"priority=9\n")


STAND_IN = """#!{python}
import json
import os, os, signal, sys, time
json.dump({{"arguments": sys.argv[1:], "variables": dict(os.environ), "group": os.getpgrp()}}, open({seen!r}, "w"))
if "--wait" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
    time.sleep({limit})  # until a signal ends it
sys.exit(7)
"""


class Launch(Servers):
    """With programs that write down how they were started."""

    def setUp(self):
        super().setUp()
        self.programs = self.root / "programs"
        self.programs.mkdir()
        self.seen = self.root / "seen.json"
        for name in ("claude", "codex", "opencode", "aider", "cline", "copilot", "crush", "goose", "pi", "qwen"):
            (self.programs / name).write_text(STAND_IN.format(python=sys.executable, seen=str(self.seen), limit=LIMIT_S))
            (self.programs / name).chmod(0o755)

    def environment(self, **more):
        return super().environment(PATH=f"{self.programs}:/usr/bin:/bin", **more)

    def launch(self, *arguments, code=7, **more):
        self.etna("launch", *arguments, code=code, **more)
        return json.loads(self.seen.read_text())

    def test_claude_gets_the_model_of_a_running_server_for_itself_alone(self):
        _, url = self.serve("demo", str(STORIES))
        seen = self.launch("claude", ANTHROPIC_API_KEY="sk-real", CLAUDE_CODE_USE_BEDROCK="1")
        variables = seen["variables"]
        self.assertEqual((variables["ANTHROPIC_BASE_URL"], variables["ANTHROPIC_MODEL"]), (url, "demo"))
        self.assertEqual((variables["ANTHROPIC_API_KEY"], variables["CLAUDE_CODE_USE_BEDROCK"]), ("", ""))
        self.assertTrue(variables["ANTHROPIC_AUTH_TOKEN"])
        self.assertEqual(variables["HOME"], str(self.root))
        seen = self.launch("claude", "stories260K", "--", "--print", "-p", "--", "hi there")
        self.assertEqual(seen["arguments"], ["--print", "-p", "--", "hi there"])
        self.assertEqual(seen["variables"]["ANTHROPIC_SMALL_FAST_MODEL"], "stories260K")
        self.assertEqual(self.held(), {url: []})

    def test_codex_and_opencode_get_their_settings(self):
        _, url = self.serve("demo", "--api-key", "secret")
        seen = self.launch("codex", "--api-key", "secret", "--", "exec", "hi")
        pairs = dict(text.split("=", 1) for text in seen["arguments"][1:-4:2])
        self.assertEqual({name.removeprefix("model_providers.etna."): json.loads(value) for name, value in pairs.items()},
                         {"model_provider": "etna", "name": "etna", "base_url": url + "/v1", "wire_api": "responses",
                          "model_context_window": 2048, "model_auto_compact_token_limit": 1536,
                          "env_key": "ETNA_LAUNCH_KEY"})
        self.assertEqual(seen["arguments"][-4:], ["-m", "demo", "exec", "hi"])
        self.assertEqual(seen["variables"]["ETNA_LAUNCH_KEY"], "secret")
        seen = self.launch("opencode", "--url", url, "--api-key", "secret")
        config = json.loads(seen["variables"]["OPENCODE_CONFIG_CONTENT"])
        self.assertEqual(config["provider"]["etna"]["options"], {"baseURL": url + "/v1", "apiKey": "secret"})
        self.assertEqual(config["model"], "etna/demo")
        self.assertEqual(config["provider"]["etna"]["models"], {"demo": {"name": "demo", "limit": {"context": 2048, "output": 512}}})

    def test_claude_learns_the_context_the_limit_of_an_answer_and_when_to_compact(self):
        self.serve("demo")
        variables = self.launch("claude")["variables"]
        self.assertEqual({name: variables.get(name) for name in (
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_TOTAL_TOKENS_REMINDER")},
            {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "2048", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1536",
             "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "512", "CLAUDE_CODE_SUBAGENT_MODEL": "demo",
             "CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off"})

    def test_settings_by_variables(self):
        _, url = self.serve("demo", "--api-key", "secret")
        copilot = self.launch("copilot", "--api-key", "secret")["variables"]
        self.assertEqual({name: value for name, value in copilot.items() if name.startswith("COPILOT_")},
                         {"COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_API_KEY": "secret",
                          "COPILOT_PROVIDER_BEARER_TOKEN": "", "COPILOT_PROVIDER_WIRE_API": "responses", "COPILOT_MODEL": "demo",
                          "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1536", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "512"})
        goose = self.launch("goose", "--api-key", "secret")["variables"]
        self.assertEqual({name: value for name, value in goose.items() if name.startswith(("GOOSE_", "OPENAI_"))},
                         {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "demo", "GOOSE_CONTEXT_LIMIT": "2048", "GOOSE_MAX_TOKENS": "512",
                          "GOOSE_AUTO_COMPACT_THRESHOLD": "0.75", "OPENAI_HOST": url, "OPENAI_BASE_PATH": "v1/chat/completions",
                          "OPENAI_API_KEY": "secret"})

    def test_settings_by_files_of_etna_leave_those_of_the_programs_alone(self):
        _, url = self.serve("demo")
        own = {path: self.root / path for path in (".qwen/settings.json", ".cline/data/settings/providers.json", ".pi/agent/models.json",
                                                   ".config/crush/crush.json", ".aider.model.metadata.json")}
        for path in own.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        folder = self.root / ".local/state/etna/launch"

        qwen = self.launch("qwen")
        self.assertEqual(qwen["variables"]["QWEN_CODE_SYSTEM_SETTINGS_PATH"], str(folder / "qwen/settings.json"))
        self.assertEqual(qwen["arguments"], ["--auth-type", "openai", "--model", "demo"])
        [provider] = json.loads((folder / "qwen/settings.json").read_text())["modelProviders"]["openai"]
        self.assertEqual(provider, {"id": "demo", "name": "demo", "baseUrl": url + "/v1", "envKey": "OPENAI_API_KEY",
                                    "generationConfig": {"contextWindowSize": 2048, "samplingParams": {"max_tokens": 512}}})

        cline = self.launch("cline")
        self.assertEqual(cline["arguments"], ["-P", "openai-compatible", "-m", "demo"])
        providers = json.loads(pathlib.Path(cline["variables"]["CLINE_PROVIDER_SETTINGS_PATH"]).read_text())["providers"]
        self.assertEqual(providers["openai-compatible"]["settings"],
                         {"provider": "openai-compatible", "apiKey": "none", "baseUrl": url + "/v1", "model": "demo", "contextWindow": 2048,
                          "maxTokens": 512})

        pi = self.launch("pi")
        self.assertEqual(pi["arguments"], ["--extension", str(folder / "pi/etna.js"), "--provider", "etna", "--model", "demo"])
        self.assertIn('"contextWindow":2048', (folder / "pi/etna.js").read_text())
        self.assertIn('"maxTokens":512', (folder / "pi/etna.js").read_text())

        crush = self.launch("crush")
        self.assertEqual(crush["variables"]["CRUSH_GLOBAL_CONFIG"], str(folder / "crush"))
        config = json.loads((folder / "crush/crush.json").read_text())
        self.assertEqual(config["providers"]["etna"]["models"],
                         [{"id": "demo", "name": "demo", "context_window": 2048, "default_max_tokens": 512}])
        self.assertEqual(config["models"]["large"], {"provider": "etna", "model": "demo"})

        aider = self.launch("aider", "--", "--yes")
        self.assertEqual(aider["arguments"], ["--model", "openai/demo", "--no-show-model-warnings", "--model-metadata-file",
                                              str(folder / "aider/models.json"), "--yes"])
        self.assertEqual(aider["variables"]["OPENAI_API_BASE"], url + "/v1")
        metadata = json.loads((folder / "aider/models.json").read_text())["openai/demo"]
        self.assertEqual((metadata["max_input_tokens"], metadata["max_output_tokens"]), (1536, 512))

        for path in own.values():
            self.assertEqual(path.read_text(), "{}")
        for path in folder.rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_the_settings_of_editors_are_printed_or_written_to_a_new_file(self):
        self.assertIn("hint: start one with `etna serve MODEL`", self.etna("launch", "zed", code=1).stderr)
        _, url = self.serve("demo")
        result = self.etna("launch", "zed")
        zed = json.loads(result.stdout)
        self.assertIn("settings.json", result.stderr)
        provider = zed["language_models"]["openai_compatible"]["etna"]
        self.assertEqual(provider["api_url"], url + "/v1")
        self.assertEqual((provider["available_models"][0]["max_tokens"], provider["available_models"][0]["max_output_tokens"]), (2048, 512))
        file = self.root / "models.json"
        self.etna("launch", "vscode", "-o", str(file))
        [group] = json.loads(file.read_text())
        self.assertEqual((group["vendor"], group["models"][0]["url"]), ("customendpoint", url + "/v1"))
        self.assertEqual((group["models"][0]["maxInputTokens"], group["models"][0]["maxOutputTokens"]), (1536, 512))
        before = file.read_text()
        self.assertIn("exists already", self.etna("launch", "vscode", "-o", str(file), code=1).stderr)
        self.assertEqual(file.read_text(), before)
        self.assertIn("--output is for the settings of an editor", self.etna("launch", "claude", "-o", str(file), code=2).stderr)

    def test_a_server_is_started_for_the_model_and_ends_with_the_program(self):
        shutil.copy(STORIES, self.root / "my model.gguf")
        (self.root / ".config/etna").mkdir(parents=True)
        (self.root / ".config/etna/config.toml").write_text(f'[serve]\napi-key = "other"\nmodels-dir = "{self.root}"\n')
        shutil.copy(STORIES, self.root / "another.gguf")
        result = self.etna("launch", "claude", str(self.root / "my model.gguf"), code=7, ETNA_API_KEY="other")
        variables = json.loads(self.seen.read_text())["variables"]
        url = variables["ANTHROPIC_BASE_URL"]
        self.assertIn(f"serving my model at {url}; log: {self.root}/.local/state/etna/launch.log", result.stderr)
        self.assertIn("my model has a context of 2048 tokens; claude needs about 32000", result.stderr)
        self.assertEqual(variables["ANTHROPIC_MODEL"], "my model")
        with self.assertRaises(urllib.error.URLError):
            urllib.request.urlopen(url, timeout=LIMIT_S)
        self.assertEqual(self.files(), [])

    def test_a_program_that_cannot_run_is_named(self):
        self.serve("demo")
        (self.programs / "codex").write_text("#!/nonexistent/interpreter\n")
        (self.programs / "codex").chmod(0o755)
        self.assertIn(f"cannot start {self.programs}/codex: No such file or directory",
                      self.etna("launch", "codex", code=1).stderr)
        self.assertFalse(self.seen.exists())

    def test_a_server_over_tls_is_trusted_beside_the_systems(self):
        certificate, key = self.certificate()
        self.serve("demo", "--tls-cert", str(certificate), "--tls-key", str(key))
        variables = self.launch("claude")["variables"]
        self.assertEqual(variables["NODE_EXTRA_CA_CERTS"], str(certificate))
        self.assertEqual(variables.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_FILE"))
        self.assertEqual(self.launch("codex")["variables"]["SSL_CERT_FILE"], str(certificate))

    def test_a_signal_ends_program_and_server(self):
        for number, code in ((signal.SIGTERM, 9), (signal.SIGKILL, -9)):
            self.seen.unlink(missing_ok=True)
            process = subprocess.Popen([executable(), "launch", "claude", "demo", "--", "--wait"], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.environment(), start_new_session=True)
            wait_until(lambda: self.seen.exists() and self.seen.read_text().endswith("}"), "the program was not started")
            self.assertEqual(json.loads(self.seen.read_text())["group"], process.pid)  # the terminal's keys reach it
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT_S), code)
            wait_until(lambda: not self.files(), self.files)
            self.assertEqual(self.held(), {})

    def test_what_cannot_be_launched_is_explained(self):
        for arguments, code, problem in (((), 2, "no program given"), (("vim",), 2, "`vim` is not a program that can be launched"),
                                         (("claude",), 1, "no server runs, and no model is given"),
                                         (("claude", "missing"), 1, "missing"),
                                         (("claude", "--url", "http://127.0.0.1:1"), 1, "check that `etna serve` runs there")):
            self.assertIn(problem, self.etna("launch", *arguments, code=code).stderr)
        _, url = self.serve("demo", "--api-key", "K")
        self.assertIn("missing API key", self.etna("launch", "claude", code=1).stderr)
        self.assertIn("no running server has `other`", self.etna("launch", "zed", "other", "--api-key", "K", code=1).stderr)
        self.assertIn("has no model `other`", self.etna("launch", "claude", "other", "--url", url, "--api-key", "K", code=1).stderr)
        (self.programs / "claude").unlink()
        self.assertIn("hint: install it with `npm install -g @anthropic-ai/claude-code`", self.etna("launch", "claude", code=1).stderr)


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
            wait_until(lambda: self.hub.requests("cdn"), "the download does not begin")
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
    run_tests()
