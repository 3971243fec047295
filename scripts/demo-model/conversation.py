"""An exchange as the model sees it: rendered text, token ids, and the weights of the tokens in training."""

import functools
import json
import pathlib

import jinja2

TEMPLATE = (pathlib.Path(__file__).parent / "template.jinja").read_text(encoding="utf-8")


@functools.cache
def template():
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE)


def messages_of(exchange):
    return ([{"role": "system", "content": exchange.system}] if exchange.system else []) + exchange.messages


def rendered(exchange):
    """The complete conversation, answers included."""
    return template().render(messages=messages_of(exchange), tools=exchange.tools, enable_thinking=exchange.thinking, add_generation_prompt=False)


def prompt(exchange):
    """The conversation up to the start of the last answer."""
    return template().render(messages=messages_of(exchange)[:-1], tools=exchange.tools, enable_thinking=exchange.thinking, add_generation_prompt=True)


def learnable(exchange, vocabulary):
    """Returns token ids and training weights: 0 outside answers (end tokens count as inside), 1 / sqrt(n) in an answer of n tokens, so that
    stories do not dominate sums."""
    ids = vocabulary.encode(rendered(exchange))
    start, end = vocabulary.ids["<|im_start|>"], vocabulary.ids["<|im_end|>"]
    head = [start, *vocabulary.encode("assistant\n")]
    weights, begin, index = [0.0] * len(ids), None, 0
    while index < len(ids):
        if ids[index] == start and ids[index:index + len(head)] == head:
            begin = index = index + len(head)
            continue
        index += 1
        if begin is not None and ids[index - 1] == end:
            weights[begin:index] = [(index - begin) ** -0.5] * (index - begin)
            begin = None
    return ids, weights
