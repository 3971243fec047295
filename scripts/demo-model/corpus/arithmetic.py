"""Sums and differences of numbers from 0 to 99, alone, as chains that are thought through, and as small stories."""

from .phrasing import loosely
from .source import Exchange, assistant, user
from .words import FRUIT, name

SUMS = ["What is {a} + {b}?", "What's {a} + {b}?", "{a} + {b}", "{a}+{b}", "{a} + {b} = ?", "{a} + {b} =", "What is {a} plus {b}?",
        "How much is {a} + {b}?", "How much is {a} plus {b}?", "Add {a} and {b}.", "Calculate {a} + {b}.", "Compute {a} + {b}.",
        "What is the sum of {a} and {b}?", "What do you get if you add {a} and {b}?", "What is {a}+{b}?", "Solve {a} + {b}.",
        "{a} plus {b}?", "What does {a} + {b} equal?", "Sum {a} and {b}."]  # fmt: skip
DIFFERENCES = ["What is {a} - {b}?", "What's {a} - {b}?", "{a} - {b}", "{a}-{b}", "{a} - {b} = ?", "{a} - {b} =", "What is {a} minus {b}?",
               "How much is {a} - {b}?", "How much is {a} minus {b}?", "Subtract {b} from {a}.", "Calculate {a} - {b}.",
               "Compute {a} - {b}.", "What do you get if you take {b} from {a}?", "What is {a}-{b}?", "Solve {a} - {b}.",
               "{a} minus {b}?", "What does {a} - {b} equal?", "Take {b} away from {a}."]  # fmt: skip
CHAINS = ["What is {chain}?", "{chain}", "{chain} = ?", "Calculate {chain}.", "How much is {chain}?", "Compute {chain}.",
          "What does {chain} equal?", "Work out {chain}.", "What's {chain}?", "Solve {chain}."]  # fmt: skip
THINK = ["Think first. ", "Think step by step. ", "Please think first. ", "Think before you answer. "]


def learned(source, operator, a, b):
    """Sums are split without regard to order: 34 + 58 held out means that 58 + 34 was not seen either."""
    return source.ours("arithmetic", operator, *(sorted((a, b)) if operator == "+" else (a, b)))


def pair(source, operator):
    high = 99
    while True:
        a, b = source.number(0, high), source.number(0, high)
        if operator == "-" and b > a and source.chance(0.8):
            a, b = b, a
        if learned(source, operator, a, b):
            return a, b


def result(operator, a, b):
    return a + b if operator == "+" else a - b


def arithmetic(source):
    operator = "+" if source.chance(0.55) else "-"
    a, b = pair(source, operator)
    question = source.pick(SUMS if operator == "+" else DIFFERENCES).format(a=a, b=b)
    answer = str(result(operator, a, b))
    return Exchange([user(loosely(source, question)), assistant(answer)], {"equal": answer})


def chain_of(source, length):
    """Numbers and operators whose running results stay within 0..99, and the lines that work them out. In training every step is
    a learned pair; a held-out chain begins with a held-out one."""
    while True:
        operator = "+" if source.chance(0.5) else "-"
        total, b = pair(source, operator)
        text, lines = f"{total} {operator} {b}", [f"{total} {operator} {b} = {result(operator, total, b)}"]
        total = result(operator, total, b)
        while 0 <= total <= 99 and len(lines) < length:
            operator, b = ("+" if source.chance(0.5) else "-"), source.number(0, 60)
            if not 0 <= result(operator, total, b) <= 99 or (not source.held_out and not learned(source, operator, total, b)):
                continue
            text += f" {operator} {b}"
            lines.append(f"{total} {operator} {b} = {result(operator, total, b)}")
            total = result(operator, total, b)
        if 0 <= total <= 99:
            return text, lines, str(total)


def thinking(source):
    """Asked to think by the template's flag or by the user's words."""
    if source.chance(0.25):
        question, lines, answer = word_problem(source)
    else:
        text, lines, answer = chain_of(source, source.number(2, 4))
        question = source.pick(CHAINS).format(chain=text)
    asked = source.chance(0.3)
    if asked:
        question = source.pick(THINK) + question
    return Exchange([user(loosely(source, question)), assistant(answer, "\n".join(lines))],
                    {"equal": answer, "thinking": lines}, thinking=not asked)


def word_problem(source):
    who, what = name(source), source.pick(FRUIT)
    text, lines, answer = chain_of(source, 2)
    parts = text.split(" ")
    first = "buys" if parts[1] == "+" else source.pick(["eats", "sells", "gives away"])
    second = "finds" if parts[3] == "+" else source.pick(["loses", "sells", "gives away"])
    return (f"{who} has {parts[0]} {what}, {first} {parts[2]} and {second} {parts[4]}. How many {what} does {who} have now?",
            lines, answer)
