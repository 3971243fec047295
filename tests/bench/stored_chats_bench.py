#!/usr/bin/env python3
"""Measures how long `etna serve` takes to list stored chats if there are many.

    stored_chats_bench.py ETNA [--chats 10000] [--repetitions 20]

One chat is stored by a request, and its rows are repeated in the file, each time with another id. One line of JSON for each list, in
milliseconds at the client; the exit code is 1 if a median is not below 50.
"""

import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

LIMIT_MS = 50


class Running:
    def __init__(self, etna, file):
        self.process = subprocess.Popen([etna, "serve", "demo", "--port", "0", "--store", str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body=None):
        sent = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, sent)) as answer:
            return json.load(answer)


def repeat(file, count):
    """The chat's rows, as the server writes them."""
    database = sqlite3.connect(file)
    (first,) = database.execute("SELECT number FROM completions").fetchone()
    identifier, text = database.execute("SELECT id, object FROM entries JOIN completions USING (number)").fetchone()
    for number in range(first + 1, first + count):
        name = f"chatcmpl-{number:029}".encode()
        database.execute("INSERT INTO entries SELECT ?, kind, owner, ?, touched_us, ?, bytes FROM entries WHERE number = ?",
                         (number, name, number + 1_000_000, first))
        database.execute("INSERT INTO completions SELECT ?, ?, messages FROM completions WHERE number = ?", (number, text.replace(identifier, name), first))
        database.execute("INSERT INTO labels SELECT owner, kind, name, value, ? FROM labels WHERE completion = ?", (number, first))
    database.commit()
    database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("etna")
    parser.add_argument("--chats", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    is_slow = False
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "store.db"
        with Running(options.etna, file) as server:
            server.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "Tell me a joke."}], "store": True, "metadata": {"kind": "joke"}})
        repeat(file, options.chats)
        with Running(options.etna, file) as server:
            for query in ("limit=100", "limit=100&order=desc", "limit=100&metadata[kind]=joke", f"limit=100&model=demo&after=chatcmpl-{options.chats // 2:029}"):
                times = []
                for _ in range(options.repetitions):
                    began = time.monotonic()
                    page = server.ask(f"/v1/chat/completions?{query}")
                    times.append((time.monotonic() - began) * 1000)
                    assert len(page["data"]) == 100 and page["has_more"], query
                median = statistics.median(times)
                is_slow = is_slow or median >= LIMIT_MS
                print(json.dumps({"chats": options.chats, "query": query, "median_ms": round(median, 2), "worst_ms": round(max(times), 2)}))
    return is_slow


if __name__ == "__main__":
    sys.exit(main())
