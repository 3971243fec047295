#!/usr/bin/env python3
"""Outputs at temperature 1.5, kept to 200 random schemas, judged by ajv. Usage: sampled_outputs_test.py ETNA [COUNT [MODEL]]

Each output either validates or was cut off by its length; prints how many of which. COUNT outputs are made, 300 by
default, of the embedded model or of MODEL. Schemas that etna refuses are a failure: all of these can be enforced."""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import random_schemas
import serve_test

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = 200
STREAMS = 4


def sample(server, schema, seed):
    body = {"messages": [{"role": "user", "content": "Give me an example."}], "max_tokens": 120, "seed": seed, "reasoning_effort": "none",
            "temperature": 1.5, "top_p": 1, "top_k": 0, "min_p": 0, "structured_outputs": {"json": json.dumps(schema)}}
    status, _, text = server.request("POST", "/v1/chat/completions", body)
    if status != 200:
        return {"schema": schema, "text": "", "end": f"status {status}: {text}"}
    choice = json.loads(text)["choices"][0]
    return {"schema": schema, "text": choice["message"]["content"], "end": choice["finish_reason"]}


def judged(samples):
    """ajv's verdict on each: empty where it validates."""
    node = shutil.which("node")
    lines = "".join(json.dumps({"schema": one["schema"], "text": one["text"]}) + "\n" for one in samples)
    done = subprocess.run([node, str(HERE / "node" / "support" / "validate.mjs")], input=lines, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: ajv did not run: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    serve_test.ETNA = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    model = sys.argv[3] if len(sys.argv) > 3 else "demo"
    generator = random.Random(7)
    schemas = [random_schemas.document(generator) for _ in range(SCHEMAS)]
    server = serve_test.Server(model, "--parallel", str(STREAMS))
    try:
        with concurrent.futures.ThreadPoolExecutor(STREAMS) as pool:
            samples = list(pool.map(lambda i: sample(server, schemas[i % SCHEMAS], i), range(count)))
    finally:
        server.stop()
    whole = [one for one in samples if one["end"] == "stop"]
    cut = [one for one in samples if one["end"] == "length"]
    other = [one for one in samples if one["end"] not in ("stop", "length")]
    wrong = [(one, verdict) for one, verdict in zip(whole, judged(whole)) if verdict]
    for one, verdict in wrong[:20]:
        print(f"wrong: {one['text']!r} for {json.dumps(one['schema'])}: {verdict}")
    for one in other[:20]:
        print(f"no output: {one['end']} for {json.dumps(one['schema'])}")
    print(f"{count} outputs over {SCHEMAS} schemas: {len(whole) - len(wrong)} valid, {len(cut)} cut off by their length, "
          f"{len(wrong)} wrong, {len(other)} refused")
    return 1 if wrong or other or len(whole) < count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
