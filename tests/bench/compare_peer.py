#!/usr/bin/env python3
"""Log-probabilities of etna and of llama.cpp over the same files of random weights: compare_peer.py BUILD ROOT_COMMAND

BUILD holds write_model and top_logprobs; ROOT_COMMAND runs llama.cpp's programs. See scripts/compare-peer."""

import contextlib
import json
import math
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import typing
import urllib.error
import urllib.request

BAR = 3e-2  # largest difference of a log-probability, both programs in F32 on the same numbers
PROMPTS, PROMPT_TOKENS_MAX, VOCABULARY = 50, 100, 512
TOP, CANDIDATES = 20, 64  # of the peer; of etna, so that the peer's are among them
LETTER = 100  # a printable ASCII character in each of the tokenizers
START_S, ANSWER_S = 60, 60

ARCHITECTURES = ["deepseek2", "llama", "mistral3", "smollm3", "granite", "granitemoe", "granitehybrid", "glm4", "glm4moe", "lfm2", "lfm2moe",
                 "nemotron_h", "nemotron_h_moe", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe",
                 "qwen3next", "qwen35", "qwen35moe", "phi3", "gemma2", "gemma3", "gemma4", "gpt-oss", "falcon-h1", "mamba2"]  # fmt: skip
EVERYWHERE = ["f32", "f16", "bf16", "q8_0"]
LLAMA_ONLY = ["q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4"]
ROPE_SCALINGS = ["llama-linear", "llama-llama3", "llama-longrope", "mistral3-yarn", "qwen3-yarn", "phi3-longrope", "gemma3-linear"]
CASES = (
    [(architecture, form) for architecture in ARCHITECTURES for form in EVERYWHERE]
    + [("llama", form) for form in LLAMA_ONLY]
    + [("llama", "mixture"), ("qwen3moe", "mixture"), ("gpt-oss", "mxfp4")]
    + [(shape, "f32") for shape in [*ROPE_SCALINGS, "llama-experts", "deepseek2-lite", "deepseek2-groups", "granitehybrid-experts",
                                 "gemma4-experts", "gemma4-fused", "qwen3next-fused"]]  # fmt: skip
)


class Figures(typing.NamedTuple):
    """Of one file; or of several, the largest of each."""

    worst: float  # largest difference of a log-probability, both programs in F32 on the same numbers
    worst_f16: float  # the same, etna with its default cache
    moved_f16: float  # what such a cache moves in the peer
    own_worst: float  # the same in F32 against the peer on the file itself, where it rounds operands
    own_mean: float  # mean KL divergence of that

    def cells(self):
        verdict = "within" if self.worst <= BAR else "MISSED"
        return [f"{self.worst:.1e}", verdict, *(f"{value:.1e}" for value in self[1:])]


def prompts():
    """Random ids in lengths from 1 to PROMPT_TOKENS_MAX, more short than long, the same in each run."""
    numbers = random.Random(1)
    lengths = [1 + (PROMPT_TOKENS_MAX - 1) * i * i // (PROMPTS - 1) ** 2 for i in range(PROMPTS)]
    return [[numbers.randrange(VOCABULARY) for _ in range(length)] for length in lengths]


def run(*command, text=None):
    """stdout of a program; its output is shown if it fails."""
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def etna(build, file, cache):
    """For each prompt {id: log-probability} of the likeliest tokens."""
    lines = "".join(" ".join(map(str, prompt)) + "\n" for prompt in prompts())
    answers = run(build / "top_logprobs", file, cache, CANDIDATES, text=lines).splitlines()
    if len(answers) != PROMPTS:
        sys.exit(f"error: {len(answers)} answers of top_logprobs to {PROMPTS} prompts over {file}")
    return [dict(json.loads(answer)) for answer in answers]


@contextlib.contextmanager
def server(root, file, cache, further=()):
    """llama.cpp's server on one core of the CPU; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [root, "llama-server", "-m", file, "-dev", "none", "-t", "1", "-np", "1", "-c", "256", "-ctk", cache, "-ctv",
               cache, "-fa", "off", "--no-warmup", "--no-webui", "--host", "127.0.0.1", "--port", str(port), *further]  # fmt: skip
    log = file.with_suffix(".log")
    with open(log, "w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_ready(process, address, log)
            yield address
        finally:
            process.kill()


def wait_until_ready(process, address, log):
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(address + "/health", timeout=ANSWER_S):
                return
        time.sleep(0.05)  # between two polls
    sys.exit(f"error: llama-server did not start:\n{log.read_text()[-2000:]}")


def peer(root, file, cache, top=TOP):
    """For each prompt {id: log-probability} of the peer's `top` tokens, before any sampler."""
    # A token that is part of a character has no log-probabilities in the answer: the bias makes a letter be chosen. They
    # themselves are of the logits before it.
    wanted = {"n_predict": 1, "n_probs": top, "temperature": 0, "logit_bias": [[LETTER, 1e3]], "cache_prompt": False,
              "post_sampling_probs": False}  # fmt: skip
    answers = []
    with server(root, file, cache) as address:
        for prompt in prompts():
            request = urllib.request.Request(
                address + "/completion",
                json.dumps({**wanted, "prompt": prompt}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=ANSWER_S) as reply:
                answer = json.load(reply)
            entries = answer["completion_probabilities"][0]["top_logprobs"]
            if answer["tokens_evaluated"] != len(prompt) or len(entries) != top:
                sys.exit(f"error: llama-server read {answer['tokens_evaluated']} of {len(prompt)}, gave {len(entries)}")
            answers.append({entry["id"]: entry["logprob"] for entry in entries})
    return answers


def difference(ours, theirs):
    """Largest difference over the peer's tokens; infinite if one is not among ours, or is NaN."""
    worst = 0.0
    for our, their in zip(ours, theirs, strict=True):
        for token, logprob in their.items():
            here = abs(our.get(token, math.inf) - logprob)
            worst = max(worst, math.inf if math.isnan(here) else here)
    return worst


def divergence(ours, theirs):
    """Mean KL(peer | etna) over the peer's tokens, all others as one."""
    total = 0.0
    for our, their in zip(ours, theirs, strict=True):
        pairs = [(math.exp(logprob), math.exp(our.get(token, -math.inf))) for token, logprob in their.items()]
        pairs.append((1 - sum(p for p, _ in pairs), 1 - sum(q for _, q in pairs)))
        total += sum(p * math.log(p / q) if q > 0 else math.inf for p, q in pairs if p > 0)
    return total / len(ours)


def compare(build, root, folder, shape, form):
    """Measures one model, and deletes its files."""
    file, decoded = folder / f"{shape}-{form}.gguf", folder / f"{shape}-{form}-decoded.gguf"
    run(build / "write_model", f"small-{shape}", form, file)
    run(root, "llama-quantize", "--allow-requantize", file, decoded, "F32", "1")
    ours, same_numbers, same_file = etna(build, file, "f32"), peer(root, decoded, "f32"), peer(root, file, "f32")
    figures = Figures(
        worst=difference(ours, same_numbers),
        worst_f16=difference(etna(build, file, "f16"), same_numbers),
        moved_f16=difference(peer(root, decoded, "f16", CANDIDATES), same_numbers),
        own_worst=difference(ours, same_file),
        own_mean=divergence(ours, same_file),
    )
    file.unlink()
    decoded.unlink()
    return figures


def print_row(*cells):
    first, second, *others = cells
    print(f"| {first:<14} | {second:<8} | {' | '.join(f'{cell:>10}' for cell in others)} |", flush=True)


def print_head(second):
    print_row("model", second, "largest", f"{BAR:g}", "F16 cache", "peer's F16", "own", "own KL")
    print_row("---", "---", *["--:"] * 6)


def main(build, root):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends, too
    folder = build.parent / "peer"
    folder.mkdir(exist_ok=True)
    print_head("format")
    results = []
    for shape, form in CASES:
        figures = compare(build, root, folder, shape, form)
        print_row(shape, form, *figures.cells())
        results.append((shape, figures))
    print(f"\nThe largest of each, over {PROMPTS} prompts of 1 to {PROMPT_TOKENS_MAX} tokens and llama.cpp's top {TOP}:\n")
    print_head("files")
    for architecture in ARCHITECTURES:
        group = [figures for shape, figures in results if shape == architecture or shape.startswith(architecture + "-")]
        print_row(architecture, len(group), *Figures(*map(max, zip(*group, strict=True))).cells())
    missed = [shape for shape, figures in results if not figures.worst <= BAR]
    print(f"\n{len(results)} files, {len(missed)} beyond {BAR:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
