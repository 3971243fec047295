#!/usr/bin/env python3
"""`etna pull`, and names of remote models, against a stand-in hub. Usage: pull_test.py ETNA"""

import hashlib
import json
import os
import pathlib
import pty
import random
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from support.program import executable, run_tests
from support.stand_in_hub import REVISION, StandInHub
from support.waiting import wait_until

STORIES = (pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf").read_bytes()
LIMIT_S = 60
TOKEN = "hf_SecretToken"
SEED = 20261126


def model(mebibytes, seed=0):
    """Returns bytes that begin like a model; the same for the same arguments."""
    return b"GGUF" + random.Random(seed).randbytes(int(mebibytes * 2**20) - 4)


def runnable(models):
    """Returns the manifests and the files that have a model's name."""
    return [path for path in models.rglob("*") if path.is_file() and not path.name.endswith((".part", ".ranges", ".lock"))]


class Pulling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hub = StandInHub()

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-pull-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.models = self.root / "models"
        self.hub.forget()

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ETNA_", "XDG_", "HF_")) and "proxy" not in key.lower()}
        return {**kept, "HOME": str(self.root), "ETNA_MODELS": str(self.models), "HF_ENDPOINT": self.hub.url, **more}

    def etna(self, *arguments, preexec_fn=None, **more):
        return subprocess.run([executable(), *arguments], capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                              env=self.environment(**more), preexec_fn=preexec_fn)

    def start(self, *arguments, **more):
        return subprocess.Popen([executable(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=self.environment(**more))

    def has_ranges(self, count):
        """Returns whether the journal of a download has so many lines."""
        return any(len(path.read_text().splitlines()) >= count for path in self.models.rglob("*.ranges"))

    def assert_pulled(self, result, *contents):
        """Checks that the model's files have these contents, and that nothing else is left."""
        self.assertEqual(result.returncode, 0, result.stderr)
        first = pathlib.Path(result.stdout.strip())
        self.assertEqual(first.read_bytes(), contents[0])
        blobs = {path.name: path for path in (self.models / "blobs").iterdir()}
        self.assertEqual(set(blobs), {"sha256-" + hashlib.sha256(content).hexdigest() for content in contents})
        for name, path in blobs.items():
            self.assertEqual(name, "sha256-" + hashlib.sha256(path.read_bytes()).hexdigest())
        return first

    def assert_fails(self, result, *texts):
        """Checks for an error of these texts with a hint, and that nothing has a model's name."""
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertRegex(result.stderr, r"error: .+\nhint: .+")
        self.assertNotIn(TOKEN, result.stderr)
        self.assertNotIn("SECRET", result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
        self.assert_nothing_to_run()

    def assert_nothing_to_run(self):
        self.assertEqual(runnable(self.models), [])


class Names(Pulling):
    def test_a_model_is_fetched_named_and_found_again_without_a_request(self):
        content = model(3)
        self.hub.add("u/plain", {"m-Q8_0.gguf": model(1, 9), "m-Q4_K_M.gguf": content, "README.md": b"x", "mmproj-m-F16.gguf": b"x"})
        result = self.etna("pull", "hf.co/u/plain")
        path = self.assert_pulled(result, content)
        self.assertEqual(path.parent, self.models / "blobs")
        manifest = json.loads((self.models / "manifests/hf.co%2Fu%2Fplain:Q4_K_M.json").read_text())
        self.assertEqual((manifest["name"], manifest["source"]), ("hf.co/u/plain:Q4_K_M", f"hf.co/u/plain:Q4_K_M@{REVISION}"))
        self.assertEqual(manifest["files"][0]["file_name"], "m-Q4_K_M.gguf")
        self.assertIn("image projector, which is not fetched: mmproj-m-F16.gguf", result.stderr)
        self.assertTrue(all(REVISION in entry[1] for entry in self.hub.requests("hub", "/resolve/")[1:]))
        self.hub.forget()
        self.assert_pulled(self.etna("pull", "u/plain:q4_k_m"), content)
        self.assertEqual(len(self.hub.requests("cdn")), 1)  # a look, no download

    def test_the_nearest_quantisation_is_said_aloud_and_a_missing_one_lists_those_there(self):
        self.hub.add("u/near", {"m-Q2_K.gguf": model(0.1, 1), "m-Q5_K_M.gguf": model(0.1, 2)})
        result = self.etna("pull", "hf:u/near")
        self.assert_pulled(result, model(0.1, 2))
        self.assertIn("note: hf.co/u/near has no Q4_K_M; taking Q5_K_M", result.stderr)
        result = self.etna("pull", "hf.co/u/near:Q8_0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("hint: choose one of Q2_K, Q5_K_M", result.stderr)

    def test_the_parts_of_a_split_model_come_together_over_pages_of_the_listing(self):
        parts = {f"m-Q4_0-0000{i}-of-00005.gguf": model(0.2, i) for i in range(1, 6)}
        self.hub.add("u/split", {**parts, "a.txt": b"", "b.txt": b""})
        self.assert_pulled(self.etna("pull", "hf.co/u/split"), *parts.values())
        self.assertEqual(len(self.hub.requests("hub", "/tree/")), 3)
        manifest = json.loads((self.models / "manifests/hf.co%2Fu%2Fsplit:Q4_0.json").read_text())
        self.assertEqual([file["file_name"] for file in manifest["files"]], sorted(parts))

    def test_an_address_is_fetched_without_the_hub(self):
        content = model(2, 5)
        self.hub.add("u/direct", {"m.gguf": content})
        url = f"{self.hub.cdn_url}/u/direct/m.gguf"
        self.assert_pulled(self.etna("pull", url), content)
        self.assertEqual(self.hub.requests("hub"), [])

    def test_names_that_leave_their_folder_are_refused_before_a_request(self):
        for name in ("hf.co/../x", "hf.co/u/..", "hf.co/u/r:../x.gguf", "hf.co/u/r@../x", "hf.co/u/CON", "hf.co/C:/x",
                     "hf.co/u\\x/r", "hf.co/u", f"{self.hub.cdn_url}/u/direct/..", "hf.co/u/" + "x" * 200):
            with self.subTest(name=name):
                self.assert_fails(self.etna("pull", name))
        self.assertEqual(self.hub.requests(), [])

    def test_a_model_runs_by_its_name_and_a_pipe_never_downloads_unasked(self):
        self.hub.add("u/stories", {"stories-F16.gguf": STORIES})
        for arguments in (["run", "hf.co/u/stories", "Once", "-n", "2"], ["run", "-hf", "u/stories", "-p", "Once"],
                          ["tokenize", "hf.co/u/stories", "Once"], ["chat", "hf.co/u/stories"],
                          ["serve", "hf.co/u/stories", "--port", "0"]):
            with self.subTest(arguments=arguments):
                result = self.etna(*arguments)
                self.assertEqual(result.returncode, 1, result.stderr)
                name = next(argument for argument in arguments if "u/stories" in argument)
                self.assertIn(f"fetch it with `etna pull {name}`", result.stderr)
        self.assertEqual(self.hub.requests(), [])
        self.assertEqual(self.etna("pull", "hf.co/u/stories").returncode, 0)
        self.hub.forget()
        for name in (["hf.co/u/stories"], ["u/stories:F16"], ["-hf", "u/stories"]):
            with self.subTest(name=name):
                result = self.etna("tokenize", *name, *(["-p"] if "-hf" in name else []), "Once upon")
                self.assertEqual(result.returncode, 0, result.stderr)
        result = self.etna("run", "hf.co/u/stories", "Once upon a time", "-n", "8", "--temp", "0", "--offline")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(len(result.stdout), 8)
        self.assertEqual(self.hub.requests(), [])

    def test_offline_uses_no_network(self):
        self.hub.add("u/plain", {"m-Q4_0.gguf": model(0.1)})
        self.assert_fails(self.etna("pull", "--offline", "hf.co/u/plain"), "is not stored on this machine, and --offline is set")
        self.assert_fails(self.etna("pull", "hf.co/u/plain", HF_HUB_OFFLINE="1"), "--offline")
        self.assertEqual(self.hub.requests(), [])


class Asking(Pulling):
    def answer(self, arguments, answer, interrupt_at=None):
        """Runs etna at a terminal, types the answer to its question, and Ctrl-C when the text appears. Returns exit code and
        screen."""
        child, terminal = pty.fork()
        if child == 0:
            os.execve(executable(), [executable(), *arguments], self.environment(TERM="xterm"))
        screen, is_answered = b"", False
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            screen += piece
            if interrupt_at and interrupt_at in screen.decode(errors="replace"):
                os.write(terminal, b"\x03")
                interrupt_at = None
            elif b"[N]o: " in screen and not is_answered and answer:
                is_answered = True
                os.write(terminal, answer.encode() + b"\n")
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), screen.decode()

    def test_ctrl_c_at_the_question_or_during_a_download_is_an_interruption(self):
        self.hub.add("u/long", {"m-Q4_0.gguf": model(3)}, bytes_per_s=100_000)
        for command in ("pull", "run", "chat"):
            for answer, text in ((None, "[N]o: "), ("y", " % of 3.0 MiB")):
                with self.subTest(command=command, answer=answer):
                    typed = [command, "hf.co/u/long"] + ["Hello"] * (command == "run")
                    code, screen = self.answer(typed, answer, interrupt_at=text)
                    self.assertEqual(code, 130, screen)
        self.assert_nothing_to_run()

    def test_a_terminal_is_asked_with_size_and_free_space(self):
        self.hub.add("u/ask", {"m-Q4_0.gguf": model(3)})
        code, screen = self.answer(["pull", "hf.co/u/ask"], "n")
        self.assertEqual(code, 1, screen)
        self.assertRegex(screen, r"download hf\.co/u/ask:Q4_0, 3\.0 MiB \([0-9.]+ [GM]iB free\)\?")
        self.assert_nothing_to_run()
        code, screen = self.answer(["pull", "hf.co/u/ask"], "Yes")
        self.assertEqual(code, 0, screen)
        self.assertTrue((self.models / "manifests/hf.co%2Fu%2Fask:Q4_0.json").exists())

    def test_a_command_asks_again_about_an_unfinished_download(self):
        repository = self.hub.add("u/again", {"m-Q4_0.gguf": model(4)}, bytes_per_s=1e6)
        process = self.start("pull", "hf.co/u/again")
        wait_until(lambda: any(self.models.rglob("*.ranges")), "the download does not begin", LIMIT_S)
        process.kill()
        process.communicate()
        del repository.faults["bytes_per_s"]
        code, screen = self.answer(["tokenize", "hf.co/u/again", "Once"], "n")
        self.assertEqual(code, 1, screen)
        self.assertIn("download hf.co/u/again:Q4_0, 4.0 MiB", screen)
        self.assert_nothing_to_run()

    def test_yes_is_not_asked_and_a_bar_is_drawn(self):
        self.hub.add("u/bar", {"m-Q4_0.gguf": model(2)}, bytes_per_s=1.5e6)
        code, screen = self.answer(["pull", "--yes", "hf.co/u/bar"], "n")
        self.assertEqual(code, 0, screen)
        self.assertNotIn("[N]o", screen)
        self.assertRegex(screen, r"fetching \[#*\.*\] [0-9]+ % of 2\.0 MiB, [0-9.]+ MiB/s, [0-9:]+ left")

    def test_a_command_with_a_model_asks_too(self):
        self.hub.add("u/stories", {"stories-F16.gguf": STORIES})
        code, screen = self.answer(["tokenize", "hf.co/u/stories", "Once"], "y")
        self.assertEqual(code, 0, screen)
        self.assertIn("[1,", screen)


class Tokens(Pulling):
    def test_a_gated_model_needs_a_token_which_stays_with_the_hub(self):
        content = model(2)
        self.hub.add("u/gated", {"m-Q4_0.gguf": content}, token=TOKEN)
        self.assert_fails(self.etna("pull", "hf.co/u/gated"), "401", "gated", "HF_TOKEN")
        self.assert_fails(self.etna("pull", "hf.co/u/gated", HF_TOKEN="hf_wrong"), "403", "gated", "HF_TOKEN")
        self.hub.forget()
        result = self.etna("pull", "hf.co/u/gated", HF_TOKEN=TOKEN)
        self.assert_pulled(result, content)
        self.assertNotIn(TOKEN, result.stderr)
        self.assertTrue(all(entry[2] == f"Bearer {TOKEN}" for entry in self.hub.requests("hub")))
        self.assertGreater(len(self.hub.requests("cdn")), 1)
        self.assertTrue(all(entry[2] is None for entry in self.hub.requests("cdn")))

    def test_an_address_elsewhere_gets_no_token(self):
        self.hub.add("u/direct", {"m.gguf": model(0.1)})
        self.assertEqual(self.etna("pull", f"{self.hub.cdn_url}/u/direct/m.gguf", HF_TOKEN=TOKEN).returncode, 0)
        self.assertTrue(all(entry[2] is None for entry in self.hub.requests("cdn")))

    def test_a_token_with_a_line_break_is_refused(self):
        self.assert_fails(self.etna("pull", "hf.co/u/x", HF_TOKEN=TOKEN + "\nX: y"), "HF_TOKEN has a space, a control")


class Faults(Pulling):
    """Each fault is a clear error, or is survived."""

    def pull(self, content=None, retries="1", **faults):
        content = model(2) if content is None else content
        self.hub.add("u/fault", {"m-Q4_0.gguf": content}, **faults)
        return self.etna("pull", "hf.co/u/fault", "--retries", retries)

    def test_a_missing_repository_revision_or_host(self):
        self.assert_fails(self.etna("pull", "hf.co/u/nowhere"), "401", "Repository not found", "check the name")
        self.assert_fails(self.etna("pull", "hf.co/u/x", "--hub", "http://127.0.0.1:1"), "check the network")
        self.assert_fails(self.etna("pull", "hf.co/u/x", "--hub", "http://etna.invalid"), "check the network")
        self.assertEqual(self.etna("pull", "hf.co/u/x", "--hub", "file:///etc").returncode, 2)
        self.hub.add("u/text", {"README.md": b"x"})
        self.assert_fails(self.etna("pull", "hf.co/u/text"), "no GGUF file")

    def test_without_a_network_the_hint_says_what_to_get_and_a_file_put_there_runs(self):
        expected = ("get the .gguf file with Q8_0 in its name from https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/tree/main on "
                    f"another machine, put it into {self.models}, where its name is the file's without .gguf")
        self.assert_fails(self.etna("pull", "qwen3:0.6b", "--hub", "http://127.0.0.1:1"), expected)
        self.assert_fails(self.etna("pull", "qwen3:0.6b", "--offline"), expected)
        self.models.mkdir(exist_ok=True)
        (self.models / "Qwen3-0.6B-Q8_0.gguf").write_bytes(STORIES)
        self.assertEqual(self.etna("tokenize", "Qwen3-0.6B-Q8_0", "Once", "--offline").returncode, 0)

    def test_listings_that_are_wrong(self):
        for faults, text in (({"html": 1}, "a web page, not JSON"), ({"listing": "{}"}, "not a JSON array"),
                             ({"listing": "[" * 10000}, "not a JSON array"), ({"listing": '[{"type":"file"'}, "not a JSON array"),
                             ({"listing": '[{"type":"file","path":"../x.gguf","size":1}]'}, "leaves its folder"),
                             ({"listing": '[{"type":"file","path":"/x.gguf","size":1}]'}, "leaves its folder"),
                             ({"listing": '[{"type":"file","path":"x.gguf","size":-1}]'}, "no valid size"),
                             ({"listing": " " * (9 << 20)}, "a page has more than")):
            with self.subTest(faults=str(faults)[:60]):
                self.assert_fails(self.pull(**faults), text)

    def test_redirects_that_are_refused(self):
        for faults, text in (({"location": "file:///etc/passwd"}, "neither http nor https"),
                             ({"location": "ftp://localhost/x"}, "neither http nor https"),
                             ({"location": ""}, "an invalid address"), ({"loop": 1}, "redirects more than 8 times")):
            with self.subTest(faults=faults):
                self.assert_fails(self.pull(**faults), text)

    def test_sizes_and_sums_that_lie(self):
        wrong = "ab" * 32
        for faults, text in (({"listed_bytes": 2**21 - 1}, "the listing says"), ({"listed_bytes": 2**40}, "the listing says"),
                             ({"listed_sha256": wrong}, f"not {wrong}"), ({"corrupt": 1}, "the file's sha256 is"),
                             ({"wrong_total": 1}, "the server sends `bytes"), ({"surplus": 1}, "the server sends"),
                             ({"ignore_range": 1, "corrupt": 1}, "the file's sha256 is")):
            with self.subTest(faults=faults):
                self.assert_fails(self.pull(**faults), text)
                shutil.rmtree(self.models, ignore_errors=True)

    def test_a_file_that_is_no_model(self):
        self.assert_fails(self.pull(b"<html>Sign in to our network</html>"), "is not GGUF", "a web page", "sign-in page")
        self.assert_fails(self.pull(b"{}"), "is not GGUF", "check the address")

    def test_a_web_page_in_place_of_a_file_is_named(self):
        for status in (200, 403, 511):
            with self.subTest(status=status):
                self.assert_fails(self.pull(portal=status), "web page", "the sign-in page of a network")
        self.hub.add("u/fault", {"m-Q4_0.gguf": model(1)}, portal=200)
        self.assert_fails(self.etna("pull", f"{self.hub.url}/u/fault/resolve/main/m-Q4_0.gguf", "--retries", "0"),
                          "sends a web page instead of the file")
        self.assert_fails(self.pull(html=1), "a web page, not JSON", "the sign-in page of a network")

    def test_a_wrong_hash_leaves_nothing_that_stops_the_next_try(self):
        content = model(2)
        self.assert_fails(self.pull(content, corrupt=1), "sha256")
        self.assert_pulled(self.pull(content), content)

    def test_a_busy_or_failing_server_is_tried_again(self):
        content = model(2)
        for status in (429, 500, 502, 503):
            with self.subTest(status=status):
                self.assert_pulled(self.pull(content, "3", status=status, times=2), content)
                shutil.rmtree(self.models)
        self.assert_pulled(self.pull(content, "3", listing_status=[429, 503]), content)

    def test_retry_after_is_waited_for_and_a_long_one_is_an_error(self):
        content = model(0.5)
        begin = time.monotonic()
        self.assert_pulled(self.pull(content, status=429, times=1, retry_after=1), content)
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        shutil.rmtree(self.models)
        self.assert_fails(self.pull(content, status=429, times=100, retry_after=3600), "429", "come back in 3600 s")

    def test_retries_end(self):
        self.assert_fails(self.pull(status=503, times=100), "503", "it resumes")

    def test_truncated_bodies_are_completed(self):
        content = model(2)
        self.assert_pulled(self.pull(content, truncate=300_000), content)

    def test_a_slow_server_and_one_that_sends_single_bytes(self):
        content = model(0.03)
        self.assert_pulled(self.pull(content, one_byte=1), content)
        content = model(1, 3)
        self.hub.add("u/slow", {"m-Q4_0.gguf": content}, bytes_per_s=1e6)
        result = self.etna("pull", "hf.co/u/slow")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_server_without_ranges(self):
        content = model(2)
        self.assert_pulled(self.pull(content, ignore_range=1), content)
        shutil.rmtree(self.models)
        self.assert_fails(self.pull(content, ignore_range=1, truncate=1000), "it resumes")

    def test_an_address_whose_file_changes_during_the_download(self):
        self.hub.add("u/change", {"m.gguf": model(4)}, change_after=2)
        self.assert_fails(self.etna("pull", f"{self.hub.cdn_url}/u/change/m.gguf"), "changed during the download")


class Disk(Pulling):
    def setUp(self):
        super().setUp()
        self.hub.add("u/disk", {"m-Q4_0.gguf": model(8)})

    def test_a_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))

        self.assert_fails(self.etna("pull", "hf.co/u/disk", preexec_fn=limit), "File too large", "free some space")

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_full_disk_and_a_read_only_one(self):
        self.models.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "etna", self.models], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("this root may not mount")
        self.addCleanup(subprocess.run, ["umount", self.models], check=True)
        self.assert_fails(self.etna("pull", "hf.co/u/disk"), "needs 8.0 MiB", "2.0 MiB free", "ETNA_MODELS")
        subprocess.run(["mount", "-o", "remount,ro", self.models], check=True)
        self.hub.add("u/small", {"m-Q4_0.gguf": model(0.1)})
        self.assert_fails(self.etna("pull", "hf.co/u/small"), "Read-only file system")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_read_only_folder(self):
        self.models.mkdir(mode=0o500)
        self.assert_fails(self.etna("pull", "hf.co/u/disk"), "Permission denied")

    def test_a_file_in_place_of_the_folder(self):
        self.models.write_bytes(b"")
        result = self.etna("pull", "hf.co/u/disk")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot make the folder", result.stderr)


class Breaks(Pulling):
    def test_fifty_kills_each_end_in_a_verified_file(self):
        content = model(6)
        self.hub.add("u/kill", {"m-Q4_0.gguf": content}, bytes_per_s=3e6)
        dice = random.Random(SEED)
        resumed = [0]

        def kill_and_resume(number, delay_s):
            models = self.root / f"models{number}"
            process = self.start("pull", "hf.co/u/kill", ETNA_MODELS=str(models))
            time.sleep(delay_s)  # kills come at any moment of a download
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if process.returncode == 0:
                self.fail("the download ended before the kill")
            self.assertEqual(runnable(models), [])
            resumed[0] += any(path.stat().st_size > 60 for path in models.rglob("*.ranges"))
            result = self.etna("pull", "hf.co/u/kill", ETNA_MODELS=str(models))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(pathlib.Path(result.stdout.strip()).read_bytes(), content)
            self.assertEqual(len(list((models / "blobs").iterdir())), 1)

        delays = [dice.uniform(0.03, 0.4) for _ in range(50)]
        self.run_in_threads(5, [(lambda n=n, d=d: kill_and_resume(n, d)) for n, d in enumerate(delays)])
        print(f"50 kills, {resumed[0]} of them with ranges to resume from")

    def run_in_threads(self, count, tasks):
        failures = []

        def work():
            while tasks and not failures:
                task = tasks.pop()
                try:
                    task()
                except BaseException as failure:  # pylint: disable=broad-except
                    failures.append(failure)

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def test_a_resumed_download_fetches_only_what_is_missing(self):
        content = model(16)
        repository = self.hub.add("u/resume", {"m-Q4_0.gguf": content}, bytes_per_s=4e6)
        process = self.start("pull", "hf.co/u/resume")
        wait_until(lambda: self.has_ranges(6), "six ranges are not recorded", LIMIT_S)
        journal = next(self.models.rglob("*.ranges"))
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn("it resumes", told)
        done = sum(int(line.split()[1]) - int(line.split()[0]) for line in journal.read_text().splitlines()[1:])
        self.assertGreaterEqual(done, 5 * 2**20)
        del repository.faults["bytes_per_s"]
        self.hub.forget()
        self.assert_pulled(self.etna("pull", "hf.co/u/resume"), content)
        ranges = [entry[3].removeprefix("bytes=").split("-") for entry in self.hub.requests("cdn")[1:]]
        self.assertLessEqual(sum(int(last) - int(first) + 1 for first, last in ranges), len(content) - done)

    def test_a_damaged_part_is_found_and_fetched_again(self):
        content = model(16)  # so that most ranges are missing when the first is recorded
        repository = self.hub.add("u/damage", {"m-Q4_0.gguf": content}, bytes_per_s=4e6)
        process = self.start("pull", "hf.co/u/damage")
        wait_until(lambda: self.has_ranges(2), "two ranges are not recorded", LIMIT_S)
        process.kill()
        process.communicate()
        part = next(self.models.rglob("*.part"))
        begin = int(next(self.models.rglob("*.ranges")).read_text().splitlines()[1].split()[0])
        with part.open("r+b") as file:
            file.seek(begin)
            file.write(b"\0" * 1000)
        del repository.faults["bytes_per_s"]
        self.assert_pulled(self.etna("pull", "hf.co/u/damage"), content)

    def test_two_processes_download_once(self):
        content = model(6)
        self.hub.add("u/two", {"m-Q4_0.gguf": content}, bytes_per_s=4e6)
        processes = [self.start("pull", "hf.co/u/two") for _ in range(2)]
        for process in processes:
            _, told = process.communicate(timeout=LIMIT_S)
            self.assertEqual(process.returncode, 0, told)
        ranges = [entry[3].removeprefix("bytes=").split("-") for entry in self.hub.requests("cdn")]
        fetched = sum(int(last) - int(first) + 1 for first, last in ranges)
        self.assertEqual(fetched, len(content) + 2)  # and a look by each
        self.assertEqual(len(list((self.models / "blobs").iterdir())), 1)


if __name__ == "__main__":
    run_tests()
