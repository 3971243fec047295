#!/usr/bin/env python3
"""Drafts do not change the distribution of sampled tokens. Usage: distribution_test.py ETNA [DRAWS]

DRAWS answers of a few tokens (1,024 by default) are drawn with the draft model, and as many with prompt lookup. Their frequencies are
compared with the model's own log-probabilities by Pearson's chi-squared test. The expectation does not use etna's samplers:
temperature and top_k are applied here, to log-probabilities of given texts. Seeds are fixed, and so is the outcome."""

import collections
import json
import math
import time
import unittest

from support.program import number_option, run_tests
from support.server import Server

DRAWS = number_option(1024)
CHOICES = 128  # per request
PROMPT = "the cat and the dog and the cat and the"  # has many continuations, some of which prompt lookup finds
LENGTH, TOP, TEMPERATURE = 4, 3, 1.5
OTHERS = ((4096, 1.3), (0, 1.1))  # minimum draws, and a temperature that must be distinguishable with them
LEAST_P, MOST_P_OF_OTHER = 1e-4, 1e-6
LEAST_EXPECTED = 5  # per cell: the statistic is chi-squared for large counts
LEAST_DRAFTS = 0.1  # per answer, both accepted and rejected
DRAFT = {"num_assistant_tokens": 3, "max_ngram_size": 0}
LOOKUP = {"num_assistant_tokens": 3, "max_ngram_size": 3}


def post(server, path, **body):
    status, _, text = server.request("POST", path, body)
    assert status == 200, text
    return json.loads(text)


def token_of(server, text):
    token, = post(server, "/tokenize", prompt=text, add_special_tokens=False)["tokens"]
    return token


def likeliest(server, prompts):
    """Returns, for each prompt, the TOP next tokens with their log-probabilities, without sampling or drafts."""
    answer = post(server, "/v1/completions", prompt=prompts, max_tokens=1, temperature=0, logprobs=TOP, ignore_eos=True,
                  num_assistant_tokens=0)
    tops = [choice["logprobs"]["top_logprobs"][0] for choice in answer["choices"]]
    return [{token_of(server, text): likelihood for text, likelihood in top.items()} for top in tops]


def tree(server):
    """Returns the likeliest next tokens after every possible prefix of the draws."""
    prompt = post(server, "/tokenize", prompt=PROMPT)["tokens"]
    known, level = {}, [()]
    for _ in range(LENGTH):
        tops = likeliest(server, [prompt + list(drawn) for drawn in level])
        known.update(zip(level, tops))
        level = [drawn + (token,) for drawn, top in zip(level, tops) for token in top]
    return known


def probabilities(known, temperature):
    """Of each answer."""
    answers = {(): 1.0}
    for _ in range(LENGTH):
        longer = {}
        for drawn, probability in answers.items():
            weights = {token: math.exp(likelihood / temperature) for token, likelihood in known[drawn].items()}
            whole = sum(weights.values())
            longer.update({drawn + (token,): probability * weight / whole for token, weight in weights.items()})
        answers = longer
    return answers


def draw(server, first_seed, way):
    """Returns the count of each answer, and of accepted and rejected drafts."""
    counts, drafts = collections.Counter(), collections.Counter()
    for begin in range(0, DRAWS, CHOICES):
        answer = post(server, "/v1/completions", prompt=PROMPT, n=min(CHOICES, DRAWS - begin), seed=first_seed + begin, max_tokens=LENGTH,
                      temperature=TEMPERATURE, top_k=TOP, top_p=1, min_p=0, ignore_eos=True, detokenize=False, **way)
        counts.update(tuple(choice["token_ids"]) for choice in answer["choices"])
        details = answer["usage"]["completion_tokens_details"]
        drafts.update({name: details[f"{name}_prediction_tokens"] for name in ("accepted", "rejected")})
    return counts, drafts


def cells(counts, expected):
    """Returns (observed, expected) of each answer; rare answers are merged."""
    rare = [0, 0.0]
    for answer, often in expected.items():
        if often >= LEAST_EXPECTED:
            yield counts[answer], often
        else:
            rare = [rare[0] + counts[answer], rare[1] + often]
    if rare[1] > 0:
        yield tuple(rare)


def tail(statistic, freedom):
    """Returns the p-value of chi-squared: the upper incomplete gamma function of halves, as a sum."""
    x, half = statistic / 2, freedom % 2 / 2
    first = math.erfc(math.sqrt(x)) if half else 0.0
    return first + sum(math.exp((k + half) * math.log(x) - x - math.lgamma(k + half + 1)) for k in range(freedom // 2))


def compare(counts, known, temperature):
    """Returns statistic, degrees of freedom and p-value of the draws against a temperature."""
    expected = {answer: DRAWS * probability for answer, probability in probabilities(known, temperature).items()}
    pairs = list(cells(counts, expected))
    statistic = sum((came - often) ** 2 / often for came, often in pairs)
    return statistic, len(pairs) - 1, tail(statistic, len(pairs) - 1)


class DistributionTest(unittest.TestCase):
    def check(self, name, way, first_seed, *options):
        server = Server("--parallel", "16", *options)  # leaves rows for drafts
        try:
            known = tree(server)
            begin = time.monotonic()
            counts, drafts = draw(server, first_seed, way)
            seconds = time.monotonic() - begin
        finally:
            server.stop()
        self.assertEqual(sum(counts.values()), DRAWS)
        self.assertLessEqual(set(counts), set(probabilities(known, TEMPERATURE)), "something came that cannot")
        statistic, freedom, p = compare(counts, known, TEMPERATURE)
        other = next(temperature for least, temperature in OTHERS if DRAWS >= least)
        p_of_other = compare(counts, known, other)[2]
        print(f"{name}: {DRAWS} draws, chi-squared {statistic:.1f}, {freedom} degrees of freedom, p = {p:.3g}, and {p_of_other:.2g} for "
              f"temperature {other}; {drafts['accepted']} drafts accepted, {drafts['rejected']} rejected; {seconds:.0f} s", flush=True)
        self.assertGreater(p, LEAST_P)
        for what in ("accepted", "rejected"):
            self.assertGreater(drafts[what], LEAST_DRAFTS * DRAWS, what)
        self.assertLess(p_of_other, MOST_P_OF_OTHER, "a wrong distribution would pass")

    def test_a_draft_model(self):
        self.check("draft", DRAFT, 0, "--draft", "demo-draft")

    def test_prompt_lookup(self):
        self.check("lookup", LOOKUP, 1_000_000)

    def test_the_tail(self):
        for statistic, freedom, p in ((3.841, 1, 0.05), (5.991, 2, 0.05), (16.266, 3, 0.001), (18.307, 10, 0.05), (124.342, 100, 0.05)):
            self.assertAlmostEqual(tail(statistic, freedom) / p, 1, 3)


if __name__ == "__main__":
    run_tests()
