#!/usr/bin/env python3
"""`etna batch` and /v1/batches: complete runs, kills, signals, shards, bad lines and full disks. Usage: batch_test.py ETNA [--long]"""

import json
import os
import pathlib
import pty
import random
import resource
import select
import signal
import subprocess
import sys
import time

from support.cases import HomeCase
from support.program import executable, is_long, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until

KILLS = 50 if is_long() else 5
COMPLETE, FAILED, USAGE, LINES_FAILED, INCOMPLETE = 0, 1, 2, 65, 75
SLURM = "SLURM_ARRAY_TASK_"


def chat(number, **more):
    body = {"model": "demo", "temperature": 0, "max_tokens": 24, "messages": [{"role": "user", "content": f"What is {number} + {number * 7 % 50}?"}]}
    return {"custom_id": f"sum-{number}", "method": "POST", "url": "/v1/chat/completions", "body": {**body, **more}}


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def texts(path):
    """Returns the text of each answer by custom_id; checks that each occurs once."""
    found = {}
    for record in records(path):
        assert record["custom_id"] not in found, record
        assert record["response"]["status_code"] == 200 and record["error"] is None, record
        found[record["custom_id"]] = record["response"]["body"]["choices"][0]["message"]["content"]
    return found


class Batch(HomeCase):
    def setUp(self):
        super().setUp()
        self.input, self.out = self.root / "in.jsonl", self.root / "out"

    def write(self, *lines):
        self.input.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))

    def start(self, *arguments, out=None, **more):
        before = {name: more.pop(name) for name in ("preexec_fn", "restore_signals") if name in more}
        return subprocess.Popen([executable(), "batch", str(self.input), "-o", str(out or self.out), *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(**more), **before)

    def batch(self, *arguments, code=COMPLETE, **more):
        process = self.start(*arguments, **more)
        output, errors = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, code, errors)
        return output + errors

    def outputs(self, kind, shard="0-of-1", out=None):
        return (out or self.out) / f"{kind}-{shard}.jsonl"

    def count(self):
        path = self.outputs("results")
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_for_results(self, count, process):
        wait_until(lambda: self.count() >= count or process.poll() is not None, f"fewer than {count} results", interval_s=0.005)


class Whole(Batch):
    def test_every_endpoint_is_answered_and_bad_lines_fail_alone(self):
        lines = [chat(1),
                 {"custom_id": "text", "method": "POST", "url": "/v1/completions", "body": {"model": "demo", "prompt": "1, 2, 3", "max_tokens": 4}},
                 "{not JSON",
                 {"custom_id": "response", "method": "POST", "url": "/v1/responses", "body": {"model": "demo", "input": "What is 34 + 58?"}},
                 {"custom_id": "vector", "method": "POST", "url": "/v1/embeddings", "body": {"model": "demo-embed", "input": "Hello"}},
                 chat(1),
                 {"method": "POST", "url": "/v1/completions", "body": {}},
                 "",
                 {**chat(2), "url": "/v1/models"},
                 {**chat(3, stream=True)},
                 chat(4, messages="none"),
                 {**chat(5), "body": {**chat(5)["body"], "model": "no-such-model"}},
                 chat(6, messages=[{"role": "user", "content": "x" * 20_000}])]
        self.write(*lines)
        told = self.batch("--line-max", "10K", code=LINES_FAILED)
        self.assertIn("4 of 12 lines answered, 8 failed", told)
        found = {record["custom_id"]: record["response"]["body"] for record in records(self.outputs("results"))}
        self.assertEqual({name: body["object"] for name, body in found.items()},
                         {"sum-1": "chat.completion", "text": "text_completion", "response": "response", "vector": "list"})
        self.assertEqual(found["sum-1"]["choices"][0]["message"]["content"], "8")
        errors = {record["error"]["line"]: record["error"]["code"] for record in records(self.outputs("errors"))}
        self.assertEqual(errors, {3: "invalid_json_line", 6: "duplicate_custom_id", 7: "missing_required_parameter", 9: "invalid_url",
                                  10: "unsupported_value", 11: "invalid_type", 12: "model_not_found", 13: "line_too_long"})
        before = [self.outputs(kind).read_bytes() for kind in ("results", "errors")]
        self.batch("--line-max", "10K", code=LINES_FAILED)
        self.assertEqual([self.outputs(kind).read_bytes() for kind in ("results", "errors")], before)

    def test_one_model_answers_all_lines(self):
        self.write(chat(1, model="gpt-9"), {**chat(2), "body": {"messages": chat(2)["body"]["messages"]}})
        self.batch("--model", "demo")
        self.assertEqual(len(texts(self.outputs("results"))), 2)

    def test_a_model_that_cannot_be_loaded_ends_the_run_without_errors_of_lines(self):
        (self.root / "bad.gguf").write_bytes(b"GGUF and nothing else")
        self.write(*map(chat, range(40)))
        self.assertIn("bad.gguf", self.batch("--model", str(self.root / "bad.gguf"), code=FAILED))
        self.assertEqual(records(self.outputs("errors")), [])

    def test_progress_at_a_terminal_has_rate_and_time_left(self):
        self.write(*(chat(number, ignore_eos=True, max_tokens=40) for number in range(40)))
        ours, theirs = pty.openpty()
        process = subprocess.Popen([executable(), "batch", str(self.input), "-o", str(self.out), "--parallel", "4"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=theirs, env=self.environment(TERM="xterm"))
        os.close(theirs)
        told = b""
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    told += os.read(ours, 65536)
                except OSError:
                    break
        os.close(ours)
        self.assertEqual(process.wait(LIMIT_S), COMPLETE, told)
        self.assertRegex(told.decode(), r"\d+ of 40 lines, 0 failed, \d+ tokens/s \(\d+ generated\), \d+ s left")

    def test_usage(self):
        self.write(chat(1))
        self.assertIn("-o DIR", self.etna("batch", str(self.input), code=USAGE).stderr)
        for wrong in (["--shard", "4/4"], ["--array-id", "3"], ["--array-id", "7", "--array-count", "3", "--array-min", "1"]):
            self.batch(*wrong, code=USAGE)
        self.assertIn("no results of a batch", self.etna("batch", "merge", str(self.root), code=FAILED).stderr)
        self.input = self.root / "none.jsonl"
        self.assertIn("none.jsonl", self.batch(code=FAILED))

    def test_a_changed_input_is_refused_by_name(self):
        self.write(chat(1))
        self.batch()
        self.write(chat(2))
        self.assertIn("in.jsonl has changed", self.batch(code=FAILED))
        self.assertEqual(len(texts(self.outputs("results"))), 1)

    def test_a_shard_runs_in_one_process_at_a_time(self):
        self.write(chat(0), *(chat(number, ignore_eos=True, max_tokens=1500) for number in range(1, 5)))
        first = self.start()
        self.wait_for_results(1, first)
        self.assertIn("another process", self.batch(code=FAILED))
        first.kill()
        first.communicate()


class Faults(Batch):
    def test_after_kills_each_line_is_answered_once_as_without_them(self):
        numbers = range(60 + 12 * KILLS)
        self.write(*(chat(number) for number in numbers))
        clean = self.root / "clean"
        self.batch(out=clean)
        expected = texts(self.outputs("results", out=clean))
        self.assertEqual(len(expected), len(numbers))
        chooser, torn = random.Random(7), 0
        for _ in range(KILLS):
            before = self.count()
            process = self.start()
            self.wait_for_results(before + chooser.randrange(1, 12), process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            path = self.outputs("results")
            if path.exists() and chooser.random() < 0.6:  # as after a loss of power, at any byte of the last record
                content = path.read_bytes()
                last = len(content) - len(content[:-1].rpartition(b"\n")[0])
                cut = chooser.randrange(1, last) if last > 1 else 0
                os.truncate(path, len(content) - cut)
                torn += cut > 0
        self.batch()
        self.assertEqual(texts(self.outputs("results")), expected)
        self.assertEqual(records(self.outputs("errors")), [])
        print(f"{KILLS} kills, {torn} torn records, {len(expected)} lines", file=sys.stderr)

    def test_sigterm_finishes_the_running_lines_within_the_grace(self):
        self.write(*(chat(number, ignore_eos=True, max_tokens=60) for number in range(300)))
        process = self.start("--grace", "60", "--parallel", "4")
        self.wait_for_results(2, process)
        process.terminate()
        _, told = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, INCOMPLETE, told)
        self.assertIn("run the same command again", told)
        done = self.count()
        self.assertLess(done, 300)
        self.assertEqual(records(self.outputs("errors")), [])

    def test_what_does_not_finish_within_the_grace_is_left_for_the_next_run(self):
        self.write(*(chat(number, ignore_eos=True, max_tokens=1500) for number in range(8)))
        process = self.start("--grace", "0")
        time.sleep(1.5)  # the answers run then, and none of them ends so early
        began = time.monotonic()
        process.terminate()
        process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, INCOMPLETE)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual((records(self.outputs("results")), records(self.outputs("errors"))), ([], []))
        self.write(*(chat(number, ignore_eos=True, max_tokens=1500) for number in range(8)))
        process = self.start()
        time.sleep(1)  # the answers run then
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        self.assertNotEqual(process.returncode, COMPLETE)

    def test_a_full_disk_stops_the_batch_and_nothing_is_lost(self):
        self.write(*map(chat, range(60)))
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))
        told = self.batch(code=FAILED, preexec_fn=limit, restore_signals=False)  # SIGXFSZ stays ignored
        self.assertIn("free space and run the same command again", told)
        content = self.outputs("results").read_bytes()
        self.assertTrue(content.endswith(b"\n"), content[-200:])
        self.assertGreater(len(texts(self.outputs("results"))), 5)
        self.batch()
        self.assertTrue(self.outputs("results").read_bytes().startswith(content))
        self.assertEqual(len(texts(self.outputs("results"))), 60)


class Shards(Batch):
    def test_shards_of_a_job_array_are_joined_in_the_order_of_the_input(self):
        self.write(*map(chat, range(20)), "bad", chat(3))
        self.batch(code=LINES_FAILED, out=self.root / "alone")
        for task in (2, 4, 1):
            process = self.start(**{SLURM + "ID": str(task), SLURM + "COUNT": "4", SLURM + "MIN": "1", SLURM + "STEP": "1"})
            process.communicate(timeout=LIMIT_S)
        refused = self.etna("batch", "merge", str(self.out), code=INCOMPLETE).stderr
        self.assertIn("of the shards 2/4", refused)
        self.assertIn("the lines 3, 7, 11, 15, 19", refused)
        self.batch("--shard", "0/3", code=FAILED)  # the folder has four
        self.batch("--shard", "2/4")
        merged = self.etna("batch", "merge", str(self.out), code=LINES_FAILED).stdout.split()
        self.assertEqual(list(texts(pathlib.Path(merged[0]))), [f"sum-{number}" for number in range(20)])
        self.assertEqual(texts(pathlib.Path(merged[0])), texts(self.outputs("results", out=self.root / "alone")))
        self.assertEqual([record["error"]["line"] for record in records(pathlib.Path(merged[1]))], [21, 22])
        self.etna("batch", "merge", str(self.input), "-o", str(self.out), code=LINES_FAILED)


class Api(Batch):
    """/v1/batches of a server that is killed."""
    def serve(self):
        return Server("--store", str(self.root / "store.db"), "--parallel", "8")

    def ask(self, server, method, path, body=None, **headers):
        status, _, text = server.request(method, path, body, **headers)
        self.assertEqual(status, 200, text)
        return text

    def create(self, server, lines):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        form = "".join(f"--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n{content}\r\n"
                       for name, content in (('"purpose"', "batch"), ('"file"; filename="in.jsonl"', text))) + "--b--\r\n"
        file = json.loads(self.ask(server, "POST", "/v1/files", form, content_type="multipart/form-data; boundary=b"))
        body = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return json.loads(self.ask(server, "POST", "/v1/batches", body))["id"]

    def batch_of(self, server, batch):
        return json.loads(self.ask(server, "GET", f"/v1/batches/{batch}"))

    def wait_for(self, server, batch, condition):
        def shown():
            found = self.batch_of(server, batch)
            return found if condition(found) else None

        return wait_until(shown, lambda: self.batch_of(server, batch), interval_s=0.01)

    def test_after_kills_of_the_server_each_line_is_answered_once(self):
        count = 40 + 16 * KILLS
        lines = [chat(number) for number in range(count)]
        server = self.serve()
        batch = self.create(server, lines)
        chooser = random.Random(5)
        for _ in range(KILLS):
            before = self.batch_of(server, batch)["request_counts"]["completed"]
            goal = before + chooser.randrange(1, 14)
            self.wait_for(server, batch, lambda shown: shown["request_counts"]["completed"] >= goal or shown["status"] == "completed")
            server.stop(signal.SIGKILL)
            server = self.serve()
        done = self.wait_for(server, batch, lambda shown: shown["status"] == "completed")
        self.assertEqual((done["status"], done["request_counts"]), ("completed", {"total": count, "completed": count, "failed": 0}))
        path = self.root / "output.jsonl"
        path.write_text(self.ask(server, "GET", f"/v1/files/{done['output_file_id']}/content"))
        self.write(*lines)
        server.stop()
        self.batch()
        self.assertEqual(texts(path), texts(self.outputs("results")))

    def test_a_drain_leaves_the_rest_of_a_batch_for_the_next_start(self):
        server = self.serve()
        batch = self.create(server, [chat(number, ignore_eos=True, max_tokens=50) for number in range(40)])
        self.wait_for(server, batch, lambda shown: shown["request_counts"]["completed"] > 0)
        self.assertEqual(server.stop(), 0)
        server = self.serve()
        self.assertEqual(self.wait_for(server, batch, lambda shown: shown["status"] == "completed")["request_counts"],
                         {"total": 40, "completed": 40, "failed": 0})
        server.stop()


class Slurm(Batch):
    SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "slurm" / "etna-batch.sbatch"

    def task(self, *arguments):
        """Starts a task of a job array, as Slurm would. Slurm's commands are fakes that record their arguments."""
        folder = self.root / "bin"
        folder.mkdir(exist_ok=True)
        if not (folder / "etna").exists():
            (folder / "etna").symlink_to(executable())
            (folder / "scontrol").write_text(f"#!/bin/sh\necho \"$@\" >> {self.root}/scontrol.log\n")
            (folder / "scontrol").chmod(0o755)
        more = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "77", "SLURM_ARRAY_JOB_ID": "77", SLURM + "ID": "1", SLURM + "COUNT": "2", SLURM + "MIN": "0",
                "ETNA_PARALLEL": "16"}
        return subprocess.Popen(["bash", str(self.SCRIPT), *arguments], stderr=subprocess.PIPE, text=True, env=self.environment(**more))

    def test_a_task_requeues_itself_when_it_is_stopped_and_ends_when_it_is_complete(self):
        self.write(*(chat(number, ignore_eos=True, max_tokens=20) for number in range(240)))  # more than run at once
        first = self.task("demo", str(self.input), str(self.out))
        results = self.outputs("results", "1-of-2")
        wait_until(lambda: results.exists() and results.stat().st_size > 0, "the task writes no results")
        first.terminate()
        _, told = first.communicate(timeout=LIMIT_S)
        self.assertEqual((first.returncode, (self.root / "scontrol.log").read_text()), (INCOMPLETE, "requeue 77_1\n"), told)
        second = self.task("demo", str(self.input), str(self.out))
        second.communicate(timeout=LIMIT_S)
        self.assertEqual(second.returncode, COMPLETE)
        self.assertEqual(len(texts(self.outputs("results", "1-of-2"))), 120)
        self.assertEqual((self.root / "scontrol.log").read_text(), "requeue 77_1\n")


if __name__ == "__main__":
    run_tests()
