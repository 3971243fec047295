"""Trains one of the demo models on conversations made as they are needed.

    python3 train.py NAME FOLDER [--tokens MILLIONS] [--minutes LIMIT]

NAME is one of model.SIZES; FOLDER holds vocabulary.json and gets NAME.checkpoint every five minutes, from which a run that was stopped
goes on. The rate of learning is constant and falls to nothing over the last part of the tokens.
"""

import argparse
import pathlib
import time

import torch
from torch.nn import functional

from conversation import learnable
from corpus.mixture import KINDS, KINDS_LATER, conversation
from corpus.source import Source
from model import SIZES, Model
from optimizer import Optimizer
from vocabulary import Vocabulary

STEP_TOKENS = 8192  # of the conversations of one step, padding aside
PART_TOKENS = 1024  # computed at once
LENGTH_MAX = 1024  # longer conversations are not learned
MATRIX_RATE, OTHER_RATE, DECAY = 0.02, 0.004, 0.05
WARM_STEPS = 50
FALLING = 0.45  # share of the tokens over which the rate falls
LATER_STEP = 1000  # from here on corpus.mixture.KINDS_LATER
CHECKPOINT_S = 300


def step_of(number, vocabulary):
    """The conversations of one step, sorted by length: [(ids, wanted)]. The same for the same number."""
    source, found, total = Source(f"train {number}"), [], 0
    kinds = KINDS if number < LATER_STEP else KINDS_LATER
    while total < STEP_TOKENS:
        ids, wanted = learnable(conversation(source, kinds), vocabulary)
        if len(ids) <= LENGTH_MAX:
            found.append((ids, wanted))
            total += len(ids)
    return sorted(found, key=lambda item: len(item[0])), total


def parts_of(conversations):
    """Groups of neighbours in length that fill PART_TOKENS with little padding."""
    part = []
    for item in conversations:
        if part and (len(part) + 1) * len(item[0]) > PART_TOKENS:
            yield part
            part = []
        part.append(item)
    yield part


def tensors_of(part):
    """ids and targets [count, length], and the weight of each target: answers count by the square root of their length, so that stories
    do not drown the sums."""
    length = max(len(ids) for ids, _ in part) - 1
    ids = torch.zeros(len(part), length, dtype=torch.long)
    targets, weights = torch.zeros_like(ids), torch.zeros(len(part), length)
    for row, (tokens, wanted) in enumerate(part):
        ids[row, :len(tokens) - 1] = torch.tensor(tokens[:-1])
        targets[row, :len(tokens) - 1] = torch.tensor(tokens[1:])
        weights[row, :len(tokens) - 1] = torch.tensor(wanted[1:], dtype=torch.float) / max(1, sum(wanted)) ** 0.5
    return ids, targets, weights


def rate_at(progress, number):
    return min(1.0, (number + 1) / WARM_STEPS, max(0.0, (1 - progress) / FALLING))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("name", choices=SIZES)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--tokens", type=float, default=40.0, help="millions to learn from")
    arguments.add_argument("--minutes", type=float, default=1e9, help="stop and keep a checkpoint after so many")
    options = arguments.parse_args()
    torch.set_flush_denormal(True)  # ten times slower otherwise
    torch.manual_seed(1)
    vocabulary = Vocabulary(options.folder / "vocabulary.json")
    model = Model(SIZES[options.name])
    optimizer = Optimizer(model)
    checkpoint = options.folder / f"{options.name}.checkpoint"
    number, seen, spent_s = 0, 0, 0.0
    if checkpoint.exists():
        stored = torch.load(checkpoint)
        model.load_state_dict(stored["model"])
        optimizer.load(stored["optimizer"])
        number, seen, spent_s = stored["number"], stored["seen"], stored["spent_s"]

    def keep():
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state(), "number": number, "seen": seen,
                    "spent_s": spent_s + time.monotonic() - began}, f"{checkpoint}.new")  # fmt: skip
        pathlib.Path(f"{checkpoint}.new").rename(checkpoint)

    began = kept = time.monotonic()
    print(f"{sum(weight.numel() for weight in model.parameters())} parameters, from step {number}", flush=True)
    mean = None
    while seen < options.tokens * 1e6 and time.monotonic() - began < options.minutes * 60:
        conversations, tokens = step_of(number, vocabulary)
        parts = [tensors_of(part) for part in parts_of(conversations)]
        whole = sum(weights.sum() for _, _, weights in parts)
        loss = 0.0
        for ids, targets, weights in parts:
            wanted = weights > 0
            losses = functional.cross_entropy(model(ids, wanted), targets[wanted], reduction="none")
            part_loss = (losses * weights[wanted]).sum() / whole
            part_loss.backward()
            loss += part_loss.item()
        rate = rate_at(seen / (options.tokens * 1e6), number)
        optimizer.step(MATRIX_RATE * rate, OTHER_RATE * rate, DECAY)
        number, seen = number + 1, seen + tokens
        mean = loss if mean is None else 0.95 * mean + 0.05 * loss
        if number % 20 == 0:
            print(f"step {number} tokens {seen / 1e6:.2f} M loss {mean:.4f} rate {rate:.3f} {spent_s + time.monotonic() - began:.0f} s", flush=True)
        if time.monotonic() - kept > CHECKPOINT_S:
            keep()
            kept = time.monotonic()
    keep()


if __name__ == "__main__":
    main()
