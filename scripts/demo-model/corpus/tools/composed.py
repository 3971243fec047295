"""Tools composed of verb, object and parameters, so that any tool can be understood, not only those of the catalogue."""

import re

from corpus import words
from corpus.tools import composed_values, vocabulary
from corpus.tools.definition import Parameter, Phrasing, Purpose, Value

# Ways to say any parameter by its name.
NAMED = ["with {label} {}", "with the {label} {}", ", {label} {}", "({label}: {})", "where the {label} is {}",
         "using {} as {label}", ", {label} = {}", "and set {label} to {}"]
NAMED_PAIRS = ["with {label0} {0} and {label1} {1}", "with {label1} {1} and {label0} {0}", ", {label0} {0}, {label1} {1}",
               ", {label1} {1}, {label0} {0}", "({label0}: {0}, {label1}: {1})"]
LISTABLE = {"city", "room", "person", "code", "label", "word", "month", "colour", "language"}


def split_slots(text, keys):
    """`text` with {} or {0} for the first of `keys` and {1} for the second as parts."""
    return [(keys[int(piece[1:-1] or 0)],) if piece[0] == "{" else piece for piece in re.split(r"(\{[01]?\})", text) if piece]


class Verb:
    def __init__(self, line):
        self.family, names, descriptions, requests = (part.strip() for part in line.split(" | "))
        self.names = names.split()
        self.descriptions = descriptions.split(" ; ")
        self.requests = requests.split(" ; ")


class Role:
    """One parameter, or two that belong together: what is declared, and how requests say it."""

    def __init__(self, place, kinds, names, ways, about):
        self.place, self.names, self.ways, self.about = place, names, ways, about
        self.values = [Value(kind.strip()) for kind in kinds]

    @classmethod
    def single(cls, line):
        place, kind, names, ways, about = (part.strip() for part in line.split(" | "))
        return cls(place, [kind], [[name] for name in names.split()], ways.split(" ; "), about)

    @classmethod
    def pair(cls, line):
        kinds, names, ways = (part.strip() for part in line.split(" | "))
        kinds = kinds.split(" & ") if "&" in kinds else kinds.split()
        return cls("pair", kinds, [name.split() for name in names.split(" ; ")], ways.split(" ; "), "")


OPTIONS = [word for word in words.ADJECTIVES if word != "kind"]
VERBS = [Verb(line) for line in vocabulary.VERBS]
SINGLES = [Role.single(line) for line in vocabulary.PARAMETERS]
PAIRS = [Role.pair(line) for line in vocabulary.PAIRS]


def invented_verb(source):
    word = words.invented(source, 2)
    verb = Verb(f"{word} | {word} | {word.capitalize()} the {{o}} ; {word.capitalize()} some {{o}} | {word} the {{o}}")
    return verb


def choice_role(source):
    """A parameter with values of its own."""
    options = source.some(OPTIONS, source.number(2, 4))
    names = [[source.pick(("kind", "type", "mode", "style", "status", "category", "condition", "quality"))]]
    return Role("choice", [f"choice {' '.join(dict.fromkeys(options))}"], names, ["^"] if source.chance(0.4) else [], "")


def yes_or_no_role(source):
    things = vocabulary.plural(source.pick(words.NOUNS[:60]))
    if source.chance(0.7):
        kind, names = f"boolean with {things} / without {things}", [f"with_{things}", things, f"include_{things}", f"use_{things}"]
    else:
        kind, names = source.pick((("boolean quickly / without hurry", ["quick", "fast", "quickly"]),
                                   ("boolean with sound / without sound", ["sound", "play_sound", "with_sound"]),
                                   ("boolean in secret / for all to see", ["secret", "hidden", "in_secret"]),
                                   ("boolean with details / without details", ["details", "detailed", "with_details"])))
    return Role("boolean", [kind], [[name] for name in names], ["{}", ", {}"], "")


def named_role(source):
    """A parameter of any name."""
    noun = source.pick(words.NOUNS)
    label = words.invented(source, 2) if source.chance(0.1) else source.pick((noun, noun, f"{source.pick(words.ADJECTIVES)}_{noun}"))
    kind = source.pick(("word", "word", "thing", "code", "number 2 9999", "decimal", "person", "label"))
    return Role(f"named {label}", [kind], [[label]], [], "")


def roles(source):
    """The parameters of a tool, their places different."""
    count = source.pick((0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3))
    chosen, places = [], set()
    while len(chosen) < count:
        shape = source.random.random()
        if shape < 0.74 and not (chosen and chosen[0].place == "pair"):
            role = source.pick(SINGLES)
        elif shape < 0.8:
            role = choice_role(source)
        elif shape < 0.86:
            role = yes_or_no_role(source)
        elif shape < 0.9:
            role = named_role(source)
        elif shape >= 0.9 and not chosen:
            role = source.pick(PAIRS)
            count = min(count, 2)
        else:
            continue
        if role.place not in places and not (role.values[0].quoted and "text" in places):
            chosen.append(role)
            places.add(role.place)
    return chosen


def tool_name(source, verb, noun):
    """snake_case mostly."""
    word = source.pick(verb.names)
    thing = (noun if source.chance(0.4) else vocabulary.plural(noun)).replace(" ", "_")
    shape = source.random.random()
    if shape < 0.72:
        return f"{word}_{thing}"
    parts = f"{word}_{thing}".split("_")
    if shape < 0.87:
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    return f"{thing}_{word}" if shape < 0.95 else "-".join(parts) if shape < 0.98 else f"{thing}.{word}"


def said(source, role, declared):
    """How a request says a role: whether before the object, and its parts."""
    if len(declared) > 1:
        way = source.pick(role.ways if source.chance(0.7) else NAMED_PAIRS)
        for index, parameter in enumerate(declared):
            way = way.replace(f"{{label{index}}}", parameter.names[0].replace("_", " "))
    elif role.ways and source.chance(0.75):
        way = source.pick(role.ways)
        if way == "^":
            return True, [(declared[0].key,), " "], way
    elif declared[0].value.kind == "boolean":
        way = source.pick(role.ways)
    else:
        way = source.pick(NAMED).replace("{label}", declared[0].names[0].replace("_", " "))
    text = way if way.startswith(",") else " " + way
    return False, split_slots(text, [parameter.key for parameter in declared]), way


def phrasing(source, verb, objects, declared):
    """One request. `declared` are (role, its parameters)."""
    request = source.pick(verb.requests)
    before, after = [], []
    skeleton = [request]
    for role, parameters in source.some(declared, len(declared)) if len(declared) > 1 else declared:
        in_front, parts, way = said(source, role, parameters)
        skeleton.append(way)
        if in_front and before:
            in_front, parts = False, [" with ", (parameters[0].key,), " ", parameters[0].names[0].replace("_", " ")]
        if parameters[0].optional:
            parts = [parts]
        if in_front:
            before = parts
        elif parameters[0].value.kind == "task":
            after = after + parts  # it must stay last: nothing tells where it ends
        else:
            after = parts + after
    start, _, end = request.partition("{o}")
    order = request[0].islower()
    return Phrasing(" ".join(skeleton), [start, *before, objects + end, *after] + ([] if order else ["?"]), order)


def compose(source, verb=None, noun=None):
    """A new tool's purpose; `verb` and `noun` are given to come close to another tool."""
    shape = source.random.random()
    if verb is None and shape < 0.4:
        make = composed_values.lookup if shape < 0.2 else composed_values.action if shape < 0.34 else composed_values.change
        return make(source)
    if verb is None:
        verb = invented_verb(source) if source.chance(0.02) else source.pick(VERBS)
    if noun is None:
        noun = words.invented(source, 2) if source.chance(0.03) else source.pick(vocabulary.NOUNS)
    objects = vocabulary.plural(noun)
    declared = []
    used = set()
    for position, role in enumerate(roles(source)):
        optional = len(role.values) == 1 and source.chance(0.15 if position == 0 else 0.4)
        names = source.pick(role.names)
        if used.intersection(names):
            continue
        used.update(names)
        parameters = [Parameter(name, value, [name], optional, value.kind in LISTABLE and len(names) == 1 and not optional)
                      for name, value in zip(names, role.values)]
        declared.append((role, parameters))
    description = source.pick(verb.descriptions).format(o=objects)
    if declared and source.chance(0.6):
        role, parameters = declared[0]
        description += " " + role.about if role.about else " by " + " and ".join(p.names[0] for p in parameters).replace("_", " ")
    parameters = [parameter for _, group in declared for parameter in group]
    phrasings = [phrasing(source, verb, objects, declared) for _ in range(2)]
    identity = f"{verb.family}_{noun.replace(' ', '_')}"
    purpose = Purpose(identity, [tool_name(source, verb, noun)], [description], parameters, phrasings)
    purpose.unlike = set(noun.split())  # a tool of the catalogue may serve the same
    purpose.verb, purpose.noun = verb, noun
    return purpose
