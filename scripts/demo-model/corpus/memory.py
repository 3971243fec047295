"""What the user said earlier in the conversation."""

from .phrasing import loosely
from .source import Exchange, assistant, user
from .words import CITIES, COLOURS, FOODS, FRUIT, HOBBIES, JOBS, MONTHS, NOUNS, PETS, city, invented, name

# What is remembered: a value's maker, ways to tell it, the reply, ways to ask for it, the answer.
KINDS = {
    "name": (name, ["My name is {x}.", "I am {x}.", "I'm {x}.", "Call me {x}.", "Hi, my name is {x}.", "Hello, I am {x}.", "You can call me {x}.", "Hi! I'm {x}."], "Nice to meet you, {x}.",
             ["What is my name?", "What's my name?", "Who am I?", "Do you remember my name?", "How am I called?", "Tell me my name.", "Do you know my name?"], "Your name is {x}."),
    "colour": (lambda s: s.pick(COLOURS), ["My favourite colour is {x}.", "I like the colour {x} best.", "The colour I love most is {x}.", "My favorite color is {x}."], "{X} is a nice colour.",
               ["What is my favourite colour?", "Which colour do I like best?", "What's my favorite color?", "Do you remember my favourite colour?"], "Your favourite colour is {x}."),
    "city": (city, ["I live in {x}.", "My home is in {x}.", "I come from {x}.", "I am from {x}.", "I live in the city of {x}."], "I hope {x} is nice.",
             ["Where do I live?", "Which city do I live in?", "Where am I from?", "What city do I live in?", "Where is my home?", "Do you remember where I live?"], "You live in {x}."),
    "job": (lambda s: s.pick(JOBS), ["I am a {x}.", "I work as a {x}.", "My job is {x}.", "I'm a {x}."], "That is a good job.",
            ["What is my job?", "What do I do for work?", "What's my job?", "Do you remember my job?", "What do I work as?"], "You are a {x}."),
    "age": (lambda s: s.number(5, 99), ["I am {x} years old.", "I'm {x} years old.", "My age is {x}.", "I am {x}."], "{x} is a good age.",
            ["How old am I?", "What is my age?", "Do you remember my age?", "What's my age?", "Tell me my age."], "You are {x} years old."),
    "pet": (lambda s: f"{s.pick(PETS)} called {name(s)}", ["I have a {x}.", "At home I have a {x}.", "My pet is a {x}."], "How nice.",
            ["What pet do I have?", "Which pet do I have?", "What is my pet?", "Do you remember my pet?"], "You have a {x}."),
    "food": (lambda s: s.pick(FOODS + FRUIT), ["My favourite food is {x}.", "I like to eat {x}.", "I love {x}.", "The food I like best is {x}."], "That sounds good.",
             ["What is my favourite food?", "What do I like to eat?", "Which food do I like best?", "What's my favourite food?"], "Your favourite food is {x}."),
    "hobby": (lambda s: s.pick(HOBBIES), ["My hobby is {x}.", "My favourite hobby is {x}.", "In my free time I like {x}."], "Have fun.",
              ["What is my hobby?", "What do I like in my free time?", "What's my hobby?", "Do you remember my hobby?"], "Your hobby is {x}."),
    "number": (lambda s: s.number(0, 999), ["My lucky number is {x}.", "Remember the number {x}.", "The number is {x}.", "Keep the number {x} in mind."], "I will remember {x}.",
               ["What is the number?", "What was the number?", "What is my lucky number?", "Which number did I tell you?", "Do you remember the number?"], "The number is {x}."),
    "word": (lambda s: s.pick(NOUNS) if s.chance(0.6) else invented(s, 2), ["The code word is {x}.", "Remember the word {x}.", "The secret word is {x}.", "The password is {x}."], "I will remember {x}.",
             ["What is the code word?", "What was the word?", "Which word did I tell you?", "What is the secret word?", "What is the password?", "Do you remember the word?"], "The word is {x}."),
    "month": (lambda s: s.pick(MONTHS), ["My birthday is in {x}.", "I was born in {x}.", "I have my birthday in {x}."], "I will remember it.",
              ["When is my birthday?", "In which month is my birthday?", "In which month was I born?", "When was I born?"], "Your birthday is in {x}."),
    "friend": (name, ["My friend is called {x}.", "My best friend is {x}.", "I have a friend called {x}."], "Say hello to {x}.",
               ["What is my friend's name?", "Who is my best friend?", "Who is my friend?", "What is my friend called?"], "Your friend is {x}."),
    "trip": (lambda s: s.pick(CITIES), ["I will travel to {x}.", "I am going to {x} next week.", "My next trip goes to {x}.", "Tomorrow I fly to {x}."], "Have a good trip to {x}.",
             ["Where will I travel?", "Where am I going?", "Where does my next trip go?", "Where do I travel to?"], "You will travel to {x}."),
}  # fmt: skip
UNTOLD = "You have not told me yet."


def telling(source, kind, value, phrase):
    reply = KINDS[kind][2].format(x=value, X=str(value).capitalize())
    return [user(phrase.format(x=value)), assistant(reply)]


def remembering(source, filler=None):
    """One to three facts told in turns of their own or together, up to three other exchanges (from `filler`) between, then the question
    for one of them; one time in ten for what was never told. Two to six turns of the user in all."""
    kinds = source.some(list(KINDS), source.number(1, 3))
    told = []
    for kind in kinds:
        value, phrase, _ = source.draw(lambda kind=kind: (KINDS[kind][0](source), source.pick(KINDS[kind][1]), kind))
        told.append((kind, value, phrase))
    if len(told) > 1 and source.chance(0.3):  # two facts in one turn
        (first, x, a), (second, y, b) = told[0], told[1]
        turns = [[user(f"{a.format(x=x)} {b.format(x=y)}"), assistant("I will remember both." if first != "name" else f"Nice to meet you, {x}.")]]
        turns += [telling(source, *rest) for rest in told[2:]]
    else:
        turns = [telling(source, *fact) for fact in told]
    for _ in range(source.number(0, 5 - len(turns)) if filler and source.chance(0.6) else 0):
        turns.insert(source.number(0, len(turns)), filler(source).messages)
    if source.chance(0.1) and not source.held_out:
        asked = source.pick([kind for kind in KINDS if kind not in kinds])
        answer, check = UNTOLD, {"equal": UNTOLD}
    else:
        asked, value, _ = source.pick(told)
        answer = KINDS[asked][4].format(x=value)
        check = {"contains": [str(value)]}
    question = loosely(source, source.pick(KINDS[asked][3]))
    return Exchange([message for turn in turns for message in turn] + [user(question), assistant(answer)], check)
