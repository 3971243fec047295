#!/usr/bin/env python3
"""Answers of `etna` constrained by a schema or a grammar. Usage: structure_test.py ETNA"""

import json
import re
import subprocess

from support.cases import ServerCase
from support.program import executable, run_tests

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
WILD = {"temperature": 1.5, "top_p": 1, "top_k": 0, "min_p": 0}


SEARCH = {
    "type": "object",
    "properties": {"query": {"type": "string", "maxLength": 12}, "limit": {"type": "integer", "minimum": 1, "maximum": 9},
                   "exact": {"type": "boolean"}},
    "required": ["query", "limit"],
    "additionalProperties": False,
}


def function(name, parameters, **more):
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


TOOLS = [function("find_person", PERSON), function("search", SEARCH)]
STRICT = [function("find_person", PERSON, strict=True), function("search", SEARCH, strict=True)]


def json_schema(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


class Structure(ServerCase):
    def chat(self, status=200, **body):
        request = {"messages": [{"role": "user", "content": "Tell me about somebody."}], "max_tokens": 96, "seed": 1,
                   "reasoning_effort": "none", **body}
        got, _, text = self.server.request("POST", "/v1/chat/completions", request)
        self.assertEqual(got, status, text)
        return json.loads(text)

    def content(self, **body):
        answer = self.chat(**body)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop", answer)
        return answer["choices"][0]["message"]["content"]

    def refused(self, part, **body):
        message = self.chat(status=400, **body)["error"]["message"]
        self.assertIn(part, message)

    def check_person(self, text):
        person = json.loads(text)
        self.assertEqual(list(person), ["name", "age", "tags"])
        self.assertRegex(person["name"], "^[A-Z][a-z]{1,8}$")
        self.assertIn(person["age"], range(0, 121))
        self.assertTrue(len(person["tags"]) <= 3 and set(person["tags"]) <= set("abc"), person)

    def test_an_answer_fits_its_schema(self):
        self.check_person(self.content(response_format=json_schema(PERSON), temperature=0))
        for seed in range(8):
            self.check_person(self.content(response_format=json_schema(PERSON), seed=seed, **WILD))

    def test_every_choice_and_every_stream_fits(self):
        request = {"response_format": json_schema(PERSON), "n": 4, "seed": 3, **WILD}
        whole = [choice["message"]["content"] for choice in self.chat(**request)["choices"]]
        for text in whole:
            self.check_person(text)
        body = {"messages": [{"role": "user", "content": "Tell me about somebody."}], "max_tokens": 96, "stream": True,
                "reasoning_effort": "none"}
        _, _, text = self.server.request("POST", "/v1/chat/completions", {**body, **request})
        streamed = {}
        for line in text.split("\n"):
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    index = choice["index"]
                    streamed[index] = streamed.get(index, "") + (choice["delta"].get("content") or "")
        self.assertEqual([streamed[index] for index in range(4)], whole)

    def test_json_objects(self):
        for seed in range(4):
            answer = self.chat(response_format={"type": "json_object"}, seed=seed, **WILD)["choices"][0]
            if answer["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(answer["message"]["content"]), dict)
            else:
                self.assertTrue(answer["message"]["content"].startswith("{"), answer)

    def test_other_notations_by_both_names(self):
        colours = ["red", "green", "reddish"]
        grammar = 'root ::= "[" item ("," item)? "]"\nitem ::= [0-9] [0-9]? | "none"'
        for prefix, wrap in (("", lambda kinds: {"structured_outputs": kinds}), ("guided_", lambda kinds: kinds)):
            self.assertIn(self.content(**wrap({prefix + "choice": colours}), **WILD), colours)
            self.assertTrue(re.fullmatch("[ab]{3}-[0-9]", self.content(**wrap({prefix + "regex": "[ab]{3}-[0-9]"}), **WILD)))
            numbers = self.content(**wrap({prefix + "grammar": grammar}), temperature=0)
            self.assertTrue(re.fullmatch(r"\[([0-9]+|none)(,([0-9]+|none))?\]", numbers), numbers)
            self.check_person(self.content(**wrap({prefix + "json": PERSON}), **WILD))
            self.check_person(self.content(**wrap({prefix + "json": json.dumps(PERSON)}), temperature=0))

    def test_completions_are_constrained_too(self):
        body = {"prompt": "The answer is", "max_tokens": 8, "structured_outputs": {"choice": ["42", "24"]}, **WILD}
        status, _, text = self.server.request("POST", "/v1/completions", body)
        self.assertEqual(status, 200, text)
        choice = json.loads(text)["choices"][0]
        self.assertIn(choice["text"], ["42", "24"])
        self.assertEqual(choice["finish_reason"], "stop")

    def test_a_truncated_answer_reports_length(self):
        choice = self.chat(response_format=json_schema(PERSON), max_tokens=3)["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")

    def test_unenforceable_keywords_are_refused_with_their_pointer(self):
        unique = {"type": "object", "properties": {"ids": {"type": "array", "uniqueItems": True}}}
        self.refused("#/properties/ids/uniqueItems", response_format=json_schema(unique))
        self.refused('unknown type "dict"; the types are null, ', response_format=json_schema({"type": "dict"}))
        self.refused("#/$ref", response_format=json_schema({"$ref": "#/$defs/none"}))
        self.refused("no text fits", response_format=json_schema(False))
        self.refused("regular expression", structured_outputs={"regex": "a)"})
        self.refused("line 1", structured_outputs={"grammar": "root = nothing"})
        self.refused("cannot be combined with another output format", structured_outputs={"regex": "a"}, response_format={"type": "json_object"})
        self.refused("cannot be combined with another output format", structured_outputs={"regex": "a", "choice": ["b"]})
        self.refused("response_format.json_schema", response_format={"type": "json_schema"})
        error = self.chat(status=400, response_format=json_schema(unique))["error"]
        self.assertEqual(error["param"], "response_format.json_schema.schema")
        lenient = {"etna": {"schema": "lenient"}, "response_format": json_schema({**unique, "maxProperties": 0})}
        self.assertEqual(json.loads(self.content(**lenient)), {})

    def check_calls(self, calls, names=("find_person", "search")):
        self.assertTrue(calls)
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            self.assertIn(name, names)
            if name == "find_person":
                self.check_person(arguments)
                continue
            given = json.loads(arguments)
            self.assertTrue({"query", "limit"} <= set(given) <= {"query", "limit", "exact"}, given)
            self.assertTrue(len(given["query"]) <= 12 and given["limit"] in range(1, 10), given)
            self.assertIsInstance(given.get("exact", True), bool)

    def called(self, **body):
        choice = self.chat(**body)["choices"][0]
        self.assertEqual(choice["finish_reason"], "tool_calls", choice)
        self.assertFalse(choice["message"].get("content"), choice)
        return choice["message"]["tool_calls"]

    def test_a_required_call_is_valid(self):
        named = {"type": "function", "function": {"name": "search"}}
        self.check_calls(self.called(tools=TOOLS, tool_choice="required", temperature=0))
        for seed in range(6):
            single = {"parallel_tool_calls": False, "seed": seed, "max_tokens": 200, **WILD}
            calls = self.called(tools=TOOLS, tool_choice="required", **single)
            self.check_calls(calls)
            self.assertEqual(len(calls), 1)
            self.check_calls(self.called(tools=TOOLS, tool_choice=named, **single), ["search"])

    def test_a_truncated_call_has_incomplete_arguments(self):
        cut = []
        for tokens in (2, 6, 12, 16, 20):
            choice = self.chat(tools=TOOLS, tool_choice="required", max_tokens=tokens, seed=1, **WILD)["choices"][0]
            self.assertEqual(choice["finish_reason"], "length")
            self.assertFalse(choice["message"]["content"], choice)
            cut += choice["message"].get("tool_calls", [])
        for call in cut:
            with self.assertRaises(json.JSONDecodeError):
                json.loads(call["function"]["arguments"])
        self.assertTrue(cut)

    def test_streamed_calls_are_the_same(self):
        request = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False, "seed": 5, **WILD}
        whole = self.called(**request)
        body = {"messages": [{"role": "user", "content": "Tell me about somebody."}], "max_tokens": 96, "stream": True,
                "reasoning_effort": "none", **request}
        _, _, text = self.server.request("POST", "/v1/chat/completions", body)
        name = arguments = ""
        for line in text.split("\n"):
            if line.startswith("data: {"):
                for call in json.loads(line[6:])["choices"][0]["delta"].get("tool_calls") or []:
                    name += call["function"].get("name") or ""
                    arguments += call["function"].get("arguments") or ""
        self.assertEqual((name, arguments), (whole[0]["function"]["name"], whole[0]["function"]["arguments"]))

    def test_strict_functions_get_matching_arguments(self):
        for seed in range(6):
            choice = self.chat(tools=STRICT, seed=seed, **WILD)["choices"][0]
            self.assertIn(choice["finish_reason"], ("stop", "length", "tool_calls"))
            self.assertNotIn("<tool_call>", choice["message"].get("content") or "")
            if choice["message"].get("tool_calls"):
                self.check_calls(choice["message"]["tool_calls"])

    def test_a_constrained_answer_with_tools_is_matching_content_or_calls(self):
        for seed in range(6):
            body = {"tools": STRICT, "response_format": json_schema(SEARCH), "seed": seed, "max_tokens": 200, **WILD}
            choice = self.chat(**body)["choices"][0]
            message = choice["message"]
            if choice["finish_reason"] == "tool_calls":
                self.check_calls(message["tool_calls"])
            elif choice["finish_reason"] == "stop":
                self.check_calls([{"function": {"name": "search", "arguments": message["content"]}}])
        self.check_person(self.content(tools=TOOLS, tool_choice="none", response_format=json_schema(PERSON), **WILD))
        self.check_calls(self.called(tools=TOOLS, tool_choice="required", response_format=json_schema(PERSON)))

    def test_schemas_of_tools_are_enforced_or_refused(self):
        unique = {"type": "object", "properties": {"ids": {"type": "array", "items": {"enum": [{}, [1]]}, "uniqueItems": True, "maxItems": 2}},
                  "required": ["ids"]}
        tools = [TOOLS[0], function("f", unique)]
        error = self.chat(status=400, tools=tools, tool_choice="required")["error"]
        self.assertEqual(error["param"], "tools[1].function.parameters")
        self.assertIn("#/properties/ids/uniqueItems", error["message"])
        self.chat(tools=tools, max_tokens=4)  # nothing to enforce
        named = {"type": "function", "function": {"name": "f"}}
        lenient = {"etna": {"schema": "lenient"}, "tools": tools, "tool_choice": named, "parallel_tool_calls": False}
        for call in self.called(**lenient, **WILD, max_tokens=400):
            self.assertIn(len(json.loads(call["function"]["arguments"])["ids"]), range(0, 3))

    def test_the_command_line_constrains_too(self):
        def run(*options):
            return subprocess.run([executable(), "run", "demo", "Tell me about somebody.", "--no-think", "--seed", "1", *options],
                                  capture_output=True, text=True, timeout=120, check=False)

        self.check_person(run("--json-schema", json.dumps(PERSON)).stdout)
        self.assertRegex(run("--regex", "[0-9]{4}", "--temp", "1.5").stdout, r"^[0-9]{4}\n$")
        refused = run("--json-schema", '{"type": "array", "uniqueItems": true}')
        self.assertIn("#/uniqueItems", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)
        lenient = run("--json-schema", '{"type": "array", "uniqueItems": true, "maxItems": 0}', "--lenient-schema")
        self.assertEqual(json.loads(lenient.stdout), [])
        both = run("--regex", "a", "--json-schema", "{}")
        self.assertIn("--json-schema and --regex", both.stderr)
        missing = run("--grammar", "/nonexistent/grammar.gbnf")
        self.assertIn("/nonexistent/grammar.gbnf", missing.stderr)


if __name__ == "__main__":
    run_tests()
