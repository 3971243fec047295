#!/usr/bin/env python3
"""Tokens per second of etna beside llama.cpp's backends, as a table in Markdown. See scripts/bench.

    speed_table.py [--prompt N] [--generation N] [--rounds N] [--results FOLDER] --etna COMMAND [--peer NAME=COMMAND ...] FILE...

COMMAND is a program with its first arguments, in one word. All programs read each FILE once in every round, in turn, so that
a slow minute of the machine is shared. A program that fails on a file has no figures, and the table gives the reason."""

import argparse
import datetime
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import typing

TIMEOUT_S = 1800  # of one program on one file


class Speeds(typing.NamedTuple):
    """Tokens per second of one run."""

    prompt: float
    generation: float


class Failure(Exception):
    """A program's run without figures; the text is the reason."""


def output_of(command):
    """stdout of a program. Raises Failure with the last line of stderr."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failure(f"no answer within {TIMEOUT_S} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        errors = [line for line in lines if "error" in line.lower()]
        raise Failure((errors or lines)[-1])
    return done.stdout


def etna_speeds(command, file, prompt, generation):
    words = [*command, "bench", file, "-p", prompt, "-n", generation, "-b", 1, "-c", 0, "-r", 1, "--json"]
    row = json.loads(output_of([str(word) for word in words]))["rows"][0]
    return Speeds(row["prompt_tok_s"]["median"], row["generation_tok_s"]["median"])


def peer_speeds(command, file, prompt, generation):
    words = [*command, "-m", file, "-p", prompt, "-n", generation, "-r", 1, "-o", "jsonl"]
    lines = output_of([str(word) for word in words]).splitlines()
    speeds = {}
    for report in (json.loads(line) for line in lines if line.startswith("{")):
        speeds["prompt" if report["n_prompt"] > 0 else "generation"] = report["avg_ts"]
    if len(speeds) != 2:
        raise Failure("llama-bench reported no figures")
    return Speeds(**speeds)


class Program(typing.NamedTuple):
    name: str
    command: list
    measure: typing.Callable  # (command, file, prompt, generation) -> Speeds


def measure(programs, file, prompt, generation, rounds):
    """Medians by program, or the reason why there are none."""
    samples = {program.name: [] for program in programs}
    failures = {}
    for _ in range(rounds):
        for program in programs:
            if program.name in failures:
                continue
            try:
                samples[program.name].append(program.measure(program.command, file, prompt, generation))
            except Failure as failure:
                failures[program.name] = str(failure)
    return {
        name: failures.get(name) or Speeds(*(statistics.median(column) for column in zip(*runs, strict=True)))
        for name, runs in samples.items()
    }


def speeds_cell(result):
    return f"{result.prompt:.2f} / {result.generation:.2f}" if isinstance(result, Speeds) else "failed"


def ratio_cell(own, other):
    if not isinstance(own, Speeds) or not isinstance(other, Speeds):
        return "-"
    return f"{own.prompt / other.prompt:.2f} / {own.generation / other.generation:.2f}"


def table(results):
    """Markdown of {model: {program: Speeds or reason}}; the first program is etna."""
    names = list(next(iter(results.values())))
    heads = ["model", names[0], *(head for name in names[1:] for head in (name, "ratio"))]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for model, by_program in results.items():
        own = by_program[names[0]]
        cells = [model, speeds_cell(own)]
        for name in names[1:]:
            cells += [speeds_cell(by_program[name]), ratio_cell(own, by_program[name])]
        lines.append(f"| {' | '.join(cells)} |")
    reasons = [
        f"- {model}, {name}: {result}"
        for model, by_program in results.items()
        for name, result in by_program.items()
        if not isinstance(result, Speeds)
    ]
    return "\n".join(lines + (["", "Failed:", "", *reasons] if reasons else [])) + "\n"


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    names = re.findall(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return (names or ["unknown processor"])[0], max(len(names), 1)


def chosen_device(command):
    """The device that etna chooses, as `etna devices --json` reports it."""
    devices = json.loads(output_of([*command, "devices", "--json"]))["devices"]
    return next(device for device in devices if device["chosen"])


def commit():
    words = ["git", "-C", pathlib.Path(__file__).parent, "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip() or "unknown"


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]


def report(arguments, results, device):
    """The results file's name and text."""
    name, cores = processor()
    on_cpu = device["type"] == "cpu"
    today = datetime.date.today().isoformat()
    title = name if on_cpu else device["name"]
    text = f"""# {title}, {today}

Tokens per second, prompt of {arguments.prompt} tokens / generation of {arguments.generation}, medians of {arguments.rounds}.
All programs read the same files of random weights, in turn. A ratio above 1 means that etna is faster.

{table(results)}
| | |
|---|---|
| date | {today} |
| processor | {name}, {cores} cores |
| device | {device["name"]} |
| driver | {device["driver"]} |
| commit | {commit()} |
| command | `{arguments.caption or shlex.join(sys.argv)}` |
"""
    return f"{today}-{slug(title)}.md", text


def parsed(words):
    parser = argparse.ArgumentParser(description="tokens per second of etna beside llama.cpp's backends")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--generation", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=pathlib.Path, help="folder of the results file; without it the text is only printed")
    parser.add_argument("--caption", help="the command that the results name")
    parser.add_argument("--etna", required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    return parser.parse_args(words)


def main(words):
    arguments = parsed(words)
    etna = shlex.split(arguments.etna)
    device = chosen_device(etna)
    programs = [Program("etna", etna, etna_speeds)]
    for peer in arguments.peer:
        name, _, command = peer.partition("=")
        programs.append(Program(name, shlex.split(command), peer_speeds))
    results = {}
    for file in arguments.files:
        print(f"== {file.stem}", file=sys.stderr, flush=True)
        results[file.stem] = measure(programs, file, arguments.prompt, arguments.generation, arguments.rounds)
    name, text = report(arguments, results, device)
    print(text)
    if arguments.results is not None:
        (arguments.results / name).write_text(text)
        print(f"written to {arguments.results / name}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
