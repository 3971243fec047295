"""Short stories of one kind: somebody finds a thing, meets an animal, overcomes something, brings the thing home. 80 to 200 words."""

from .phrasing import command
from .source import Exchange, assistant, user
from .words import ADJECTIVES, COLOURS, JOBS, invented, name

THINGS = """key ring lamp book letter basket button drum violin whistle kite map compass crown coin shell feather mirror clock bottle hat lantern puzzle
marble robot balloon ladder rope candle bell""".split()
PLACES = ["the stone bridge", "the old mill", "the quiet harbour", "the dark forest", "the green meadow", "the tall tower", "the market", "the library", "the empty barn", "the lighthouse", "the long tunnel",
          "the frozen lake", "the castle", "the garden wall", "the railway station", "the small island"]  # fmt: skip
ANIMALS = ["owl", "fox", "crow", "goat", "turtle", "cat", "dog", "rabbit", "goose", "squirrel", "bear", "frog", "mouse", "deer", "swan", "donkey"]
MOODS = "kind brave shy clever sleepy hungry gentle lazy curious friendly patient proud".split()

OPENINGS = ["{h} found a {a} {t} near {p}.", "One morning {h} saw a {a} {t} near {p}.", "{h} was walking past {p} and found a {a} {t}.", "Long ago {h} lived near {p} and owned a {a} {t}.",
            "One day {h} lost a {a} {t} near {p}.", "Under {p} {h} discovered a {a} {t}.", "{h} woke up early and went to {p} to look for a {a} {t}.", "There was a {a} {t} near {p}, and {h} wanted to know why.",
            "It was raining when {h} came to {p} with a {a} {t}.", "Nobody in the village believed that {h} had seen a {a} {t} near {p}.", "Once upon a time {h} found a {a} {t} at {p}.",
            "On a cold evening {h} carried a {a} {t} to {p}."]  # fmt: skip
# One of each row, in this order; rows marked None may be left out.
ROWS = [
    ["It was not like any other {t} in the village.", "The {t} was {c} and very old.", "Somebody had painted the {t} {c} a long time ago.", "The {t} was small, but it shone in the light.", "On one side of the {t} there was a {c} star."],
    ["{h} wanted to know where the {t} came from.", "{h} thought about the {t} all day.", "{h} put the {t} into a bag and looked around.", "Nobody knew what the {t} was for, not even {h}.", "{h} held the {t} and listened."],
    ["Then a {m} {n} came along the path.", "Behind a tree sat a {m} {n}.", "Just then a {m} {n} looked out of the grass.", "A {m} {n} had watched it all.", "Soon {h} met a {m} {n}."],
    ["\"Do you know whose {t} this is?\" asked {h}.", "\"Can you help me?\" asked {h}.", "\"Have you ever seen such a {t}?\" asked {h}.", "\"What should I do with this {t}?\" asked {h}."],
    ["\"It belongs to the {j} on the hill,\" said the {n}.", "\"The {j} has been looking for it,\" said the {n}.", "\"I think the {j} lost it last winter,\" said the {n}.", "\"Only the {j} can tell you that,\" said the {n}."],
    ["So {h} and the {n} set out together.", "They left at once.", "The {n} showed the way, and {h} followed.", "{h} thanked the {n}, and they went off side by side."],
    [None, "They walked through the forest and over two hills.", "The road was long and full of stones.", "They crossed a river on an old boat.", "On the way they shared some bread and a pear."],
    ["After a while a storm came, and the rain fell hard.", "Then the path ended at a deep river.", "Suddenly it became so dark that they could see nothing.", "But a big tree had fallen across the road.", "Then a cold wind began to blow, and snow fell."],
    ["{h} was afraid, but the {n} was not.", "The {n} wanted to turn back, but {h} had an idea.", "For a moment {h} did not know what to do.", "\"We can do this,\" said {h}."],
    ["They held on to each other and went on, one step after the other.", "They waited in a cave until it was over.", "{h} used the {t} to find a safe way.", "The {n} called its friends, and together they got through.", "They made a small fire and soon felt better."],
    ["At last they came to the house of the {j}.", "In the evening they reached the hill, where the {j} lived.", "When the sun came out, they saw the {j} at the door.", "The next morning they stood before the {j}."],
    ["\"My {t}!\" cried the {j}. \"I have missed it so much.\"", "The {j} took the {t} and laughed with joy.", "The {j} could hardly believe it and danced around the room.", "\"You have come all this way for me?\" asked the {j}."],
    [None, "There was soup and cake for everyone.", "The {j} gave them tea and told them old stories.", "As a gift {h} got a {c2} coat.", "The {n} got the warmest place by the fire."],
    [None, "{h} had never been so happy.", "Nobody was tired any more.", "The {n} smiled and fell asleep."],
    ["From that day on {h} and the {n} were friends.", "Later {h} often went back to visit the {j}.", "And whenever {h} came past {p}, the {n} was waiting there.", "{h} never forgot that day."],
    ["The end.", "And that was the end of the story.", "That is how it ended.", "And so the story ends."],
]  # fmt: skip

BEGINS = ["Tell a story that begins: {f}", "Write a story that begins: {f}", "Continue this story: {f}", "Tell me a story that starts with: {f}", "Write a story that begins with this line: {f}",
          "Here is a first line: {f} Tell the story.", "Tell a story from this first line: {f}", "{f} Continue the story.", "Story: {f}", "Go on with this story: {f}"]  # fmt: skip
FREE = ["Tell me a story.", "Tell a story.", "Write a story.", "Write a short story.", "Do you know a story?", "Tell me a short story.", "I would like to hear a story.", "A story, please."]
ABOUT = ["Tell me a story about {x}.", "Tell a story about {x}.", "Write a story about {x}.", "Write a short story about {x}.", "I would like a story about {x}."]


def draw_slots(source):
    colour, other = source.some(COLOURS, 2)
    thing = source.pick(THINGS) if source.chance(0.9) else invented(source, 2)
    return {"h": name(source), "t": thing, "a": source.pick([word for word in ADJECTIVES if word[0] not in "aeiou"]), "p": source.pick(PLACES),
            "n": source.pick(ANIMALS), "m": source.pick(MOODS), "j": source.pick(JOBS), "c": colour, "c2": other}  # fmt: skip


def told(source, first, slots):
    sentences = [first]
    for row in ROWS:
        chosen = source.pick(row)
        if chosen:
            sentences.append(chosen.format(**slots))
    return " ".join(sentences)


def story(source):
    slots, opening = source.draw(lambda: (draw_slots(source), source.pick(OPENINGS)))
    first = opening.format(**slots)
    kind = source.number(0, 9)
    if source.held_out or kind < 7:
        request = source.pick(BEGINS).format(f=first)
    elif kind < 9:
        request = command(source, source.pick(ABOUT).format(x=source.pick([slots["h"], f"a {slots['t']}", f"{slots['h']} and a {slots['t']}", f"a {slots['a']} {slots['t']}"])))
    else:
        request = source.pick(FREE)
    answer = told(source, first, slots)
    return Exchange([user(request), assistant(answer)], {"story": first})
