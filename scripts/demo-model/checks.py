"""Compares an answer with an exchange's `check` (corpus/source.py)."""

import json
import re
from dataclasses import dataclass

STORY_WORDS = (80, 200)


@dataclass
class Answer:
    """A model's output as parsed by etna."""

    text: str
    reasoning: str
    calls: list  # of {"name", "arguments"}
    broken: bool  # contained a malformed call
    ended: bool  # by the model's end token


def sentences_of(text):
    return [sentence.strip() for sentence in re.split(r"(?<=[.!?])[\"']?\s+", text) if sentence.strip()]


def in_order(calls):
    return sorted(calls, key=lambda call: json.dumps(call, sort_keys=True))


def story_mistake(first, text):
    words, sentences = len(text.split()), sentences_of(text)
    if not text.startswith(first):
        return "does not start with the first line"
    if not STORY_WORDS[0] <= words <= STORY_WORDS[1]:
        return f"{words} words"
    repeated = {sentence for sentence in sentences if sentences.count(sentence) > 1}
    return f"repeats: {repeated}" if repeated else None


def json_mistake(expected, text):
    try:
        return None if json.loads(text) == expected else "other JSON"
    except ValueError:
        return "not JSON"


def calls_mistake(expected, answer):
    if answer.broken or in_order(answer.calls) != in_order(expected):
        return "other calls"
    return "text in addition to the calls" if expected and answer.text.strip() else None


def mistake(check, answer):
    """Returns the first mistake of the answer, or None."""
    text = answer.text.strip()
    missing = [part for part in check.get("contains", []) if part not in text]
    extra = [part for part in check.get("lacks", []) if part in text]
    unthought = [line for line in check.get("thinking", []) if line not in answer.reasoning]
    found = [
        f"not thought: {unthought}" if unthought else None,
        "not equal" if "equal" in check and text != check["equal"] else None,
        story_mistake(check["story"], text) if "story" in check else None,
        json_mistake(check["json"], text) if "json" in check else None,
        calls_mistake(check.get("calls", []), answer),
        f"lacks {missing}" if missing else None,
        f"has {extra}" if extra else None,
    ]
    return next((wrong for wrong in found if wrong), None)
