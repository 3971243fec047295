"""What the model knows by heart. Held out are combinations of a fact and a way to ask for it."""

from .phrasing import loosely
from .source import Exchange, assistant, user
from .words import DAYS, MONTHS

CAPITALS = dict(line.split(": ") for line in """France: Paris
Germany: Berlin
Italy: Rome
Spain: Madrid
Portugal: Lisbon
Austria: Vienna
Switzerland: Bern
Belgium: Brussels
the Netherlands: Amsterdam
Denmark: Copenhagen
Norway: Oslo
Sweden: Stockholm
Finland: Helsinki
Iceland: Reykjavik
Ireland: Dublin
the United Kingdom: London
Poland: Warsaw
Hungary: Budapest
Greece: Athens
Turkey: Ankara
Romania: Bucharest
Bulgaria: Sofia
Serbia: Belgrade
Croatia: Zagreb
Slovenia: Ljubljana
Slovakia: Bratislava
the Czech Republic: Prague
Estonia: Tallinn
Latvia: Riga
Lithuania: Vilnius
Ukraine: Kyiv
Russia: Moscow
Egypt: Cairo
Morocco: Rabat
Tunisia: Tunis
Kenya: Nairobi
Ethiopia: Addis Ababa
Ghana: Accra
Nigeria: Abuja
Senegal: Dakar
Uganda: Kampala
Japan: Tokyo
China: Beijing
India: New Delhi
South Korea: Seoul
Thailand: Bangkok
Vietnam: Hanoi
Indonesia: Jakarta
Malaysia: Kuala Lumpur
the Philippines: Manila
Nepal: Kathmandu
Iran: Tehran
Iraq: Baghdad
Australia: Canberra
New Zealand: Wellington
Canada: Ottawa
the United States: Washington
Mexico: Mexico City
Cuba: Havana
Brazil: Brasilia
Argentina: Buenos Aires
Chile: Santiago
Peru: Lima
Colombia: Bogota
Ecuador: Quito
Uruguay: Montevideo""".splitlines())

COLOUR_OF = {"the sky": "blue", "grass": "green", "snow": "white", "a ripe tomato": "red", "a banana": "yellow", "a lemon": "yellow", "coal": "black",
             "blood": "red", "milk": "white", "chocolate": "brown", "a carrot": "orange", "an orange": "orange", "the sun": "yellow",
             "a cherry": "red", "an elephant": "grey", "a flamingo": "pink", "a crow": "black", "a leaf": "green", "a fire engine": "red",
             "the sea": "blue", "a pumpkin": "orange", "a frog": "green", "salt": "white", "gold": "golden"}  # fmt: skip
MIXTURES = {("blue", "yellow"): "green", ("red", "yellow"): "orange", ("red", "blue"): "purple", ("red", "white"): "pink",
            ("black", "white"): "grey", ("red", "green"): "brown"}  # fmt: skip
OPPOSITES = dict(pair.split("/") for pair in """hot/cold big/small old/new fast/slow up/down left/right day/night light/dark open/closed happy/sad
loud/quiet full/empty high/low long/short rich/poor wet/dry hard/soft early/late strong/weak near/far thick/thin good/bad
black/white first/last heavy/light""".split())
SOUNDS = {"dog": "barks", "cat": "meows", "cow": "moos", "sheep": "bleats", "horse": "neighs", "duck": "quacks", "lion": "roars", "bee": "buzzes",
          "snake": "hisses", "frog": "croaks", "owl": "hoots", "wolf": "howls"}  # fmt: skip
LEGS = {"a dog": "four", "a cat": "four", "a horse": "four", "a cow": "four", "a bird": "two", "a duck": "two", "a spider": "eight", "an ant": "six",
        "a bee": "six", "a beetle": "six", "a fish": "no", "a snake": "no", "an elephant": "four"}  # fmt: skip
MONTH_DAYS = dict(zip(MONTHS, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], strict=True))
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()

CAPITAL_QUESTIONS = ["What is the capital of {x}?", "What's the capital of {x}?", "Capital of {x}?", "Name the capital of {x}.",
                     "Which city is the capital of {x}?", "Tell me the capital of {x}.", "Do you know the capital of {x}?",
                     "What is the capital city of {x}?", "The capital of {x}?", "What city is the capital of {x}?",
                     "I need to know the capital of {x}.", "Give me the capital of {x}."]  # fmt: skip
COUNTRY_QUESTIONS = ["Which country has the capital {x}?", "{x} is the capital of which country?", "Of which country is {x} the capital?",
                     "What country is {x} the capital of?", "{x} is the capital of what country?"]  # fmt: skip


def beginning(text):
    return text[0].upper() + text[1:]


def days(source):
    day, index = source.pick(list(zip(DAYS, range(7), strict=True)))
    after, before = DAYS[(index + 1) % 7], DAYS[index - 1]
    return source.pick([
        ("What day comes after {x}?", day, f"{after} comes after {day}.", after), ("Which day is after {x}?", day, f"{after} comes after {day}.", after),
        ("What is the day after {x}?", day, f"{after} comes after {day}.", after), ("Which day follows {x}?", day, f"{after} comes after {day}.", after),
        ("Today is {x}. What day is tomorrow?", day, f"Tomorrow is {after}.", after),
        ("If today is {x}, what day is tomorrow?", day, f"Tomorrow is {after}.", after),
        ("Today is {x}. What day was yesterday?", day, f"Yesterday was {before}.", before),
        ("If today is {x}, what day was yesterday?", day, f"Yesterday was {before}.", before),
        ("What day comes before {x}?", day, f"{before} comes before {day}.", before), ("Which day is before {x}?", day, f"{before} comes before {day}.", before),
        ("What is the day before {x}?", day, f"{before} comes before {day}.", before),
        ("How many days are in a {x}?", "week", "A week has seven days.", "seven"), ("How many days does a {x} have?", "week", "A week has seven days.", "seven"),
        ("Name the days of the {x}.", "week", f"{', '.join(DAYS[:6])} and {DAYS[6]}.", "Monday"),
        ("List the days of the {x}.", "week", f"{', '.join(DAYS[:6])} and {DAYS[6]}.", "Monday")])  # fmt: skip


def months(source):
    month, index = source.pick(list(zip(MONTHS, range(12), strict=True)))
    after, before, ordinal = MONTHS[(index + 1) % 12], MONTHS[index - 1], ORDINALS[index]
    nth = f"{month} is the {ordinal} month."
    length = f"{month} has {MONTH_DAYS[month]} days."
    return source.pick([
        ("What month comes after {x}?", month, f"{after} comes after {month}.", after), ("Which month is after {x}?", month, f"{after} comes after {month}.", after),
        ("What is the month after {x}?", month, f"{after} comes after {month}.", after), ("Which month follows {x}?", month, f"{after} comes after {month}.", after),
        ("What month comes before {x}?", month, f"{before} comes before {month}.", before),
        ("Which month is before {x}?", month, f"{before} comes before {month}.", before),
        ("What is the month before {x}?", month, f"{before} comes before {month}.", before),
        ("What is the {x} month?", ordinal, nth, month), ("Which month is the {x} month of the year?", ordinal, nth, month), ("What is the {x} month of the year?", ordinal, nth, month),
        ("How many days does {x} have?", month, length, str(MONTH_DAYS[month])), ("How many days are in {x}?", month, length, str(MONTH_DAYS[month])),
        ("How many days are there in {x}?", month, length, str(MONTH_DAYS[month])),
        ("How many months are in a {x}?", "year", "A year has twelve months.", "twelve"),
        ("How many months does a {x} have?", "year", "A year has twelve months.", "twelve")])  # fmt: skip


def colours(source):
    if source.chance(0.7):
        thing, colour = source.pick(list(COLOUR_OF.items()))
        return source.pick(["What colour is {x}?", "What is the colour of {x}?", "Which colour is {x}?", "What color is {x}?", "Tell me the colour of {x}.", "What is the color of {x}?",
                            "Which colour has {x}?"]), thing, f"{beginning(thing)} is {colour}.", colour  # fmt: skip
    (a, b), mixed = source.pick(list(MIXTURES.items()))
    a, b = source.some((a, b), 2)
    return source.pick(["What do you get if you mix {x}?", "Which colour do {x} make?", "Mix {x}.", "What colour do {x} make?", "What happens if I mix {x}?",
                        "What color do you get from {x}?"]), f"{a} and {b}", f"{beginning(a)} and {b} make {mixed}.", mixed  # fmt: skip


def nature(source):
    kind = source.number(0, 2)
    if kind == 0:
        word, other = source.pick(list(OPPOSITES.items()))
        return source.pick(["What is the opposite of {x}?", "Opposite of {x}?", "Name the opposite of {x}.", "What's the opposite of {x}?", "Tell me the opposite of {x}."]), \
            word, f"The opposite of {word} is {other}.", other
    if kind == 1:
        animal, sound = source.pick(list(SOUNDS.items()))
        return source.pick(["What sound does a {x} make?", "What does a {x} do?", "Which sound does a {x} make?", "What noise does a {x} make?"]), animal, f"A {animal} {sound}.", sound
    animal, legs = source.pick(list(LEGS.items()))
    return source.pick(["How many legs does {x} have?", "How many legs has {x}?", "{x}: how many legs?", "Tell me how many legs {x} has."]), animal, f"{beginning(animal)} has {legs} legs.", legs


def capitals(source):
    country, capital = source.pick(list(CAPITALS.items()))
    if source.chance(0.75):
        return source.pick(CAPITAL_QUESTIONS), country, f"The capital of {country} is {capital}.", capital
    return source.pick(COUNTRY_QUESTIONS), capital, f"{capital} is the capital of {country}.", country


def fact(source):
    """Question and answer in one sentence; the fact alone is the last member of `check`'s `contains`."""
    kind = source.pick([capitals] * 6 + [days, days, months, months, colours, colours, nature])
    phrase, item, answer, core = source.draw(lambda: kind(source))
    question = loosely(source, beginning(phrase.format(x=item)))
    return Exchange([user(question), assistant(answer)], {"contains": [core]})


