#!/usr/bin/env python3
"""Embeddings of etna and of llama.cpp over the same files: of random weights, and demo-embed: compare_embeddings.py BUILD ROOT_COMMAND

BUILD holds write_model and etna; ROOT_COMMAND runs llama.cpp's programs. See scripts/compare-peer."""

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
ENCODERS = ["bert", "xlm-roberta", "nomic-bert", "modern-bert", "gemma-embedding", "jina-bert-v2"]
DECODERS = ["llama", "qwen3", "gemma3", "lfm2", "qwen3next"]
FORMATS = ["f32", "f16", "q8_0"]
POOLINGS = ["mean", "cls", "last"]
DEMO = pathlib.Path(__file__).resolve().parents[2] / "core" / "store" / "demo" / "demo-embed.gguf"
SENTENCES = ["What is a lava tube?", "Lava tubes are caves that a stream of lava leaves behind.", "I live in Oslo.", "Which city do I live in?",
             "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.", "3.14159 and 2,718", "naïve café 日本語", "  two  spaces  ", "x",
             " ".join(["The red kettle costs 30 euros in Porto."] * 12)]  # fmt: skip


def texts(is_encoder):
    """Random words of the vocabulary, or letters, the same in each run."""
    numbers = random.Random(2)
    lengths = [1 + (WORDS_MAX - 1) * i * i // (TEXTS - 1) ** 2 for i in range(TEXTS)]
    word = (lambda: f"w{numbers.randrange(5, VOCABULARY)}") if is_encoder else (lambda: chr(numbers.randrange(97, 123)))
    return [" ".join(word() for _ in range(length)) for length in lengths]


def etna(build, file, pooling, lines):
    command = [build / "etna", "embed", file, "--pooling", pooling]
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


def distance(ours, theirs):
    """1 - the smallest cosine of two embeddings of one text; infinite if it is NaN."""
    return max(math.inf if math.isnan(cosine(*pair)) else 1 - cosine(*pair) for pair in zip(ours, theirs, strict=True))


def compare(build, root, file, lines):
    """The distances of each pooling over the same numbers; and of the mean over the file itself, where llama.cpp rounds operands."""
    decoded = build.parent / "peer" / f"{file.stem}-decoded.gguf"
    compare_peer.run(root, "llama-quantize", "--allow-requantize", file, decoded, "F32", "1")
    ours = {pooling: etna(build, file, pooling, lines) for pooling in POOLINGS}
    distances = [distance(ours[pooling], peer(root, decoded, pooling, lines)) for pooling in POOLINGS]
    decoded.unlink()
    return distances, distance(ours["mean"], peer(root, file, "mean", lines))


def print_row(model, form, distances, own):
    print(f"| {model:<15} | {form:<6} | {' | '.join(f'{one:8.1e}' for one in distances)} | {own:8.1e} |", flush=True)


def main(build, root):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = build.parent / "peer"
    folder.mkdir(exist_ok=True)
    print(f"| {'model':<15} | format | {' | '.join(f'{pooling:>8}' for pooling in [*POOLINGS, 'own'])} |")
    print("| --- | --- | --: | --: | --: | --: |")
    distances, own = compare(build, root, DEMO, SENTENCES)
    print_row("demo-embed", "q8_0", distances, own)
    missed = sum(not one <= BAR for one in distances)
    for shape in ENCODERS + DECODERS:
        for form in FORMATS if shape in ENCODERS else ["f32"]:
            file = folder / f"{shape}-{form}.gguf"
            compare_peer.run(build / "write_model", f"small-{shape}", form, file)
            distances, own = compare(build, root, file, texts(shape in ENCODERS))
            file.unlink()
            print_row(shape, form, distances, own)
            missed += sum(not one <= BAR for one in distances)
    print(f"\n1 - cosine, the largest of {TEXTS} texts of 1 to {WORDS_MAX} words: {missed} beyond {BAR:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
