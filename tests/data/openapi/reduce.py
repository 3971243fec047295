#!/usr/bin/env python3
"""Writes chat.json, responses.json or open_responses.json: what an API answers, as JSON schemas and nothing else.

    python3 reduce.py OPENAI_OPENAPI_JSON chat > chat.json
    python3 reduce.py OPENAI_OPENAPI_JSON responses > responses.json
    python3 reduce.py OPEN_RESPONSES_OPENAPI_JSON open_responses > open_responses.json
"""

import json
import sys

ROOTS = {"chat": ["CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "CreateCompletionResponse",
                  "ChatCompletionList", "ChatCompletionDeleted", "ChatCompletionMessageList", "ListModelsResponse", "Model",
                  "ErrorResponse"],
         "responses": ["Response", "ResponseStreamEvent", "ResponseItemList", "TokenCountsResource", "CompactResource",
                       "ConversationResource", "DeletedConversationResource", "ConversationItemList", "ConversationItem",
                       "ErrorResponse"],
         "open_responses": ["ResponseResource", "CompactResource"]}  # and the events, which have no schema in common  # fmt: skip
PROSE = {"description", "example", "examples", "title", "deprecated", "default"}


def without_prose(schema, names_members=False):
    """The schema without texts and extensions; a member of an object may bear any of those names."""
    if isinstance(schema, list):
        return [without_prose(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: without_prose(value, name == "properties" and not names_members) for name, value in schema.items()
            if names_members or (name not in PROSE and not name.startswith("x-"))}  # fmt: skip


def referred(schema):
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name == "$ref":
                yield value.rsplit("/", 1)[1]
            else:
                yield from referred(value)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        whole = json.load(file)
    part = sys.argv[2]
    kept, waiting = {}, list(ROOTS[part])
    if part == "open_responses":
        waiting += [name for name in whole["components"]["schemas"] if name.endswith("StreamingEvent")]
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept[name] = without_prose(whole["components"]["schemas"][name])
            waiting += referred(kept[name])
    info = {name: whole["info"][name] for name in ("title", "version", "license") if name in whole["info"]}
    json.dump({"info": info, "components": {"schemas": dict(sorted(kept.items()))}}, sys.stdout, indent=1 if part == "chat" else None)
    print()


if __name__ == "__main__":
    main()
