#!/usr/bin/env python3
"""Embeddings of etna and of llama.cpp over the same files of random weights: compare_embeddings.py BUILD ROOT_COMMAND

BUILD holds write_model and cli/etna; ROOT_COMMAND runs llama.cpp's programs. See scripts/compare-peer."""

import contextlib
import json
import math
import pathlib
import random
import signal
import subprocess
import sys
import urllib.request

import compare_peer

BAR = 1e-4  # largest 1 - cosine
TEXTS, WORDS_MAX, VOCABULARY = 30, 100, 512
ENCODERS = ["bert", "nomic-bert", "modern-bert", "gemma-embedding", "jina-bert-v2"]
DECODERS = ["llama", "qwen3", "gemma3", "lfm2", "qwen3next"]
FORMATS = ["f32", "f16", "q8_0"]
POOLINGS = {"mean": "mean", "cls": "cls", "last": "last"}


def texts(is_encoder):
    """Random words of the vocabulary, or letters, the same in each run."""
    numbers = random.Random(2)
    lengths = [1 + (WORDS_MAX - 1) * i * i // (TEXTS - 1) ** 2 for i in range(TEXTS)]
    word = (lambda: f"w{numbers.randrange(5, VOCABULARY)}") if is_encoder else (lambda: chr(numbers.randrange(97, 123)))
    return [" ".join(word() for _ in range(length)) for length in lengths]


def etna(build, file, pooling, lines):
    command = [build / "cli" / "etna", "embed", file, "--pooling", pooling, "--kv-type", "f32"]
    answers = compare_peer.run(*command, text="".join(line + "\n" for line in lines)).splitlines()
    return [json.loads(answer)["embedding"] for answer in answers]


def peer(root, file, pooling, lines):
    """Of llama.cpp's server, with its tokenizer."""
    vectors = []
    with compare_peer.server(root, file, "f32", ["--embedding", "--pooling", pooling, "-ub", "256"]) as address:
        for line in lines:
            request = urllib.request.Request(
                address + "/embedding", json.dumps({"content": line}).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=compare_peer.ANSWER_S) as reply:
                vectors.append(json.load(reply)[0]["embedding"][0])
    return vectors


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def compare(build, root, folder, shape, form):
    """1 - the smallest cosine of each pooling; deletes the file."""
    file = folder / f"{shape}-{form}.gguf"
    compare_peer.run(build / "write_model", f"small-{shape}", form, file)
    lines = texts(shape in ENCODERS)
    distances = []
    for pooling in POOLINGS:
        pairs = zip(etna(build, file, pooling, lines), peer(root, file, pooling, lines), strict=True)
        distances.append(max(1 - cosine(ours, theirs) for ours, theirs in pairs))
    file.unlink()
    return distances


def main(build, root):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = build.parent / "peer"
    folder.mkdir(exist_ok=True)
    print(f"| {'model':<15} | format | {' | '.join(f'{pooling:>8}' for pooling in POOLINGS)} |")
    print("| --- | --- | --: | --: | --: |")
    missed = 0
    for shape in ENCODERS + DECODERS:
        for form in FORMATS if shape in ENCODERS else ["f32"]:
            distances = compare(build, root, folder, shape, form)
            missed += sum(not distance <= BAR for distance in distances)
            print(f"| {shape:<15} | {form:<6} | {' | '.join(f'{distance:8.1e}' for distance in distances)} |", flush=True)
    print(f"\n1 - cosine, the largest of {TEXTS} texts of 1 to {WORDS_MAX} words: {missed} beyond {BAR:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
