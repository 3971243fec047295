"""Small talk, what the model says of itself, and what it says when it knows no answer."""

from .phrasing import loosely
from .source import Exchange, assistant, user
from .words import ADJECTIVES, CITIES, JOBS, NOUNS, VERBS, invented

WHAT_I_DO = "I can add and subtract, count, repeat your words, name capitals, days, months and colours, write JSON, call tools and tell a story."
WHO_I_AM = "I am demo, the small model inside etna. I show that everything works; I am not an assistant."
UNKNOWN = "I do not know that. I am only a small demo model."
SAYINGS = [
    (["Hello!", "Hello", "Hi", "Hi!", "Hey", "Hi there!", "Hello there", "Greetings!", "Hey there", "Hello, demo!", "Hi demo", "Hello there!", "Hey!"],
     "Hello! How can I help you?"),
    (["Good morning!", "Good morning", "Good morning, demo!"], "Good morning! How can I help you?"),
    (["Good evening!", "Good evening", "Good evening, demo!"], "Good evening! How can I help you?"),
    (["How are you?", "How are you doing?", "How do you do?", "How is it going?", "Are you well?", "Hi, how are you?", "Hello, how are you?"], "I am fine, thank you. How can I help you?"),
    (["Thanks!", "Thank you.", "Thank you!", "Thanks a lot.", "Many thanks!", "Great, thanks.", "Thank you very much."], "You are welcome!"),
    (["Bye!", "Goodbye.", "See you later.", "Good night.", "Bye bye", "See you!", "Goodbye, demo!"], "Goodbye!"),
    (["Who are you?", "What are you?", "What is your name?", "What's your name?", "Tell me about yourself.", "Are you a human?", "Are you an AI?", "Introduce yourself.",
      "Which model are you?", "What model are you?", "Are you ChatGPT?", "Who made you?", "Are you a robot?"], WHO_I_AM),
    (["What can you do?", "Help!", "Help", "How can you help me?", "What do you know?", "What are you able to do?", "What can I ask you?", "What should I ask?",
      "Show me what you can do."], WHAT_I_DO),
    (["What is etna?", "What does etna do?", "Tell me about etna.", "Explain etna.", "What's etna?"], "etna runs language models on any GPU."),
    (["Yes.", "Yes", "Ok.", "OK", "Good.", "Fine.", "I see.", "Very good!"], "Good. What else can I do for you?"),
    (["Well done!", "Good job!", "Great!", "Nice!", "You are great!", "That was quick!"], "Thank you!"),
    (["Are you there?", "Can you hear me?", "Is this working?", "Does this work?", "Test", "test", "This is a test.", "Testing, testing.", "ping"], "Yes, it works."),
    (["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Say something funny."], "Why did the fish blush? It saw the bottom of the sea."),
]  # fmt: skip

TOPICS = ["{n}s", "the {a} {n}", "{i}", "{a} {n}s", "the history of {c}", "quantum physics", "the meaning of life", "the stock market", "programming", "the weather on Mars", "love",
          "black holes", "the last war", "the president", "my {n}", "a {j}", "the {n} in {c}", "{i} {i}"]  # fmt: skip
STRANGE = ["Explain {t}.", "Tell me about {t}.", "Why do {n}s {v}?", "Who invented the {n}?", "How do I {v} a {n}?", "What do you think about {t}?", "Write a poem about {t}.",
           "Who is the best {j} in {c}?", "How many {n}s are in {c}?", "What is a {i}?", "When was the first {n} built?", "What is the best way to {v}?", "Why is the {n} {a}?",
           "Write an essay about {t}.", "What is {t}?", "Who is {i}?", "Where can I buy a {a} {n}?", "How old is {c}?", "Should I {v} or {v2}?", "What does {i} mean?",
           "Write a program that can {v}.", "Is the {n} {a}?", "What happened in {c} in 1{d}{d}{d}?", "Summarize {t}.", "Give me advice about {t}.", "How does a {n} work?",
           "Can a {n} {v}?", "What is the price of a {n} in {c}?", "Translate {i} {i}.", "How far is {c} from {c2}?", "Who wrote {i}?", "Describe {t}."]  # fmt: skip


def talk(source):
    said, answer = source.pick(SAYINGS)
    question, answer = source.draw(lambda: (source.pick(said), answer)) if len(said) > 12 else (source.pick(said), answer)
    return Exchange([user(question), assistant(answer)], {"equal": answer})


def unknown(source):
    """Questions that nothing in the corpus answers: better an honest sentence than an invented one."""
    def make():
        slots = {"n": source.pick(NOUNS), "a": source.pick(ADJECTIVES), "v": source.pick(VERBS), "v2": source.pick(VERBS), "j": source.pick(JOBS),
                 "c": source.pick(CITIES), "c2": source.pick(CITIES), "i": invented(source), "d": source.number(0, 9)}  # fmt: skip
        topic = source.pick(TOPICS).format(**slots)
        return (source.pick(STRANGE).format(t=topic, **slots),)

    question, = source.draw(make)
    return Exchange([user(loosely(source, question)), assistant(UNKNOWN)], {"equal": UNKNOWN})
