"""Pairs of texts that mean the same, for the embedder: paraphrases, questions with the sentences that answer them, texts with their
keywords, and passages. Held out are combinations of a meaning and its values, and one phrasing in ten."""

from corpus import words

from . import known
from .meaning import Text, agree, read_catalogue, slots_of, text_of, values_of

CATALOGUE = read_catalogue()
KNOWN = [*known.tables(), *known.told(), *known.skills()]
TOOLS = list(known.tools())
GROUPS = [(CATALOGUE, 0.5), (KNOWN, 0.2), (TOOLS, 0.3)]
SAYABLE = CATALOGUE + KNOWN
LITTLE = set("a an the is are was in on at of to for from and or it i we you they that this with by has have be will not no".split())
RELATIVES = 4
ATTEMPTS = 8  # to find two phrasings with the same slots


def a_meaning(source):
    place = source.random.random()
    for group, share in GROUPS:
        place -= share
        if place < 0:
            return source.pick(group)
    return source.pick(GROUPS[0][0])


def two_phrasings(source, meaning, phrasings):
    """Two phrasings with the same slots: both learned in training; when held out, one that is in no training text and any other.
    None if there are none."""
    ours = meaning.learned(source, phrasings)
    others = phrasings if source.held_out else ours
    for _ in range(ATTEMPTS if ours and len(others) > 1 else 0):
        one, other = source.pick(ours), source.pick(others)
        if one != other and slots_of(one) == slots_of(other):
            return source.some((one, other), 2)
    return None


def paraphrases_of(source, meaning, like=None):
    """Two ways to say or to ask the same, and their values; None if there are none. `like`: see values_of()."""
    phrases = two_phrasings(source, meaning, source.pick([meaning.says, meaning.says, *meaning.asks]))
    values = values_of(source, meaning, like)
    if not phrases or values is None:
        return None
    return tuple(text_of(source, meaning, phrase, values) for phrase in phrases), values


def paraphrase(source):
    while True:
        found = paraphrases_of(source, a_meaning(source))
        if found:
            return found[0]


def relatives(source):
    """Pairs of one meaning whose values differ little, so that numbers and names have to be read."""
    meaning = a_meaning(source)
    first = paraphrases_of(source, meaning)
    others = [paraphrases_of(source, meaning, first[1]) for _ in range(RELATIVES - 1)] if first and first[1] else []
    return [found[0] for found in (first, *others) if found]


def answered(source):
    """A question, and a sentence that answers it; when held out, the question's phrasing is in no training text."""
    while True:
        meaning = source.pick(SAYABLE)
        if not meaning.asks:
            continue
        asks = meaning.learned(source, source.pick(meaning.asks))
        says = meaning.says if source.held_out else meaning.learned(source, meaning.says)
        values = values_of(source, meaning)
        if asks and says and values is not None:
            return text_of(source, meaning, source.pick(asks), values), text_of(source, meaning, source.pick(says), values)


def composed(source):
    """A sentence of listed and invented words."""
    noun = lambda: words.invented(source) if source.chance(0.3) else words.thing(source)  # noqa: E731
    verb = source.pick(words.VERBS)
    forms = [f"The {noun()} and the {noun()} {verb} near the {noun()}.", f"{words.name(source)} will {verb} the {noun()} in {words.city(source)}.",
             f"We {verb} with a {noun()} and {source.number(2, 99)} {noun()}s.", f"{noun()} {verb} {noun()} {source.pick(words.ADJECTIVES)}",
             f"In {words.city(source)} the {source.pick(words.JOBS)} and {words.name(source)} {verb} for {source.number(2, 99)} days."]  # fmt: skip
    return source.pick(forms)


def keywords(source):
    """A sentence and some of its words in another order, as in a search."""
    text = composed(source) if source.chance(0.6) else paraphrase(source)[0].text
    found = [word for word in text.replace("?", " ").replace(".", " ").replace(",", " ").replace(":", " ").split() if word.lower() not in LITTLE]
    while True:
        kept = [word for word in found if source.chance(0.7)] or found
        source.random.shuffle(kept)
        if len(kept) > 1 or len(found) < 2:
            return Text(text, [(text, {})]), Text(" ".join(kept), [(text, {})])


def passage(source):
    """Two to four sentences, and a question that one of them answers or that sentence in other words."""
    query, told = answered(source) if source.chance(0.7) else paraphrase(source)
    texts = [told]
    for _ in range(source.number(1, 3)):
        other = source.pick([answered, paraphrase])(source)[1]
        if not agree(other, query):
            texts.insert(source.number(0, len(texts)), other)
    joined = " ".join(text.text if text.text[-1] in ".?!" else text.text + "." for text in texts)
    return query, Text(joined, [claim for text in texts for claim in text.claims])


TASKS = [(paraphrase, 0.5), (answered, 0.25), (keywords, 0.1), (passage, 0.15)]


def typed(source, text):
    """As people type: now and then in small letters, or without the last full stop or question mark."""
    chance = source.random.random()
    if chance < 0.12:
        return Text(text.text.lower(), text.claims)
    if chance < 0.2 and text.text[-1] in ".?":
        return Text(text.text[:-1], text.claims)
    return text


def pairs(source, count):
    """Pairs to learn from together: a third of them come with relatives."""
    drawn = []
    while len(drawn) < count:
        if source.chance(0.12):
            drawn += relatives(source)
            continue
        place = source.random.random()
        for task, share in TASKS:
            place -= share
            if place < 0:
                break
        drawn.append(task(source))
    return [tuple(typed(source, text) for text in pair) for pair in drawn[:count]]


def apart(source, make, count):
    """`count` pairs of which no two share a meaning."""
    pairs = []
    while len(pairs) < count:
        drawn = make(source)
        if not any(agree(text, other) for text in drawn for pair in pairs for other in pair):
            pairs.append(drawn)
    return pairs
