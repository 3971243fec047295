"""How people write: the same request with and without capitals, full stop, greeting and thanks."""

OPENINGS = ["Hi! ", "Hello. ", "Hey, ", "Hi, ", "Ok, ", "Now: ", "Good morning! ", "One more question: ", "Tell me: "]
ENDINGS = [" Thanks.", " Thank you!", " Thanks in advance."]
POLITE = ["Please ", "Could you please ", "Can you ", "I would like you to ", "Now "]


def loosely(source, text):
    """The text as it might be typed in a hurry; what is to be copied from it stays as it is, so use this only where it ends in
    punctuation and begins with a word of ours."""
    if source.chance(0.06):
        text = source.pick(OPENINGS) + text
    if source.chance(0.1):
        text = text[0].lower() + text[1:]
    if text[-1] in ".?" and source.chance(0.1):
        text = text[:-1]
    elif source.chance(0.03):
        text += source.pick(ENDINGS)
    return text


def command(source, text):
    """An imperative sentence, sometimes in polite dress."""
    if source.chance(0.2):
        polite = source.pick(POLITE)
        text = polite + text[0].lower() + text[1:]
        if polite.startswith(("Could", "Can")) and text.endswith("."):
            text = text[:-1] + "?"
    return loosely(source, text)
