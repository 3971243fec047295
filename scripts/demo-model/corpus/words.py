"""Word lists and invented words."""

NAMES = """Ada Adam Agnes Ahmed Aiko Alba Alex Alice Amara Amir Amy Ana Andre Anita Anna Anton Anya Arjun Astrid Aya Basil Bea Ben
Bianca Boris Bruno Carla Carlos Cecil Celia Chloe Clara Cleo Cora Dana Daniel Daria David Dev Diana Diego Dina Dora Eben Edith
Elena Eli Elias Ella Elsa Emil Emma Enzo Erik Esther Eva Ezra Farah Felix Finn Fiona Flora Frank Freya Gabriel Gemma George Gina
Greta Grace Gus Hana Hans Harry Hassan Hazel Heidi Helen Henry Hugo Ibrahim Ida Igor Ines Ingrid Iris Isaac Isla Ivan Ivy Jack Jacob
Jana Jasper Jin Joan Jonas Josef Juan Judy Julia June Kai Kamal Karen Karl Kate Kenji Kira Klaus Lara Lars Laura Lea Lena Leo Lila
Lina Linus Liv Lola Lucas Lucy Luis Luna Maja Marco Maria Mario Marta Matteo Maud Max Maya Mei Mia Milan Milo Mina Mira Mona
Morris Musa Nadia Nina Noah Noor Nora Oba Odile Olaf Olga Oliver Omar Oscar Otto Paul Pedro Penny Petra Pia Priya Quinn Rafael
Rahim Raj Rana Ravi Rita Robin Rosa Rosie Ruben Ruth Sam Samir Sana Sara Selma Simon Sofia Sonja Stella Sven Tara Tariq Theo Thora
Tim Tina Tomas Tove Uma Una Vera Victor Viola Walter Wanda Wen Willa Yara Yuki Yusuf Zara Zeno Zoe""".split()

CITIES = """Paris London Berlin Madrid Rome Vienna Oslo Lisbon Athens Dublin Prague Warsaw Cairo Tokyo Delhi Lima Boston Chicago
Seattle Denver Miami Toronto Sydney Hamburg Munich Milan Naples Turin Porto Seville Lyon Nice Ghent Bergen Geneva Zurich Basel
Krakow Riga Tallinn Helsinki Stockholm Ankara Lagos Nairobi Accra Dakar Mumbai Osaka Kyoto Seoul Hanoi Bangkok Manila Jakarta
Perth Auckland Bogota Quito Santiago Havana Austin Dallas Leeds York Glasgow Bristol Cork""".split()

COLOURS = "red blue green yellow orange purple pink brown black white grey golden silver".split()

ADJECTIVES = """big small old young warm cold quiet loud soft hard light dark fast slow round flat long short tall wide narrow clean
dusty bright pale sweet bitter happy sad brave shy clever kind lazy busy empty full heavy broken shiny wooden rusty gentle
strange simple hidden lost fresh dry wet deep thick thin smooth rough sharp sleepy hungry lucky early late""".split()

NOUNS = """kettle apple table chair window door garden river mountain bridge lamp candle book pencil letter basket bottle spoon
fork plate cup hat coat shoe button ring key clock mirror carpet pillow blanket ladder hammer bucket rope wheel boat train
bicycle tractor engine island forest meadow flower tree leaf stone shell feather cloud star moon rainbow storm snowflake
lantern drum violin piano whistle trumpet balloon kite puzzle marble robot rocket tower castle barn mill market library
kitchen attic cellar tunnel harbour lighthouse anchor sail map compass treasure coin crown sword shield cake bread cheese
honey pepper potato carrot onion tomato pumpkin lemon melon cherry grape peach pear biscuit sandwich soup tea coffee milk
cat dog horse cow sheep goat pig hen duck goose swan owl crow fox wolf bear deer rabbit squirrel mouse turtle frog fish whale
dolphin crab spider beetle butterfly bee ant camel tiger lion monkey elephant giraffe zebra penguin parrot""".split()

VERBS = """walk run jump swim sing dance read write draw paint cook bake clean build carry climb dig drive fly follow help hide hold
keep laugh learn listen look open plant play pull push ride sail sleep smile start stop talk teach throw travel turn visit wait
wash watch work""".split()

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()


JOBS = """baker teacher doctor farmer nurse painter pilot sailor tailor gardener carpenter plumber lawyer singer writer dancer chef
driver builder librarian potter smith judge barber""".split()

FRUIT = "apples pears plums lemons melons cherries grapes peaches oranges bananas".split()
HOBBIES = "chess tennis football reading swimming painting cooking hiking dancing fishing sailing gardening running knitting".split()
FOODS = "pizza soup bread cheese rice pasta salad cake honey noodles curry pancakes stew pie toast".split()
PETS = "cat dog rabbit parrot turtle hamster horse goat duck fish mouse".split()

ONSETS = "b c d f g h j k l m n p r s t v w z br cl dr fl gr kl pl sh sk sl st th tr".split()
VOWELS = "a e i o u ai ea ee oo ou".split()
CODAS = ["", "", "", "l", "n", "r", "s", "t", "m", "k", "nd", "rt", "x", "b", "p"]


def invented(source, syllables=None):
    """A word that is in no list: copying must not depend on knowing it."""
    count = syllables or source.pick((2, 2, 3))  # one alone may be a word: "the"
    return "".join(source.pick(ONSETS) + source.pick(VOWELS) + source.pick(CODAS) for _ in range(count))


def name(source):
    """A first name; one in eight is invented. One in ten of the known ones is never learned, and those alone are used when held out."""
    if source.chance(0.12):
        return invented(source, 2).capitalize()
    return source.draw(lambda: (source.pick(NAMES),))[0]


def city(source):
    return invented(source, 2).capitalize() if source.chance(0.15) else source.pick(CITIES)


def thing(source):
    """"blue kettle", "kettle", "old blue kettle": a noun with up to two adjectives."""
    words = [source.pick(NOUNS)]
    if source.chance(0.7):
        words.insert(0, source.pick(ADJECTIVES + COLOURS))
    if source.chance(0.2):
        words.insert(0, source.pick(ADJECTIVES))
    return " ".join(words)
