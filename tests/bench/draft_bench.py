#!/usr/bin/env python3
"""Tokens a second of one greedy stream of `demo`, plainly and with drafts, on text that is new and on repetitive text.

    draft_bench.py [--prompts 8] [--tokens 96] [--repetitions 3] ETNA...

The four ways take turns, so that what else the machine does hits them alike. Medians; one line of JSON for each text and way. ETNA may be
several words: scripts/sid-root build/bench/etna.
"""

import argparse
import http.client
import json
import statistics
import subprocess
import time

WAYS = {"plain": {"num_assistant_tokens": 0}, "draft": {"max_ngram_size": 0}, "lookup": {"max_ngram_size": 3},
        "both": {"max_ngram_size": 3}}
ANIMALS = "dog cat horse duck fox owl frog hen goat mouse bear wolf".split()


def prompts(text, count):
    words = "red blue green tree house river stone cloud"
    for index in range(count):
        animal = ANIMALS[index % len(ANIMALS)]
        yield f"Tell me a story about a {animal}." if text == "new" else f"Repeat exactly: {animal} {words} {words}"


def ask(port, prompt, tokens, way):
    """Tokens and seconds of the answer, and its drafts."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": tokens, "temperature": 0, **way}
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    usage = json.loads(connection.getresponse().read())["usage"]
    seconds = time.monotonic() - begin
    connection.close()
    details = usage["completion_tokens_details"]
    return usage["completion_tokens"], seconds, details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]


class Server:
    def __init__(self, etna, *more):
        command = [*etna, "serve", "demo", "--port", "0", "--parallel", "1", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(servers, text, options):
    speeds, drafts = {name: [] for name in WAYS}, {name: (0, 0) for name in WAYS}
    for _ in range(options.repetitions):
        for name, way in WAYS.items():
            answers = [ask(servers[name], prompt, options.tokens, way) for prompt in prompts(text, options.prompts)]
            speeds[name].append(sum(one[0] for one in answers) / sum(one[1] for one in answers))
            drafts[name] = (sum(one[2] for one in answers), sum(one[3] for one in answers))
    plain = statistics.median(speeds["plain"])
    for name in WAYS:
        speed = statistics.median(speeds[name])
        print(json.dumps({"text": text, "way": name, "tokens_per_second": round(speed, 1), "times_plain": round(speed / plain, 2),
                          "accepted": drafts[name][0], "rejected": drafts[name][1]}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etna", nargs="+")
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    without, drafting = Server(options.etna), Server(options.etna, "--draft", "demo-draft")
    servers = {"plain": without.port, "lookup": without.port, "draft": drafting.port, "both": drafting.port}
    try:
        for server in set(servers.values()):
            ask(server, "Warm up.", 8, WAYS["both"])
        for text in ("new", "repetitive"):
            measure(servers, text, options)
    finally:
        without.stop()
        drafting.stop()


if __name__ == "__main__":
    main()
