#!/usr/bin/env python3
"""Outputs at temperature 1.5, constrained by 200 random schemas and validated by ajv. Usage: sampled_outputs_test.py ETNA [COUNT]

COUNT outputs (default 100) are generated, half by the embedded model and half by a model of random weights, which rarely ends
an output that may continue. A fifth as many are required tool calls, of the tools in tools.json and, if ETNA_REFERENCE_DATA
is set, of BFCL. Each output either validates or is cut off by its length; the test prints the counts. A refused schema is a
failure, because all of these can be enforced."""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

from support import random_schemas
from support.program import number_option
from support.server import Server

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = 200
STREAMS = 4
# Options of serve, and the minimum shares of complete outputs and calls.
MODELS = {
    # Measured: 93 % and 92 % of the outputs, 95 % and 37 % of the calls; of those of tools.json alone 80 % by demo.
    "demo": (["demo"], 0.8, 0.7),
    "random weights": ([str(HERE.parent / "data" / "models" / "llama-2-tiny-random.gguf"), "--chat-template",
                        str(HERE.parents[1] / "scripts" / "demo-model" / "template.jinja")], 0.8, 0.1),
}


def sample(server, schema, seed):
    body = {"messages": [{"role": "user", "content": "Give me an example."}], "max_tokens": 120, "seed": seed, "reasoning_effort": "none",
            "temperature": 1.5, "top_p": 1, "top_k": 0, "min_p": 0, "structured_outputs": {"json": json.dumps(schema)}}
    status, _, text = server.request("POST", "/v1/chat/completions", body)
    if status != 200:
        return {"schema": schema, "text": "", "end": f"status {status}: {text}"}
    choice = json.loads(text)["choices"][0]
    return {"schema": schema, "text": choice["message"]["content"], "end": choice["finish_reason"]}


TYPES = {"dict": "object", "HashMap": "object", "float": "number", "double": "number", "long": "integer", "String": "string",
         "char": "string", "Boolean": "boolean", "Array": "array", "ArrayList": "array", "tuple": "array", "any": None, "": None}
CONTRADICTORY = {"extract_parameters_v1", "Events_3_BuyEventTickets"}  # an enum of strings for another type


def json_schema_of(value):
    """BFCL names types as Python, Java and JavaScript do."""
    if isinstance(value, list):
        return [json_schema_of(item) for item in value]
    if not isinstance(value, dict):
        return value
    schema = {key: item if key in ("enum", "default") else json_schema_of(item) for key, item in value.items()}
    if isinstance(schema.get("type"), str) and schema["type"] in TYPES:
        named = TYPES[schema.pop("type")]
        schema.update({"type": named} if named else {})
    return schema


def offered_tools():
    tools = json.loads((HERE / "tools.json").read_text(encoding="utf-8"))
    data = os.environ.get("ETNA_REFERENCE_DATA")
    for path in sorted(pathlib.Path(data, "tool-calling", "bfcl").glob("BFCL_*")) if data else []:
        for line in path.read_text(encoding="utf-8").splitlines()[:40]:
            for tool in json.loads(line).get("function", []):
                if tool["name"] not in CONTRADICTORY and len(json.dumps(tool)) < 2000:
                    tools.append({"name": tool["name"], "parameters": json_schema_of(tool["parameters"])})
    return tools


def sample_call(server, tool, seed):
    schema = tool["parameters"]
    function = {"name": tool["name"].replace(" ", "_"), "parameters": schema}
    body = {"messages": [{"role": "user", "content": "Do it."}], "max_tokens": 250, "seed": seed, "reasoning_effort": "none",
            "temperature": 1.5, "top_p": 1, "top_k": 0, "min_p": 0, "parallel_tool_calls": False,
            "tools": [{"type": "function", "function": function}], "tool_choice": "required"}
    status, _, text = server.request("POST", "/v1/chat/completions", body)
    if status != 200:
        return {"schema": schema, "text": "", "end": f"status {status}: {text}"}
    choice = json.loads(text)["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    if choice["finish_reason"] == "length":  # the call may be complete, and the answer cut off after it
        return {"schema": schema, "text": "", "end": "length"}
    is_call = choice["finish_reason"] == "tool_calls" and [call["function"]["name"] for call in calls] == [function["name"]]
    return {"schema": schema, "text": calls[0]["function"]["arguments"] if calls else "", "end": "stop" if is_call else f"no call: {choice}"}


def judged(samples):
    """Returns ajv's verdict on each: empty if it validates."""
    node = shutil.which("node")
    lines = "".join(json.dumps({"schema": one["schema"], "text": one["text"]}) + "\n" for one in samples)
    done = subprocess.run([node, str(HERE / "node" / "support" / "validate.mjs")], input=lines, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: ajv did not run: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    count = number_option(100)
    generator = random.Random(7)
    schemas = [random_schemas.document(generator) for _ in range(SCHEMAS)]
    tools = offered_tools()
    generator.shuffle(tools)
    return 0 if all([are_kept(name, count // len(MODELS), schemas, tools) for name in MODELS]) else 1


def are_kept(name, count, schemas, tools):
    model, outputs_whole_min, calls_whole_min = MODELS[name]
    server = Server(*model, "--parallel", str(STREAMS))
    try:
        with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
            outputs = list(pool.map(lambda i: sample(server, schemas[i % SCHEMAS], i), range(count)))
            calls = list(pool.map(lambda i: sample_call(server, tools[i % len(tools)], i), range(count // 5)))
    finally:
        server.stop()
    are_good = [report(outputs, f"outputs of {name} over {SCHEMAS} schemas", outputs_whole_min),
                report(calls, f"calls by {name} of {len(tools)} tools", calls_whole_min)]
    return all(are_good)


def report(samples, what, whole_min):
    whole = [one for one in samples if one["end"] == "stop"]
    cut = [one for one in samples if one["end"] == "length"]
    other = [one for one in samples if one["end"] not in ("stop", "length")]
    wrong = [(one, verdict) for one, verdict in zip(whole, judged(whole)) if verdict]
    for one, verdict in wrong[:20]:
        print(f"wrong: {one['text']!r} for {json.dumps(one['schema'])}: {verdict}")
    for one in other[:20]:
        print(f"no output: {one['end']} for {json.dumps(one['schema'])}")
    print(f"{len(samples)} {what}: {len(whole) - len(wrong)} valid, {len(cut)} cut off by their length, "
          f"{len(wrong)} wrong, {len(other)} refused")
    return not wrong and not other and len(whole) >= whole_min * len(samples)


if __name__ == "__main__":
    sys.exit(main())
