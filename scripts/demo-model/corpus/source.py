"""Where conversations come from: seeded choices, and a split of all combinations into learned and held out."""

import hashlib
import random
from dataclasses import dataclass, field

HELD_OUT_PERCENT = 10


@dataclass
class Exchange:
    """A user's turn (or several) and the answers. `messages` are shaped as in OpenAI's API and end with the answer that is learned
    or checked; a system message is not among them but in `system`, so that exchanges can be joined to conversations.

    `check` says what the last answer has to be; all members that are present must hold:
        equal      str        the whole answer
        contains   [str]      each is somewhere in it (case matters)
        lacks      [str]      none is in it
        json       value      the answer is this JSON value (numbers equal, order of members ignored)
        calls      [{"name", "arguments"}]  the answer consists of these tool calls, in any order; [] = no call at all
        thinking   [str]      the thinking section holds each of these, and the answer follows it
        story      str        the answer's first line is this, it has 80-200 words, no sentence twice
    """

    messages: list
    check: dict
    system: str = ""
    tools: list = field(default_factory=list)
    thinking: bool = False


def user(text):
    return {"role": "user", "content": text}


def assistant(text, thinking=None):
    message = {"role": "assistant", "content": text}
    return message if thinking is None else {**message, "reasoning_content": thinking}


class Source:
    """A stream of choices. Two sources of one seed and side give the same. Not thread-safe."""

    def __init__(self, seed, held_out=False):
        self.random = random.Random(seed)
        self.held_out = held_out

    def pick(self, options):
        return options[int(self.random.random() * len(options))]

    def some(self, options, count):
        """`count` different ones, in random order."""
        return self.random.sample(options, count)

    def number(self, low, high):
        """Both ends included."""
        return self.random.randint(low, high)

    def chance(self, probability):
        return self.random.random() < probability

    def ours(self, *combination):
        """Whether this combination of values lies on this source's side of the split. Order and type matter."""
        digest = hashlib.blake2b(repr(combination).encode(), digest_size=4).digest()
        return (int.from_bytes(digest, "big") % 100 < HELD_OUT_PERCENT) == self.held_out

    def draw(self, make):
        """Calls `make()` until the tuple that it returns is on our side."""
        while True:
            combination = make()
            if self.ours(*combination):
                return combination
