#!/usr/bin/env python3
"""Measures the models and sizes that speed goals name, as rows of a table in Markdown on stdout. See scripts/measure-gpu.

    goal_table.py --seconds N --models FOLDER --etna COMMAND [--peer COMMAND] [--small]

COMMAND is a program with its first arguments, in one word; the peer's is llama-bench, which runs one sequence. A row is
printed as soon as it is measured, and a run that fails or has no time left has a row with the reason. The model files, of
random weights, are written to FOLDER before their first run and removed after their last. Exit code 1 if a run has no
figures. --small: a rehearsal of the same runs with small models and few tokens."""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import time
import typing

import large_model

RUN_LIMIT_S = 60  # of one program on one file
RUN_LEAST_S = 3  # a run is not begun with less
PEER_REPETITIONS = 10
HEADS = ["model", "prompt", "sequences", "depth", "prompts", "generation", "llama.cpp prompts", "llama.cpp generation", "load, s"]


class Run(typing.NamedTuple):
    """One call of `etna bench`."""

    model: str
    prompt: int
    generated: int
    batches: list
    depths: list
    repetitions: int


# Runs of one model are neighbours, so that one model's file is there at a time; the slowest run, of a long context, is last.
RUNS = [
    Run("llama-3-8b", 512, 64, [1], [0, 4096], 5),
    Run("llama-3-8b", 2048, 3, [1], [0], 5),
    Run("llama-3-8b", 64, 32, [2, 4, 8, 16, 32, 256], [0], 2),
    Run("qwen3-30b-a3b", 512, 64, [1], [0], 5),
    Run("qwen3-30b-a3b", 2048, 3, [1], [0], 5),
    Run("qwen35-27b", 2048, 64, [1], [0, 10000], 3),
    Run("qwen3-0.6b", 512, 64, [1], [0], 5),
    Run("llama-3-8b", 64, 32, [1], [32768], 1),
]


class Spread(typing.NamedTuple):
    """Tokens per second."""

    median: float
    low: float
    high: float

    def __str__(self):
        return f"{self.median:,.1f} ({self.low:,.1f} to {self.high:,.1f})"


class Failure(Exception):
    """A program's run without figures; the text is the reason."""


def small(run):
    return Run(run.model, min(run.prompt, 16), 3, sorted({min(n, 2) for n in run.batches}), sorted({min(n, 40) for n in run.depths}), 1)


def output_of(command, seconds):
    """stdout of a program. Raises Failure if it prints nothing or does not end in time."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"stopped after {seconds:.0f} s") from None
    except OSError as error:
        raise Failure(str(error)) from None
    if not done.stdout.strip():
        raise Failure((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return done.stdout


def spread(values):
    return Spread(values["median"], values["min"], values["max"])


def etna_report(command, file, run, seconds):
    """The JSON of `etna bench`; sizes that do not fit the memory are in its `not_measured`."""
    lists = ["-b", ",".join(map(str, run.batches)), "-c", ",".join(map(str, run.depths))]
    sizes = ["-p", run.prompt, "-n", run.generated, *lists, "-r", run.repetitions]
    text = output_of([*command, "bench", file, *sizes, "--json"], seconds)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise Failure(text.strip().splitlines()[-1]) from None


def peer_figures(command, file, run, seconds):
    """{(depth, "prompt" or "generation"): Spread} of llama-bench."""
    sizes = ["-p", run.prompt, "-n", run.generated, "-d", ",".join(map(str, run.depths)), "-r", PEER_REPETITIONS]
    text = output_of([*command, "-m", file, "-ngl", 99, *sizes, "-o", "jsonl"], seconds)
    figures = {}
    for row in (json.loads(line) for line in text.splitlines() if line.startswith("{")):
        samples = row["samples_ts"]
        kind = "prompt" if row["n_prompt"] > 0 else "generation"
        figures[row.get("n_depth", 0), kind] = Spread(statistics.median(samples), min(samples), max(samples))
    if not figures:
        raise Failure("llama-bench reported no figures")
    return figures


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def rows_of(run, report, peer):
    """The lines of one run; `peer` is its figures by depth and kind, or the reason why there are none."""
    load = f"{report['load_ms'] / 1e3:.2f}"
    for row in report["rows"]:
        beside = {}
        if row["batch"] == 1 and isinstance(peer, dict):
            beside = {kind: peer.get((row["depth"], kind), "-") for kind in ("prompt", "generation")}
        elif row["batch"] == 1 and peer:
            beside = {"prompt": f"failed: {peer}"}
        own = [spread(row["prompt_tok_s"]), spread(row["generation_tok_s"])]
        sizes = [run.model, run.prompt, row["batch"], row["depth"]]
        yield line([*sizes, *own, beside.get("prompt", "-"), beside.get("generation", "-"), load])
    for gap in report["not_measured"]:
        yield line([run.model, run.prompt, gap["batch"], gap["depth"], f"failed: {gap['reason']}", "-", "-", "-", load])


def failed_row(run, reason):
    return line([run.model, run.prompt, ", ".join(map(str, run.batches)), ", ".join(map(str, run.depths)), f"failed: {reason}", *"----"])


class Measurement:
    """Runs programs until a deadline."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.deadline = time.monotonic() + arguments.seconds
        self.is_complete = True

    def seconds(self):
        """What a program may take now. Raises Failure if that is too little."""
        left = min(RUN_LIMIT_S, self.deadline - time.monotonic())
        if left < RUN_LEAST_S:
            raise Failure("no time left")
        return left

    def write(self, name):
        """The file of a model, which is written if it is not there."""
        file = self.arguments.models / f"{name}.gguf"
        if not file.exists():
            words = [sys.executable, "-B", large_model.__file__, *(["--small"] if self.arguments.small else []), name, file]
            try:
                subprocess.run(words, capture_output=True, text=True, timeout=self.seconds(), check=True)
            except (subprocess.SubprocessError, OSError) as error:
                file.unlink(missing_ok=True)
                raise Failure(f"the model's file could not be written: {error}") from None
        return file

    def peer(self, file, run):
        """Figures, or the reason why there are none; empty without a peer or a size that it runs."""
        if not self.arguments.peer or 1 not in run.batches:
            return ""
        try:
            return peer_figures(shlex.split(self.arguments.peer), file, run, self.seconds())
        except Failure as failure:
            self.is_complete = False
            return str(failure)

    def lines(self, run):
        try:
            file = self.write(run.model)
            report = etna_report(shlex.split(self.arguments.etna), file, run, self.seconds())
            self.is_complete &= not report["not_measured"]
            yield from rows_of(run, report, self.peer(file, run))
        except Failure as failure:
            self.is_complete = False
            yield failed_row(run, str(failure))


def main():
    parser = argparse.ArgumentParser(description="the models and sizes that speed goals name")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--etna", required=True)
    parser.add_argument("--peer", default="")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    measurement = Measurement(arguments)
    print(line(HEADS) + "\n|---|" + "--:|" * (len(HEADS) - 1), flush=True)
    runs = [small(run) for run in RUNS] if arguments.small else RUNS
    for index, run in enumerate(runs):
        for text in measurement.lines(run):
            print(text, flush=True)
        if index + 1 == len(runs) or runs[index + 1].model != run.model:
            (arguments.models / f"{run.model}.gguf").unlink(missing_ok=True)
    return 0 if measurement.is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
