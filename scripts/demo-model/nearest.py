"""Measures demo-embed on held-out pairs through the built program: how many texts have their partner as the nearest of all others."""

import json
import subprocess

from corpus import paraphrases
from corpus.source import Source

PAIRS = 100
# Rows of the evaluation: which pairs, and whether questions are searched among sentences alone.
ROWS = {"finds the paraphrase": paraphrases.paraphrase, "finds the answer": paraphrases.answered}


def embedded(etna, model, texts):
    """Embeddings of length one, by `etna embed`, in order."""
    command = [str(etna), "embed", model]
    done = subprocess.run(command, input="".join(f"{text}\n" for text in texts), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return [json.loads(line)["embedding"] for line in done.stdout.splitlines()]


def nearest(vector, others):
    """Index of the other with the largest cosine."""
    return max(range(len(others)), key=lambda index: sum(a * b for a, b in zip(vector, others[index], strict=True)))


def misses_of(etna, model, row, seed=1):
    """(cases, misses): each text of the pairs is a case of "finds the paraphrase", searched among all other texts; of "finds the
    answer" each question is, searched among all sentences. A miss is (text, partner, text that is nearer)."""
    pairs = paraphrases.apart(Source(f"evaluate {row} {seed}", held_out=True), ROWS[row], PAIRS)
    texts = [pair[0].text for pair in pairs] + [pair[1].text for pair in pairs]
    vectors = embedded(etna, model, texts)
    cases = range(PAIRS) if row == "finds the answer" else range(2 * PAIRS)
    misses = []
    for case in cases:
        partner = (case + PAIRS) % (2 * PAIRS)
        candidates = list(range(PAIRS, 2 * PAIRS)) if row == "finds the answer" else [index for index in range(2 * PAIRS) if index != case]
        found = candidates[nearest(vectors[case], [vectors[index] for index in candidates])]
        if found != partner:
            misses.append((texts[case], texts[partner], texts[found]))
    return len(cases), misses
