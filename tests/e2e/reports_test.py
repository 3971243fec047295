#!/usr/bin/env python3
"""Requests after public bug reports, each with the answer that its clients expect. Usage: reports_test.py ETNA

They are in the folder `reports` of the reference data, one folder each with a README; says so and passes without ETNA_REFERENCE_DATA."""

import gzip
import json
import os
import pathlib
import sys
import tempfile
import unittest

from support.program import run_tests
from support.server import Server

REPORTS = pathlib.Path(os.environ.get("ETNA_REFERENCE_DATA", "")) / "reports"


def body_of(folder, name):
    return json.loads((REPORTS / folder / name).read_text())


class Report(unittest.TestCase):
    """`folder` of the reports; `served`: the arguments of `etna serve`."""

    folder, served = "", ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.served)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def post(self, path, body, status=200):
        got, headers, text = self.server.request("POST", path, body, Content_Type="application/json")
        self.assertEqual(got, status, text)
        return headers, json.loads(text)

    def send(self, path, name, status=200, **more):
        return self.post(path, {**body_of(self.folder, name), **more}, status)

    def events(self, path, name, **more):
        status, _, text = self.server.request("POST", path, {**body_of(self.folder, name), "stream": True, **more})
        self.assertEqual(status, 200, text)
        lines = [line[6:] for line in text.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]
        return [json.loads(line) for line in lines]


def with_template(folder, name="template.jinja"):
    return "demo", "--chat-template", str(REPORTS / folder / name)


class LaterSystemLost(Report):
    folder, served = "later-system-lost", with_template("later-system-lost")

    def test_the_instruction_is_in_the_prompt(self):
        for name in ("mid.json", "two_systems.json", "system_and_developer.json"):
            with self.subTest(name):
                prompt = self.send("/apply-template", name)[1]["prompt"]
                self.assertIn("NEVER-WRITE-OUTSIDE.", prompt)
                self.assertIn("etna-adapted", self.send("/v1/chat/completions", name)[0])

    def test_messages_and_responses_read_it(self):
        for path, name in (("/v1/messages", "claude_messages.json"), ("/v1/responses", "codex_responses.json")):
            with self.subTest(path):
                without = json.loads((REPORTS / self.folder / name).read_text().replace("NEVER-WRITE-OUTSIDE.", "x"))
                tokens = [self.post(path, body)[1]["usage"] for body in (body_of(self.folder, name), without)]
                whole, short = (use["input_tokens"] + use.get("cache_read_input_tokens", 0) for use in tokens)
                self.assertGreater(whole, short)


class MidSystemHoisted(Report):
    folder, served = "mid-system-hoisted", with_template("mid-system-hoisted")

    def test_the_next_turn_computes_its_new_tokens_only(self):
        self.send("/v1/chat/completions", "turn1.json")
        usage = self.send("/v1/chat/completions", "turn2.json")[1]["usage"]
        self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], 440, usage)


class FallbacksCombined(Report):
    folder, served = "fallbacks-combined", with_template("fallbacks-combined")

    def test_each_conversation_is_answered(self):
        for name in ("control_without_system.json", "system_after_result.json", "system_between_users.json",
                     "system_between_users_without_first.json"):
            with self.subTest(name):
                self.send("/v1/chat/completions", name)

    def test_calls_without_ids_are_answered(self):
        for name in ("absent.json", "empty.json", "null.json"):
            with self.subTest(name):
                self.post("/v1/chat/completions", body_of("call-id-missing", name))


class HistoryArguments(Report):
    folder, served = "history-arguments", with_template("history-arguments")

    def test_arguments_that_are_not_an_object_are_answered(self):
        for name in ("cut.json", "empty.json", "list.json", "text.json"):
            with self.subTest(name):
                self.send("/v1/chat/completions", name)


class EffortLevelRefused(Report):
    folder, served = "effort-level-refused", with_template("effort-level-refused")

    def test_every_api_takes_the_nearest_level(self):
        for path, name in (("/v1/messages", "messages.json"), ("/v1/messages/count_tokens", "count_tokens.json"),
                           ("/v1/responses", "responses.json"), ("/v1/chat/completions", "chat.json"), ("/api/chat", "ollama.json")):
            with self.subTest(path):
                self.assertIn("xhigh", self.send(path, name)[0].get("etna-adapted", ""))


class ThinkingOffByMode(Report):
    folder, served = "thinking-off-ignored", with_template("thinking-off-ignored", "template_mode.jinja")

    def test_the_switch_is_set(self):
        self.assertTrue(self.send("/apply-template", "chat.json")[1]["prompt"].endswith("</think>"))


class ThinkingOffByBudget(Report):
    folder, served = "thinking-off-ignored", with_template("thinking-off-ignored", "template_budget.jinja")

    def test_the_budget_is_zero(self):
        self.assertTrue(self.send("/apply-template", "chat.json")[1]["prompt"].endswith("<think></think>"))


class Demo(Report):
    served = ("demo",)

    def test_a_call_that_is_cut_is_the_same_whole_and_streamed(self):
        self.folder = "cut-call-whole"
        choice, = self.send("/v1/chat/completions", "chat.json")[1]["choices"]
        whole = [(call["function"]["name"], call["function"]["arguments"]) for call in choice["message"].get("tool_calls", [])]
        name, arguments = "", ""
        for event in self.events("/v1/chat/completions", "chat.json"):
            for call in event["choices"][0]["delta"].get("tool_calls", []) if event["choices"] else []:
                name += call["function"].get("name") or ""
                arguments += call["function"].get("arguments") or ""
        self.assertEqual(whole, [(name, arguments)])
        self.assertEqual(choice["finish_reason"], "length")
        message = self.send("/v1/messages", "messages.json")[1]
        self.assertEqual(message["stop_reason"], "max_tokens")
        streamed = [event["content_block"]["type"] for event in self.events("/v1/messages", "messages.json")
                    if event["type"] == "content_block_start"]
        self.assertEqual([block["type"] for block in message["content"]], streamed)
        self.assertIn("tool_use", streamed)

    def test_the_usage_of_the_first_event_is_that_of_the_last(self):
        self.folder = "message-start-usage"
        self.events("/v1/messages", "messages.json")
        events = {event["type"]: event for event in self.events("/v1/messages", "messages.json")}
        start, end = events["message_start"]["message"]["usage"], events["message_delta"]["usage"]
        for name in ("input_tokens", "cache_read_input_tokens"):
            self.assertEqual(start[name], end[name])
        self.assertGreater(start["cache_read_input_tokens"], 200)

    def test_an_unknown_tool_of_responses_is_ignored_and_named(self):
        self.folder = "responses-unknown-tool"
        headers, _ = self.send("/v1/responses", "responses.json")
        self.assertIn("tools", headers.get("etna-ignored", ""))


class Upload(Report):
    served = ()

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.TemporaryDirectory()
        cls.server = Server("demo", "--store", cls.store.name + "/s.db")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.store.cleanup()

    def test_an_extended_file_name_is_read(self):
        line = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions",
                           "body": {"model": "demo", "max_tokens": 3, "messages": [{"role": "user", "content": "hi"}]}})
        body = ('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; '
                f"name=\"file\"; filename*=UTF-8''%D1%80.jsonl\r\n\r\n{line}\n\r\n--b--\r\n")
        status, _, text = self.server.request("POST", "/v1/files", body, Content_Type="multipart/form-data; boundary=b")
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)["filename"], "р.jsonl")


class StopInReasoning(Report):
    folder = "stop-in-reasoning"

    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        thinker = pathlib.Path(cls.models.name) / "thinker.gguf"
        thinker.write_bytes(gzip.decompress((REPORTS / cls.folder / "thinker.gguf.gz").read_bytes()))
        cls.server = Server(str(thinker))

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.models.cleanup()

    def test_stop_strings_act_on_the_answer(self):
        message = self.send("/v1/chat/completions", "chat.json")[1]["choices"][0]["message"]
        self.assertEqual(message["content"].strip(), "So")
        message = self.send("/v1/chat/completions", "chat_blank_line.json")[1]["choices"][0]["message"]
        self.assertTrue(message["content"].rstrip().endswith("the larger one"), message)
        blocks = self.send("/v1/messages", "messages.json")[1]["content"]
        self.assertEqual([block["text"].strip() for block in blocks if block["type"] == "text"], ["So"])
        self.assertEqual(self.send("/api/chat", "ollama.json")[1]["message"]["content"].strip(), "So")


class CallInThinking(unittest.TestCase):
    WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}

    def test_a_call_before_the_end_of_the_thinking_is_a_call(self):
        for name in ("qwen35-call-in-think.gguf", "nemotron3-call-in-think.gguf"):
            server = Server(str(REPORTS / "call-in-thinking" / name))
            self.addCleanup(server.stop)
            with self.subTest(name):
                status, _, text = server.request("POST", "/v1/chat/completions", {
                    "messages": [{"role": "user", "content": "weather in Paris?"}], "max_tokens": 200, "tools": [self.WEATHER]})
                self.assertEqual(status, 200, text)
                choice, = json.loads(text)["choices"]
                self.assertEqual(choice["finish_reason"], "tool_calls", text)
                call = choice["message"]["tool_calls"][0]["function"]
                self.assertEqual((call["name"], json.loads(call["arguments"])), ("get_weather", {"city": "Paris"}))
                self.assertTrue(choice["message"]["reasoning_content"], text)


class PythonicCall(Report):
    folder, served = "tool-call-outputs", (str(REPORTS / "tool-call-outputs" / "llama32-pythonic.gguf"),)

    def test_a_list_of_calls_is_a_call(self):
        choice, = self.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "weather in Paris?"}], "max_tokens": 60,
                                                     "tools": [CallInThinking.WEATHER]})[1]["choices"]
        call = choice["message"]["tool_calls"][0]["function"]
        self.assertEqual((call["name"], json.loads(call["arguments"])), ("get_weather", {"city": "Paris"}))


if __name__ == "__main__":
    if not os.environ.get("ETNA_REFERENCE_DATA"):
        sys.exit(print("not run: requests after bug reports (ETNA_REFERENCE_DATA is not set)"))
    run_tests()
