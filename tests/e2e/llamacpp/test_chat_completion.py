"""After test_chat_completion.py."""

import math

from harness import SEED, Case

BOOK = [{"role": "system", "content": "Book"}, {"role": "user", "content": "What is the best book"}]
CODER = [{"role": "system", "content": "You are a coding assistant."}, {"role": "user", "content": "Write an example"}]


class Chat(Case):
    OPTIONS = ("--chat-template", "chatml")

    def chat(self, **body):
        return self.good("POST", "/chat/completions", {"seed": SEED, "ignore_eos": True, **body})

    def test_chat_completion(self):
        for messages, n_prompt in (([BOOK[0], {"role": "user", "content": "Hey"}], 69), (BOOK, 77),
                                   ([BOOK[0], {"role": "user", "content": [{"type": "text", "text": "What is"},
                                                                            {"type": "text", "text": "the best book"}]}], 79)):
            answer = self.chat(messages=messages, max_tokens=8)
            self.assertIn("cmpl", answer["id"])
            usage = answer["usage"]
            self.assertEqual((usage["prompt_tokens"], usage["completion_tokens"]), (n_prompt, 8))
            choice = answer["choices"][0]
            self.assertEqual((choice["message"]["role"], choice["finish_reason"]), ("assistant", "length"))
            self.assertTrue(choice["message"]["content"])

    def test_chat_completion_stream(self):
        first, *others = self.stream("/chat/completions", messages=BOOK, max_tokens=8, ignore_eos=True,
                                     stream_options={"include_usage": True})
        self.assertEqual(first["choices"][0]["delta"]["role"], "assistant")
        self.assertEqual({chunk["id"] for chunk in others}, {first["id"]})
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in others if chunk["choices"]]
        self.assertEqual((set(reasons[:-1]), reasons[-1]), ({None}, "length"))
        self.assertEqual((others[-1]["usage"]["prompt_tokens"], others[-1]["usage"]["completion_tokens"]), (77, 8))

    def test_apply_chat_template(self):
        prompt = self.good("POST", "/apply-template", {"messages": [{"role": "system", "content": "You are a test."},
                                                                    {"role": "user", "content": "Hi there"}]})["prompt"]
        self.assertEqual(prompt, "<|im_start|>system\nYou are a test.<|im_end|>\n<|im_start|>user\nHi there<|im_end|>\n"
                                 "<|im_start|>assistant\n")

    def test_completion_with_response_format(self):
        for response_format, pattern in (({"type": "json_schema", "json_schema": {"name": "a", "schema": {"const": "foooooo"}}}, '^"foooooo"$'),
                                         ({"type": "json_object", "schema": {"const": "42"}}, '^"42"$'), ({"type": "json_object"}, r"^\{")):
            answer = self.good("POST", "/chat/completions", {"messages": CODER, "max_tokens": 20, "response_format": response_format})
            self.assert_matches(pattern, answer["choices"][0]["message"]["content"])
        for response_format in ({"type": "sound"}, {"type": "json_object", "schema": 123},
                                {"type": "json_object", "schema": {"type": 123}}, {"type": "json_object", "schema": {"type": "hiccup"}}):
            status, answer = self.ask("POST", "/chat/completions", {"messages": CODER, "response_format": response_format})
            self.assertEqual(status, 400, response_format)
            self.assertIn("error", answer)

    def test_completion_with_json_schema(self):
        answer = self.good("POST", "/chat/completions", {"messages": CODER, "max_tokens": 8, "json_schema": {"const": "42"}})
        self.assertEqual(answer["choices"][0]["message"]["content"], '"42"')

    def test_completion_with_grammar(self):
        answer = self.good("POST", "/chat/completions", {"messages": BOOK[1:], "max_tokens": 8, "grammar": 'root ::= "a"{5,5}'})
        self.assertEqual(answer["choices"][0]["message"]["content"], "aaaaa")

    def test_invalid_chat_completion_req(self):
        for messages in (None, "string", [123], [{}], [{"role": 123}], [{"role": "system", "content": 123}],
                         [{"role": "system", "content": "test"}, {}]):
            status, answer = self.ask("POST", "/chat/completions", {"messages": messages})
            self.assertEqual(status, 400, messages)
            self.assertIn("error", answer)

    def test_chat_completion_with_timings_per_token(self):
        first, *others = self.stream("/chat/completions", messages=BOOK, max_tokens=10, timings_per_token=True,
                                     stream_options={"include_usage": True})
        self.assertNotIn("timings", first)
        timings = others[-1]["timings"]
        self.assertTrue(timings["prompt_per_second"] > 0 and timings["predicted_per_second"] > 0)
        self.assertLessEqual(timings["predicted_n"], 11)  # with the end token
        self.assertNotIn("timings", self.chat(messages=BOOK, max_tokens=2))

    def test_logprobs(self):
        choice = self.chat(messages=BOOK, max_tokens=5, temperature=0, logprobs=True, top_logprobs=10)["choices"][0]
        tokens = choice["logprobs"]["content"]
        self.assertEqual("".join(token["token"] for token in tokens), choice["message"]["content"])
        for token in tokens:
            self.assertTrue(token["logprob"] <= 0 and math.isfinite(token["logprob"]) and token["top_logprobs"])

    def test_context_size_exceeded(self):
        for stream in (False, True):
            status, answer = self.ask("POST", "/chat/completions", {"messages": BOOK * 100, "stream": stream})
            self.assertEqual((status, answer["error"]["code"]), (400, "context_length_exceeded"))  # OpenAI's shape

    def test_chat_completions_multiple_choices(self):
        answer = self.chat(messages=BOOK, max_tokens=8, n=2)
        self.assertEqual([choice["finish_reason"] for choice in answer["choices"]], ["length", "length"])
