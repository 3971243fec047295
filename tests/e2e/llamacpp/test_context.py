"""After test_ctx_shift.py and test_speculative.py."""

from harness import MEANING, STORIES, Case, long_only, start

LOREM = ("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.\n"
         "Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat.\n"
         "Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur.\n"
         "Excepteur sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum.")


class Shifted(Case):
    OPTIONS = ("--context-shift",)
    CONTEXT = 128

    def test_ctx_shift_enabled(self):
        tokens = self.good("POST", "/tokenize", {"content": LOREM, "add_special": True})["tokens"]
        self.assertEqual(len(tokens), 301)
        answer = self.complete(prompt=LOREM, n_predict=64, ignore_eos=True)
        # Three blocks of half of the 127 tokens after the first; theirs, of 64, take that one, too, and leave 109.
        self.assertEqual(answer["timings"]["prompt_n"] + answer["timings"]["cache_n"], 301 - 3 * 63)
        remains = self.good("POST", "/detokenize", {"tokens": tokens[:1] + tokens[1 + 3 * 63:]})["content"]
        self.assertEqual(answer["prompt"].strip(), remains.strip())
        self.assertEqual((answer["timings"]["predicted_n"], answer["truncated"]), (64, True))


class Unshifted(Case):
    CONTEXT = 128

    def test_ctx_shift_disabled_short_prompt(self):
        for n_predict, n_predicted, truncated in ((64, 64, False), (-1, 120, True)):
            answer = self.complete(prompt="Hi how are you", n_predict=n_predict, ignore_eos=True)
            self.assertEqual((answer["timings"]["predicted_n"], answer["truncated"]), (n_predicted, truncated))

    def test_ctx_shift_disabled_long_prompt(self):
        status, answer = self.ask("POST", "/completion", {"n_predict": 64, "prompt": LOREM})
        self.assertEqual((status, answer["error"]["type"]), (400, "exceed_context_size_error"))

    def test_ctx_shift_disabled_stream(self):
        chunks = self.stream("/v1/completions", prompt="Once", max_tokens=256, ignore_eos=True)
        *before, last = [chunk["choices"][0] for chunk in chunks]
        self.assertTrue("".join(choice["text"] for choice in before))
        self.assertEqual({choice["finish_reason"] for choice in before}, {None})
        self.assertEqual(last["finish_reason"], "length")


@long_only
class Drafts(Case):
    """Their draft model is a smaller one; here the model drafts for itself."""

    DRAFT = ("--draft", str(STORIES))

    def test_with_and_without_draft(self):
        texts = set()
        for options in ((), self.DRAFT, (*self.DRAFT, "--num-assistant-tokens", "2"), (*self.DRAFT, "--num-assistant-tokens", "12")):
            server = start(*options)
            try:
                texts.add(self.complete(server, prompt=MEANING, temperature=0, top_k=1)["content"])
            finally:
                server.stop()
        self.assertEqual(len(texts), 1)

    def test_slot_ctx_not_exceeded(self):
        for options, limit, truncated in (((), {}, None), (("--context-shift",), {"n_predict": 64, "ignore_eos": True}, True)):
            server = start(*self.DRAFT, *options, context=64)
            try:
                answer = self.complete(server, prompt="Hello " * 20, temperature=0, top_k=1, **limit)
                self.assertTrue(answer["content"])
                if truncated:
                    self.assertEqual((answer["tokens_predicted"], answer["truncated"]), (64, True))
            finally:
                server.stop()

    def test_multi_requests_parallel(self):
        server = start(*self.DRAFT)
        try:
            ask = lambda: self.complete(server, prompt=MEANING, temperature=0, top_k=1)["content"]
            self.assertEqual(len(set(self.in_parallel(ask, ask))), 1)
        finally:
            server.stop()
