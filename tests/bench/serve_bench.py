#!/usr/bin/env python3
"""Tokens a second that `etna serve` generates for one stream, and for many at once.

    serve_bench.py ETNA MODEL.gguf [--streams 1,4,16,64] [--tokens 32] [--repetitions 3]

Each stream asks for other words, so that no prompt is shared; the clock runs from the first request to the last token. Medians; one
line of JSON for each number of streams.
"""

import argparse
import http.client
import json
import statistics
import subprocess
import threading
import time


def generate(port, prompt, tokens):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)
    body = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
    connection.request("POST", "/v1/completions", json.dumps(body))
    answer = connection.getresponse()
    lines = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: {")]
    connection.close()
    return json.loads(lines[-1])["usage"]["completion_tokens"]


def measured(port, streams, tokens, round_number):
    """Tokens a second of all streams together."""
    made = [0] * streams

    def client(index):
        made[index] = generate(port, f"Story {round_number} number {index}:", tokens)

    threads = [threading.Thread(target=client, args=(index,)) for index in range(streams)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if made != [tokens] * streams:
        raise SystemExit(f"not every stream got its {tokens} tokens: {made}")
    return streams * tokens / (time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etna")
    parser.add_argument("model")
    parser.add_argument("--streams", default="1,4,16,64")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    counts = [int(count) for count in options.streams.split(",")]
    command = [options.etna, "serve", options.model, "--port", "0", "--parallel", str(max(counts)), "--ctx-size", "256"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = int(server.stdout.readline().strip().rsplit(":", 1)[1])
        generate(port, "Warm up", 4)
        alone = None
        for streams in counts:
            speed = statistics.median(measured(port, streams, options.tokens, number) for number in range(options.repetitions))
            alone = alone or speed
            print(json.dumps({"streams": streams, "tokens_per_second": round(speed, 2), "times_the_first": round(speed / alone, 2)}), flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
