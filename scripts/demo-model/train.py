"""Trains one of the demo models on conversations generated on demand.

    python3 train.py NAME FOLDER [--tokens MILLIONS] [--minutes LIMIT]

NAME is one of model.SIZES; FOLDER contains vocabulary.json; NAME.checkpoint is written there every five minutes, and a stopped run
resumes from it. The learning rate is constant and decreases to 0 over the last part of the tokens.
"""

import argparse
import os
import pathlib
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before torch loads it: a process for each core instead

import torch
from torch import multiprocessing
from torch.nn import functional

from conversation import learnable
from corpus.mixture import KINDS, KINDS_LAST, KINDS_LATER, conversation
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
LAST, LAST_RATE = 0.5, 0.5  # share of the tokens that is learned last, from corpus.mixture.KINDS_LAST, and its first rate
CHECKPOINT_S = 300
TOKENS = {"demo": 55, "demo-draft": 4}  # millions


def step_of(number, seen, tokens, vocabulary):
    """The conversations of one step, sorted by length: [(ids, weights)]. The same for the same number."""
    source, found, total = Source(f"train {number}"), [], 0
    kinds = KINDS if number < LATER_STEP else KINDS_LATER if seen < tokens * (1 - LAST) else KINDS_LAST
    while total < STEP_TOKENS:
        ids, weights = learnable(conversation(source, kinds), vocabulary)
        if len(ids) <= LENGTH_MAX:
            found.append((ids, weights))
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
    """ids and targets [count, length], and the weight of each target."""
    length = max(len(ids) for ids, _ in part) - 1
    ids = torch.zeros(len(part), length, dtype=torch.long)
    targets, weights = torch.zeros_like(ids), torch.zeros(len(part), length)
    for row, (tokens, counts) in enumerate(part):
        ids[row, :len(tokens) - 1] = torch.tensor(tokens[:-1])
        targets[row, :len(tokens) - 1] = torch.tensor(tokens[1:])
        weights[row, :len(tokens) - 1] = torch.tensor(counts[1:])
    return ids, targets, weights


def rate_at(seen, tokens, number):
    """Constant, then decreasing to 0; again for the last share, from a lower rate."""
    first, last = tokens * (1 - LAST), tokens * LAST
    if seen >= first:
        return LAST_RATE * max(0.0, 1 - (seen - first) / last)
    return min(1.0, (number + 1) / WARM_STEPS, max(0.0, (1 - seen / first) / FALLING))


class Shared:
    """State shared by the processes of a training run: weights, moments, a row of gradients per process, losses, and a barrier."""

    def __init__(self, name, processes):
        torch.manual_seed(1)
        self.model = Model(SIZES[name]).share_memory()
        self.optimizer = Optimizer(self.model)
        self.gradients = torch.zeros(processes, sum(weight.numel() for weight in self.model.parameters())).share_memory_()
        self.losses = torch.zeros(processes).share_memory_()
        self.stopped = torch.zeros(1, dtype=torch.bool).share_memory_()
        self.barrier = multiprocessing.get_context("fork").Barrier(processes)

    def gather(self, rank):
        """Sums the gradients of all processes, once all are done."""
        torch.cat([weight.grad.flatten() for weight in self.model.parameters()], out=self.gradients[rank])
        self.barrier.wait()
        whole, place = self.gradients.sum(0), 0
        for weight in self.model.parameters():
            weight.grad = whole[place:place + weight.numel()].view_as(weight)
            place += weight.numel()


def learn(shared, rank, conversations, rate):
    """One step of one process: its share of the conversations, and its share of the update. Returns the loss of the step."""
    model, processes = shared.model, len(shared.losses)
    whole = sum(sum(counts) for _, counts in conversations)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    shared.losses[rank] = 0.0
    for ids, targets, weights in map(tensors_of, parts_of(conversations[rank::processes])):
        wanted = weights > 0
        losses = functional.cross_entropy(model(ids, wanted), targets[wanted], reduction="none")
        loss = (losses * weights[wanted]).sum() / whole
        loss.backward()
        shared.losses[rank] += loss.item()
    shared.gather(rank)
    loss = shared.losses.sum().item()
    shared.optimizer.step(MATRIX_RATE * rate, OTHER_RATE * rate, DECAY, rank, processes)
    shared.barrier.wait()
    return loss


def train(shared, rank, options, stored):
    """The loop of one process. The first one prints progress and writes checkpoints."""
    torch.set_flush_denormal(True)  # ten times slower otherwise
    torch.set_num_threads(1)  # a process for each core instead
    vocabulary = Vocabulary(options.folder / "vocabulary.json")
    number, seen, spent_s = stored["number"], stored["seen"], stored["spent_s"]
    began = kept = time.monotonic()
    mean = None
    while seen < options.tokens * 1e6 and not shared.stopped:
        rate = rate_at(seen, options.tokens * 1e6, number)
        conversations, tokens = step_of(number, seen, options.tokens * 1e6, vocabulary)
        loss = learn(shared, rank, conversations, rate)
        number, seen = number + 1, seen + tokens
        if rank > 0:
            continue
        elapsed = time.monotonic() - began
        mean = loss if mean is None else 0.95 * mean + 0.05 * loss
        if number % 20 == 0:
            print(f"step {number} tokens {seen / 1e6:.2f} M loss {mean:.4f} {spent_s + elapsed:.0f} s", flush=True)
        shared.stopped[0] = elapsed > options.minutes * 60
        if began + elapsed - kept > CHECKPOINT_S:
            keep(shared, options, {"number": number, "seen": seen, "spent_s": spent_s + elapsed})
            kept = time.monotonic()
    if rank == 0:
        keep(shared, options, {"number": number, "seen": seen, "spent_s": spent_s + time.monotonic() - began})


def checkpoint_of(options):
    return options.folder / f"{options.name}.checkpoint"


def keep(shared, options, place):
    """Writes to a temporary name first, so that a run stopped here leaves the last checkpoint intact."""
    fresh = checkpoint_of(options).with_suffix(".new")
    torch.save({"model": shared.model.state_dict(), "optimizer": shared.optimizer.state(), **place}, fresh)
    fresh.rename(checkpoint_of(options))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("name", choices=SIZES)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--tokens", type=float, help="millions to learn from")
    arguments.add_argument("--minutes", type=float, default=1e9, help="stop with a checkpoint after N minutes")
    arguments.add_argument("--processes", type=int, default=os.cpu_count())
    options = arguments.parse_args()
    options.tokens = options.tokens or TOKENS[options.name]
    shared = Shared(options.name, options.processes)
    stored = {"number": 0, "seen": 0, "spent_s": 0.0}
    if checkpoint_of(options).exists():
        stored = torch.load(checkpoint_of(options))
        shared.model.load_state_dict(stored["model"])
        shared.optimizer.load(stored["optimizer"])
    print(f"{shared.gradients.shape[1]} parameters, from step {stored['number']}", flush=True)
    others = [multiprocessing.get_context("fork").Process(target=train, args=(shared, rank, options, stored), daemon=True)
              for rank in range(1, options.processes)]  # fmt: skip
    for process in others:
        process.start()
    train(shared, 0, options, stored)
    for process in others:
        process.join()


if __name__ == "__main__":
    main()
