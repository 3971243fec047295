#!/usr/bin/env python3
"""Writes what mask_bench --schemas reads: a line for each schema and a text that fits it.

mask_cases.py DATA, where DATA has json-schema/ (the JSON-Schema-Test-Suite) and tool-calling/ (BFCL), as
ETNA_REFERENCE_DATA does. The suite's valid instances come with their unmodified schemas; BFCL's tools with their
types in JSON Schema's words, and the arguments of the expected calls.
"""

import json
import pathlib
import sys

TYPES = {  # of Python, Java and JavaScript, as BFCL has them
    "dict": "object", "HashMap": "object", "float": "number", "double": "number", "long": "integer",
    "String": "string", "char": "string", "Boolean": "boolean", "Array": "array", "ArrayList": "array",
    "tuple": "array", "any": None, "": None,
}


def standard(schema):
    """The schema with JSON Schema's types."""
    if isinstance(schema, list):
        return [standard(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            named = TYPES.get(value, value)
            if named is not None:
                result[key] = named
        elif key in ("default", "optional", "description"):
            continue
        elif key == "properties":
            result[key] = {name: standard(of_name) for name, of_name in value.items()}
        elif key == "enum":
            result[key] = value
        else:
            result[key] = standard(value)
    return result


def in_order(schema, value):
    """The value with its members in the schema's order."""
    if isinstance(value, list):
        return [in_order(schema.get("items", {}) if isinstance(schema, dict) else {}, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    names = [name for name in properties if name in value] + [name for name in value if name not in properties]
    return {name: in_order(properties.get(name, {}), value[name]) for name in names}


def bfcl(folder):
    for questions in sorted(folder.glob("BFCL_v4_*.json")):
        answers = folder / questions.name.replace("BFCL_v4_", "answers_")
        if not answers.exists():
            continue
        expected = {}
        for line in answers.read_text().splitlines():
            answer = json.loads(line)
            expected[answer["id"]] = answer["ground_truth"]
        for line in questions.read_text().splitlines():
            case = json.loads(line)
            for call in expected.get(case["id"], []):
                if not isinstance(call, dict):
                    continue
                for function in case.get("function", []):
                    if function["name"] in call:
                        schema = standard(function["parameters"])
                        arguments = {name: ways[0] for name, ways in call[function["name"]].items()
                                     if ways and ways[0] != ""}
                        yield schema, in_order(schema, arguments)


def suite(folder):
    for file in sorted(folder.rglob("*.json")):
        for group in json.loads(file.read_text()):
            for test in group["tests"]:
                if test["valid"]:
                    yield group["schema"], in_order(group["schema"], test["data"])


def main():
    data = pathlib.Path(sys.argv[1])
    sources = [bfcl(data / "tool-calling" / "bfcl"), suite(data / "json-schema" / "test-suite" / "tests" / "draft2020-12")]
    for source in sources:
        for schema, value in source:
            text = json.dumps(value, ensure_ascii=False)
            print(json.dumps({"schema": json.dumps(schema), "text": text}))


if __name__ == "__main__":
    main()
