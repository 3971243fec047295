"""JSON made from a sentence."""

import json

from .source import Exchange, assistant, user
from .words import COLOURS, FOODS, HOBBIES, JOBS, PETS, city, name

# A member's value and how a sentence tells it; "who" comes first.
MEMBERS = {
    "age": (lambda s: s.number(2, 99), ["is {x} years old", "is {x}", "is {x} years of age", "turned {x}"]),
    "city": (city, ["lives in {x}", "comes from {x}", "is from {x}", "has a house in {x}"]),
    "job": (lambda s: s.pick(JOBS), ["works as a {x}", "is a {x}"]),
    "colour": (lambda s: s.pick(COLOURS), ["likes {x} best", "likes the colour {x}", "loves the colour {x}"]),
    "food": (lambda s: s.pick(FOODS), ["likes to eat {x}", "loves {x}", "eats {x}"]),
    "hobby": (lambda s: s.pick(HOBBIES), ["enjoys {x}", "has the hobby {x}", "likes {x}"]),
    "pet": (lambda s: s.pick(PETS), ["has a {x}", "owns a {x}", "lives with a {x}"]),
    "children": (lambda s: s.number(0, 9), ["has {x} children"]),
}
REQUESTS = ["Give me JSON with {m}: {s}", "Make JSON with {m}: {s}", "Return JSON with {m}: {s}", "Write JSON with {m}: {s}", "{s} Give me {m} as JSON.", "{s} Write {m} as JSON.",
            "Extract {m} as JSON: {s}", "Extract {m} as JSON from this sentence: {s}", "{s} Return JSON with {m}.", "{s} Answer as JSON with {m}.", "As JSON with {m}: {s}",
            "{s} Put {m} into JSON.", "Turn this into JSON with {m}: {s}", "Reply in JSON with the keys {m}. {s}", "Find {m} and answer in JSON: {s}",
            "{s} JSON with {m}, please.", "Extract {m} from the text and answer in JSON. {s}", "JSON with keys {m}: {s}", "{s} Make a JSON object with {m}."]  # fmt: skip


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def sentence(who, parts):
    return f"{who} {listed(parts)}."


def extraction(source):
    """Name and one to three members; the request may leave out or reorder what the sentence tells."""
    def make():
        kinds = ["age"] if source.chance(0.35) else source.some(list(MEMBERS), source.number(1, 3))
        return source.pick(REQUESTS), name(source), [(kind, MEMBERS[kind][0](source), source.pick(MEMBERS[kind][1])) for kind in kinds]

    request, who, members = source.draw(make)
    said = sentence(who, [phrase.format(x=value) for _, value, phrase in members])
    if len(members) == 1 and members[0][0] == "age" and source.chance(0.3):
        said = source.pick(["{n}, {x} years old, is here.", "{n} ({x}) is my friend.", "My friend {n} is {x} years old.", "This is {n}, aged {x}.", "{n} is {x} years old and happy."]).format(n=who, x=members[0][1])
    value = {"name": who, **{kind: told for kind, told, _ in members}}
    keys = list(value)
    if source.chance(0.2):
        keys = source.some(keys, source.number(1, len(keys)))
    value = {key: value[key] for key in keys}
    answer = json.dumps(value, ensure_ascii=False)
    asked = listed(keys) if source.chance(0.85) else ", ".join(keys)
    return Exchange([user(request.format(m=asked, s=said)), assistant(answer)], {"json": value})
