"""Kinds of slots: each function gives one value as it stands in a sentence."""

from corpus import stories, words
from corpus.tools.values import LANGUAGES, ROOMS

DEVICES = "printer|server|laptop|router|phone|tablet|camera|scanner|robot|database|website|coffee machine|heating|alarm system|mail server|file server|projector|ticket machine".split("|")
SHOPS = "bakery|library|museum|post office|bank|pharmacy|bookshop|swimming pool|town hall|zoo|theatre|cinema|supermarket|flower shop|barber|station|market hall|canteen|workshop|gym".split("|")
BUILDINGS = "bridge|tower|castle|town hall|railway station|lighthouse|library|harbour|market hall|theatre|city wall|tunnel|cathedral|school|windmill|stadium".split("|")
PROJECTS = "budget|website project|garden project|summer party|annual report|school play|building works|research group|music festival|job fair|book fair|test team|news page|training course|repair of the roof|photo exhibition".split("|")
SUBJECTS = "history music chemistry physics biology geography mathematics drawing sport poetry pottery dancing singing".split()
INSTRUMENTS = "piano violin drums flute trumpet guitar harp cello organ accordion clarinet".split()
WEATHER = "sunny rainy cloudy foggy stormy windy snowy dry wet hot cold mild".split()
SPORTS = "football tennis hockey basketball handball volleyball rugby cricket chess".split()
BODY = "back|head|knee|left foot|right foot|shoulder|neck|stomach|ear|left hand|right hand|tooth|elbow|throat".split("|")
CLOTHES = "coat hat shirt dress jacket scarf jumper skirt raincoat cap pullover".split()
CLUBS = "chess club|choir|rowing club|fire brigade|orchestra|football club|reading circle|garden society|photo club|sailing club".split("|")
OPENINGS = "window|front door|back door|kitchen window|garden gate|cellar door|balcony door|bathroom window|garage door|cupboard|roof window|bedroom window|drawer|lid of the box".split("|")
HOURS = [f"{hour}:{minute}" for hour in range(6, 23) for minute in ("00", "15", "30", "45")] + [f"{hour} o'clock" for hour in range(1, 13)]

MAKERS = {
    "name": words.name, "city": words.city, "thing": words.thing,
    "word": lambda source: words.invented(source, 2),
    "noun": lambda source: source.pick(words.NOUNS), "colour": lambda source: source.pick(words.COLOURS), "day": lambda source: source.pick(words.DAYS),
    "month": lambda source: source.pick(words.MONTHS), "job": lambda source: source.pick(words.JOBS), "fruit": lambda source: source.pick(words.FRUIT),
    "food": lambda source: source.pick(words.FOODS), "hobby": lambda source: source.pick(words.HOBBIES), "pet": lambda source: source.pick(words.PETS),
    "animal": lambda source: source.pick(stories.ANIMALS), "place": lambda source: source.pick(stories.PLACES), "room": lambda source: source.pick(ROOMS),
    "language": lambda source: source.pick(LANGUAGES), "device": lambda source: source.pick(DEVICES), "shop": lambda source: source.pick(SHOPS),
    "building": lambda source: source.pick(BUILDINGS), "project": lambda source: source.pick(PROJECTS), "subject": lambda source: source.pick(SUBJECTS),
    "instrument": lambda source: source.pick(INSTRUMENTS), "weather": lambda source: source.pick(WEATHER), "sport": lambda source: source.pick(SPORTS),
    "body": lambda source: source.pick(BODY), "clothes": lambda source: source.pick(CLOTHES), "club": lambda source: source.pick(CLUBS),
    "opening": lambda source: source.pick(OPENINGS), "hour": lambda source: source.pick(HOURS),
    "number": lambda source: str(source.number(2, 99)), "age": lambda source: str(source.number(3, 99)), "floor": lambda source: str(source.number(1, 40)),
    "year": lambda source: str(source.number(1700, 2030)), "price": lambda source: str(source.number(2, 900)),
    "version": lambda source: f"{source.number(1, 12)}.{source.number(0, 20)}", "phone": lambda source: f"{source.number(200, 999)} {source.number(1000, 9999)}",
}  # fmt: skip


def values(source, makers):
    """A value for each slot; two slots of one kind get different ones. `makers`: slot -> kind."""
    drawn = {}
    for slot, kind in makers.items():
        value = MAKERS[kind](source)
        while value in drawn.values():
            value = MAKERS[kind](source)
        drawn[slot] = value
    return drawn
