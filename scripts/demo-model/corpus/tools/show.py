"""Prints conversations for reading, or checks many: python3 -m corpus.tools.show [FUNCTION] [COUNT] [--held-out] [--check COUNT]"""

import argparse
import json
import re
import time
from pathlib import Path

from corpus import tools
from corpus.source import Exchange, Source, assistant, user
from corpus.tools.offers import UNSEEN

TEMPLATE = Path(__file__).parents[2] / "template.jinja"


def fact(source):
    """Stands for another skill in no_tool."""
    number = source.number(1, 99)
    return Exchange([user(f"Which number follows {number}?"), assistant(f"{number + 1}.")], {"contains": [str(number + 1)]})


FUNCTIONS = {name: getattr(tools, name) for name in tools.__all__}
FUNCTIONS["no_tool"] = lambda source: tools.no_tool(source, fact)
FUNCTIONS["in_a_row"] = lambda source: tools.in_a_row(source, fact)


def template():
    from jinja2 import Environment  # only for reading; the generator itself has no dependencies

    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE.read_text())


def render(compiled, exchange):
    system = [{"role": "system", "content": exchange.system}] if exchange.system else []
    return compiled.render(messages=system + exchange.messages, tools=exchange.tools)


def matches(schema, value):
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    if isinstance(value, bool) and schema["type"] != "boolean":
        return False
    return isinstance(value, kinds[schema["type"]]) and value in schema.get("enum", [value])


def check_calls(exchange, request, calls):
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in exchange.tools}
    for call in calls:
        parameters = offered[call["name"]]
        arguments = call["arguments"]
        assert set(parameters["required"]) <= set(arguments), "a required parameter is missing"
        order = [name for name in parameters["properties"] if name in arguments]
        assert order == list(arguments), "arguments stand in another order than declared, or one is not declared"
        for name, value in arguments.items():
            assert matches(parameters["properties"][name], value), f"{name} is of another type"
            if not isinstance(value, bool):
                assert str(value) in request, f"{value} is not in the request"
    texts = [json.dumps(call) for call in calls]
    assert len(set(texts)) == len(texts), "the same call twice"


def check(exchange):
    """Fails where an exchange breaks a promise of this package."""
    names = [tool["function"]["name"] for tool in exchange.tools]
    assert len(set(names)) == len(names) and 1 <= len(names) <= 4, "names of tools"
    request, asked, pending = "", 0, 0
    for message in exchange.messages:
        if message["role"] == "user":
            assert pending in (0, asked), "some of the results are missing"
            request, pending = message["content"], 0
            assert not re.search(r"[{}\[\]]|  | [.,?]|\.\.|\?\.|,,", request), "punctuation"
        elif message["role"] == "tool":
            pending -= 1
        elif message.get("tool_calls"):
            calls = [call["function"] for call in message["tool_calls"]]
            check_calls(exchange, request, calls)
            asked = pending = len(calls)
        else:
            assert pending == 0, "results are missing"
    last = exchange.messages[-1]
    assert [call["function"] for call in last.get("tool_calls", [])] == exchange.check["calls"]
    for needed in exchange.check.get("contains", []):
        assert needed and needed in last["content"], f"'{needed}' is not in the answer"


def check_unseen(exchanges):
    """The tools that are kept for evaluation must not be in training."""
    names = {name for purpose in UNSEEN for name in purpose.names}
    descriptions = {description for purpose in UNSEEN for description in purpose.descriptions}
    for exchange in exchanges:
        for tool in exchange.tools:
            function = tool["function"]
            assert function["name"] not in names and function["description"].rstrip(".") not in descriptions, function["name"]


def check_many(name, count, held_out):
    source = Source(f"check {name}", held_out)
    started = time.process_time()
    exchanges = [FUNCTIONS[name](source) for _ in range(count)]
    seconds = time.process_time() - started
    if name != "call_unseen":
        check_unseen(exchanges)
    compiled = template()
    lengths = []
    for exchange in exchanges:
        try:
            check(exchange)
        except (AssertionError, KeyError) as failure:
            raise SystemExit(f"{failure!r}\n{render(compiled, exchange)}\n{exchange.check}") from failure
        lengths.append(len(render(compiled, exchange)))
    lengths.sort()
    print(f"{name:14} {count} sound, {count / seconds:7.0f} a second, characters: median {lengths[count // 2]}, "
          f"95 % below {lengths[count * 95 // 100]}, largest {lengths[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("function", nargs="?", choices=list(FUNCTIONS))
    parser.add_argument("count", nargs="?", type=int, default=10)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seed", default="show")
    parser.add_argument("--check", type=int, metavar="COUNT")
    arguments = parser.parse_args()
    for name in [arguments.function] if arguments.function else FUNCTIONS:
        if arguments.check:
            check_many(name, arguments.check, arguments.held_out)
            continue
        source, compiled = Source(f"{arguments.seed} {name}", arguments.held_out), template()
        for _ in range(arguments.count):
            exchange = FUNCTIONS[name](source)
            print(render(compiled, exchange), json.dumps(exchange.check), "\n", sep="")


if __name__ == "__main__":
    main()
