"""What is said to a model with tools without asking for one, and requests that no tool of the catalogue serves."""

from corpus import words

# Said by the user -> the answer; the word in it that is checked.
TALK = [(said, answer, needed) for saids, answer, needed in (
    ("Hello!|Hi!|Hey|Hello|Hi there!|Hey there|Good day!|Hello, are you there?", "Hello! How can I help you?", "How can I help you?"),
    ("Good morning!|Good morning", "Good morning! How can I help you?", "Good morning"),
    ("Good evening!|Good evening", "Good evening! How can I help you?", "Good evening"),
    ("Thank you!|Thanks!|Thanks a lot|Thank you very much.|Thanks, that helps.|Great, thank you!|Perfect, thanks.|Many thanks!",
     "You are welcome!", "welcome"),
    ("Bye!|Goodbye|See you later!|Good night!|That is all, bye.|See you!", "Goodbye!", "Goodbye"),
    ("How are you?|How are you today?|How do you do?|Are you well?", "I am fine, thank you. How can I help you?", "fine"),
    ("That was all.|Nothing else, that was it.|I need nothing else.|No, that is all.", "All right. Just ask when you need something.",
     "All right"),
    ("You are great!|Well done!|Good work!|You did that well.|That was quick!|Nice!", "Thank you!", "Thank you"),
    ("Never mind.|Forget it.|It is not important.|Oh, never mind that.", "All right.", "All right"),
    ("I am bored.|I feel bored today.|There is nothing to do.", "I am sorry to hear that. What would you like to do?", "sorry"),
    ("I am so tired.|I am sad today.|I had a bad day.|I slept badly.", "I am sorry to hear that.", "sorry"),
    ("I am happy today!|I had a great day.|I won a prize!|It is my birthday!", "That is great to hear!", "great"),
) for said in saids.split("|")]

# Orders that nothing offered can carry out.
DEEDS = """iron my {colour} shirt|cut my hair|walk my {pet}|bring me the {thing}|carry the {thing} upstairs|knit a {colour} scarf
|polish my shoes|peel the potatoes|hold my {thing}|scratch my back|drive me to {city}|teach my {pet} to dance
|build a {thing}|hug {name} for me|catch the {pet}|bake a cake for {name}|wrap a present for {name}|climb on the roof
|tie my shoes|pack my bag|throw the {thing} to {name}|dig a hole in the garden|push my {thing}|swim to {city}
|braid {name}'s hair|sew a button on my coat|pour me a glass of milk|bring the {thing} to {name}|play tennis with {name}
|shovel the snow|make the bed|tidy up the desk|dance with {name}|lend me a {thing}|sharpen the knives
|hang up the {thing}|clap your hands|hand me the {thing}|lift the {thing}|jump over the {thing}|sit next to {name}
|babysit for {name}|chop some wood|milk the cow|ride to {city} on a horse""".replace(
    "\n", "").split("|")
ORDERS = ["{}.", "Please {}.", "Can you {}?", "Could you {}?", "{}, please.", "I want you to {}.", "I need somebody to {}.", "Will you {}?"]

REFUSALS = ["None of my tools can do that.", "Sorry, none of my tools can do that.", "I am sorry, but none of my tools can do that."]
REFUSED = "one of my tools can do that"


def deed(source):
    text = source.pick(DEEDS)
    if "{" in text:
        text = text.format(colour=source.pick(words.COLOURS), pet=source.pick(words.PETS), thing=words.thing(source),
                           city=words.city(source), name=words.name(source))
    return source.pick(ORDERS).format(text) if source.chance(0.8) else text


def deed_sentence(source):
    text = deed(source)
    return text[0].upper() + text[1:] if source.chance(0.95) else text
