"""Trains demo-embed on pairs of texts that mean the same: of a step's texts, each is to be nearest to its partner (InfoNCE).

    python3 train_embedder.py FOLDER [--steps NUMBER]

FOLDER contains vocabulary.json; demo-embed.checkpoint is written there every 250 steps, and a stopped run resumes from it.
"""

import argparse
import collections
import os
import pathlib
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before torch loads it: the products are too small for two

import torch
from torch.nn import functional

from corpus import paraphrases
from corpus.source import Source
from embedder import Embedder, EmbedderSize
from optimizer import Optimizer
from vocabulary import Vocabulary

STEPS = 6500
PAIRS = 128  # of a step
TEMPERATURE = 0.04
MATRIX_RATE, OTHER_RATE, DECAY = 0.01, 0.002, 0.02
WARM_STEPS, FALLING = 100, 0.7  # the share of the steps over which the rate falls
LENGTH_MAX = 128
CHECK_STEPS, CHECK_PAIRS = 250, 100
NAME = "demo-embed"


def batch_of(vocabulary, texts):
    """ids [count, length] and lengths [count]."""
    encoded = [vocabulary.encode(text.text)[:LENGTH_MAX] for text in texts]
    lengths = torch.tensor([len(ids) for ids in encoded])
    padded = torch.zeros(len(encoded), int(lengths.max()), dtype=torch.long)
    for row, ids in enumerate(encoded):
        padded[row, :len(ids)] = torch.tensor(ids)
    return padded, lengths


def embed(model, vocabulary, texts):
    """Embeds the texts, short and long ones apart so that there is little padding. Returns [count, width]."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index].text))
    parts = [order[:len(order) * 3 // 4], order[len(order) * 3 // 4:]]
    rows = torch.cat([model(*batch_of(vocabulary, [texts[index] for index in part])) for part in parts])
    return rows[torch.tensor(sum(parts, [])).argsort()]


def excluded(texts):
    """bool [count, count]: texts that share a meaning with each other are neither right nor wrong neighbours."""
    mask = torch.eye(len(texts), dtype=torch.bool)
    by_identity = collections.defaultdict(set)
    for index, text in enumerate(texts):
        for identity, _ in text.claims:
            by_identity[identity].add(index)
    for members in by_identity.values():
        for one in members:
            for other in members:
                if one < other and paraphrases.agree(texts[one], texts[other]):
                    mask[one, other] = mask[other, one] = True
    return mask


def loss_of(model, vocabulary, pairs):
    texts = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
    vectors = embed(model, vocabulary, texts)
    partners = torch.cat((torch.arange(len(pairs)) + len(pairs), torch.arange(len(pairs))))
    mask = excluded(texts)
    mask[torch.arange(len(texts)), partners] = False
    return functional.cross_entropy((vectors @ vectors.T / TEMPERATURE).masked_fill(mask, float("-inf")), partners)


def rate_at(step, steps):
    return min(1.0, (step + 1) / WARM_STEPS, max(0.0, (1 - step / steps) / FALLING))


@torch.no_grad()
def share_found(model, vocabulary, make):
    """Share of held-out pairs whose texts are nearest to each other among all texts, in per cent."""
    pairs = paraphrases.apart(Source("check", held_out=True), make, CHECK_PAIRS)
    vectors = embed(model, vocabulary, [pair[0] for pair in pairs] + [pair[1] for pair in pairs])
    nearest = (vectors @ vectors.T).fill_diagonal_(-2).argmax(1)
    numbers = torch.arange(CHECK_PAIRS)
    right = (nearest[:CHECK_PAIRS] == numbers + CHECK_PAIRS) & (nearest[CHECK_PAIRS:] == numbers)
    return 100 * right.float().mean().item()


def train(options):
    torch.set_flush_denormal(True)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    vocabulary = Vocabulary(options.folder / "vocabulary.json")
    model = Embedder(EmbedderSize())
    optimizer, step = Optimizer(model), 0
    checkpoint = options.folder / f"{NAME}.checkpoint"
    if checkpoint.exists():
        stored = torch.load(checkpoint)
        model.load_state_dict(stored["model"])
        optimizer.load(stored["optimizer"])
        step = stored["step"]
    print(f"{sum(weight.numel() for weight in model.parameters())} parameters, from step {step}", flush=True)
    began, mean = time.monotonic(), None
    while step < options.steps:
        source = Source(f"embedder {step}")
        loss = loss_of(model, vocabulary, paraphrases.pairs(source, PAIRS))
        model.zero_grad()
        loss.backward()
        rate = rate_at(step, options.steps)
        optimizer.step(MATRIX_RATE * rate, OTHER_RATE * rate, DECAY, 0, 1)
        step += 1
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 100 == 0:
            print(f"step {step} loss {mean:.4f} {time.monotonic() - began:.0f} s", flush=True)
        if step % CHECK_STEPS == 0 or step == options.steps:
            found = [share_found(model, vocabulary, make) for make in (paraphrases.paraphrase, paraphrases.answered)]
            print(f"held out: {found[0]:.0f} % of paraphrases, {found[1]:.0f} % of questions and answers", flush=True)
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state(), "step": step, "seen": step * PAIRS}, checkpoint)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--steps", type=int, default=STEPS)
    train(arguments.parse_args())


if __name__ == "__main__":
    main()
