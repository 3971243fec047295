"""System messages that change how, or as whom, the model answers."""

from .arithmetic import arithmetic
from .facts import fact
from .phrasing import loosely
from .plain import copying, counting
from .source import Exchange, assistant, user
from .talk import talk
from .words import DAYS, JOBS, NOUNS, city, name

CAPITALS = ["Answer in capital letters.", "Always answer in capital letters.", "Write everything in capital letters.", "Use only capital letters.", "You answer in capital letters.",
            "Reply in upper case.", "Answer in uppercase.", "Please answer in all caps.", "Respond in capital letters only.", "You always shout: use capital letters."]  # fmt: skip
SMALL = ["Answer in small letters.", "Always answer in lower case.", "Use only small letters.", "Reply in lowercase.", "Write everything in small letters.", "Never use capital letters.",
         "Respond in lower case only."]  # fmt: skip
SHORT = ["Answer in one word.", "Answer with one word.", "Give only the answer.", "Answer with a single word.", "Be brief: one word.", "Reply with just the answer.",
         "Use one word only.", "Keep answers to one word."]  # fmt: skip
ENDING = ["End every answer with {x}.", "Always end with {x}.", "Finish each answer with {x}.", "Put {x} at the end of every answer.", "End each reply with {x}."]
BEGINNING = ["Begin every answer with {x}.", "Always begin with {x}.", "Start each answer with {x}.", "Start every reply with {x}.", "Begin each reply with {x}."]
NAMED = ["You are named {x}.", "Your name is {x}.", "You are {x}.", "You are called {x}.", "You are an assistant named {x}.", "You are {x}, a helpful assistant.",
         "Your name is {x}. You are friendly.", "Act as {x}."]  # fmt: skip
NAME_QUESTIONS = ["What is your name?", "Who are you?", "What's your name?", "Tell me your name.", "How are you called?", "What are you called?", "Hello, who are you?",
                  "What should I call you?", "Introduce yourself.", "May I ask your name?"]  # fmt: skip
PLAIN = ["You are a helpful assistant.", "You are a friendly assistant.", "You are helpful.", "Be helpful.", "Answer the user's questions.", "You are an assistant.",
         "You are a helpful AI assistant.", "Be polite.", "You are a careful assistant. Answer correctly.", "Be concise.", "Help the user.",
         "You are demo, a small model.", "Answer truthfully."]  # fmt: skip


def plain(source):
    """A system message that changes nothing."""
    return source.pick(PLAIN)


def base(source):
    return source.pick([fact, fact, arithmetic, copying, counting, talk])(source)


def restyled(exchange, system, change):
    answer = change(exchange.messages[-1]["content"])
    return Exchange(exchange.messages[:-1] + [assistant(answer)], {"equal": answer}, system=system)


def letters(source, count):
    """Capital or small letters. Split by the pair of system message and answer."""
    change, systems = source.pick([(str.upper, CAPITALS), (str.upper, CAPITALS), (str.lower, SMALL)])
    system, exchanges = source.pick(systems), []
    while len(exchanges) < count:
        exchange = base(source)
        if source.held_out or source.ours("letters", system, exchange.messages[-1]["content"]):
            exchanges.append(restyled(exchange, system, change))
    return exchanges


def one_word(source, count):
    system, exchanges = source.pick(SHORT), [fact(source) for _ in range(count)]
    return [restyled(exchange, system, lambda _, exchange=exchange: exchange.check["contains"][0]) for exchange in exchanges]


def mark(source):
    return source.pick(["the word {w}", '"{w}"', "'{w}'", "{w}"]), source.pick([*NOUNS[:60], "over", "okay", "sir", "indeed", "friend", "done", "yes"])


def framed(source, count):
    """A fixed word at the beginning or the end of each answer."""
    dress, word = source.draw(lambda: mark(source))
    systems, form = source.pick([(ENDING, "{answer} {word}"), (BEGINNING, "{word} {answer}")])
    system = source.pick(systems).format(x=dress.format(w=word))
    exchanges = [source.pick([fact, arithmetic, talk, copying])(source) for _ in range(count)]
    return [restyled(exchange, system, lambda answer: form.format(answer=answer, word=word)) for exchange in exchanges]


def named(source):
    phrase, who, question = source.draw(lambda: (source.pick(NAMED), name(source), source.pick(NAME_QUESTIONS)))
    answer = f"My name is {who}."
    return Exchange([user(loosely(source, question)), assistant(answer)], {"equal": answer}, system=phrase.format(x=who))


def told(source):
    """A fact about the user or the world that only the system message knows."""
    def make():
        who, where, day, job = name(source), city(source), source.pick(DAYS), source.pick(JOBS)
        after = DAYS[(DAYS.index(day) + 1) % 7]
        return source.pick([
            (f"The user is called {who}.", "What is my name?", f"Your name is {who}."), (f"The user's name is {who}.", "Who am I?", f"Your name is {who}."),
            (f"You are talking to {who}.", "What is my name?", f"Your name is {who}."), (f"The user lives in {where}.", "Where do I live?", f"You live in {where}."),
            (f"You work as a {job}.", "What is your job?", f"I am a {job}."), (f"You are a {job}.", "What is your job?", f"I am a {job}."),
            (f"You are a {job} in {where}.", "Where do you work?", f"I work in {where}."), (f"You live in {where}.", "Where do you live?", f"I live in {where}."),
            (f"Today is {day}.", "What day is today?", f"Today is {day}."), (f"Today is {day}.", "What day is tomorrow?", f"Tomorrow is {after}."),
            (f"Our shop is in {where}.", "Where is the shop?", f"The shop is in {where}."),
            (f"The password is {source.pick(NOUNS)}{source.number(1, 99)}.", "What is the password?", None)])  # fmt: skip

    system, question, answer = source.draw(make)
    answer = answer or "The password is " + system.split()[-1]
    return Exchange([user(loosely(source, question)), assistant(answer)], {"equal": answer}, system=system)


def styled(source, count):
    return source.pick([letters, letters, letters, one_word, framed, framed])(source, count)


def following(source):
    """One of the ways above; the words of the two lists may be joined by a plain sentence."""
    exchange = styled(source, 1)[0] if source.chance(2 / 3) else source.pick([named, named, told])(source)
    if source.chance(0.2):
        extra = plain(source)
        exchange.system = f"{extra} {exchange.system}" if source.chance(0.6) and "You are" not in exchange.system else exchange.system
    return exchange


def following_in_a_row(source):
    """Several turns under one system message."""
    exchanges = styled(source, source.number(2, 5))
    messages = [message for exchange in exchanges for message in exchange.messages]
    return Exchange(messages, exchanges[-1].check, system=exchanges[0].system)
