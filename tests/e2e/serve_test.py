#!/usr/bin/env python3
"""`etna serve` for programs written for OpenAI's API. Usage: serve_test.py ETNA"""

import concurrent.futures
import json
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from support.cases import ServerCase
from support.client import QUESTION, WEATHER
from support.program import executable, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until


class Chat(ServerCase):
    def test_an_answer(self):
        status, answer = self.server.ask(model="demo")
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["object"], "chat.completion")
        self.assertEqual(answer["model"], "demo")
        choice, = answer["choices"]
        self.assertEqual((choice["message"]["role"], choice["message"]["content"], choice["finish_reason"]),
                         ("assistant", "92", "stop"))
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])

    def test_a_stream_gives_the_same_text(self):
        chunks = self.server.stream(stream_options={"include_usage": True})
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
        self.assertEqual(text, "92")
        self.assertEqual([chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]][-1], "stop")
        self.assertEqual((chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"] > 0), ([], True))
        self.assertTrue(all(chunk["usage"] is None for chunk in chunks[:-1]))

    def test_each_choice_has_its_own_seed(self):
        _, answer = self.server.ask(n=3, temperature=2, seed=7, max_tokens=12, ignore_eos=True)
        texts = [choice["message"]["content"] for choice in answer["choices"]]
        self.assertEqual([choice["index"] for choice in answer["choices"]], [0, 1, 2])
        self.assertEqual(len(set(texts)), 3, texts)
        alone = [self.server.ask(temperature=2, seed=seed, max_tokens=12, ignore_eos=True)[1] for seed in (7, 8, 9)]
        self.assertEqual([one["choices"][0]["message"]["content"] for one in alone], texts)
        self.assertEqual(answer["usage"]["completion_tokens"], 36)

    def test_lengths_and_stops(self):
        _, answer = self.server.ask(messages=[{"role": "user", "content": "Count to 9."}], stop=", 4")
        self.assertEqual(answer["choices"][0]["message"]["content"], "1, 2, 3")
        _, answer = self.server.ask(messages=[{"role": "user", "content": "Count to 9."}], stop=", 4",
                                    include_stop_str_in_output=True)
        self.assertEqual(answer["choices"][0]["message"]["content"], "1, 2, 3, 4")
        _, answer = self.server.ask(max_tokens=9, max_completion_tokens=1)
        self.assertEqual((answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]), ("length", 1))
        _, answer = self.server.ask(min_tokens=20, max_tokens=25)
        self.assertGreaterEqual(answer["usage"]["completion_tokens"], 20)

    def test_logprobs_match_the_text(self):
        for stream in (False, True):
            body = {"logprobs": True, "top_logprobs": 3}
            if stream:
                content = [token for chunk in self.server.stream(**body) for choice in chunk["choices"]
                           for token in (choice["logprobs"] or {"content": []})["content"]]
            else:
                content = self.server.ask(**body)[1]["choices"][0]["logprobs"]["content"]
            self.assertEqual("".join(token["token"] for token in content), "92")
            for token in content:
                self.assertEqual(len(token["top_logprobs"]), 3)
                self.assertEqual(token["bytes"], list(token["token"].encode()))

    def test_a_tool_is_called_and_its_result_used(self):
        ask = [{"role": "user", "content": "What is the weather in Lisbon?"}]
        _, answer = self.server.ask(messages=ask, tools=[WEATHER])
        choice = answer["choices"][0]
        self.assertEqual(choice["finish_reason"], "tool_calls", answer)
        call, = choice["message"]["tool_calls"]
        self.assertEqual((call["function"]["name"], json.loads(call["function"]["arguments"])), ("get_weather", {"city": "Lisbon"}))
        pieces = [piece for chunk in self.server.stream(messages=ask, tools=[WEATHER]) for choice in chunk["choices"]
                  for piece in choice["delta"].get("tool_calls", [])]
        self.assertEqual({piece["index"] for piece in pieces}, {0})
        self.assertEqual(json.loads("".join(piece["function"]["arguments"] for piece in pieces)), {"city": "Lisbon"})
        told = {"role": "tool", "tool_call_id": call["id"], "content": '{"condition": "sunny", "temperature": 21}'}
        _, answer = self.server.ask(messages=[*ask, choice["message"], told], tools=[WEATHER])
        self.assertIn("21", answer["choices"][0]["message"]["content"])

    def test_a_tool_can_be_required_or_forbidden(self):
        ask = [{"role": "user", "content": "What is the weather in Lisbon?"}]
        _, answer = self.server.ask(messages=ask, tools=[WEATHER], tool_choice="required")
        self.assertEqual(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "get_weather")
        named = {"type": "function", "function": {"name": "get_weather"}}
        _, answer = self.server.ask(messages=ask, tools=[WEATHER], tool_choice=named)
        self.assertEqual(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "get_weather")
        self.assertEqual(json.loads(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]), {"city": "Lisbon"})
        _, answer = self.server.ask(messages=ask, tools=[WEATHER], tool_choice="none")
        self.assertNotIn("tool_calls", answer["choices"][0]["message"])
        self.refused(400, "get_wather", tools=[WEATHER], tool_choice={"type": "function", "function": {"name": "get_wather"}})

    def test_reasoning_is_separate(self):
        _, answer = self.server.ask(messages=[{"role": "user", "content": "What is 12 + 30 - 7?"}],
                                    chat_template_kwargs={"enable_thinking": True})
        message = answer["choices"][0]["message"]
        self.assertEqual(message["content"], "35", message)
        self.assertIn("12 + 30 = 42", message["reasoning_content"])

    def test_cached_tokens_are_reported(self):
        long = [{"role": "user", "content": "Reply with: " + "blue kettle " * 30}]
        self.server.ask(messages=long, max_tokens=1)
        _, answer = self.server.ask(messages=long, max_tokens=1)
        self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 32)

    def test_nvext(self):
        status, headers, text = self.server.request("POST", "/v1/chat/completions", {
            **QUESTION, "nvext": {"top_k": 5, "greed_sampling": True, "annotations": ["formatted_prompt", "token_ids", "timing"], "odd": 1}})
        self.assertEqual(status, 200, text)
        self.assertEqual(headers["etna-ignored"], "nvext.odd")
        extra = json.loads(text)["nvext"]
        self.assertIn("34 + 58", extra["formatted_prompt"])
        self.assertEqual(len(extra["token_ids"]), json.loads(text)["usage"]["prompt_tokens"])
        _, raw = self.server.ask(nvext={"use_raw_prompt": True, "annotations": ["formatted_prompt"]}, max_tokens=2)
        self.assertEqual(raw["nvext"]["formatted_prompt"], "What is 34 + 58?")


class Refusals(ServerCase):
    def test_wrong_members_are_named(self):
        self.assertEqual(self.refused(400, "`temperature` must be from 0 to 2", temperature=3)["param"], "temperature")
        self.assertEqual(self.refused(400, "`messages[0].role`", messages=[{"role": "", "content": ""}])["param"], "messages[0].role")
        self.assertEqual(self.refused(400, "requires `stream`", stream_options={"include_usage": True})["param"], "stream_options.include_usage")
        self.assertEqual(self.refused(400, "the context holds", messages=[{"role": "user", "content": "dog " * 9000}])["code"],
                         "context_length_exceeded")
        self.refused(400, "is empty", messages=[])
        self.refused(400, "image input is not supported by this model", messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])
        self.refused(400, "json_schema", response_format={"type": "json_schema"})
        self.refused(400, "`seed`", seed=2**63)
        self.refused(400, "`n`", n=129)
        self.refused(400, "cannot be false", path="/v3/chat/completions", stream=True, include_stop_str_in_output=False)

    def test_malformed_bodies(self):
        for body in ("", "{", "[]", "null", '{"messages": "x"}', '{"a":' * 20000, '{"messages": [' + "[" * 5000, "\x00", '{"temperature": 1e999}'):
            status, _, text = self.server.request("POST", "/v1/chat/completions", body)
            self.assertEqual(status, 400, text[:200])
            self.assertEqual(json.loads(text)["error"]["type"], "invalid_request_error")

    def test_unknown_members_are_listed_or_refused(self):
        _, headers, _ = self.server.request("POST", "/v1/chat/completions", {**QUESTION, "tempature": 0, "bad\r\nname": 1})
        self.assertEqual(headers["etna-ignored"], "tempature, bad??name")
        status, _, text = self.server.request("POST", "/v1/chat/completions", {**QUESTION, "tempature": 0}, etna_strict="1")
        self.assertEqual((status, json.loads(text)["error"]["code"]), (400, "unknown_parameter"))

    def test_paths_and_methods(self):
        self.assertEqual(self.server.request("GET", "/v2/none")[0], 404)
        for path, methods in (("/v1/completions", "POST"), ("/v1/chat/completions", "GET, HEAD, POST")):
            status, headers, _ = self.server.request("PUT", path)
            self.assertEqual((status, headers["allow"]), (405, methods))
        self.assertEqual(self.server.request("GET", "/health", Host="evil.example")[0], 403)
        self.assertEqual(self.server.request("GET", "/health", Origin="https://evil.example")[0], 403)

    def test_every_answer_has_an_id(self):
        _, headers, _ = self.server.request("GET", "/live")
        self.assertEqual(len(headers["x-request-id"]), 36)
        _, headers, _ = self.server.request("GET", "/live", X_Request_Id="mine")
        self.assertEqual(headers["x-request-id"], "mine")
        self.assertIn("mine", self.server.log_text())


class Operation(unittest.TestCase):
    def test_lists_health_and_metrics(self):
        server = Server()
        self.assertEqual(json.loads(server.request("GET", "/v1/models")[2])["data"][0]["id"], "demo")
        self.assertEqual(json.loads(server.request("GET", "/v1/models/demo")[2])["object"], "model")
        self.assertEqual(server.request("GET", "/v1/models/none")[0], 404)
        listed, = json.loads(server.request("GET", "/dynamo/alpha/list-models")[2])["data"]
        self.assertFalse(listed["loaded"])
        server.ask()
        listed, = json.loads(server.request("GET", "/dynamo/alpha/list-models")[2])["data"]
        self.assertEqual((listed["loaded"], listed["context"]), (True, 2048))
        for path in ("/health", "/ready", "/live"):
            self.assertEqual(server.request("GET", path)[0], 200)
        metrics = server.request("GET", "/metrics")[2]
        self.assertIn('etna_requests_total{model="demo",endpoint="chat_completions",stream="false",status="200"} 1', metrics)
        self.assertIn('etna_requests_in_flight{model="demo",endpoint="chat_completions",stream="false"} 0', metrics)
        self.assertEqual(server.stop(), 0)

    def test_a_key_is_required(self):
        server = Server("--api-key", "secret")
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        self.assertEqual(server.request("GET", "/metrics")[0], 401)
        self.assertEqual(server.request("GET", "/health")[0], 200)
        self.assertEqual(server.request("GET", "/v1/models", Authorization="Bearer secret")[0], 200)
        server.stop()

    def test_a_folder_of_models_may_change(self):
        stories = pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf"
        with tempfile.TemporaryDirectory() as folder:
            server = Server("--models-dir", folder)
            names = lambda: [model["id"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]]  # noqa: E731
            self.assertEqual(names(), [])
            partial = pathlib.Path(folder) / "stories.partial"
            partial.write_bytes(stories.read_bytes())
            partial.rename(pathlib.Path(folder) / "stories.gguf")  # never visible half written
            wait_until(lambda: names() != [], "the new model is not listed")
            self.assertEqual(names(), ["stories"])
            status, answer = server.ask(model="stories", max_tokens=4)
            self.assertEqual(status, 200, answer)  # it has no chat template: chatml is used
            (pathlib.Path(folder) / "stories.gguf").unlink()
            wait_until(lambda: names() != ["stories"], "the removed model is listed")
            self.assertEqual(names(), [])
            server.stop()

    def test_two_models_answer_together_as_alone(self):
        server = Server("--model", "demo", "--model", "demo-draft")
        bodies = [{"model": model, "prompt": f"Count from {first} to", "max_tokens": 24, "temperature": 0}
                  for model in ("demo", "demo-draft") for first in range(4)]

        def text_of(body):
            return server.ask("/v1/completions", **body)[1]["choices"][0]["text"]

        def together():
            with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
                return list(pool.map(text_of, bodies))

        loading = together()  # the second model loads while the first answers
        self.assertEqual(loading, [text_of(body) for body in bodies])
        self.assertEqual(together(), loading)
        server.stop()

    def test_concurrent_streams_equal_the_streams_alone(self):
        server = Server()
        questions = [[{"role": "user", "content": f"Count from {first} to {first + 9}."}] for first in range(16)]
        alone = [server.ask(messages=question)[1]["choices"][0]["message"]["content"] for question in questions]
        found = [None] * len(questions)

        def run(index):
            chunks = server.stream(messages=questions[index])
            found[index] = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(questions))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, alone)
        server.stop()

    def test_a_client_that_leaves_ends_its_generation(self):
        server = Server()
        server.ask()
        for stream in (True, False):
            client = server.endless(stream)
            server.wait_until_busy()
            client.close()
            server.wait_until_idle()
            self.assertEqual(server.in_flight(), 0)
        server.stop()

    def check_drain(self, how):
        server = Server("--drain-timeout", "100")
        server.ask()
        found = []
        thread = threading.Thread(target=lambda: found.append(server.stream(ignore_eos=True, max_tokens=600)))
        thread.start()
        server.wait_until_busy()
        server.process.send_signal(how)
        server.wait_until_draining()
        status, answer = server.ask()
        self.assertEqual((status, answer["error"]["code"]), (503, "draining"))
        thread.join()
        self.assertEqual(found[0][-1]["choices"][0]["finish_reason"], "length")
        self.assertEqual(server.wait(), 0)

    def test_a_drain_finishes_running_requests(self):
        self.check_drain(signal.SIGTERM)

    def test_a_hang_up_drains_too(self):
        self.check_drain(signal.SIGHUP)

    def test_a_second_hang_up_ends_the_drain(self):
        server = Server("--drain-timeout", "100")
        server.ask()
        thread = threading.Thread(target=lambda: self.assertRaises(Exception, server.stream, ignore_eos=True, max_tokens=100000),
                                  daemon=True)
        thread.start()
        server.wait_until_busy()
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.ask()[0] == 503, "the server does not drain")
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.wait(), -signal.SIGHUP)

    def test_a_hang_up_under_nohup_is_ignored(self):
        server = Server(before=("nohup",))
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)  # for an effect that must not happen
        self.assertEqual(server.ask()[0], 200)
        self.assertEqual(server.stop(), 0)

    def test_an_encoder_is_served_without_a_word_about_templates(self):
        server = Server("demo-embed", "--embedding", "--pooling", "mean")
        status, _, text = server.request("POST", "/v1/embeddings", {"input": "A cat."})
        self.assertEqual(status, 200, text)
        self.assertNotIn("template", server.log_text())
        self.assertEqual(server.stop(), 0)

    def test_a_port_in_use_is_an_error(self):
        server = Server()
        done = subprocess.run([executable(), "serve", "--port", str(server.port)], capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot listen", done.stderr)
        server.stop()


if __name__ == "__main__":
    run_tests(verbosity=2)
