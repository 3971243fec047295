"""Requests in words: a tool's phrasing with values, and the call that it asks for."""

import re
from dataclasses import dataclass

from corpus.tools.definition import Phrasing

POLITE = ["Please {}.", "Can you {}?", "Could you {}?", "Could you please {}?", "I want you to {}.", "I would like you to {}.",
          "Would you {}?", "{}, please.", "You have to {}.", "I need you to {}."]
BEFORE_TEXT = ["Please {}", "Can you {}", "Could you {}", "I want you to {}"]
GREETINGS = ["Hello! ", "Hi! ", "Hey! ", "Good morning! ", "One more thing. ", "All right. ", "Thanks. "]
SHORT = {"What is ": "What's ", "How is ": "How's ", "Where is ": "Where's ", "I would ": "I'd ", "I am ": "I'm ", "Do not ": "Don't "}
# What would be wrong English with several values in the place of one.
SINGULAR = re.compile(r"\} (is|has|hangs|should|owes)\b|\bdoes\b|^Is (the|\{)|called|[Mm]achine|[Ss]erver|printer|table")


@dataclass
class Request:
    """`text` asks for `calls` (name and arguments each). `values` are the texts of the first call's arguments by the keys of its
    purpose. `bare` is an order without "please", or a question, to be joined with others. `open_end`: it ends with unquoted text."""

    text: str
    calls: list
    tools: list
    values: list
    bare: str
    phrasing: Phrasing
    open_end: bool = False


def quoted(source, text):
    if '"' in text or ("'" not in text and source.chance(0.5)):
        return f"'{text}'"
    return f'"{text}"'


class Writer:
    """Fills a phrasing's slots. What it says is in `values`: key -> (text, argument)."""

    def __init__(self, source, tool, listed):
        self.source, self.values, self.listed = source, {}, listed
        self.parameters = {parameter.key: parameter for _, parameter in tool.parameters}
        self.open_end = False

    def write(self, parts, last=True):
        out = []
        for index, part in enumerate(parts):
            if isinstance(part, str):
                out.append(part)
            elif isinstance(part, list):
                key = next(inner[0] for inner in part if isinstance(inner, tuple))
                if key in self.parameters and self.source.chance(0.65):
                    out.append(self.write(part, last and index == len(parts) - 1))
            else:
                after_colon = bool(out) and out[-1].endswith(": ")
                out.append(self.slot(part[0], after_colon and last and index == len(parts) - 1))
        return "".join(out)

    def slot(self, key, may_be_bare):
        parameter = self.parameters[key]
        if self.listed and parameter.listable:
            several = {}
            while len(several) < self.listed:
                text, argument = parameter.value.draw(self.source)
                several[text] = argument
            self.values[key] = list(several.items())
            texts = list(several)
            return ", ".join(texts[:-1]) + " and " + texts[-1]
        while True:
            text, argument = parameter.value.draw(self.source)
            if all(argument != other[1] for other in self.values.values()):
                break
        self.values[key] = (text, argument)
        if not parameter.value.quoted:
            return text
        if may_be_bare and self.source.chance(0.6):
            self.open_end = True
            return text
        return quoted(self.source, text)


def polite(source, bare, phrasing, open_end):
    """A whole sentence of `bare`."""
    if phrasing.order:
        if open_end:
            text = source.pick(BEFORE_TEXT).format(bare) if source.chance(0.4) else bare[0].upper() + bare[1:]
        elif source.chance(0.5):
            text = source.pick(POLITE)
            text = text.format(bare if not text.startswith("{") else bare[0].upper() + bare[1:])
        else:
            text = bare[0].upper() + bare[1:] + ("." if source.chance(0.8) else "")
    else:
        text = bare
    for long, short in SHORT.items():
        if text.startswith(long) and source.chance(0.15):
            text = short + text[len(long):]
    chance = source.random.random()
    if chance < 0.04:
        return source.pick(GREETINGS) + text
    if chance < 0.1 and isinstance(phrasing.parts[0], str) and not open_end and not text.startswith(("I ", "I'")):
        return text[0].lower() + text[1:].rstrip(".?")
    return text


def may_list(tool, phrasing):
    """Whether a request may name several values of exactly one parameter."""
    if SINGULAR.search(phrasing.skeleton):
        return False
    listable = [parameter.key for _, parameter in tool.parameters if parameter.listable]
    return len(listable) == 1 and (listable[0],) in phrasing.parts


def fill(source, tool, phrasing, listed=0):
    """A request for `tool`; with `listed`, for as many values of its listable parameter."""
    writer = Writer(source, tool, listed)
    bare = writer.write(phrasing.parts)
    calls = []
    for index in range(listed or 1):
        arguments = {}
        for name, parameter in tool.parameters:
            value = writer.values.get(parameter.key)
            if value is not None:
                arguments[name] = value[index][1] if isinstance(value, list) else value[1]
        calls.append({"name": tool.name, "arguments": arguments})
    return Request(polite(source, bare, phrasing, writer.open_end), calls, [tool] * len(calls),
                   [{key: value[index] if isinstance(value, list) else value for key, value in writer.values.items()}
                    for index in range(len(calls))], bare, phrasing, writer.open_end)


def on_our_side(source, request):
    """The split is over what is asked for, its first value and the words of the request."""
    main = next(iter(request.values[0].values()), ("", ""))[0]
    return source.ours(request.tools[0].purpose.identity, main, request.phrasing.skeleton)


def request_for(source, tool, attempts=12):
    """A request for `tool` on our side of the split, or None where none was found soon."""
    for _ in range(attempts):
        phrasings = tool.purpose.phrasings
        if len(tool.parameters) < len(tool.purpose.parameters):
            declared = {parameter.key for _, parameter in tool.parameters}
            phrasings = [phrasing for phrasing in phrasings
                         if all(part[0] in declared for part in phrasing.parts if isinstance(part, tuple))]
        request = fill(source, tool, source.pick(phrasings))
        if on_our_side(source, request):
            return request
    return None
