#!/usr/bin/env python3
"""Operator options of `etna serve`, and folders of models. Usage: operator_test.py ETNA"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from support.client import QUESTION
from support.processes import memory_bytes
from support.program import executable, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STORIES = SOURCE / "tests" / "data" / "models" / "stories260K.gguf"
DEMO = SOURCE / "core" / "store" / "demo" / "demo.gguf"


def foreign_model():
    """A complete copy of `demo` with an unknown architecture."""
    known = DEMO.read_bytes()
    key = b"general.architecture" + (8).to_bytes(4, "little")  # a text
    place = known.index(key) + len(key)
    length = int.from_bytes(known[place:place + 8], "little")
    name = known[place + 8:place + 8 + length]
    return known.replace(name, b"odd".ljust(length, b"x"))


def refused(*arguments):
    """Returns the error message of a server that does not start."""
    done = subprocess.run([executable(), "serve", "--port", "0", *arguments], capture_output=True, timeout=LIMIT_S, check=False)
    assert done.returncode != 0 and done.stdout == b"", (arguments, done.stdout)
    return done.stderr.decode()


class Access(unittest.TestCase):
    def test_names_pages_and_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys.txt"
            keys.write_text("# of the team\r\none\r\n\n  two \t# Ann's\n#three\n")
            server = Server("--cors", "https://App.Example/", "--api-key-file", str(keys))

            def status(key="one", **headers):
                return server.request("GET", "/v1/models", Authorization=f"Bearer {key}", **headers)

            try:
                self.assertEqual([status(key)[0] for key in ("one", "two", "three", "")], [200, 200, 401, 401])
                for comment in ("#three", "# of the team", "two # Ann's", "two \t# Ann's", "#"):
                    self.assertEqual(status(comment)[0], 401, comment)
                self.assertEqual([status(Host=host)[0] for host in ("box.lan", "host.docker.internal:81")], [200, 200])
                code, headers, _ = status(Origin="https://app.example")
                self.assertEqual((code, headers["access-control-allow-origin"]), (200, "https://app.example"))
                self.assertEqual(status(Origin="https://other.example")[0], 403)
                code, headers, _ = server.request("OPTIONS", "/v1/models", Origin="https://app.example",
                                                  Access_Control_Request_Method="POST", Access_Control_Request_Headers="x-one")
                self.assertEqual((code, headers["access-control-allow-headers"]), (204, "x-one"))
            finally:
                server.stop()

    def test_names_of_the_machine(self):
        def statuses(*options, hosts=("box.lan", "BOX.LAN:81", "host.docker.internal:8080")):
            server = Server(*options)
            try:
                return [server.request("GET", "/v1/models", Host=host)[0] for host in hosts], server.log_text()
            finally:
                server.stop()

        found, told = statuses("--allowed-host", "Box.LAN")
        self.assertEqual(found, [200, 200, 403])
        self.assertRegex(told, r" GET /v1/models 403 error .*: Host `host\.docker\.internal` is not allowed; add --allowed-host host\.docker\.internal")
        for options in (("--allowed-host", "*"), ("--api-key", "any"), ("--host", "0.0.0.0")):
            found, told = statuses(*options)
            self.assertEqual(found, [401 if "--api-key" in options else 200] * 3, told)

    def test_names_of_models(self):
        def answered(server, name):
            status, headers, text = server.request("POST", "/v1/completions", {"model": name, "prompt": "a", "max_tokens": 1})
            return status, json.loads(text).get("model"), headers.get("etna-model")

        server = Server("demo", "--alias", "small,tiny")
        try:
            listed = json.loads(server.request("GET", "/v1/models")[2])["data"]
            self.assertEqual([model["id"] for model in listed], ["small", "tiny"])
            self.assertEqual([model["max_model_len"] for model in listed], [2048, 2048])
            for name in ("small", "tiny", "TINY.gguf", "small:latest"):
                self.assertEqual(answered(server, name), (200, "small", "small"), name)
            self.assertEqual(answered(server, "gpt-4o")[0], 404)
            self.assertEqual([json.loads(server.request("GET", path)[2])["status"]["value"]
                              for path in ("/v1/models/small", "/v1/models/tiny")], ["loaded", "loaded"])
        finally:
            server.stop()
        server = Server("demo", "--any-model-name")
        try:
            self.assertEqual([answered(server, name) for name in ("demo", "DEMO", "gpt-4o")], [(200, "demo", "demo")] * 3)
        finally:
            server.stop()
        self.assertIn("--alias: `a,,b` has an empty name", refused("demo", "--alias", "a,,b"))
        self.assertIn("two models are named `a`", refused("demo", "--alias", "a,a"))

    def test_impossible_options_are_refused_at_the_start(self):
        self.assertIn("--allowed-host: `box.lan:80`", refused("--allowed-host", "box.lan:80"))
        self.assertIn("--cors: `app.example`", refused("--cors", "app.example"))
        self.assertIn("--client-header: `a b` is not a header name", refused("--client-header", "a b"))
        self.assertIn("--trusted-proxy: `10.0.0.0/33` is not an address or a network",
                      refused("--client-header", "X-Real-IP", "--trusted-proxy", "10.0.0.0/33"))
        self.assertIn("--trusted-proxy is given without --client-header", refused("--trusted-proxy", "10.0.0.7"))
        self.assertIn("--chat-path: `/a%62c`", refused("--chat-path", "/a%62c"))
        self.assertIn("--models-dir: /nonexistent is not a folder", refused("--models-dir", "/nonexistent"))
        self.assertIn(f"--models-dir: {STORIES} is not a folder", refused("--models-dir", str(STORIES)))

    def test_an_unusable_model_fails_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            cut = pathlib.Path(folder) / "cut.gguf"
            cut.write_bytes(DEMO.read_bytes()[:100_000])
            foreign = pathlib.Path(folder) / "foreign.gguf"
            foreign.write_bytes(foreign_model())
            self.assertIn(str(cut), refused(str(cut)))
            self.assertIn(str(cut), refused("demo", str(cut)))
            self.assertIn(str(cut), refused("demo", "--draft", str(cut)))
            self.assertIn("architecture `odd", refused(str(foreign)))

    def test_a_mistyped_template_or_device_fails_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "broken.jinja"
            broken.write_text("{% for message in messages %}")
            for models in ([], ["--models-dir", folder]):  # also without any model yet
                self.assertIn("there is no chat template `chatlm`", refused(*models, "--chat-template", "chatlm"))
                self.assertIn("error", refused(*models, "--chat-template", str(broken)))
            self.assertIn("nonesuch", refused("--device", "nonesuch"))


class Folder(unittest.TestCase):
    def test_files_are_listed_by_their_metadata_before_they_are_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {"stories": STORIES.read_bytes(), "demo": STORIES.read_bytes(), "talker": DEMO.read_bytes(),
                     "cut": DEMO.read_bytes()[:100_000], "foreign": foreign_model()}
            for name, data in files.items():
                (pathlib.Path(folder) / f"{name}.gguf").write_bytes(data)
            server = Server("--models-dir", folder, "--models-max", "1")
            try:
                listed = {model["name"]: model for model in json.loads(server.request("GET", "/dynamo/alpha/list-models")[2])["data"]}
                self.assertEqual(listed["talker"], {"name": "talker", "type": ["chat", "completion"], "context": 2048, "loaded": False,
                                                    "endpoint": ["/v1/completions", "/v1/chat/completions"]})
                self.assertEqual(sorted(listed), ["demo", "stories", "talker"])  # no broken file
                for name in ("stories", "demo"):  # models without a template
                    self.assertEqual(listed[name]["type"], ["chat", "completion"])
                    self.assertIn(f"`{name}` has no chat template: chatml is used", server.log_text())
                self.assertEqual([model["id"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]],
                                 ["demo", "stories", "talker"])
                for _ in range(3):
                    status, answer = server.ask(model="cut")
                    self.assertEqual((status, answer["error"]["type"]), (500, "server_error"))
                    self.assertNotIn(folder, answer["error"]["message"])
                    status, answer = server.ask(model="foreign")
                    self.assertEqual((status, answer["error"]["type"]), (400, "invalid_request_error"))  # SDKs do not retry
                    self.assertIn("architecture `odd", answer["error"]["message"])
                    self.assertNotEqual(answer["error"]["code"], "corrupt")
                for name in ("cut", "foreign"):
                    self.assertEqual(server.request("GET", f"/v1/models/{name}")[0], 404)
                    self.assertEqual(server.log_text().count(f"a model cannot be loaded: {folder}/{name}.gguf"), 1)
                tokens = [server.request("POST", "/tokenize", {"model": name, "content": "Once"})[2] for name in ("demo", "stories")]
                self.assertEqual(*tokens)  # the file, not the built-in model
                self.assertIn("not the model that is built in", server.log_text())
                shutil.copy(DEMO, pathlib.Path(folder) / "new")
                os.replace(pathlib.Path(folder) / "new", pathlib.Path(folder) / "demo.gguf")
                wait_until(lambda: server.ask(model="demo")[1].get("choices", [{}])[0].get("message", {}).get("content") == "92",
                           "the replaced file is not served")
                self.assertEqual(server.ask(model="demo")[1]["choices"][0]["message"]["content"], "92")
            finally:
                server.stop()


class Start(unittest.TestCase):
    def test_startup_lines_name_the_models_and_a_working_command(self):
        server = Server("demo", str(STORIES))
        try:
            told = server.log_text()
            name = json.loads(subprocess.run([executable(), "devices", "--json"], capture_output=True, check=True).stdout)
            device, = (one for one in name["devices"] if one["chosen"])
            line, = (line for line in told.splitlines() if line.startswith("device: "))
            self.assertIn(device["name"], line)
            self.assertEqual("a CPU" in line, device["type"] == "cpu")
            self.assertIn("model: demo, with a context of up to 2048 tokens\n", told)
            self.assertIn("model: stories260K, with a context of up to 2048 tokens\n", told)
            self.assertIn(f"responses: stored in {server.home.name}/.local/share/etna/responses.db\n", told)
            self.assertIn(f"page: {server.address}/\n", told)
            command = next(line for line in told.splitlines() if line.startswith("try: "))[5:]
            answer = json.loads(subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout)
            self.assertEqual(answer["model"], "demo")
        finally:
            server.stop()

    def test_the_page_opens_in_a_browser(self):
        with tempfile.TemporaryDirectory() as folder:
            opener, opened = pathlib.Path(folder, "xdg-open"), pathlib.Path(folder, "opened")
            opener.write_text(f'#!/bin/sh\nps -o sid= -p $$ >>"{folder}/session"\necho "$@" >"{opened}.part"\nmv "{opened}.part" "{opened}"\n')
            opener.chmod(0o755)
            server = Server("demo", "--open", before=("env", f"PATH={folder}:{os.environ['PATH']}"))
            try:
                wait_until(opened.exists, "no browser was opened")
                self.assertEqual(opened.read_text(), server.address + "/\n")
                session = int(pathlib.Path(folder, "session").read_text())
                self.assertNotEqual(session, os.getsid(server.process.pid))
                self.assertNotIn("no browser", server.log_text())
            finally:
                server.stop()

    def test_without_a_browser_the_page_s_address_is_logged(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server("demo", "--open", before=("/usr/bin/env", f"PATH={folder}"))
            try:
                line = f"page: no browser was opened: xdg-open is not installed; open {server.address}/\n"
                wait_until(lambda: line in server.log_text(), server.log_text)  # the address is printed before the line
                self.assertIn(line, server.log_text())
                self.assertEqual(server.request("GET", "/health")[0], 200)
            finally:
                server.stop()

    def test_the_page_is_left_out_on_request(self):
        server = Server("demo", "--no-page")
        try:
            self.assertNotIn("page: ", server.log_text())
            self.assertIn("set the base URL", server.request("GET", "/", Accept="text/html")[2])
            self.assertEqual(server.request("GET", "/page/state")[0], 404)
        finally:
            server.stop()

    def test_the_page_s_state_has_the_device_and_the_plan_of_each_model(self):
        server = Server("demo", str(STORIES))
        try:
            self.assertEqual(server.ask(model="demo")[0], 200)
            state = json.loads(server.request("GET", "/page/state")[2])
            device, = (one for one in state["devices"] if one["is_chosen"])
            self.assertGreater(device["weights_bytes"], 0)
            self.assertGreater(device["cache_bytes"], 0)
            self.assertGreaterEqual(device["etna_bytes"], device["weights_bytes"] + device["cache_bytes"])
            self.assertGreater(device["total_bytes"], device["free_bytes"])
            models = {model["name"]: model for model in state["models"]}
            self.assertEqual([models[name]["state"] for name in ("demo", "stories260K")], ["loaded", "unloaded"])
            for model in models.values():
                self.assertGreater(model["planned_bytes"], model["file_bytes"] // 4)
            self.assertIsNone(models["stories260K"]["memory_bytes"])
            self.assertGreater(sum(state["throughput"]["generated_tokens"]), 0)
            self.assertEqual(state["requests"][0]["client"], "127.0.0.1")
        finally:
            server.stop()

    def test_startup_lines_are_json_with_log_json(self):
        server = Server("--log-json", "--store", "memory", "--api-key", "secret")
        try:
            told = [json.loads(line)["message"] for line in server.log_text().splitlines()]
            self.assertIn("responses: stored in memory until the server ends", told)
            self.assertTrue(any(line.startswith("try: curl") and "Bearer KEY" in line and "secret" not in line for line in told), told)
        finally:
            server.stop()

    def test_warnings_have_a_time_like_other_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            for options in ((), ("--log-json",)):
                server = Server("--host", "0.0.0.0", "--models-dir", folder, *options)
                try:
                    warnings = [line for line in server.log_text().splitlines() if "warning" in line]
                    self.assertEqual(len(warnings), 2, warnings)
                    for line in warnings:
                        if options:
                            self.assertEqual(sorted(json.loads(line)), ["level", "message", "time"])
                        else:
                            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ warning: ")
                finally:
                    server.stop()

    def test_a_browser_and_a_monitor_are_answered(self):
        server = Server("--api-key", "secret")
        try:
            status, headers, text = server.request("GET", "/", Accept="text/html")
            self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"))
            self.assertIn("etna", text)
            for path in ("/", "/health", "/v1/models", "/v1/models/demo", "/metrics", "/openapi.json"):
                whole = server.request("GET", path, Authorization="Bearer secret")
                head = server.request("HEAD", path, Authorization="Bearer secret")
                self.assertEqual((head[0], head[1]["content-type"], head[2]), (200, whole[1]["content-type"], ""), path)
        finally:
            server.stop()


class Kept(unittest.TestCase):
    def make(self, server, text="Say 1.", **headers):
        status, _, body = server.request("POST", "/v1/responses", {"input": text, "max_output_tokens": 1}, **headers)
        return status, json.loads(body)

    def test_a_second_server_reports_that_it_stores_in_memory(self):
        first = Server()
        second = Server(home=first.home.name)
        try:
            self.assertNotIn("warning", json.loads(first.request("GET", "/health")[2]))
            self.assertIn("another process has it open: responses are kept in memory only", second.log_text())
            self.assertIn("responses: stored in memory", second.log_text())
            status, _, text = second.request("GET", "/health")
            self.assertEqual((status, json.loads(text)["status"]), (200, "ok"))
            self.assertIn("in memory only", json.loads(text)["warning"])
            self.assertNotIn(first.home.name, text)
        finally:
            second.stop()
            first.stop()

    def test_a_second_server_waits_for_a_draining_one(self):
        first = Server("--drain-timeout", "60")
        kept = self.make(first)[1]["id"]
        client = first.endless(stream=True)
        self.assertTrue(client.recv(1))
        first.process.send_signal(signal.SIGTERM)
        first.wait_until_draining()
        second = Server(home=first.home.name, wait=False)
        wait_until(lambda: "waiting for another etna to release /" in second.log_text() or second.process.poll() is not None,
                   second.log_text)
        self.assertIsNone(second.process.poll(), second.log_text())
        client.close()
        self.assertEqual(first.wait(keep_home=True), 0)
        second.read_address()
        try:
            self.assertEqual(second.request("GET", f"/v1/responses/{kept}")[0], 200)
            self.assertNotIn("warning", json.loads(second.request("GET", "/health")[2]))
        finally:
            second.stop()
            first.home.cleanup()

    def test_one_key_does_not_evict_entries_of_another(self):
        server = Server("--api-key", "ann", "--api-key", "bob", "--store", "memory", "--responses-store-max-entries", "4")
        try:
            status, kept = self.make(server, Authorization="Bearer bob")
            self.assertEqual(status, 200, kept)
            for _ in range(8):
                self.assertEqual(self.make(server, Authorization="Bearer ann")[0], 200)
            self.assertEqual(server.request("GET", f"/v1/responses/{kept['id']}", Authorization="Bearer bob")[0], 200)
        finally:
            server.stop()

    def test_a_full_disk_can_be_emptied(self):
        server = Server(before=("prlimit", "--fsize=700000"))
        try:
            text = "word " * 200
            made = []
            while True:
                status, answer = self.make(server, text)
                if status != 200:
                    break
                made.append(answer["id"])
                self.assertLess(len(made), 1000)
            self.assertEqual((status, answer["error"]["code"]), (500, "store_failed"))
            self.assertNotIn(server.home.name, answer["error"]["message"])
            self.assertIn(f"warning: {server.home.name}/.local/share/etna/responses.db: ", server.log_text())  # with the reason
            for one in made:
                status, _, body = server.request("DELETE", f"/v1/responses/{one}")
                self.assertEqual((status, json.loads(body).get("deleted")), (200, True), body)
            self.assertEqual(self.make(server, text)[0], 200)
        finally:
            server.stop()


class Drain(unittest.TestCase):
    def test_a_stream_cut_by_a_drain_reports_it_and_ends(self):
        for path, body in (("/v1/chat/completions", QUESTION), ("/v1/completions", {"prompt": "1 2 3"}),
                           ("/v1/responses", {"input": "Count to 1000.", "max_output_tokens": 1900})):
            server = Server("--drain-timeout", "0")
            server.ask()
            asked = json.dumps({**body, "stream": True, "ignore_eos": True, **({} if "input" in body else {"max_tokens": 1900})})
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asked)}\r\n\r\n{asked}".encode())
            text = client.recv(100)
            server.wait_until_busy()
            server.process.send_signal(signal.SIGTERM)
            while part := client.recv(100_000):
                text += part
            self.assertIn(b"shutting down", text)
            self.assertIn(b"response.failed" if "input" in body else b"event: error\n", text)
            client.close()
            self.assertIn(b"data: [DONE]\n\n", text[-40:])
            self.assertEqual(server.wait(), 0)

    def test_sigint_ends_a_drain(self):
        for first, second in (("SIGTERM", "SIGINT"), ("SIGINT", "SIGINT"), ("SIGINT", "SIGTERM")):
            server = Server("--drain-timeout", "600")
            client = server.endless(stream=True)
            self.assertTrue(client.recv(1))
            server.process.send_signal(signal.Signals[first])
            server.wait_until_draining()
            self.assertEqual(server.stop(signal.Signals[second]), -signal.Signals[second])
            client.close()


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--prompt-max", "100", "--request-timeout", "3")
        cls.server.ask()  # loads the model, which may take longer

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_a_prefilled_answer_is_continued(self):
        body = {"messages": [{"role": "user", "content": "Count to 7."}, {"role": "assistant", "content": "1, 2, 3"}],
                "continue_final_message": True, "temperature": 0}
        self.assertTrue(json.loads(self.server.request("POST", "/apply-template", body)[2])["prompt"].endswith("\n1, 2, 3"))
        _, answer = self.server.ask(**body)
        self.assertEqual(answer["choices"][0]["message"]["content"], ", 4, 5, 6, 7")
        rendered = subprocess.run([executable(), "render", "demo"], input=json.dumps(body), capture_output=True, text=True, check=True)
        self.assertTrue(rendered.stdout.endswith("\n1, 2, 3"), rendered.stdout)

    def test_prompt_max_and_request_timeout(self):
        status, answer = self.server.ask(messages=[{"role": "user", "content": "dog " * 200}])
        self.assertEqual((status, answer["error"]["code"]), (400, "context_length_exceeded"))
        begin = time.monotonic()
        status, answer = self.server.ask(ignore_eos=True, max_tokens=1900)
        self.assertEqual((status, answer["choices"][0]["finish_reason"]), (200, "length"))
        if answer["usage"]["completion_tokens"] < 1900:  # a faster device finishes before the limit
            self.assertLess(time.monotonic() - begin, 20)

    def test_special_tokens_and_stop_tokens(self):
        end, nine = (json.loads(self.server.request("POST", "/tokenize", {"content": text})[2])["tokens"][-1] for text in ("<|im_end|>", "9"))
        shown = self.server.ask(skip_special_tokens=False, stop_token_ids=[end], include_stop_str_in_output=True, temperature=0)[1]
        self.assertEqual(shown["choices"][0]["message"]["content"], "92<|im_end|>")
        hidden = self.server.ask(stop_token_ids=[end], include_stop_str_in_output=True, temperature=0)[1]
        self.assertEqual(hidden["choices"][0]["message"]["content"], "92")
        _, stopped = self.server.ask(stop_token_ids=[nine], temperature=0)
        self.assertEqual((stopped["choices"][0]["message"]["content"], stopped["choices"][0]["finish_reason"]), ("", "stop"))

    def test_etna_strict_applies_to_token_routes_too(self):
        for path, body in (("/tokenize", {"content": "a"}), ("/detokenize", {"tokens": [300]}), ("/apply-template", QUESTION)):
            self.assertEqual(self.server.request("POST", path, body, etna_strict="1")[0], 200)
            self.assertEqual(self.server.request("POST", path, {**body, "odd": 1}, etna_strict="1")[0], 400)
            self.assertEqual(self.server.request("POST", path, {**body, "odd": 1})[1]["etna-ignored"], "odd")

    def test_streams_keep_the_connection_and_405_lists_the_allowed_methods(self):
        _, headers, _ = self.server.request("POST", "/v1/chat/completions", {**QUESTION, "stream": True})
        self.assertEqual(headers["connection"].lower(), "keep-alive")
        status, headers, text = self.server.request("BREW", "/v1/models")
        self.assertEqual((status, headers["allow"], json.loads(text)["error"]["code"]), (405, "GET, HEAD", "method_not_allowed"))


class Memory(unittest.TestCase):
    def test_a_body_of_many_values_is_refused_before_memory_is_allocated(self):
        server = Server()
        try:
            server.request("POST", "/tokenize", {"content": "a"})
            before = memory_bytes(server.process.pid, "VmHWM")
            for begin in ('{"prompt":[', '{"prompt":"a","odd":['):
                status, _, text = server.request("POST", "/v1/completions", begin + '"a",' * 7_000_000 + '"a"]}')
                self.assertEqual((status, "values" in json.loads(text)["error"]["message"]), (413, True), text)
            self.assertLess(memory_bytes(server.process.pid, "VmHWM") - before, 300_000_000)
        finally:
            server.stop()


if __name__ == "__main__":
    run_tests(verbosity=2)
