"""Composed tools whose requests turn around a value: something is looked up for it, done to it, or it is changed into another."""

from corpus import words
from corpus.tools import vocabulary
from corpus.tools.definition import Parameter, Purpose, Value, parse_phrasing

ATTRIBUTES = """speed height depth width age colour rating rank score level owner author origin history value weight status
number address schedule programme menu winner leader anthem flag nickname birthday capacity pressure humidity tide harvest
battery_level opening_day water_level sound_level noise rent tax fee fine bonus salary budget debt risk demand supply
phone_code postcode area_code licence_plate blood_type shoe_size favourite_colour last_visit next_exam first_train
summary outline review meaning_of_dreams temperature_of_water fuel_level waiting_time queue_length""".split()
# What it is looked up for, or done to: its noun | kind of value | declared names.
SUBJECTS = [tuple(part.strip() for part in line.split("|")) for line in """
city | city | city location place town
company | brand | company brand firm name
company | symbol | symbol short_name code company
person | person | person name who
order | code | order_id number order code
product | thing | product item name
word | word | word term name
web site | site | site url host website
file | file | file filename path
room | room | room place
animal | pet | animal pet species
job | job | job profession
dish | food | dish food meal
language | language | language lang
month | month | month
device | code | device device_id serial
planet | label | planet name
page | number 1 900 | page page_number number
house | number 1 900 | house house_number number
subject | topic | topic subject about
season | choice spring summer autumn winter | season
grade | choice first second third fourth | grade class
""".strip().splitlines()]
TEXTS = [("text", "text", "text input content"), ("message", "text", "message text body"), ("sentence", "text", "sentence text"),
         ("poem", "title", "poem title name"), ("story", "title", "title story name"), ("picture", "title", "picture title name"),
         ("book", "title", "title book name")]
ACTIONS = """shout publish encode recite mirror freeze pin mute follow wake scan whisper rotate copy upload hide highlight
simplify shorten underline stretch sign mark block praise greet thank nominate tag illustrate record rehearse replay rewrite
question defend chase borrow taste smell shuffle""".split()
# What else a request may tell: kind | declared names | ways to say it.
EXTRAS = [tuple(part.strip() for part in line.split("|")) for line in """
day | day date when | on {} ; for {}
date | date day when | for {}
time | time at hour start_time | at {}
language | language lang output_language target | in {} ; into {}
person | person to recipient | for {} ; to {}
city | city location place | in {}
number 2 40 | times count repeat | {} times
number 2 90 | minutes duration | for {} minutes
number 2 30 | nights days length | for {} days
label | group project folder | in the group {} ; under {}
choice red green blue | colour color | in {}
choice loud normal soft | volume tone style | in a {} way ; , {}
boolean on both sides / on one side | both_sides double | {}
boolean in a loop / once only | loop repeated | {}
""".strip().splitlines()]

LOOKUPS = """What is the {a} of {of} | What is the {a} for {of} | tell me the {a} of {of} | show me the {a} of {of}
| check the {a} of {of} | get me the {a} of the {s} {of} | I need the {a} of {of}. | Which {a} does {of} have
| give me the {a} for {of} | Do you know the {a} of {of} | What {a} does the {s} {of} have
| find out the {a} of the {s} {of} | look up the {a} of {of} | read me the {a} of {of}""".replace(
    "\n", " ").split(" | ")
DOINGS = """{v} {of} | {v} the {s} {of} | I want to {v} {of}. | Can I {v} {of} | {v} {of} | let somebody {v} {of}
| I would like to {v} the {s} {of}. | How do I {v} {of} | help me to {v} {of} | Will you {v} the {s} {of}""".replace("\n", " ").split(" | ")
CHANGES = """{v} {amount} {from} into {to} | {v} {amount} {from} to {to} | How many {to} do I get for {amount} {from}?
| What is {amount} {from} in {to}? | I have {amount} {from} and want {to}. | How many {to} are {amount} {from}?
| How much is {amount} {from} in {to}? | I want {to} for {amount} {from}. | make {to} of {amount} {from}""".replace("\n", " ").split(" | ")
CHANGE_VERBS = "turn melt transform recast rework mint brew".split()


def article(noun):
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def request(text, extra, question):
    """`text` with the extra parameter's words at its end."""
    stop = "?" if question and text[-1] not in ".?" else ""
    if text[-1] in ".?" and extra:
        text, stop = text[:-1], text[-1]
    return parse_phrasing(text + extra + stop)


def extra_parameter(source, taken):
    """A second parameter and how it is said, or none."""
    kind, names, ways = source.pick(EXTRAS)
    name = source.pick(names.split())
    if name in taken or kind == taken[-1] or source.chance(0.5):
        return [], [""]
    optional = source.chance(0.6)
    said = []
    for way in ways.split(" ; "):
        text = ("" if way[0] == "," else " ") + way.replace("{}", "{extra}")
        said.append(f"[{text}]" if optional else text)
    return [Parameter("extra", Value(kind), [name], optional)], said


def phrasings(source, forms, said, **parts):
    if parts.pop("numbered", False):
        forms = [form for form in forms if "{s} {of}" in form]  # "page 7": a number alone says too little
    made = []
    for _ in range(2):
        text = source.pick(forms)
        for key, part in parts.items():
            text = text.replace(f"{{{key}}}", part)
        made.append(request(text, source.pick(said), text[0].isupper()))
    return made


def styled(source, name):
    parts = name.replace(" ", "_").split("_")
    return parts[0] + "".join(part.capitalize() for part in parts[1:]) if source.chance(0.15) else "_".join(parts)


def lookup(source, noun=None):
    """`get_ATTRIBUTE(subject)`: "What is the rank of Oslo?"."""
    attribute = (noun or (words.invented(source, 2) if source.chance(0.04) else source.pick(ATTRIBUTES) if source.chance(0.7)
                          else source.pick(vocabulary.NOUNS))).replace("_", " ")
    subject, kind, names = source.pick(SUBJECTS)
    name = source.pick(names.split())
    value = Value(kind)
    main = Parameter("of", value, [name], False, kind in ("city", "person", "code", "word", "label"))
    more, said = extra_parameter(source, (name, kind))
    shape = source.pick(("get_{a}", "get_{a}", "{a}_of", "fetch_{a}", "check_{a}", "{s}_{a}", "get_{s}_{a}", "{a}_lookup", "{a}",
                         "show_{a}"))
    about = source.pick(("Get the {a} of {s}", "Latest {a} of {s}", "Tells the {a} of {s}", "Look up the {a} for {s}", "The {a} of {s}",
                         "Find out which {a} {s} has", "What the {a} of {s} is")).format(a=attribute, s=article(subject))
    name = styled(source, shape.format(a=attribute, s=subject))
    requests = phrasings(source, LOOKUPS, said, a=attribute, s=subject, numbered=kind.startswith("number"))
    purpose = Purpose(f"lookup_{attribute.replace(' ', '_')}", [name], [about], [main, *more], requests)
    purpose.unlike = set(attribute.split())
    return purpose


def action(source):
    """`VERB_SUBJECT(subject)`: "Publish 'I am late'."."""
    verb = words.invented(source, 2) if source.chance(0.04) else source.pick(ACTIONS)
    subject, kind, names = source.pick(TEXTS) if source.chance(0.5) else source.pick(SUBJECTS)
    name = source.pick(names.split())
    more, said = extra_parameter(source, (name, kind))
    shape = source.pick(("{v}_{s}", "{v}_{s}", "{v}_{s}", "{v}", "{s}_{v}"))
    about = source.pick(("{V} {s}", "{V} {s}", "{V} one {n}", "Lets you {v} {s}")).format(
        V=verb.capitalize(), v=verb, s=article(subject), n=subject)
    if more and source.chance(0.4):
        about += f" with {more[0].names[0].replace('_', ' ')}"
    forms = DOINGS + ["{v} this {s}: {of}", "{v}: {of}"] if Value(kind).quoted and not more else DOINGS
    main = Parameter("of", Value(kind), [name], False, kind in ("city", "person", "code", "word", "file"))
    name = styled(source, shape.format(v=verb, s=subject))
    requests = phrasings(source, forms, said, v=verb, s=subject, numbered=kind.startswith("number"))
    purpose = Purpose(f"{verb}_{subject.replace(' ', '_')}", [name], [about], [main, *more], requests)
    purpose.unlike = {verb}
    return purpose


def change(source):
    """`VERB_THINGS(amount, from, to)`: "Turn 5 lanterns into kettles."."""
    verb, noun = source.pick(CHANGE_VERBS), vocabulary.plural(source.pick(vocabulary.NOUNS))
    goods = [words.invented(source, 2) + "s" if source.chance(0.1) else vocabulary.plural(source.pick(words.NOUNS[:40]))
             for _ in range(6)]
    if source.chance(0.5):
        kinds = ["choice " + " ".join(dict.fromkeys(goods[:3])), "choice " + " ".join(dict.fromkeys(goods[3:]))]
    else:
        kinds = ["goods", "goods"]
    names = source.pick((("from", "to"), ("from_kind", "to_kind"), ("source", "target"), ("given", "wanted"), ("old", "new"),
                         (f"from_{noun}".replace(" ", "_"), f"to_{noun}".replace(" ", "_"))))
    amount_name = source.pick(("amount", "value", "number", "quantity"))
    amount = Parameter("amount", Value(source.pick(("number 2 900", "decimal"))), [amount_name])
    pair = [Parameter(key, Value(kind), [name]) for key, kind, name in zip(("from", "to"), kinds, names)]
    about = source.pick(("{V} one kind of {n} into another", "{V} {n}", "Exchange {n} of two kinds",
                         "From one kind of {n} to another"))
    shape = source.pick(("{v}_{n}", "{v}_{n}", "{n}_exchange", "{v}"))
    verb_text = verb.replace("_", " ")
    parameters = [amount, *pair] if source.chance(0.8) else [*pair, amount]
    purpose = Purpose(f"change_{noun.replace(' ', '_')}", [styled(source, shape.format(v=verb, n=noun))],
                      [about.format(V=verb_text.capitalize(), n=noun)], parameters,
                      phrasings(source, CHANGES, [""], v=verb_text))
    purpose.unlike = {"change", "trade"}
    return purpose
