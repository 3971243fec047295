"""What tools give back, and how it is said. Results whose tool is known have a sentence of their own; all others one rule."""

import json

from corpus import words
from corpus.tools import values
from corpus.tools.definition import Value

NUMBER_KEYS = """count price total amount level score id age size weight height distance speed rank code number duration balance temperature
percentage year version limit length width page queue_position""".split()
PLURAL_KEYS = "points pages steps visitors minutes seconds results errors members orders days seats".split()
TEXT_KEYS = """status state name owner city title colour category message answer address place mode author language kind team winner
next_step last_visitor main_colour product country level_name contact""".split()
LIST_KEYS = "names items results cities colours members tags files winners options guests answers days stations".split()
ADJECTIVE_KEYS = "available open locked online active valid paid full empty ready enabled sent saved visible finished free broken".split()
SUCCESS_KEYS = ["success", "ok", "worked"]
STATUSES = "sent done queued failed saved ok ready pending open closed accepted started finished cancelled delivered confirmed".split()
ERRORS = """permission denied|no connection|timeout|invalid date|unknown name|not enough money|service unavailable|too many requests
|value out of range|missing parameter|access refused|disk full|wrong password|internal error|not supported
|try again later""".replace(
    "\n", "").split("|")
TEXTS = [Value(kind) for kind in "word word person city code day time thing colour label brand file".split()]


def joined(texts):
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def clause(key, value):
    """One member of a result in words, and what must be found in them."""
    name = key.replace("_", " ")
    if value is True or value is False:
        if key in SUCCESS_KEYS:
            text = "it worked" if value else "it did not work"
            return text, [text.removeprefix("it ")]
        text = f"is {name}" if value else f"is not {name}"
        return f"it {text}", [text]
    if value is None:
        return f"the {name} is not known", [f"{name} is not known"]
    if isinstance(value, list):
        texts = [as_text(member) for member in value]
        if not texts:
            return f"there are no {name}", [f"no {name}"]
        return f"the {name} are {joined(texts)}", texts
    verb = "are" if name.endswith("s") and not name.endswith(("us", "ss")) else "is"
    return f"the {name} {verb} {as_text(value)}", [as_text(value)]


def sentence(value):
    """Any result in words, without a capital and full stop, and what must be found in them."""
    if isinstance(value, dict):
        if "error" in value:
            return f"the tool reported an error: {value['error']}", [value["error"]]
        clauses = [clause(key, member) for key, member in value.items()]
        return joined([text for text, _ in clauses]), [needed for _, all_needed in clauses for needed in all_needed]
    if isinstance(value, list):
        return clause("results", value)
    if isinstance(value, str) and value.endswith("."):
        return value[:-1], [value[:-1]]
    return f"the result is {as_text(value)}", [as_text(value)]


def text_value(source):
    return source.pick(TEXTS).draw(source)[0]


def number_value(source):
    return values.decimal(source) if source.chance(0.2) else source.number(0, source.pick((9, 99, 999, 99999)))


def error(source):
    shape = source.random.random()
    if shape < 0.5:
        text = source.pick(ERRORS)
    elif shape < 0.8:
        text = f"{source.pick(words.NOUNS)} not found"
    else:
        text = f"the {source.pick(words.NOUNS)} is {source.pick(words.ADJECTIVES)}"
    return {"error": text}


def several(source, make, count):
    """`count` different texts of one kind."""
    texts = {}
    while len(texts) < count:
        texts[make.draw(source)[0]] = None
    return list(texts)


def member(source):
    """A key and a value of any kind."""
    shape = source.random.random()
    if shape < 0.3:
        return source.pick(NUMBER_KEYS), number_value(source)
    if shape < 0.36:
        return source.pick(PLURAL_KEYS), source.number(2, 9999)
    if shape < 0.5:
        return "status", source.pick(STATUSES)
    if shape < 0.68:
        return source.pick(TEXT_KEYS[1:]), text_value(source)
    if shape < 0.78:
        return source.pick(ADJECTIVE_KEYS), source.chance(0.5)
    if shape < 0.8:
        return source.pick(SUCCESS_KEYS), source.chance(0.6)
    if shape < 0.84:
        make = source.pick(TEXTS)
        return source.pick(LIST_KEYS), several(source, make, source.number(2, 4))
    noun = source.pick(words.NOUNS)
    key = source.pick((words.invented(source), noun, f"{source.pick(words.ADJECTIVES)}_{noun}", f"{noun}_{words.invented(source)}"))
    return key, None if source.chance(0.05) else number_value(source) if source.chance(0.5) else text_value(source)


def any_value(source):
    """The result of a tool of which nothing is known."""
    shape = source.random.random()
    if shape < 0.64:
        return dict(member(source) for _ in range(source.pick((1, 1, 2, 2, 2, 3))))
    if shape < 0.72:
        return error(source)
    if shape < 0.8:
        return source.number(0, 9999)
    if shape < 0.87:
        return text_value(source)
    if shape < 0.92:
        return f"The {words.thing(source)} {source.pick(('is', 'was', 'is not'))} {source.pick(ADJECTIVE_KEYS)}."
    make = source.pick(TEXTS)
    return several(source, make, source.pick((0, 2, 2, 3, 3, 4)))


def written(source, value):
    """JSON as programs write it: most of them without spaces."""
    return json.dumps(value, separators=(",", ":") if source.chance(0.6) else None)


def result(source, request, index, prefixed):
    """What the call `index` of `request` gives: the tool message's content, the answer's sentence, what must be in it.
    With `prefixed`, for calls that differ in one value, the sentence says for which it is, where the tool's own does not."""
    purpose = request.tools[index].purpose
    if purpose.gives and not source.chance(0.08):
        given = {key: value.draw(source) for key, value in purpose.gives}
        content = written(source, {key: argument for key, (_, argument) in given.items()})
        texts = {key: text for key, (text, _) in {**request.values[index], **given}.items()}
        return content, purpose.sentence.format(**texts), [text for text, _ in given.values()]
    value = error(source) if purpose.gives else any_value(source)
    text, needed = sentence(value)
    content = value if isinstance(value, str) else written(source, value)
    if prefixed:
        before = request.values[index - 1]
        main = next(said[0] for key, said in request.values[index].items() if said != before[key])
        if text.startswith("The "):
            text, needed = "the " + text[4:], [text[4:]]
        return content, f"For {main}, {text}.", [*needed, main]
    return content, text[0].upper() + text[1:] + ".", needed
