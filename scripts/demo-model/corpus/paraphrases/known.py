"""Meanings whose words are those of demo's own skills: facts, what users tell, sums, stories, requests for tools."""

from corpus import arithmetic, facts, memory, plain, stories, talk
from corpus.tools import definition, requests

from .meaning import Meaning, optional_variants

TABLES = [
    ("capital", facts.CAPITALS, ["The capital of {x} is {y}.", "{y} is the capital of {x}.", "{x} has {y} as its capital.", "The government of {x} sits in {y}.", "{x}'s capital city is called {y}."],
     [facts.CAPITAL_QUESTIONS, [phrase.replace("{x}", "{y}") for phrase in facts.COUNTRY_QUESTIONS]]),
    ("colour_of_all", facts.COLOUR_OF, ["{x} is always {y}.", "The colour of {x} is always {y}.", "You see that {x} is {y}.", "{x} has the colour {y}.", "{y} is the usual colour of {x}."],
     [["What colour is {x}?", "What is the colour of {x}?", "Which colour has {x}?", "Tell me the colour of {x}.", "What color is {x}?"]]),
    ("opposite", facts.OPPOSITES, ["The opposite of {x} is {y}.", "{y} is the opposite of {x}.", "{x} and {y} are opposites.", "If something is not {x}, it may be {y}."],
     [["What is the opposite of {x}?", "Opposite of {x}?", "Name the opposite of {x}.", "Which word means the contrary of {x}?", "Tell me the opposite of {x}."]]),
    ("sound", facts.SOUNDS, ["A {x} {y}.", "When a {x} wants something, it {y}.", "You hear a {x} because it {y}.", "What {y} there is a {x}."],
     [["What sound does a {x} make?", "Which noise comes from a {x}?", "How does a {x} sound?", "What noise does a {x} make?", "What do you hear from a {x}?"]]),
    ("legs", facts.LEGS, ["{x} has {y} legs.", "There are {y} legs on {x}.", "The number of legs of {x}: {y}.", "{x} walks with {y} legs."],
     [["How many legs does {x} have?", "How many legs has {x}?", "{x}: how many legs?", "What number of legs does {x} have?", "With how many legs does {x} walk?"]]),
    ("month_days", facts.MONTH_DAYS, ["{x} has {y} days.", "There are {y} days in {x}.", "The month of {x} lasts {y} days.", "The length of {x} is {y} days."],
     [["How many days does {x} have?", "How many days are in {x}?", "How long is {x}?", "How many days are there in {x}?", "What is the number of days in {x}?"]]),
]  # fmt: skip
# The sayings that mean the same; others only have the same answer.
OF_ONE_MEANING = {"Hello!", "Good morning!", "Good evening!", "How are you?", "Thanks!", "Bye!", "What is etna?", "Tell me a joke."}
COUNT_DOWN = ["Count down from {a}.", "Count down from {a} to 1.", "Count backwards from {a}.", "Count from {a} down to 1.", "List the numbers from {a} to 1."]
ABOUT = [*stories.ABOUT, "Do you know a story about {x}?", "Let me hear a story about {x}.", "Make up a tale about {x}.", "I want to read a story in which there is {x}."]


def tables():
    for identity, table, says, asks in TABLES:
        rows = [{"x": key, "y": value} for key, value in table.items()]
        yield Meaning(identity, says, asks, lambda source, rows=rows: source.pick(rows), is_tied=True)


def told():
    """What users tell of themselves, and their questions for it."""
    for kind, (make, tellings, _, questions, answer) in memory.KINDS.items():
        yield Meaning(f"told {kind}", tellings, [questions], lambda source, make=make: {"x": make(source)})
        yield Meaning(f"told {kind}", [answer], [questions], lambda source, make=make: {"x": make(source)})


def numbers(source):
    return {"a": source.number(0, 99), "b": source.number(0, 99)}


def skills():
    yield Meaning("sum", arithmetic.SUMS, draw=numbers)
    yield Meaning("difference", arithmetic.DIFFERENCES, draw=numbers)
    yield Meaning("count_to", plain.COUNT_TO, draw=lambda source: {"b": source.number(2, 99)})
    yield Meaning("count_from", plain.COUNT_FROM, draw=numbers)
    yield Meaning("count_down", COUNT_DOWN, draw=lambda source: {"a": source.number(2, 99)})
    yield Meaning("story_about", ABOUT, draw=lambda source: {"x": source.pick(stories.ANIMALS + stories.THINGS)})
    for said, _ in talk.SAYINGS:
        if said[0] in OF_ONE_MEANING:
            yield Meaning(f"talk {said[0]}", said)


def drawn(source, purpose):
    return {parameter.key: parameter.value.draw(source)[0] for parameter in purpose.parameters}


def purposes(*names):
    """Requests for tools: each purpose is a meaning, and so is what its descriptions say."""
    for purpose in definition.read_catalogue(*names):
        phrases = [variant for phrasing in purpose.phrasings for variant in optional_variants(phrasing.skeleton)]
        yield Meaning(f"tool {purpose.identity}", phrases, draw=lambda source, purpose=purpose: drawn(source, purpose))


def tools():
    return purposes("daily", "home", "office", "town", "work")
