#!/usr/bin/env python3
"""Stored responses of `etna serve`: restarts, kills and unusable files. Usage: responses_test.py ETNA"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import resource
import signal
import tempfile
import unittest

from support.program import run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

SUM = {"input": "What is 34 + 58?", "temperature": 0}
CHAT = {"messages": [{"role": "user", "content": "What is 34 + 58?"}], "temperature": 0}
ENDLESS = {"input": "Tell me a story.", "max_output_tokens": 1500, "ignore_eos": True}


def ask(server, method, path, body=None):
    status, _, text = server.request(method, path, body)
    return status, json.loads(text)


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="etna-store-")
        self.file = pathlib.Path(self.folder.name) / "stored" / "responses.db"

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

    def events_of(self, server, path, body=None, count=None):
        """The first `count` events of a stream, or all."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        events = []
        with connection.getresponse() as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    events.append(json.loads(line[6:]))
                if len(events) == count:
                    break
        connection.close()
        return events

    def check_continued(self, kill):
        """A streamed background answer goes on after its server has ended, without a gap or a double."""
        server = Server("--store", str(self.file), "--drain-timeout", "0")
        _, made = ask(server, "POST", "/v1/responses", SUM)
        seen = self.events_of(server, "/v1/responses", {**ENDLESS, "max_output_tokens": 300, "background": True, "stream": True, "temperature": 1.5}, 40)
        name = seen[0]["response"]["id"]
        server.stop(kill)
        again = Server("--store", str(self.file))
        self.assertEqual(ask(again, "GET", f"/v1/responses/{made['id']}"), (200, made))
        rest = self.events_of(again, f"/v1/responses/{name}?stream=true&starting_after={seen[-1]['sequence_number']}")
        everything = seen + rest
        self.assertEqual([event["sequence_number"] for event in everything], list(range(len(everything))))
        deltas = [event for event in everything if event["type"] == "response.output_text.delta"]
        self.assertEqual(len({event["item_id"] for event in deltas}), 1)
        _, found = ask(again, "GET", f"/v1/responses/{name}")
        self.assertEqual(found["status"], "incomplete")  # at its limit of tokens
        self.assertEqual("".join(event["delta"] for event in deltas), found["output_text"])
        self.assertEqual(found["created_at"], seen[0]["response"]["created_at"])
        again.stop()

    def test_a_background_response_continues_after_a_kill(self):
        self.check_continued(signal.SIGKILL)

    def test_a_background_response_continues_after_a_shutdown_that_did_not_wait(self):
        self.check_continued(signal.SIGTERM)

    def wait_until_begun(self, server, name):
        status = lambda: ask(server, "GET", f"/v1/responses/{name}")[1]["status"]  # noqa: E731
        self.assertEqual(wait_until(lambda: [shown for shown in [status()] if shown != "queued"], f"{name} is queued"), ["in_progress"])

    def test_a_response_is_given_up_when_three_processes_have_ended_with_it(self):
        server = Server("--store", str(self.file))
        _, running = ask(server, "POST", "/v1/responses", {**ENDLESS, "background": True})
        for _ in range(2):
            self.wait_until_begun(server, running["id"])
            server.stop(signal.SIGKILL)
            server = Server("--store", str(self.file))
        self.wait_until_begun(server, running["id"])
        server.stop(signal.SIGKILL)
        again = Server("--store", str(self.file))
        status, failed = ask(again, "GET", f"/v1/responses/{running['id']}")
        self.assertEqual((status, failed["status"]), (200, "failed"))
        self.assertIn("stopped", failed["error"]["message"])
        self.assertIsInstance(failed["temperature"], (int, float))
        status, refused = ask(again, "POST", "/v1/responses", {"input": "And then?", "previous_response_id": running["id"]})
        self.assertEqual((status, refused["error"]["code"]), (400, "previous_response_interrupted"))
        again.stop()

    def test_memory_and_none_leave_no_files(self):
        for place in ("memory", "none"):
            server = Server("--store", place)
            _, made = ask(server, "POST", "/v1/responses", SUM)
            status, _ = ask(server, "GET", f"/v1/responses/{made['id']}")
            self.assertEqual(status, 200 if place == "memory" else 404)
            home = pathlib.Path(server.home.name)
            self.assertEqual(list(home.rglob("*.db")), [])
            server.stop()

    def test_a_file_that_is_not_a_store_is_moved_aside(self):
        self.file.parent.mkdir()
        self.file.write_bytes(b"nothing of the kind" * 1000)
        server = Server("--store", str(self.file))
        _, made = ask(server, "POST", "/v1/responses", SUM)
        self.assertEqual(ask(server, "GET", f"/v1/responses/{made['id']}")[0], 200)
        self.assertTrue(any("damaged" in one.name for one in self.file.parent.iterdir()))
        self.assertIn("damaged", server.log_text())
        server.stop()

    def refused(self, server, method, path, body):
        status, answer = ask(server, method, path, body)
        self.assertEqual((status, answer["error"]["code"]), (500, "store_failed"), answer)
        self.assertNotIn(str(self.file), answer["error"]["message"])  # only the log names the file

    def test_a_full_disk_is_reported_and_serving_continues(self):
        server = Server("--store", str(self.file))
        _, made = ask(server, "POST", "/v1/responses", SUM)
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, hard))  # files cannot grow
        for _ in range(3):
            self.refused(server, "POST", "/v1/responses", SUM)
            self.refused(server, "POST", "/v1/chat/completions", {**CHAT, "store": True})
            self.refused(server, "POST", "/v1/conversations", {})
            self.refused(server, "POST", "/v1/responses", {**SUM, "background": True})
            status, _, stream = server.request("POST", "/v1/responses", {**SUM, "stream": True})
            self.assertEqual((status, stream.count("event: response.failed"), stream.count("event: response.completed")), (200, 1, 0))
            self.assertEqual(ask(server, "GET", f"/v1/responses/{made['id']}"), (200, made))
            self.assertEqual(ask(server, "POST", "/v1/responses", {**SUM, "store": False})[1]["output_text"], "92")
            self.assertEqual(ask(server, "POST", "/v1/chat/completions", CHAT)[0], 200)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        _, onward = ask(server, "POST", "/v1/responses", {**SUM, "previous_response_id": made["id"]})
        self.assertEqual(onward["status"], "completed")
        server.stop()

    def test_a_read_only_store_is_read_and_serving_continues(self):
        first = Server("--store", str(self.file))
        _, made = ask(first, "POST", "/v1/responses", SUM)
        _, sealed = ask(first, "POST", "/v1/responses/compact", {"model": "demo", "input": "My name is Ada."})
        first.stop()
        pathlib.Path(self.folder.name).chmod(0o755)
        self.file.parent.chmod(0o555)
        for one in self.file.parent.iterdir():
            one.chmod(0o444)
        as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={self.folder.name}")
        server = Server("--store", str(self.file), before=as_nobody if os.geteuid() == 0 else ())  # root ignores file permissions
        try:
            self.assertEqual(ask(server, "GET", f"/v1/responses/{made['id']}"), (200, made))
            self.refused(server, "POST", "/v1/responses", SUM)
            self.assertEqual(ask(server, "POST", "/v1/responses", {**SUM, "store": False})[1]["output_text"], "92")
            onward = {"input": [*sealed["output"], {"role": "user", "content": "Hi"}], "store": False, "max_output_tokens": 2}
            self.assertEqual(ask(server, "POST", "/v1/responses", onward)[0], 200)  # the key file next to the store is readable
            self.assertIn("read", server.log_text())
        finally:
            server.stop()
            self.file.parent.chmod(0o755)

    def test_a_broken_stream_is_resumed_without_losing_a_byte(self):
        server = Server("--store", str(self.file))
        asked = {"input": "Tell me a story.", "background": True, "stream": True, "max_output_tokens": 60, "ignore_eos": True, "temperature": 0}
        for broken_after in (1, 2, 9):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
            connection.request("POST", "/v1/responses", json.dumps(asked))
            answer = connection.getresponse()
            running = b""
            while running.count(b"\n\n") < broken_after:
                running += answer.readline()
            connection.close()
            numbers = [json.loads(line[6:])["sequence_number"] for line in running.splitlines() if line.startswith(b"data: ")]
            name = next(json.loads(line[6:])["response"]["id"] for line in running.splitlines() if line.startswith(b"data: "))
            path = f"/v1/responses/{name}?stream=true"
            rest = server.request("GET", f"{path}&starting_after={numbers[-1]}")[2]  # follows it to the end
            whole = server.request("GET", path)[2]
            self.assertEqual(running.decode() + rest, whole)
            self.assertIn("event: response.incomplete", rest)
            server.stop()
            server = Server("--store", str(self.file))
            self.assertEqual(server.request("GET", path)[2], whole)
        server.stop()

    def test_a_request_refused_by_a_drain_is_in_no_conversation(self):
        server = Server("--store", str(self.file), "--drain-timeout", "1")
        talk = ask(server, "POST", "/v1/conversations", {})[1]["id"]
        asked = {"input": "buy it", "conversation": talk, "ignore_eos": True, "max_output_tokens": 1000}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, server, "POST", "/v1/responses", asked)
            server.wait_until_busy()
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(answer.result()[0], 503)
        server.stop()
        server = Server("--store", str(self.file))
        self.assertEqual(ask(server, "GET", f"/v1/conversations/{talk}/items")[1]["data"], [])
        server.stop()

    def test_bounds_hold(self):
        server = Server("--store", "memory", "--responses-store-max-entries", "3")
        made = [ask(server, "POST", "/v1/responses", {**SUM, "max_output_tokens": 2})[1]["id"] for _ in range(5)]
        found = [ask(server, "GET", f"/v1/responses/{one}")[0] for one in made]
        self.assertEqual(found, [404, 404, 200, 200, 200])
        server.stop()


class UnderLoad(unittest.TestCase):
    def at_once(self, count, work):
        """Returns the results of work(0) to work(count - 1) on threads; raises their exceptions."""
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, range(count)))

    def test_bounds_and_ages_hold(self):
        server = Server("--store", "memory", "--responses-store-max-entries", "5", "--responses-store-ttl-secs", "3")
        short = {**SUM, "max_output_tokens": 2}

        def work(_):
            return [ask(server, "POST", "/v1/responses", short)[1]["id"] for _ in range(8)]

        made = [one for ids in self.at_once(4, work) for one in ids]
        last = ask(server, "POST", "/v1/responses", short)[1]["id"]
        found = [one for one in made + [last] if ask(server, "GET", f"/v1/responses/{one}")[0] == 200]
        self.assertEqual(len(found), 5)
        self.assertIn(last, found)
        statuses = lambda: [ask(server, "GET", f"/v1/responses/{one}")[0] for one in found]  # noqa: E731
        wait_until(lambda: statuses() == [404] * 5, statuses, limit_s=10)
        self.assertEqual(statuses(), [404] * 5)
        status, refused = ask(server, "POST", "/v1/responses", {**short, "previous_response_id": last})
        self.assertEqual((status, refused["error"]["code"]), (400, "previous_response_not_found"))
        server.stop()

    def test_pagination_is_consistent_while_chats_change(self):
        server = Server("--store", "memory")

        def stored(_=None):
            return ask(server, "POST", "/v1/chat/completions", {**CHAT, "max_tokens": 1, "store": True})[1]["id"]

        there = [stored() for _ in range(30)]
        kept = there[::2]

        def work(number):
            if number == 0:
                return [stored() for _ in range(10)]
            if number == 1:
                return [ask(server, "DELETE", f"/v1/chat/completions/{one}")[0] for one in there[1::2]]
            seen, after = [], ""
            while True:
                page = ask(server, "GET", f"/v1/chat/completions?limit=3{after}")
                if page[0] == 400:  # the last chat of the previous page was deleted
                    seen, after = [], ""
                    continue
                seen += [chat["id"] for chat in page[1]["data"]]
                if not page[1]["has_more"]:
                    return seen
                after = f"&after={page[1]['last_id']}"

        for seen in self.at_once(6, work)[2:]:
            self.assertEqual(len(seen), len(set(seen)))
            self.assertEqual([one for one in seen if one in kept], kept)
        server.stop()


if __name__ == "__main__":
    run_tests()
