"""OpenAI's SDK for Python. Usage: python_sdk_client.py ADDRESS; see python_sdk_test.py"""

import sys
import unittest

import openai
from pydantic import BaseModel

MODEL = "demo"
SUM = {"model": MODEL, "input": "What is 34 + 58?", "temperature": 0}
WEATHER = {"type": "function", "name": "get_weather", "description": "Get the current weather of a city", "strict": True,
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}


class Colour(BaseModel):
    red: int
    name: str


class Responses(unittest.TestCase):
    client = None

    def test_the_quickstart_of_other_servers(self):
        """Source: the Responses API of mlxcel, its Quickstart."""
        made = self.client.responses.create(model=MODEL, input="Reply with: hello", max_output_tokens=64)
        self.assertEqual(made.status, "completed")
        self.assertTrue(made.output_text)
        with self.client.responses.stream(model=MODEL, input="Count to 5.", max_output_tokens=64) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            final = stream.get_final_response()
        self.assertEqual(text, final.output_text)
        self.assertGreater(final.usage.total_tokens, 0)

    def test_answers_are_stored_chained_and_listed(self):
        first = self.client.responses.create(model=MODEL, input="My name is Ada.", temperature=0)
        second = self.client.responses.create(model=MODEL, input="What is my name?", previous_response_id=first.id, temperature=0)
        self.assertIn("Ada", second.output_text)
        self.assertEqual(self.client.responses.retrieve(first.id), first)
        self.assertEqual([item.content[0].text for item in self.client.responses.input_items.list(second.id)], ["What is my name?"])
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)

    def test_a_stream_is_resumed(self):
        events = list(self.client.responses.create(**SUM, stream=True))
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        rest = list(self.client.responses.retrieve(events[0].response.id, stream=True, starting_after=3))
        self.assertEqual(rest, events[4:])

    def test_a_tool_is_called_and_its_result_used(self):
        asked = {"model": MODEL, "tools": [WEATHER], "temperature": 0}
        called = self.client.responses.create(**asked, input="What is the weather in Lisbon?", tool_choice="required")
        call = next(item for item in called.output if item.type == "function_call")
        self.assertEqual(call.arguments.replace(" ", ""), '{"city":"Lisbon"}')
        result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"temperature_c": 21, "sky": "sunny"}'}
        self.assertIn("21", self.client.responses.create(**asked, input=[result], previous_response_id=called.id).output_text)

    def test_structured_output_is_parsed(self):
        made = self.client.responses.parse(model=MODEL, input="Name a colour.", text_format=Colour, max_output_tokens=400, temperature=0)
        if made.status == "completed":
            self.assertIsInstance(made.output_parsed, Colour)
        else:
            self.assertEqual(made.incomplete_details.reason, "max_output_tokens")

    def test_background_conversations_and_compaction(self):
        made = self.client.responses.create(**SUM, background=True)
        while made.status in ("queued", "in_progress"):
            made = self.client.responses.retrieve(made.id)
        self.assertEqual(made.output_text, "92")
        talk = self.client.conversations.create(metadata={"about": "names"})
        self.client.responses.create(model=MODEL, input="My name is Ada.", conversation=talk.id, temperature=0)
        self.assertIn("Ada", self.client.responses.create(model=MODEL, input="What is my name?", conversation=talk.id, temperature=0).output_text)
        self.assertEqual(len(list(self.client.conversations.items.list(talk.id))), 4)
        compacted = self.client.responses.compact(model=MODEL, input=[{"role": "user", "content": "My name is Ada."}])
        self.assertEqual((compacted.object, compacted.output[0].type), ("response.compaction", "compaction"))

    def test_mistakes_raise_errors_of_the_sdk(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.create(**{**SUM, "temperature": 5})
        self.assertEqual((caught.exception.param, caught.exception.status_code), ("temperature", 400))


class Chats(unittest.TestCase):
    client = None

    def test_chats_are_stored(self):
        messages = [{"role": "user", "content": "What is 34 + 58?"}]
        made = self.client.chat.completions.create(model=MODEL, messages=messages, temperature=0, store=True, metadata={"by": "python"})
        self.assertEqual(made.choices[0].message.content, "92")
        listed = self.client.chat.completions.list(metadata={"by": "python"})
        self.assertEqual([chat.id for chat in listed], [made.id])
        self.assertEqual([one.content for one in self.client.chat.completions.messages.list(made.id)], ["What is 34 + 58?"])
        self.client.chat.completions.update(made.id, metadata={"by": "somebody"})
        self.assertEqual(list(self.client.chat.completions.list(metadata={"by": "python"})), [])
        self.assertTrue(self.client.chat.completions.delete(made.id).deleted)

    def test_a_chat_is_streamed(self):
        with self.client.chat.completions.stream(model=MODEL, messages=[{"role": "user", "content": "Count to 9."}], temperature=0) as stream:
            text = "".join(event.delta for event in stream if event.type == "content.delta")
        self.assertEqual(text, "1, 2, 3, 4, 5, 6, 7, 8, 9")


if __name__ == "__main__":
    Responses.client = Chats.client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="none")
    unittest.main(argv=sys.argv[:1])
