#!/usr/bin/env python3
"""What `etna serve` keeps of responses: over restarts, kills and files that cannot be used. Usage: responses_test.py ETNA"""

import json
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import serve_test
from serve_test import Server

SUM = {"input": "What is 34 + 58?", "temperature": 0}
ENDLESS = {"input": "Tell me a story.", "max_output_tokens": 1500, "ignore_eos": True}


def ask(server, method, path, body=None):
    status, _, text = server.request(method, path, body)
    return status, json.loads(text)


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="etna-store-")
        self.file = pathlib.Path(self.folder.name) / "kept" / "responses.db"

    def tearDown(self):
        self.folder.cleanup()

    def test_a_response_outlives_its_server(self):
        first = Server("--store", str(self.file))
        _, made = ask(first, "POST", "/v1/responses", SUM)
        _, sealed = ask(first, "POST", "/v1/responses", {"input": "What is 12 + 30 - 7?", "temperature": 0, "include": ["reasoning.encrypted_content"],
                                                         "chat_template_kwargs": {"enable_thinking": True}})
        first.stop()
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(pathlib.Path(f"{self.file}.key").stat().st_mode & 0o777, 0o600)
        second = Server("--store", str(self.file))
        self.assertEqual(ask(second, "GET", f"/v1/responses/{made['id']}"), (200, made))
        _, onward = ask(second, "POST", "/v1/responses", {"input": "Thanks.", "previous_response_id": made["id"], "max_output_tokens": 8})
        self.assertEqual(onward["previous_response_id"], made["id"])
        reasoning = {**sealed["output"][0], "content": []}
        status, _ = ask(second, "POST", "/v1/responses", {"input": [{"role": "user", "content": "x"}, reasoning, sealed["output"][1]], "max_output_tokens": 8})
        self.assertEqual(status, 200)
        second.stop()

    def test_what_was_told_survives_a_kill_and_what_was_begun_has_failed(self):
        server = Server("--store", str(self.file))
        _, made = ask(server, "POST", "/v1/responses", SUM)
        _, begun = ask(server, "POST", "/v1/responses", {**ENDLESS, "background": True})
        self.assertIn(begun["status"], ("queued", "in_progress"))
        time.sleep(0.3)
        server.stop(signal.SIGKILL)
        again = Server("--store", str(self.file))
        self.assertEqual(ask(again, "GET", f"/v1/responses/{made['id']}"), (200, made))
        status, failed = ask(again, "GET", f"/v1/responses/{begun['id']}")
        self.assertEqual((status, failed["status"]), (200, "failed"))
        self.assertIn("stopped", failed["error"]["message"])
        again.stop()

    def test_memory_and_none_leave_nothing_behind(self):
        for place in ("memory", "none"):
            server = Server("--store", place)
            _, made = ask(server, "POST", "/v1/responses", SUM)
            status, _ = ask(server, "GET", f"/v1/responses/{made['id']}")
            self.assertEqual(status, 200 if place == "memory" else 404)
            home = pathlib.Path(server.home.name)
            self.assertEqual(list(home.rglob("*.db")), [])
            server.stop()

    def test_a_file_that_is_no_store_is_moved_aside(self):
        self.file.parent.mkdir()
        self.file.write_bytes(b"nothing of the kind" * 1000)
        server = Server("--store", str(self.file))
        _, made = ask(server, "POST", "/v1/responses", SUM)
        self.assertEqual(ask(server, "GET", f"/v1/responses/{made['id']}")[0], 200)
        self.assertTrue(any("damaged" in one.name for one in self.file.parent.iterdir()))
        self.assertIn("damaged", server.told())
        server.stop()

    def test_bounds_hold(self):
        server = Server("--store", "memory", "--responses-store-max-entries", "3")
        made = [ask(server, "POST", "/v1/responses", {**SUM, "max_output_tokens": 2})[1]["id"] for _ in range(5)]
        found = [ask(server, "GET", f"/v1/responses/{one}")[0] for one in made]
        self.assertEqual(found, [404, 404, 200, 200, 200])
        server.stop()


if __name__ == "__main__":
    serve_test.ETNA = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
