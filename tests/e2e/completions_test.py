#!/usr/bin/env python3
"""Completions, prompts, routes and logs of `etna serve`. Usage: completions_test.py ETNA"""

import http.client
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from support.cases import ServerCase
from support.client import QUESTION, WEATHER
from support.program import executable, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COUNT = "<|im_start|>user\nCount to 9.<|im_end|>\n<|im_start|>assistant\n"
SUM = "<|im_start|>user\nWhat is 34 + 58?<|im_end|>\n<|im_start|>assistant\n"
COUNTED = "1, 2, 3, 4, 5, 6, 7, 8, 9"


def complete(server, path="/v1/completions", **body):
    status, _, text = server.request("POST", path, {"max_tokens": 64, "temperature": 0, **body})
    return status, json.loads(text)


def texts(answer):
    return [choice["text"] for choice in answer["choices"]]


def streamed(server, **body):
    """Concatenates the chunks of a stream, by choice."""
    status, _, text = server.request("POST", "/v1/completions", {"max_tokens": 64, "temperature": 0, "stream": True, **body})
    assert status == 200, text
    lines = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", lines
    choices = {}
    for chunk in map(json.loads, lines[:-1]):
        for piece in chunk["choices"]:
            whole = choices.setdefault(piece["index"], {"text": "", "finish_reason": None, "logprobs": {}})
            whole["text"] += piece["text"]
            whole["finish_reason"] = piece["finish_reason"]
            for name, values in (piece["logprobs"] or {}).items():
                whole["logprobs"].setdefault(name, []).extend(values or [])
    return [choices[index] for index in sorted(choices)]


class Completions(ServerCase):
    def refused(self, status, part, **body):
        got, answer = complete(self.server, **body)
        self.assertEqual(got, status, answer)
        self.assertIn(part, answer["error"]["message"])
        return answer["error"]

    def test_a_text_is_continued(self):
        status, answer = complete(self.server, prompt=COUNT)
        self.assertEqual(status, 200, answer)
        self.assertEqual((answer["object"], answer["id"][:5]), ("text_completion", "cmpl-"))
        self.assertEqual(answer["choices"], [{"text": COUNTED, "index": 0, "logprobs": None, "finish_reason": "stop"}])
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        for path in ("/completions", "/v3/completions"):
            self.assertEqual(texts(complete(self.server, path, prompt=COUNT)[1]), [COUNTED])

    def test_the_default_length(self):
        _, answer = complete(self.server, prompt=COUNT, max_tokens=None)
        self.assertEqual((answer["usage"]["completion_tokens"], answer["choices"][0]["finish_reason"]), (16, "length"))
        _, answer = complete(self.server, "/v3/completions", prompt=COUNT, max_tokens=None)
        self.assertEqual(texts(answer), [COUNTED])

    def test_prompts_come_in_four_shapes(self):
        _, tokens = complete(self.server, "/tokenize", prompt=COUNT)
        tokens = tokens["tokens"]
        for prompt, expected in ((COUNT, [COUNTED]), ([COUNT, SUM], [COUNTED, "92"]), (tokens, [COUNTED]),
                               ([tokens, tokens], [COUNTED, COUNTED])):
            status, answer = complete(self.server, prompt=prompt)
            self.assertEqual((status, texts(answer)), (200, expected))
            self.assertEqual([choice["index"] for choice in answer["choices"]], list(range(len(expected))))
        self.assertEqual(answer["usage"]["prompt_tokens"], 2 * len(tokens))

    def test_several_choices_of_several_prompts(self):
        body = {"prompt": [COUNT, SUM], "n": 2, "temperature": 2, "seed": 11, "max_tokens": 6, "ignore_eos": True}
        status, answer = complete(self.server, **body)
        self.assertEqual((status, answer["seed"], len(answer["choices"])), (200, 11, 4), answer)
        alone = [texts(complete(self.server, **{**body, "prompt": prompt})[1]) for prompt in (COUNT, SUM)]
        self.assertEqual(texts(answer), alone[0] + alone[1])
        self.assertEqual(answer["usage"]["completion_tokens"], 24)
        self.assertEqual([choice["text"] for choice in streamed(self.server, **body)], texts(answer))

    def test_echo_and_stops(self):
        self.assertEqual(texts(complete(self.server, prompt=SUM, echo=True)[1]), [SUM + "92"])
        self.assertEqual(streamed(self.server, prompt=SUM, echo=True)[0]["text"], SUM + "92")
        _, answer = complete(self.server, prompt=COUNT, stop=[", 4", "zzz"])
        self.assertEqual((texts(answer), answer["choices"][0]["finish_reason"]), (["1, 2, 3"], "stop"))

    def test_logprobs_of_the_answer(self):
        _, answer = complete(self.server, prompt=COUNT, logprobs=2)
        logprobs = answer["choices"][0]["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]), COUNTED)
        self.assertEqual(len({len(values) for values in logprobs.values()}), 1, logprobs)
        self.assertEqual(logprobs["text_offset"], [COUNTED.index(token, offset) for token, offset in
                                                   zip(logprobs["tokens"], logprobs["text_offset"])])
        for token, value, top in zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"]):
            self.assertLessEqual(value, 0)
            self.assertEqual(max(top.values()), top[token])  # greedy
            self.assertEqual(len(top), 2)
        whole = streamed(self.server, prompt=COUNT, logprobs=2)[0]
        self.assertEqual((whole["text"], whole["logprobs"]), (COUNTED, logprobs))
        _, answer = complete(self.server, prompt=COUNT, logprobs=0)
        self.assertEqual(sorted(answer["choices"][0]["logprobs"]), ["text_offset", "token_logprobs", "tokens"])

    def test_logprobs_of_the_prompt(self):
        tokens = complete(self.server, "/tokenize", prompt=SUM)[1]["tokens"]
        text = complete(self.server, "/detokenize", tokens=tokens)[1]["content"]
        _, answer = complete(self.server, prompt=tokens, echo=True, logprobs=5)
        choice, = answer["choices"]
        logprobs, count = choice["logprobs"], len(tokens)
        self.assertEqual(choice["text"], text + "92")
        self.assertEqual("".join(logprobs["tokens"]), text + "92")
        self.assertEqual(logprobs["text_offset"], [len("".join(logprobs["tokens"][:i])) for i in range(len(logprobs["tokens"]))])
        self.assertEqual((logprobs["token_logprobs"][0], logprobs["top_logprobs"][0]), (None, None))
        self.assertEqual(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        for place in range(1, count):  # the same from a request for each prefix of the prompt
            _, alone = complete(self.server, prompt=tokens[:place], max_tokens=1, logprobs=5, ignore_eos=True)
            expected, logged = alone["choices"][0]["logprobs"]["top_logprobs"][0], logprobs["top_logprobs"][place]
            for token in expected:
                self.assertAlmostEqual(logged[token], expected[token], delta=0.02)
            self.assertAlmostEqual(logged[logprobs["tokens"][place]], logprobs["token_logprobs"][place], delta=1e-6)
        again = streamed(self.server, prompt=tokens, echo=True, logprobs=5)[0]
        self.assertEqual((again["text"], again["logprobs"]), (choice["text"], logprobs))
        _, alone = complete(self.server, prompt=tokens, echo=True, logprobs=5, max_tokens=0)
        self.assertEqual((texts(alone), alone["usage"]["completion_tokens"]), ([text], 0))
        self.assertEqual(alone["choices"][0]["logprobs"]["token_logprobs"], logprobs["token_logprobs"][:count])

    def test_tokens_instead_of_text(self):
        _, answer = complete(self.server, prompt=COUNT, detokenize=False)
        choice, = answer["choices"]
        self.assertEqual(choice["text"], "")
        _, text = complete(self.server, "/detokenize", tokens=choice["token_ids"])
        self.assertEqual(text["content"], COUNTED)

    def test_a_shortened_prompt(self):
        _, whole = complete(self.server, prompt=COUNT)
        _, answer = complete(self.server, prompt="Something before. " * 9 + COUNT,
                             truncate_prompt_tokens=whole["usage"]["prompt_tokens"])
        self.assertEqual((texts(answer), answer["usage"]["prompt_tokens"]), ([COUNTED], whole["usage"]["prompt_tokens"]))

    def test_a_prompt_far_beyond_the_context_is_refused_by_its_length(self):
        error = self.refused(400, "the context holds 2048", prompt="a" * 1_000_000)
        self.assertEqual((error["param"], error["code"]), ("prompt", "context_length_exceeded"))
        self.assertIn("1000000 bytes", error["message"])

    def test_a_required_call_that_is_cut_off_is_not_text(self):
        question = {"messages": QUESTION["messages"], "tools": [WEATHER], "tool_choice": "required"}
        for tokens in range(1, 8):
            status, answer = complete(self.server, "/v1/chat/completions", **question, max_tokens=tokens)
            choice, = answer["choices"]
            self.assertEqual((status, choice["message"]["content"] or "", choice["finish_reason"]), (200, "", "length"), answer)

    def test_refusals(self):
        for body, status, part, param in (
                ({}, 400, "required", "prompt"), ({"prompt": []}, 400, "non-empty", "prompt"),
                ({"prompt": [[]]}, 400, "non-empty", "prompt"), ({"prompt": [999999]}, 400, "below 2048", "prompt"),
                ({"prompt": ["a", 1]}, 400, "must be", "prompt"), ({"prompt": ""}, 400, "empty", "prompt"),
                ({"prompt": ["a"] * 100, "n": 2}, 400, "at most 128", "prompt"),
                ({"prompt": "a", "best_of": 21}, 400, "from 1 to 20", "best_of"),
                ({"prompt": "a", "n": 2, "best_of": 1}, 400, "at least n", "best_of"),
                ({"prompt": "a", "length_penalty": 2.0}, 400, "beam search", "length_penalty"),
                ({"prompt": "a", "num_assistant_tokens": 33}, 400, "from 0 to 32", "num_assistant_tokens"),
                ({"prompt": "a", "suffix": "b"}, 400, "trained for infilling", "suffix"),
                ({"prompt": "a", "logprobs": 21}, 400, "", "logprobs"),
                ({"prompt": "a", "logits_processors": ["x"]}, 400, "logits_processors", "logits_processors"),
                ({"prompt": "dog " * 3000}, 400, "the context holds 2048", "prompt")):
            error = self.refused(status, part, **body)
            self.assertEqual(error["param"], param, body)
        self.assertEqual(complete(self.server, prompt=SUM, best_of=1, length_penalty=1.0)[0], 200)


class Prompts(ServerCase):
    def test_tokens_and_back(self):
        text = "Wörter & 12 ☃"
        _, answer = complete(self.server, "/tokenize", content=text)
        self.assertEqual((answer["count"], answer["max_model_len"]), (len(answer["tokens"]), 2048))
        self.assertEqual(complete(self.server, "/detokenize", tokens=answer["tokens"])[1], {"content": text, "prompt": text})
        _, pieces = complete(self.server, "/tokenize", content=text, with_pieces=True)
        data = b"".join(piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"])
                        for piece in pieces["tokens"])
        self.assertEqual((data.decode(), [piece["id"] for piece in pieces["tokens"]]), (text, answer["tokens"]))
        _, marks = complete(self.server, "/tokenize", content="<|im_start|>")
        _, letters = complete(self.server, "/tokenize", content="<|im_start|>", parse_special=False)
        self.assertEqual(marks["count"], 1)
        self.assertGreater(letters["count"], 1)

    def test_a_conversation_is_rendered_to_the_model_prompt(self):
        messages = QUESTION["messages"]
        _, answer = complete(self.server, "/apply-template", messages=messages)
        self.assertEqual(answer["prompt"], SUM)
        _, tokens = complete(self.server, "/tokenize", messages=messages)
        self.assertEqual(complete(self.server, "/detokenize", tokens=tokens["tokens"])[1]["content"], SUM)

    def test_refusals(self):
        for path, body in (("/tokenize", {}), ("/tokenize", {"content": 1}), ("/detokenize", {}),
                           ("/detokenize", {"tokens": [2048]}), ("/detokenize", {"tokens": ["a"]}),
                           ("/apply-template", {})):
            status, answer = complete(self.server, path, **body)
            self.assertEqual(status, 400, answer)
            self.assertIn("message", answer["error"])


class Routes(unittest.TestCase):
    def test_openapi_document_and_route_list_name_every_route(self):
        listed = subprocess.run([executable(), "serve", "--routes", "--chat-path", "/talk"], capture_output=True, text=True, check=True)
        routes = {tuple(line.split()[:2]) for line in listed.stdout.splitlines() if "/" in line}
        self.assertIn(("POST", "/talk"), routes)
        server = Server("--chat-path", "/talk", "--completions-path", "/continue")
        try:
            document = json.loads(server.request("GET", "/openapi.json")[2])
            described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
            self.assertEqual(described - {("POST", "/continue")}, routes - {("POST", "/v1/completions")})
            self.assertEqual(server.ask("/talk")[1]["choices"][0]["message"]["content"], "92")
            self.assertEqual(texts(complete(server, "/continue", prompt=SUM)[1]), ["92"])
            self.assertEqual(server.request("POST", "/v1/chat/completions", {})[0], 405)  # GET lists the stored chats
        finally:
            server.stop()
        for wrong in (["--chat-path", "talk"], ["--chat-path", "/same", "--completions-path", "/same"]):
            done = subprocess.run([executable(), "serve", "--routes", *wrong], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("path", done.stderr)

    def test_metrics_are_prometheus_text(self):
        server = Server()
        try:
            server.ask()
            text = server.request("GET", "/metrics")[2]
        finally:
            server.stop()
        for name in ("etna_kv_pages_used", "etna_kv_pages", "etna_requests_waiting", "etna_preemptions_total",
                     "etna_device_memory_free_bytes", "etna_time_to_first_token_seconds_count", "etna_build_info"):
            self.assertIn(f"\n{name}{{", text)
        own = "".join(line for line in text.splitlines(True) if "vllm:" not in line.split("{")[0])
        done = subprocess.run(["promtool", "check", "metrics"], input=own, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        # vLLM's names have a colon, which promtool leaves to recording rules; that is all that it finds.
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        names = sorted(line.split()[2] for line in text.splitlines() if line.startswith("# TYPE vllm:"))
        self.assertGreater(len(names), 6)
        self.assertEqual(done.stderr.splitlines(), [f"{name} metric names should not contain ':'" for name in names])
        self.assertEqual(done.stdout, "")


class Several(unittest.TestCase):
    def test_models_are_served_under_their_names(self):
        file = str(SOURCE / "tests" / "data" / "models" / "stories260K.gguf")
        server = Server("demo", file, "--alias", "first", "--alias", "second", "--models-max", "1")
        try:
            listed = [model["id"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]]
            self.assertEqual(listed, ["first", "second"])
            self.assertEqual(texts(complete(server, model="first", prompt=SUM)[1]), ["92"])
            self.assertEqual(complete(server, model="second", prompt="Once upon a time", max_tokens=4)[0], 200)
            loaded = {model["name"]: model["loaded"] for model in json.loads(server.request("GET", "/dynamo/alpha/list-models")[2])["data"]}
            self.assertEqual(loaded, {"first": False, "second": True})  # one model fits into memory
            self.assertEqual(texts(complete(server, prompt=SUM)[1]), ["92"])  # the first model is the default
        finally:
            server.stop()
        done = subprocess.run([executable(), "serve", "demo", file, "--alias", "x", "--alias", "x"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("two models are named `x`", done.stderr)


class Operator(unittest.TestCase):
    """Effects of the operator's options on completions."""

    def test_limits_keys_and_the_rules_of_v3(self):
        server = Server("--max-tokens-limit", "20", "--ignore-eos-max-tokens", "30", "--api-key", "one", "--api-key", "two")

        def ask(path, key="one", **body):
            status, _, text = server.request("POST", path, {"prompt": COUNT, "temperature": 0, **body}, authorization=f"Bearer {key}")
            return status, text

        def usage(path, **body):
            status, text = ask(path, **body)
            self.assertEqual(status, 200, text)
            return json.loads(text)["usage"]

        def streamed_text(path, **body):
            status, text = ask(path, stream=True, **body)
            self.assertEqual(status, 200, text)
            chunks = [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]
            return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])

        try:
            self.assertEqual(usage("/v3/completions", ignore_eos=True)["completion_tokens"], 20)
            self.assertEqual(ask("/v3/completions", max_tokens=21)[0], 400)
            self.assertEqual(usage("/v1/completions", max_tokens=30, ignore_eos=True)["completion_tokens"], 30)
            for body in ({"max_tokens": 31}, {"max_tokens": 31, "stream": True}):
                status, text = ask("/v1/completions", ignore_eos=True, **body)
                self.assertEqual((status, json.loads(text)["error"]["param"]), (400, "max_tokens"))
            self.assertEqual(usage("/v1/completions", max_tokens=31)["completion_tokens"],
                             usage("/v1/completions", max_tokens=30)["completion_tokens"])

            self.assertEqual(streamed_text("/v3/completions", stop=", 4"), "1, 2, 3, 4")
            self.assertEqual(streamed_text("/v1/completions", stop=", 4"), "1, 2, 3")
            self.assertEqual(json.loads(ask("/v3/completions", stop=", 4")[1])["choices"][0]["text"], "1, 2, 3")
            status, text = ask("/v3/completions", stop=", 4", stream=True, include_stop_str_in_output=False)
            self.assertEqual((status, json.loads(text)["error"]["param"]), (400, "include_stop_str_in_output"))

            long = "the dog and the cat " * 60
            cached = [usage("/v1/completions", key=key, prompt=long, max_tokens=1)["prompt_tokens_details"]["cached_tokens"]
                      for key in ("one", "one", "two", "two")]
            self.assertEqual([count > 0 for count in cached], [False, True, False, True], cached)
        finally:
            server.stop()

    def test_a_folder_without_models_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server("--models-dir", folder)
            try:
                status, answer = complete(server, prompt="a")
                self.assertEqual((status, answer["error"]["code"]), (404, "model_not_found"))
                self.assertIn("no model is served", answer["error"]["message"])
                self.assertIn(f"{folder} has no usable .gguf file", server.log_text())
            finally:
                server.stop()
        done = subprocess.run([executable(), "serve", "--models-dir", ""], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("--models-dir is empty", done.stderr)

    def test_a_model_continues_to_answer_after_its_file_is_deleted(self):
        body = {"prompt": "Once upon a time", "max_tokens": 8, "seed": 3, "ignore_eos": True}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.gguf"
            shutil.copy(SOURCE / "tests" / "data" / "models" / "stories260K.gguf", file)
            server = Server(str(file))
            try:
                status, before = complete(server, **body)
                self.assertEqual(status, 200, before)
                file.unlink()
                status, after = complete(server, **body)
                self.assertEqual((status, texts(after)), (200, texts(before)))
                self.assertEqual([choice["text"] for choice in streamed(server, **body)], texts(before))
            finally:
                server.stop()

    def test_a_model_removed_from_its_folder_finishes_running_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.gguf"
            shutil.copy(SOURCE / "tests" / "data" / "models" / "stories260K.gguf", file)
            server = Server("--models-dir", folder)
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
            try:
                connection.request("POST", "/v1/completions", json.dumps({"prompt": "Once", "max_tokens": 400, "ignore_eos": True, "stream": True}))
                answer = connection.getresponse()
                begin = answer.read(10)
                file.unlink()
                wait_until(lambda: complete(server, model="mine", prompt="a")[0] == 404, "the removed model is served")
                self.assertEqual(complete(server, model="mine", prompt="a")[0], 404)
                self.assertTrue((begin + answer.read()).decode().endswith("data: [DONE]\n\n"))
            finally:
                connection.close()
                server.stop()


class Smuggling(unittest.TestCase):
    def test_the_body_of_a_refused_request_is_not_read_as_a_request(self):
        server = Server()
        try:
            inner = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            for line in ("POST /" + "a" * 3000 + " HTTP/1.1", "BR:EW / HTTP/1.1", "BREW / HTTP/1.1\r\nConnection: close",
                         "POST / HTTP/2.0"):
                with socket.create_connection(("127.0.0.1", server.port), LIMIT_S) as client:
                    client.sendall(f"{line}\r\nHost: localhost\r\nContent-Length: {len(inner)}\r\n\r\n{inner}".encode())
                    answers = b""
                    while piece := client.recv(4096):
                        answers += piece
                self.assertEqual(answers.count(b"HTTP/1.1 "), 1, answers)
                self.assertIn(b"Connection: close", answers)
                self.assertIn(b"x-request-id", answers.lower())
        finally:
            server.stop()


class Logs(unittest.TestCase):
    def lines(self, *arguments):
        server = Server(*arguments)
        status, headers, _ = server.request("POST", "/v1/completions", {"prompt": "a secret thing", "max_tokens": 1},
                                            x_request_id="my-own-id")
        self.assertEqual((status, headers["x-request-id"]), (200, "my-own-id"))
        server.process.terminate()
        server.process.wait(LIMIT_S)
        logged = server.log_text()
        server.wait()
        return logged

    def test_log_lines_have_the_id_and_no_user_text(self):
        logged = self.lines()
        self.assertIn("my-own-id", logged)
        self.assertNotIn("secret", logged)

    def test_log_lines_may_be_json_with_prompts(self):
        logged = [json.loads(line) for line in self.lines("--log-json", "--log-prompts").splitlines() if line.startswith("{")]
        prompt, request = (line for line in logged if "request_id" in line)
        self.assertEqual((prompt["prompt"], prompt["request_id"]), ("a secret thing", "my-own-id"))
        self.assertEqual((request["path"], request["status"], request["request_id"]), ("/v1/completions", 200, "my-own-id"))
        self.assertEqual((request["model"], request["completion_tokens"]), ("demo", 1))
        self.assertGreater(request["prompt_tokens"], 2)


class Advice(unittest.TestCase):
    def test_generation_config_next_to_the_model_sets_sampling(self):
        body = {"prompt": "Once upon a time", "seed": 5, "max_tokens": 12, "ignore_eos": True, "temperature": None}
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SOURCE / "core" / "store" / "demo" / "demo.gguf", pathlib.Path(folder) / "mine.gguf")
            found = {}
            for temperature in (0, 2):
                (pathlib.Path(folder) / "generation_config.json").write_text(json.dumps({"temperature": temperature, "top_k": 300}))
                server = Server("--models-dir", folder)
                try:
                    found[temperature] = texts(complete(server, **body)[1])
                    found["requested", temperature] = texts(complete(server, **{**body, "temperature": temperature, "top_k": 300})[1])
                finally:
                    server.stop()
        self.assertEqual((found[0], found[2]), (found["requested", 0], found["requested", 2]))
        self.assertNotEqual(found[0], found[2])


if __name__ == "__main__":
    run_tests()
