"""What a tool does (Purpose), as read from the catalogue, and a tool as it is offered (Tool): with one name, one description."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from corpus import words
from corpus.tools import values

CATALOGUE = Path(__file__).with_name("catalogue")
DISGUISED = 0.06  # share of tools whose name or description says nothing
VAGUE = ["A tool.", "", "Use this.", "A useful function.", "Does what its name says.", "See the name.", "Helper function."]


class Value:
    """A kind of value: `draw(source)` gives its text in the request and the argument."""

    def __init__(self, text):
        """`text` is a kind in values.STRINGS, `number LOW HIGH`, `decimal`, `choice A B` or `boolean YES / NO`."""
        self.kind, _, rest = text.partition(" ")
        self.quoted = self.kind in values.QUOTED
        self.options = None
        if self.kind == "number":
            self.low, self.high = map(int, rest.split())
            self.schema = {"type": "integer"}
        elif self.kind == "decimal":
            self.schema = {"type": "number"}
        elif self.kind == "boolean":
            self.options = list(zip(rest.split(" / "), (True, False)))
            self.schema = {"type": "boolean"}
        elif self.kind == "choice":
            self.options = [(word, word) for word in rest.split()]
            self.schema = {"type": "string", "enum": rest.split()}
        else:
            self.make = values.STRINGS[self.kind]
            self.schema = {"type": "string"}

    def draw(self, source):
        if self.options:
            return source.pick(self.options)
        if self.kind == "number":
            number = source.number(self.low, self.high)
            return str(number), number
        if self.kind == "decimal":
            number = values.decimal(source)
            return str(number), number
        text = self.make(source)
        return text, text


@dataclass
class Parameter:
    """`listable`: a request may name several of it ("in Oslo and Lima")."""

    key: str
    value: Value
    names: list
    optional: bool = False
    listable: bool = False


@dataclass
class Phrasing:
    """A request with slots. `parts` are texts, keys of parameters as (key,), and lists of parts that are said only where the
    parameter in them is declared and wanted. An order ("send ...") starts with a small letter and has no full stop."""

    skeleton: str
    parts: list
    order: bool


@dataclass
class Purpose:
    identity: str
    names: list
    descriptions: list
    parameters: list
    phrasings: list
    gives: list = field(default_factory=list)  # of the result: (key, Value)
    sentence: str = ""  # says the result
    unlike: set = field(default_factory=set)  # what it must not be offered with: identities or their words
    general: bool = False  # might serve nearly any request: web search, calculator
    verb: object = None  # of one composed of verb and object; and its object
    noun: str = ""


@dataclass
class Tool:
    """`parameters` are those declared, as (declared name, Parameter). `definition` is shaped as in OpenAI's API."""

    purpose: Purpose
    name: str
    parameters: list
    definition: dict


def parse_phrasing(text):
    parts = []
    for piece in re.split(r"(\[[^]]*\]|\{\w+\})", text):
        if piece.startswith("["):
            parts.append(parse_phrasing(piece[1:-1]).parts)
        elif piece.startswith("{"):
            parts.append((piece[1:-1],))
        elif piece:
            parts.append(piece)
    return Phrasing(text, parts, text[0].islower())


def parse_parameter(line):
    head, _, names = line.rpartition(":")
    key, _, value = head.partition(" ")
    return Parameter(key.rstrip("?*"), Value(value), names.split(), "?" in key, "*" in key)


def parse_purpose(block):
    """A block of lines: `IDENTITY: names`, then `about`, `ask`, `gives KEY VALUE, ... => SENTENCE`, `unlike`, `general`, and
    parameters as `KEY VALUE: names` (KEY? is optional, KEY* can be listed). See README.md in the catalogue."""
    lines = block.strip().splitlines()
    identity, _, names = lines[0].partition(":")
    purpose = Purpose(identity, names.split(), [], [], [])
    for line in lines[1:]:
        keyword, _, rest = line.partition(" ")
        if keyword == "about":
            purpose.descriptions += rest.split(" | ")
        elif keyword == "ask":
            purpose.phrasings += [parse_phrasing(text) for text in rest.split(" | ")]
        elif keyword == "gives":
            members, _, purpose.sentence = rest.partition(" => ")
            for member in members.split(", "):
                key, _, value = member.partition(" ")
                purpose.gives.append((key, Value(value)))
        elif keyword == "unlike":
            purpose.unlike = set(rest.split())
        elif keyword == "general":
            purpose.general = True
        else:
            purpose.parameters.append(parse_parameter(line))
    return purpose


def read_catalogue(*names):
    blocks = [block for name in names for block in (CATALOGUE / f"{name}.txt").read_text().split("\n\n") if block.strip()]
    return [parse_purpose(block) for block in blocks]


def clash(one, other):
    """Whether a request for one might be served by the other."""
    if one.identity == other.identity or one.identity in other.unlike or other.identity in one.unlike:
        return True
    return not one.unlike.isdisjoint(other.identity.split("_")) or not other.unlike.isdisjoint(one.identity.split("_"))


def offer(source, purpose, disguise=DISGUISED):
    """`purpose` as a tool. With the probability `disguise` its name is invented or its description says nothing, so that both
    have to be read."""
    name, description = source.pick(purpose.names), source.pick(purpose.descriptions)
    if source.chance(disguise):
        if source.chance(0.6):
            name = words.invented(source, 2) if source.chance(0.5) else f"{words.invented(source)}_{words.invented(source)}"
        else:
            description = source.pick(VAGUE)
    if description and source.chance(0.5):
        description = description.rstrip(".") if source.chance(0.5) else description.rstrip(".") + "."
    declared = [(source.pick(parameter.names), parameter) for parameter in purpose.parameters
                if not parameter.optional or source.chance(0.6)]
    properties = {declared_name: parameter.value.schema for declared_name, parameter in declared}
    required = [declared_name for declared_name, parameter in declared if not parameter.optional]
    schema = {"type": "object", "properties": properties, "required": required}
    function = {"name": name, "description": description, "parameters": schema}
    return Tool(purpose, name, declared, {"type": "function", "function": function})
