"""Counting and copying."""

from .phrasing import command
from .source import Exchange, assistant, user
from .words import ADJECTIVES, NOUNS, VERBS, city, invented, name, thing

COUNT_TO = ["Count to {b}.", "Count up to {b}.", "Count from 1 to {b}.", "Count until {b}.", "Count from one to {b}.", "List the numbers from 1 to {b}.",
            "Write the numbers 1 to {b}.", "Count 1 to {b}.", "Start at 1 and count to {b}."]  # fmt: skip
COUNT_FROM = ["Count from {a} to {b}.", "Count up from {a} to {b}.", "List the numbers from {a} to {b}.", "Write the numbers {a} to {b}.",
              "Start at {a} and count to {b}."]  # fmt: skip
COUNT_DOWN = ["Count down from {a}.", "Count down from {a} to 1.", "Count backwards from {a}.", "Count from {a} down to 1."]
COPY = ["Reply with: {text}", "Repeat: {text}", "Say: {text}", "Repeat after me: {text}", "Write: {text}", "Write exactly: {text}", "Echo: {text}",
        "Reply with exactly: {text}", "Answer with: {text}", "Reply only with: {text}", "Print: {text}", "Repeat exactly: {text}",
        "Copy this: {text}", "Say exactly this: {text}", "Repeat the following: {text}", 'Say "{text}".', 'Repeat "{text}".',
        'Reply with "{text}".', 'Write "{text}".', "Say '{text}'.", "Reply with '{text}'.", "Say {text}.", "Just say {text}.",
        "Please repeat: {text}", "Please say: {text}", "Say the words: {text}", "Type: {text}", 'Repeat after me: "{text}"',
        "Respond with: {text}", "Output: {text}", "Return exactly: {text}", "Respond with exactly: {text}"]  # fmt: skip


def counting(source):
    def make():
        kind = source.pick("ttttfd")
        if kind == "t":
            return source.pick(COUNT_TO), 1, source.number(1, 30) if source.chance(0.4) else source.number(2, 12)
        if kind == "f":
            a = source.number(0, 60)
            return source.pick(COUNT_FROM), a, a + source.number(1, 12)
        return source.pick(COUNT_DOWN), source.number(2, 15), 1

    phrase, a, b = source.draw(make)
    step = 1 if a <= b else -1
    answer = ", ".join(str(number) for number in range(a, b + step, step))
    return Exchange([user(command(source, phrase.format(a=a, b=b)))] + [assistant(answer)], {"equal": answer})


def text_to_copy(source):
    kind = source.number(0, 9)
    if kind <= 2:
        return thing(source)
    if kind == 3:
        return " ".join(source.pick(NOUNS + ADJECTIVES + VERBS) for _ in range(source.number(1, 6)))
    if kind == 4:
        return f"{name(source)} {source.pick(['likes', 'sees', 'has', 'wants', 'finds'])} the {thing(source)}"
    if kind == 5:
        return " ".join(invented(source) for _ in range(source.number(1, 4)))
    if kind == 6:
        return f"{source.pick(['I', 'We', 'They', 'You'])} {source.pick(VERBS)} in {city(source)}"
    if kind == 7:
        return source.pick([str(source.number(0, 9999)), f"{source.pick(NOUNS)} {source.number(0, 99)}", f"{invented(source, 1)}-{source.number(1, 99)}",
                            f"{thing(source)}, {thing(source)}"])  # fmt: skip
    if kind == 8:
        return thing(source).upper() if source.chance(0.5) else thing(source).title()
    return f"The {thing(source)} and the {thing(source)}"


def copying(source):
    phrase, text = source.draw(lambda: (source.pick(COPY), text_to_copy(source)))
    return Exchange([user(phrase.format(text=text)), assistant(text)], {"equal": text})
