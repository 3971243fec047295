"""Whether an answer is what an exchange's `check` (corpus/source.py) asks for."""

import json
import re

CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)
STORY_WORDS = (80, 200)


def sentences_of(text):
    return [sentence.strip() for sentence in re.split(r"(?<=[.!?])[\"']?\s+", text) if sentence.strip()]


def calls_of(text):
    """The calls in an answer in a fixed order, or None where something else stands beside or inside them."""
    if CALL.sub("", text).strip():
        return None
    try:
        return sorted((json.loads(call) for call in CALL.findall(text)), key=lambda call: json.dumps(call, sort_keys=True))
    except ValueError:
        return None


def story_mistake(first, text):
    words, sentences = len(text.split()), sentences_of(text)
    if not text.startswith(first):
        return "does not begin with the first line"
    if not STORY_WORDS[0] <= words <= STORY_WORDS[1]:
        return f"{words} words"
    repeated = {sentence for sentence in sentences if sentences.count(sentence) > 1}
    return f"says twice: {repeated}" if repeated else None


def thinking_mistake(lines, text):
    thought, mark, answer = text.partition("</think>")
    if not mark or not thought.startswith("<think>"):
        return "no thinking section", text
    missing = [line for line in lines if line not in thought]
    return (f"not thought: {missing}" if missing else None), answer


def mistake(check, text):
    """What is wrong with the answer, or None."""
    text = text.strip()
    if "thinking" in check:
        wrong, text = thinking_mistake(check["thinking"], text)
        if wrong:
            return wrong
        text = text.strip()
    if "equal" in check and text != check["equal"]:
        return "not equal"
    if "story" in check:
        return story_mistake(check["story"], text)
    if "json" in check:
        try:
            if json.loads(text) != check["json"]:
                return "other JSON"
        except ValueError:
            return "not JSON"
    if check.get("calls"):
        if calls_of(text) != sorted(check["calls"], key=lambda call: json.dumps(call, sort_keys=True)):
            return "other calls"
    elif "calls" in check and "<tool_call>" in text:
        return "a call"
    missing = [part for part in check.get("contains", []) if part not in text]
    extra = [part for part in check.get("lacks", []) if part in text]
    return f"lacks {missing}" if missing else f"has {extra}" if extra else None
