"""After test_completion.py. The model is theirs, and so are the counts of tokens; its texts at a temperature differ,
because the generators of random numbers do."""

import json
import socket

from harness import LONG, MEANING, SEED, Case, long_only, start
from support.waiting import wait_until

JOKE = "Write a joke about AI from a very long prompt which will not be truncated"
PROMPTS = ((MEANING, 8, 18, 8), (JOKE, 64, 46, 64))  # prompt, n_predict, tokens of the prompt and of the answer
COMMON = ["i", "I", "the", "The", "to", "a", "an", "be", "is", "was", "but", "But", "and", "And", "so", "So", "you", "You",
          "he", "He", "she", "She", "we", "We", "they", "They", "it", "It", "his", "His", "her", "Her", "book", "Book"]


class Completion(Case):
    def check_probabilities(self, tokens):
        for token in tokens:
            self.assertGreater(token["id"], 0)
            self.assertLessEqual(token["logprob"], 0)
            self.assertIsInstance(token["bytes"], list)
            self.assertEqual(len(token["top_logprobs"]), 10)
            for one in token["top_logprobs"]:
                self.assertIsInstance(one["token"], str)
                self.assertLessEqual(one["logprob"], 0)

    def test_completion(self):
        for prompt, n_predict, n_prompt, n_predicted in PROMPTS:
            for return_tokens in (False, True):
                answer = self.complete(prompt=prompt, n_predict=n_predict, return_tokens=return_tokens, ignore_eos=True,
                                       cache_prompt=False)
                self.assertEqual(answer["timings"]["prompt_n"], n_prompt)
                self.assertEqual(answer["timings"]["predicted_n"], n_predicted)
                self.assertIs(answer["truncated"], False)
                self.assertIsInstance(answer["has_new_line"], bool)
                self.assertEqual(len(answer["tokens"]), n_predicted if return_tokens else 0)

    def test_completion_stream(self):
        for prompt, n_predict, n_prompt, n_predicted in PROMPTS:
            *pieces, last = self.stream("/completion", prompt=prompt, n_predict=n_predict, seed=SEED, ignore_eos=True,
                                        cache_prompt=False)
            for piece in pieces:
                self.assertIs(piece["stop"], False)
                self.assertTrue(piece["tokens"])
            self.assertIs(last["stop"], True)
            self.assertEqual((last["timings"]["prompt_n"], last["timings"]["predicted_n"]), (n_prompt, n_predicted))
            self.assertEqual((last["truncated"], last["stop_type"]), (False, "limit"))
            settings = last["generation_settings"]
            self.assertEqual((settings["n_predict"], settings["seed"]), (n_predict, SEED))

    def test_completion_stream_vs_non_stream(self):
        body = {"prompt": MEANING, "n_predict": 8, "seed": SEED}
        pieces = self.stream("/completion", **body)
        self.assertEqual("".join(piece["content"] for piece in pieces), self.complete(**body)["content"])

    def test_completion_with_openai_library(self):
        answer = self.good("POST", "/v1/completions", {"model": "tinyllama-2", "prompt": MEANING, "max_tokens": 8, "ignore_eos": True})
        self.assertTrue(answer["system_fingerprint"])
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        chunks = self.stream("/v1/completions", prompt=MEANING, max_tokens=8, ignore_eos=True)
        self.assertTrue("".join(chunk["choices"][0]["text"] for chunk in chunks))

    def test_consistent_result_same_seed(self):
        texts = {self.complete(prompt=MEANING, temperature=0, cache_prompt=False)["content"] for _ in range(4)}
        self.assertEqual(len(texts), 1)

    def test_different_result_different_seed(self):
        texts = [self.complete(prompt=MEANING, seed=seed, temperature=1, cache_prompt=False)["content"] for seed in range(4)]
        self.assertEqual(len(set(texts)), 4)

    def test_cache_vs_nocache_prompt(self):
        texts = {self.complete(prompt=MEANING, temperature=1, cache_prompt=cached)["content"] for cached in (True, True, False)}
        self.assertEqual(len(texts), 1)

    def test_nocache_long_input_prompt(self):
        status, answer = self.ask("POST", "/completion", {"prompt": MEANING * 32, "cache_prompt": False})
        self.assertEqual((status, answer["error"]["type"]), (400, "exceed_context_size_error"))

    def test_completion_with_tokens_input(self):
        tokens = self.good("POST", "/tokenize", {"content": MEANING, "add_special": True})["tokens"]
        self.assertIsInstance(self.complete(prompt=tokens, temperature=0)["content"], str)
        for prompts in ([tokens, tokens], [tokens, MEANING]):
            one, other = self.complete(prompt=prompts, temperature=0)
            self.assertEqual(one["content"], other["content"])
        mixed = self.complete(prompt=[1, 2, 3, 4, 5, 6, MEANING, 7, 8, 9, 10, MEANING], temperature=0)
        self.assertIsInstance(mixed["content"], str)

    def test_completion_response_fields(self):
        everything = self.complete(prompt=MEANING, n_predict=8, response_fields=[])
        self.assertIn("generation_settings", everything)
        answer = self.complete(prompt=MEANING, n_predict=32, response_fields=["content", "generation_settings/n_predict", "prompt"])
        self.assertEqual(sorted(answer), ["content", "generation_settings/n_predict", "prompt"])
        self.assertEqual((answer["generation_settings/n_predict"], answer["prompt"]), (32, "<s> " + MEANING))

    def test_n_probs(self):
        answer = self.complete(prompt=MEANING, n_probs=10, temperature=0, n_predict=5)
        self.assertEqual(len(answer["completion_probabilities"]), 5)
        self.check_probabilities(answer["completion_probabilities"])

    def test_n_probs_stream(self):
        for piece in self.stream("/completion", prompt=MEANING, n_probs=10, temperature=0, n_predict=5)[:-1]:
            self.assertEqual(len(piece["completion_probabilities"]), 1)
            self.check_probabilities(piece["completion_probabilities"])

    def test_n_probs_post_sampling(self):
        status, answer = self.ask("POST", "/completion", {"prompt": MEANING, "n_probs": 10, "post_sampling_probs": True})
        self.assertEqual(status, 400)
        self.assertIn("post_sampling_probs", answer["error"]["message"])

    def test_logit_bias(self):
        tokens = self.good("POST", "/tokenize", {"content": " " + " ".join(COMMON) + " "})["tokens"]
        for biases in ([[token, -100] for token in tokens], [[f" {word} ", -100] for word in COMMON],
                       {str(token): -100 for token in tokens}, {f" {word} ": -100 for word in COMMON}):
            text = self.complete(prompt="What is the best book", logit_bias=biases, temperature=0)["content"]
            self.assertEqual([word for word in COMMON if f" {word} " in text], [])


@long_only
class Batches(Case):
    def test_consistent_result_different_batch_size(self):
        texts = []
        for tokens in (16, 32):
            server = start("--batch-tokens", str(tokens))
            try:
                texts += [self.complete(server, prompt=MEANING, temperature=0, cache_prompt=False)["content"]
                          for _ in range(2)]
            finally:
                server.stop()
        self.assertEqual(len(set(texts)), 1)


class Slots(Case):
    OPTIONS = ("--slots",)
    CONTEXT = 2048

    def test_completion_parallel_slots(self):
        for requests in ((2, 4, 6) if LONG else (4,)):
            asked = [lambda i=i: self.complete(prompt=f"{PROMPTS[i % 2][0]} {i}", ignore_eos=True, temperature=1)
                     for i in range(requests)]
            for answer in self.in_parallel(*asked):
                self.assertGreater(len(answer["content"]), 10)

    def test_cancel_request(self):
        self.complete(prompt="Hello", n_predict=1)
        body = json.dumps({"prompt": MEANING, "ignore_eos": True, "n_predict": 1900})
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.sendall(f"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            busy = lambda: sum(slot["is_processing"] for slot in self.good("GET", "/slots"))  # noqa: E731
            self.assertEqual(wait_until(busy, "the answer does not run", limit_s=4), 1)
        wait_until(lambda: busy() == 0, "the answer still runs", limit_s=5)
