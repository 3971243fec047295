"""What a text means (Meaning), the ways to say it, and texts of one meaning as pairs."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from corpus.tools.requests import POLITE

from . import kinds

CATALOGUE = Path(__file__).with_name("catalogue.txt")
SLOT = re.compile(r"\{(\w+)\}")
ATTEMPTS = 60  # to find values on one side of the split
ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")
OPTIONAL = re.compile(r"\[([^]]*)\]")


@dataclass
class Text:
    """`claims` are the meanings in it: (identity, {slot: value})."""

    text: str
    claims: list


@dataclass
class Meaning:
    """`says` are phrasings of one sentence. Each list in `asks` holds phrasings of one question that the sentence answers.
    `draw(source)` gives the values of all slots; `is_tied`: they belong together, as a country and its capital do. A phrasing in small
    letters is an order, without "please" and full stop."""

    identity: str
    says: list
    asks: list = field(default_factory=list)
    draw: object = lambda source: {}
    is_tied: bool = False

    def learned(self, source, phrasings):
        """The phrasings on the source's side of the split."""
        return [phrase for phrase in phrasings if source.ours("phrasing", self.identity, phrase)]


def slots_of(phrase):
    return set(SLOT.findall(phrase))


def optional_variants(phrase):
    """The phrase with and without the parts in brackets."""
    return sorted({OPTIONAL.sub("", phrase), OPTIONAL.sub(r"\1", phrase)})


def parse_meaning(block):
    """A block of lines: `IDENTITY: SLOT KIND, ...`, `say PHRASING | ...`, and `ask PHRASING | ...` for each question."""
    head, *lines = block.strip().splitlines()
    identity, _, slots = head.partition(": ")
    makers = dict(slot.split() for slot in slots.split(", "))
    meaning = Meaning(identity, [], draw=lambda source: kinds.values(source, makers))
    for line in lines:
        keyword, _, rest = line.partition(" ")
        if keyword == "say":
            meaning.says += rest.split(" | ")
        else:
            meaning.asks.append(rest.split(" | "))
    return meaning


def read_catalogue():
    return [parse_meaning(block) for block in CATALOGUE.read_text().split("\n\n") if block.strip()]


def beginning(text):
    return text[0].upper() + text[1:]


def filled(source, phrase, values):
    """The phrase as a sentence: with its values, and an order in polite or plain dress."""
    text = ARTICLE.sub(r"\1n ", SLOT.sub(lambda match: str(values[match[1]]), phrase))
    if not phrase[0].islower() or phrase[-1] in ".?!":
        return beginning(text)
    if source.chance(0.4):
        dress = source.pick(POLITE)
        return dress.format(text) if not dress.startswith("{") else dress.format(beginning(text))
    return beginning(text) + ("." if source.chance(0.8) else "")


def text_of(source, meaning, phrase, values):
    return Text(filled(source, phrase, values), [(meaning.identity, {slot: values[slot] for slot in slots_of(phrase)})])


def agree(one, other):
    """Whether the texts share a meaning, so that neither is a wrong answer to the other: a claim of one identity, and no slot of
    both with different values."""
    return any(identity == other_identity and all(values[slot] == other_values[slot] for slot in values.keys() & other_values.keys())
               for identity, values in one.claims for other_identity, other_values in other.claims)  # fmt: skip


def values_of(source, meaning, like=None):
    """Values of the slots, in a combination on the source's side; None if none was found soon. A meaning without slots has one
    combination, which both sides use. With `like`, other values: they differ in one slot if they may."""
    for _ in range(ATTEMPTS):
        values = meaning.draw(source)
        if like and not meaning.is_tied:
            slot = source.pick(sorted(like))
            values = {**like, slot: values[slot]}
        if not values or source.ours("meaning", meaning.identity, *sorted(values.items())):
            return values
    return None
