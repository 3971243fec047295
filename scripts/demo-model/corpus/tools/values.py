"""Kinds of argument values: each function gives one value as it stands in a request."""

from corpus import words
from corpus.tools.vocabulary import plural

ROOMS = """kitchen bedroom bathroom hall garage cellar attic office nursery library studio workshop""".split()
DOORS = "front door|back door|garage door|garden gate|cellar door|balcony door|side door|office door".split("|")
LANGUAGES = """French German Spanish Italian Dutch Polish Danish Greek Turkish Arabic Hindi Chinese Japanese Korean Finnish Czech
Swedish Portuguese English Latin""".split()
CURRENCIES = "euros dollars pounds francs yen rupees crowns pesos lira zloty".split()
TOPICS = """black holes|Roman history|solar power|electric cars|football|jazz|gardening|volcanoes|chess|the moon|robots|old castles
|deep sea fish|whales|bees|modern art|space travel|coffee|the ocean|healthy food|wooden boats|dinosaurs|glaciers
|steam engines|school holidays|city parks|wild horses|paper planes|the stock of cod|tall towers""".replace("\n", "").split("|")
SHOPPING = """milk bread butter eggs rice flour sugar salt honey cheese apples pears lemons onions carrots tomatoes potatoes coffee tea
soap candles batteries paper pencils""".split()
SUBJECTS = """Dinner|Summer plans|New project|Holiday photos|Rent|Our trip|Party|Garden work|Budget|First draft|Good news|Old books
|Team lunch|Weekly report|House keys|Music lesson|Winter tyres|Book club|Lost hat|Ideas for the shop""".replace("\n", "").split("|")
EXTENSIONS = "txt pdf csv png doc md json jpg".split()


def moment(source):
    """A time of day as people write it."""
    form = source.number(0, 3)
    if form == 0:
        return f"{source.number(0, 23):02d}:{source.number(0, 59):02d}"
    if form == 1:
        return f"{source.number(1, 12)}:{source.pick(('00', '15', '30', '45'))} {source.pick(('am', 'pm'))}"
    return f"{source.number(1, 12)} {source.pick(('am', 'pm'))}"


def day(source):
    """A day that follows "on"."""
    form = source.number(0, 5)
    if form <= 2:
        return source.pick(words.DAYS)
    if form == 3:
        return f"{source.number(1, 28)} {source.pick(words.MONTHS)}"
    if form == 4:
        return f"{source.pick(words.MONTHS)} {source.number(1, 28)}"
    return f"{source.number(2024, 2031)}-{source.number(1, 12):02d}-{source.number(1, 28):02d}"


def date(source):
    """A day that follows "for"."""
    return source.pick(("today", "tomorrow", "next week", "this weekend", "tonight")) if source.chance(0.3) else day(source)


def task(source):
    """What somebody has to do, to follow "to"."""
    form = source.number(0, 9)
    if form == 0:
        return f"call {words.name(source)}"
    if form == 1:
        return f"buy {source.pick(SHOPPING)} and {source.pick(SHOPPING)}"
    if form == 2:
        return f"buy a {source.pick(words.COLOURS[:10])} {source.pick(words.NOUNS[:40])}"
    if form == 3:
        return f"meet {words.name(source)} in {words.city(source)}"
    if form == 4:
        return f"feed the {source.pick(words.PETS)}"
    if form == 5:
        return source.pick(("water the plants", "take out the rubbish", "pay the rent", "book a haircut", "charge the phone",
                            "wash the car", "clean the windows", "check the oven", "back up the photos", "renew my passport"))
    if form == 6:
        return f"visit the {source.pick(words.JOBS)}"
    if form == 7:
        return f"give {words.name(source)} the {source.pick(words.NOUNS[:60])}"
    return f"{source.pick(('paint', 'fix', 'clean', 'sell', 'find', 'move', 'polish', 'return'))} the {words.thing(source)}"


def text(source):
    """A short message or sentence without a full stop."""
    form = source.number(0, 11)
    if form == 0:
        return f"I will be late on {source.pick(words.DAYS)}"
    if form == 1:
        return f"The {words.thing(source)} is {source.pick(words.ADJECTIVES)}"
    if form == 2:
        return f"See you at {moment(source)}"
    if form == 3:
        return f"Happy birthday, {words.name(source)}"
    if form == 4:
        return f"{words.name(source)} likes {source.pick(words.FOODS)} and {source.pick(words.HOBBIES)}"
    if form == 5:
        return f"Please bring the {words.thing(source)}"
    if form == 6:
        return f"{words.name(source)} is in {words.city(source)} now"
    if form == 7:
        return f"We need {source.number(2, 40)} {source.pick(words.FRUIT)}"
    if form == 8:
        return f"I found your {words.thing(source)} in the {source.pick(ROOMS)}"
    if form == 9:
        return source.pick(("Dinner is ready", "I am on my way", "Good luck tomorrow", "Thank you for your help", "I miss you",
                            "Can we talk later", "The meeting is over", "All is well here", "Call me back", "I love this song"))
    if form == 10:
        return f"the {source.pick(words.JOBS)} bought a {source.pick(words.COLOURS[:10])} {source.pick(words.NOUNS[:60])}"
    return f"{words.invented(source)} {words.invented(source)} {words.invented(source)}"


def code(source):
    """A number of an order, a customer, a device."""
    letters = "".join(source.pick("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(source.number(1, 3)))
    return f"{letters}{source.pick(('', '-', '-', '_'))}{source.number(10, 99999)}"


def symbol(source):
    """A short name in capitals."""
    return "".join(source.pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(source.number(2, 5)))


def address(source):
    """An e-mail address."""
    host = f"{source.pick(('example', 'mail', 'post', 'office', words.invented(source)))}.{source.pick(('com', 'org', 'net'))}"
    return f"{words.name(source).lower()}@{host}"


def site(source):
    """A host in the web."""
    return f"{words.invented(source)}.{source.pick(('com', 'org', 'net', 'io', 'eu'))}"


def file(source):
    """A file's name."""
    stem = source.pick((source.pick(words.NOUNS), words.invented(source), f"{source.pick(words.NOUNS)}_{source.number(1, 30)}"))
    return f"{stem}.{source.pick(EXTENSIONS)}"


def label(source):
    """A name for a project, a server, a group: one word."""
    return words.invented(source) if source.chance(0.4) else source.pick(words.NOUNS)


def capital_label(source):
    """A name like a brand: one or two words with capitals."""
    return " ".join(label(source).capitalize() for _ in range(source.number(1, 2)))


def phone(source):
    return f"{source.number(200, 999)}-{source.number(1000, 9999)}"


def sum_of_numbers(source):
    """Something to be calculated."""
    parts = [str(source.number(2, 999))]
    for _ in range(source.number(1, 2)):
        parts += [source.pick("+-*/"), str(source.number(2, 999))]
    return source.pick((" ", "")).join(parts)


def decimal(source):
    """One digit after the point, never 0."""
    return (10 * source.number(1, 99) + source.number(1, 9)) / 10


def topic(source):
    return source.pick(TOPICS) if source.chance(0.6) else f"{source.pick(words.ADJECTIVES)} {plural(source.pick(words.NOUNS))}"


def goods(source):
    """Things of one kind: "kettles"."""
    return words.invented(source) + "s" if source.chance(0.15) else plural(source.pick(words.NOUNS[:40]))


# Kinds whose text is put in quotes, or follows a colon bare.
QUOTED = {"text", "title"}

STRINGS = {
    "city": words.city, "person": words.name, "text": text, "task": task, "time": moment, "day": day, "date": date, "code": code,
    "symbol": symbol, "address": address, "site": site, "file": file, "label": label, "brand": capital_label, "phone": phone,
    "sum": sum_of_numbers, "topic": topic, "thing": words.thing, "word": lambda source: words.invented(source, 2) if source.chance(0.4) else source.pick(words.NOUNS),
    "room": lambda source: source.pick(ROOMS), "door": lambda source: source.pick(DOORS),
    "language": lambda source: source.pick(LANGUAGES), "currency": lambda source: source.pick(CURRENCIES),
    "colour": lambda source: source.pick(words.COLOURS), "food": lambda source: source.pick(words.FOODS),
    "item": lambda source: source.pick(SHOPPING), "title": lambda source: source.pick(SUBJECTS),
    "pet": lambda source: source.pick(words.PETS), "hobby": lambda source: source.pick(words.HOBBIES),
    "goods": goods, "fruit": lambda source: source.pick(words.FRUIT),
    "month": lambda source: source.pick(words.MONTHS), "job": lambda source: source.pick(words.JOBS),
}
