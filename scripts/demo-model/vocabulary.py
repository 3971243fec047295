"""The vocabulary of both demo models: byte-level BPE with 2048 tokens, split as the pre-tokenizer "qwen2" does (each digit is a token).

    python3 vocabulary.py FILE.json     learns it from a sample of the corpus (about a minute)
"""

import collections
import heapq
import json
import sys

import regex

SIZE = 2048
SAMPLE = 30_000  # conversations
SPLIT = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# Control tokens first, then those that are part of the text.
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]


def byte_characters():
    """GPT-2's printable character for each byte."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    moved = iter(range(256, 512))
    return [chr(byte) if byte in kept else chr(next(moved)) for byte in range(256)]


CHARACTERS = byte_characters()


def spelled(text):
    return "".join(CHARACTERS[byte] for byte in text.encode())


def learn(texts):
    """Tokens and merges, most frequent pair first; ties by the pair itself, so that the result is always the same."""
    counts = collections.Counter()
    for text in texts:
        for part in regex.split("|".join(map(regex.escape, CONTROL + MARKS)), text):
            counts.update(SPLIT.findall(part))
    words = [(list(spelled(word)), count) for word, count in sorted(counts.items())]
    tokens = CONTROL + MARKS + sorted(CHARACTERS)
    pairs, places = collections.Counter(), collections.defaultdict(set)
    for index, (word, count) in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += count
            places[pair].add(index)
    queue = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(queue)
    merges = []
    while len(tokens) < SIZE:
        count, pair = heapq.heappop(queue)
        if -count != pairs[pair]:  # out of date: the count has changed since
            if pairs[pair] > 0:
                heapq.heappush(queue, (-pairs[pair], pair))
            continue
        merges.append(pair)
        tokens.append("".join(pair))
        changed = set()
        for index in places.pop(pair):
            word, count = words[index]
            for old in zip(word, word[1:]):
                pairs[old] -= count
            merged(word, pair)
            for new in zip(word, word[1:]):
                pairs[new] += count
                places[new].add(index)
                changed.add(new)
        for new in changed:
            heapq.heappush(queue, (-pairs[new], new))
    return tokens, merges


def merged(word, pair):
    """Merges every occurrence of the pair, left to right, modifying the list."""
    index = 0
    while index + 1 < len(word):
        if (word[index], word[index + 1]) == pair:
            word[index:index + 2] = ["".join(pair)]
        index += 1


class Vocabulary:
    """Text to token ids. Encoded words are cached, so that a corpus of few words is fast."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        self.tokens, self.merges = stored["tokens"], [tuple(pair) for pair in stored["merges"]]
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.special = regex.compile("(" + "|".join(map(regex.escape, CONTROL + MARKS)) + ")")
        self.known = {}

    def word(self, text):
        found = self.known.get(text)
        if found is None:
            word = list(spelled(text))
            while len(word) > 1:
                pair = min(zip(word, word[1:]), key=lambda pair: self.ranks.get(pair, SIZE))
                if pair not in self.ranks:
                    break
                merged(word, pair)
            found = self.known[text] = [self.ids[token] for token in word]
        return found

    def encode(self, text):
        ids = []
        for part in self.special.split(text):
            if part in self.ids and self.special.fullmatch(part):
                ids.append(self.ids[part])
            else:
                for word in SPLIT.findall(part):
                    ids += self.word(word)
        return ids


def main():
    from conversation import rendered
    from corpus.mixture import conversation
    from corpus.source import Source

    source = Source("vocabulary")
    tokens, merges = learn(rendered(conversation(source)) for _ in range(SAMPLE))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"tokens": tokens, "merges": merges}, file, ensure_ascii=False, indent=0)


if __name__ == "__main__":
    main()
