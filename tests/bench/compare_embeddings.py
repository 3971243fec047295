#!/usr/bin/env python3
"""Embeddings of etna and of llama.cpp over the same files: of random weights, and demo-embed: compare_embeddings.py BUILD ROOT_COMMAND

BUILD holds write_model and etna; ROOT_COMMAND runs llama.cpp's programs. See scripts/compare-peer."""

import contextlib
import json
import math
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import urllib.request

import compare_peer

BAR = 1e-4  # largest 1 - cosine
SCORE_BAR = 2e-3  # largest difference of a reranker's output: etna's cache is F16, llama.cpp's GELU reads a table of halves
TEXTS, WORDS_MAX, VOCABULARY = 30, 100, 512
ENCODERS = ["bert", "xlm-roberta", "nomic-bert", "modern-bert", "gemma-embedding", "jina-bert-v2"]
DECODERS = ["llama", "qwen3", "gemma3", "lfm2", "qwen3next"]
RERANKERS = {"bert-reranker": "w5 w6 w9", "xlm-roberta-reranker": "w5 w6 w9", "qwen3-reranker": "the end of the day"}  # and queries
DOCUMENTS, RERANKER_VOCABULARY = 20, 200
FORMATS = ["f32", "f16", "q8_0"]
POOLINGS = ["mean", "cls", "last"]
DEMO = pathlib.Path(__file__).resolve().parents[2] / "core" / "store" / "demo" / "demo-embed.gguf"
SENTENCES = ["What is a lava tube?", "Lava tubes are caves that a stream of lava leaves behind.", "I live in Oslo.", "Which city do I live in?",
             "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.", "3.14159 and 2,718", "naïve café 日本語", "  two  spaces  ", "x",
             " ".join(["The red kettle costs 30 euros in Porto."] * 12)]  # fmt: skip


def texts(is_encoder, vocabulary=VOCABULARY):
    """Random words of the vocabulary, or letters, the same in each run."""
    numbers = random.Random(2)
    lengths = [1 + (WORDS_MAX - 1) * i * i // (TEXTS - 1) ** 2 for i in range(TEXTS)]
    word = (lambda: f"w{numbers.randrange(5, vocabulary)}") if is_encoder else (lambda: chr(numbers.randrange(97, 123)))
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


@contextlib.contextmanager
def etna_server(build, file):
    """`etna serve` of the file; gives its address."""
    command = [build / "etna", "serve", file, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def ranked(address, query, documents):
    """The outputs of a reranker's head for the documents, and the number of tokens that it read."""
    body = {"query": query, "documents": documents, "use_activation": False}
    request = urllib.request.Request(address + "/v1/rerank", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=compare_peer.ANSWER_S) as reply:
        answer = json.load(reply)
    scores = {result["index"]: result["relevance_score"] for result in answer["results"]}
    return [scores[index] for index in range(len(documents))], answer["usage"]["prompt_tokens"]


def compare_reranker(build, root, file, query, documents):
    """The largest difference of a score; infinite if the programs read different numbers of tokens."""
    with etna_server(build, file) as address:
        ours, our_tokens = ranked(address, query, documents)
    with compare_peer.server(root, file, "f32", ["--embedding", "--pooling", "rank", "--rerank", "-ub", "256"]) as address:
        theirs, their_tokens = ranked(address, query, documents)
    return max(abs(our - their) for our, their in zip(ours, theirs, strict=True)) if our_tokens == their_tokens else math.inf


def compare_rerankers(build, root, folder):
    """Prints the difference of each reranker. Returns the number beyond SCORE_BAR."""
    missed = 0
    print("| reranker             | difference |\n| --- | --: |")
    for shape, query in RERANKERS.items():
        file = folder / f"{shape}.gguf"
        compare_peer.run(build / "write_model", f"small-{shape}", "f32", file)
        documents = texts(shape != "qwen3-reranker", RERANKER_VOCABULARY)[:DOCUMENTS]
        difference = compare_reranker(build, root, file, query, documents)
        file.unlink()
        missed += not difference <= SCORE_BAR
        print(f"| {shape:<20} | {difference:10.1e} |", flush=True)
    print(f"\n{DOCUMENTS} documents each: {missed} beyond {SCORE_BAR:g}")
    return missed


def print_row(model, form, distances, own):
    print(f"| {model:<15} | {form:<6} | {' | '.join(f'{one:8.1e}' for one in distances)} | {own:8.1e} |", flush=True)


def main(build, root):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = build.parent / "peer"
    folder.mkdir(exist_ok=True)
    print(f"| {'model':<15} | format | {' | '.join(f'{pooling:>8}' for pooling in [*POOLINGS, 'own'])} |")
    print("| --- | --- | --: | --: | --: | --: |")
    distances, own = compare(build, root, pathlib.Path(shutil.copy(DEMO, folder)), SENTENCES)
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
    print(f"\n1 - cosine, the largest of {TEXTS} texts of 1 to {WORDS_MAX} words: {missed} beyond {BAR:g}\n")
    missed += compare_rerankers(build, root, folder)
    return 1 if missed else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
