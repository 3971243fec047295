#!/usr/bin/env python3
"""Drafts change no answer: greedy and sampled, alone and in batches. Usage: speculation_test.py ETNA [PROMPTS]

Each of PROMPTS (15 by default) is answered plainly, with the draft model, with prompt lookup, and with both; the token ids are
compared, then how many drafts were accepted is printed. Beam search is compared alone and next to other requests."""

import concurrent.futures
import json
import os
import random
import unittest

from support.program import number_option, run_tests
from support.server import Server

PROMPTS = number_option(50 if os.environ.get("ETNA_TEST_LONG") == "1" else 15)
PLAIN = {"num_assistant_tokens": 0}
DRAFT = {"max_ngram_size": 0}
LOOKUP = {"max_ngram_size": 3}
STREAMS = 8


def prompts(count):
    generator = random.Random(11)
    words = "red blue green dog cat tree house river stone cloud".split()
    for index in range(count):
        picked = " ".join(generator.choice(words) for _ in range(generator.randint(3, 9)))
        yield [f"What is {generator.randint(1, 60)} + {generator.randint(1, 39)}?", f"Count from {generator.randint(1, 9)} to {generator.randint(12, 30)}.",
               f"Repeat exactly: {picked}", f"Tell me a story about a {generator.choice(words)}.",
               f'Make JSON with the keys "name" and "{generator.choice(words)}".'][index % 5]


def answer(server, prompt, more):
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 40, "temperature": 0, "nvext": {"annotations": ["token_ids"]}, **more}
    status, _, text = server.request("POST", "/v1/chat/completions", body)
    assert status == 200, text
    whole = json.loads(text)
    details = whole["usage"]["completion_tokens_details"]
    return {"text": json.dumps(whole["choices"]), "accepted": details["accepted_prediction_tokens"], "rejected": details["rejected_prediction_tokens"]}


class SpeculationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.drafted = Server("--draft", "demo-draft", "--parallel", str(STREAMS))
        cls.plain = Server("--parallel", str(STREAMS))
        cls.prompts = list(prompts(PROMPTS))
        cls.plain_answers = {}

    @classmethod
    def tearDownClass(cls):
        cls.drafted.stop()
        cls.plain.stop()

    def plain_answer(self, prompt, more):
        """Returns the answer without drafts, generated once per prompt and set of options."""
        key = json.dumps([prompt, more])
        if key not in self.plain_answers:
            self.plain_answers[key] = answer(self.plain, prompt, {**more, **PLAIN})
        return self.plain_answers[key]

    def compare(self, more, alone):
        """Compares every kind of draft with the plain answers."""
        plain = [self.plain_answer(prompt, more) for prompt in self.prompts]
        self.assertTrue(all(one["accepted"] + one["rejected"] == 0 for one in plain))
        for name, server, fields in (("draft", self.drafted, DRAFT), ("lookup", self.plain, LOOKUP), ("both", self.drafted, LOOKUP)):
            ask = lambda prompt: answer(server, prompt, {**more, **fields})  # noqa: E731, B023
            if alone:
                answers = [ask(prompt) for prompt in self.prompts]
            else:
                with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
                    answers = list(pool.map(ask, self.prompts))
            for prompt, one, other in zip(self.prompts, plain, answers):
                self.assertEqual(one["text"], other["text"], f"{name}: {prompt}")
            accepted, rejected = (sum(one[key] for one in answers) for key in ("accepted", "rejected"))
            print(f"{name}, {'alone' if alone else 'in batches'}: {len(answers)} answers equal, {accepted} drafts accepted, {rejected} rejected")
            self.assertGreater(accepted, 0, name)

    def test_greedy_alone(self):
        self.compare({}, alone=True)

    def test_greedy_in_batches(self):
        self.compare({}, alone=False)

    def test_sampled(self):
        self.prompts = self.prompts[:10]
        self.compare({"temperature": 1.2, "top_k": 30, "seed": 5, "logprobs": True, "top_logprobs": 2, "frequency_penalty": 0.5}, alone=False)

    def test_a_prediction_is_verified(self):
        prompt = "Count from 1 to 12."
        plain = answer(self.plain, prompt, PLAIN)
        text = json.loads(plain["text"])[0]["message"]["content"]
        predicted = answer(self.plain, prompt, {"prediction": {"type": "content", "content": text}})
        self.assertEqual(predicted["text"], plain["text"])
        # How many tokens are drafted depends on what a draft costs on this machine at this moment; see core/engine/draft_costs.hpp.
        self.assertGreater(predicted["accepted"], predicted["rejected"])
        wrong = answer(self.plain, prompt, {"prediction": {"type": "content", "content": "Something else entirely, I fear."}})
        self.assertEqual(wrong["text"], plain["text"])

    def test_constrained_by_a_grammar(self):
        schema = {"structured_outputs": {"json": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 9}},
                                                  "required": ["a", "b"], "additionalProperties": False}}, "reasoning_effort": "none"}
        accepted = 0
        for prompt in self.prompts[:5]:
            plain = self.plain_answer(prompt, schema)
            drafted = answer(self.drafted, prompt, {**schema, **LOOKUP})
            self.assertEqual(drafted["text"], plain["text"])
            accepted += drafted["accepted"]
        self.assertGreater(accepted, 0)

    def test_beams_alone_and_next_to_other_requests(self):
        search = {"use_beam_search": True, "best_of": 4, "n": 2, "max_tokens": 16}
        alone = [answer(self.plain, prompt, search) for prompt in self.prompts[:6]]
        with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
            beside = list(pool.map(lambda prompt: answer(self.plain, prompt, search), self.prompts[:6]))
        self.assertEqual([one["text"] for one in alone], [one["text"] for one in beside])

    def test_drafts_by_the_draft_models_confidence(self):
        for threshold in (0, 0.5, 1):
            answers = [answer(self.drafted, prompt, {**DRAFT, "assistant_confidence_threshold": threshold}) for prompt in self.prompts[:8]]
            for prompt, one in zip(self.prompts, answers):
                self.assertEqual(one["text"], self.plain_answer(prompt, {})["text"], f"{threshold}: {prompt}")
            self.assertGreater(sum(one["accepted"] for one in answers), 0, threshold)

    def test_fields_that_exclude_each_other(self):
        body = {"prompt": "a", "num_assistant_tokens": 3, "assistant_confidence_threshold": 0.5}
        status, _, text = self.plain.request("POST", "/v1/completions", body)
        self.assertEqual(status, 400)
        self.assertIn("assistant_confidence_threshold", text)


if __name__ == "__main__":
    run_tests()
