"""After test_compat_anthropic.py and test_compat_oai_responses.py, with the embedded model, which calls tools."""

from harness import Case, long_only
from support.server import Server

WEATHER = {"name": "get_weather", "description": "Get the current weather of a city", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


class Compat(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("demo")


@long_only
class Anthropic(Compat):
    def message(self, messages, path="/v1/messages", **body):
        return self.good("POST", path, {"model": "demo", "max_tokens": 50, "messages": messages, **body})

    def test_anthropic_messages_basic(self):
        answer = self.message([{"role": "user", "content": "Say hello"}])
        self.assertEqual((answer["type"], answer["role"], answer["content"][0]["type"]), ("message", "assistant", "text"))
        self.assertIn(answer["stop_reason"], ("end_turn", "max_tokens"))
        usage = answer["usage"]
        self.assertGreater(usage["output_tokens"], 0)
        self.assertIsInstance(usage["cache_read_input_tokens"] + usage["input_tokens"], int)
        self.assertNotIn("timings", answer)

    def test_anthropic_messages_with_system(self):
        self.assertTrue(self.message([{"role": "user", "content": "Hello"}], system="You are a helpful assistant.")["content"])

    def test_anthropic_messages_multipart_content(self):
        parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": " the answer?"}]
        self.assertEqual(self.message([{"role": "user", "content": parts}])["type"], "message")

    def test_anthropic_messages_conversation(self):
        turns = [("user", "Hello"), ("assistant", "Hi there!"), ("user", "How are you?")]
        self.assertEqual(self.message([{"role": role, "content": text} for role, text in turns])["type"], "message")

    def test_anthropic_messages_streaming(self):
        events = self.stream("/v1/messages", model="demo", max_tokens=30, messages=[{"role": "user", "content": "Say hello"}])
        types = [event["type"] for event in events if event["type"] != "ping"]
        self.assertEqual(types[:2] + types[-3:], ["message_start", "content_block_start", "content_block_stop", "message_delta",
                                                  "message_stop"])
        self.assertEqual(set(types[2:-3]), {"content_block_delta"})
        self.assertEqual(events[0]["message"]["content"], [])
        self.assertNotIn("timings", events[-1])

    def test_anthropic_count_tokens(self):
        """And test_anthropic_count_tokens_with_system, test_anthropic_count_tokens_no_max_tokens."""
        for body in ({}, {"system": "You are a helpful assistant."}):
            answer = self.good("POST", "/v1/messages/count_tokens", {"model": "demo", "messages": [{"role": "user", "content": "Hello"}], **body})
            self.assertEqual(list(answer), ["input_tokens"])
            self.assertGreater(answer["input_tokens"], 0)

    def test_anthropic_tool_use_basic(self):
        answer = self.message([{"role": "user", "content": "What is the weather in Lisbon?"}], tools=[WEATHER], max_tokens=200)
        call, = [block for block in answer["content"] if block["type"] == "tool_use"]
        self.assertEqual((answer["stop_reason"], call["name"], call["input"]), ("tool_use", "get_weather", {"city": "Lisbon"}))

    def test_anthropic_tool_result(self):
        """And test_anthropic_tool_result_with_text, test_anthropic_tool_result_error."""
        call = {"type": "tool_use", "id": "test123", "name": "get_weather", "input": {"city": "Paris"}}
        result = {"type": "tool_result", "tool_use_id": "test123", "content": "The weather is sunny, 25°C"}
        for blocks in ([result], [{"type": "text", "text": "Here are the results:"}, result], [{**result, "is_error": True}]):
            answer = self.message([{"role": "user", "content": "What's the weather?"}, {"role": "assistant", "content": [call]},
                                   {"role": "user", "content": blocks}], tools=[WEATHER])
            self.assertEqual(answer["type"], "message")


@long_only
class Responses(Compat):
    def test_responses_with_text_format(self):
        for text_format, text in (({"type": "json_schema", "name": "test", "schema": {"const": "foooooo"}}, '"foooooo"'), ({"type": "text"}, None)):
            answer = self.good("POST", "/responses", {"input": "Write an example", "max_output_tokens": 20, "text": {"format": text_format}})
            message = next(item for item in answer["output"] if item["type"] == "message")
            self.assertEqual(message["content"][0]["text"], text or message["content"][0]["text"])
        status, answer = self.ask("POST", "/responses", {"input": "Write an example", "text": {"format": {"type": "json_schema", "name": "test"}}})
        self.assertEqual(status, 400)
        self.assertIn("error", answer)

    def test_responses_stream_with_openai_library(self):
        """And test_responses_with_openai_library."""
        events = self.stream("/v1/responses", input="What is 34 + 58?", temperature=0)
        made = events[0]["response"]["id"]
        self.assertTrue(made.startswith("resp_"))
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        last = events[-1]
        self.assertEqual((last["type"], last["response"]["id"]), ("response.completed", made))
        self.assertTrue(last["response"]["output"][0]["id"].startswith("msg_"))
        self.assertEqual(last["response"]["output"][0]["content"][0]["text"], text)
