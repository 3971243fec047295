#!/usr/bin/env python3
"""The executable `etna`: pipes, signals, exit codes, damaged files, missing drivers. Usage: run_test.py ETNA"""

import gzip
import json
import math
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

from support.program import executable, run_tests
from support.waiting import LIMIT_S

MODELS = pathlib.Path(__file__).resolve().parents[1] / "data" / "models"
STORIES = MODELS / "stories260K.gguf"


def environment(**more):
    """Returns the caller's environment without etna's settings, with an empty home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ETNA_", "XDG_"))}
    return {**kept, "HOME": HOME.name, **more}


def run(*arguments, stdin=subprocess.DEVNULL, text=None, **more):
    """Runs etna until it exits; `text` is its piped input."""
    source = {"input": text.encode()} if text is not None else {"stdin": stdin}
    return subprocess.run([executable(), *arguments], capture_output=True, timeout=LIMIT_S, env=environment(**more), **source)


class Plan(unittest.TestCase):
    def plan(self, *arguments):
        result = run("plan", "demo", "--json", *arguments)
        return result.returncode, json.loads(result.stdout)

    def test_memory_by_kind_adds_up_and_follows_the_context(self):
        code, whole = self.plan()
        self.assertEqual(code, 0)
        self.assertTrue(whole["fits"])
        self.assertIsNone(whole["error"])
        kinds = {use["kind"] for use in whole["memory"]}
        self.assertEqual(kinds, {"weights", "cache", "activations", "scratch", "inputs", "outputs", "unused"})
        self.assertEqual(sum(use["bytes"] for use in whole["memory"]), whole["device_bytes"] + whole["host_bytes"])
        cache = lambda plan: sum(use["bytes"] for use in plan["memory"] if use["kind"] == "cache")
        self.assertEqual(cache(self.plan("-c", "64")[1]) * 2, cache(self.plan("-c", "128")[1]))
        self.assertLess(cache(self.plan("-c", "128", "--kv-type", "q8_0")[1]), cache(self.plan("-c", "128")[1]))

    def test_what_does_not_fit_is_shown_and_exits_with_1(self):
        code, plan = self.plan("-c", str(2**20), "--kv-type", "f32", "--kv-memory", "1T")
        self.assertEqual((code, plan["fits"]), (1, False))
        self.assertIn("device memory", plan["error"]["message"])


class Devices(unittest.TestCase):
    def test_the_running_device_is_listed_as_chosen(self):
        result = run("devices", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        chosen = [device for device in json.loads(result.stdout)["devices"] if device["chosen"]]
        self.assertEqual(len(chosen), 1)
        told = run("run", STORIES, "Once", "-n", "1", "-v", "--seed", "1").stderr.decode()
        self.assertIn(chosen[0]["name"], told)
        self.assertGreater(chosen[0]["memory_free_bytes"], 0)

    def test_devices_without_a_driver_prints_a_hint(self):
        result = run("devices", VK_ICD_FILENAMES="/nonexistent", VK_DRIVER_FILES="/nonexistent")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn(b"apt install", result.stderr)


class Tune(unittest.TestCase):
    def tuned(self, folder):
        devices = json.loads(run("devices", "--json", XDG_CACHE_HOME=folder).stdout)["devices"]
        return next(device["tuned"] for device in devices if device["chosen"])

    def test_measured_sizes_are_stored_used_and_forgotten(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("tune", STORIES, "--json", XDG_CACHE_HOME=folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            choices = json.loads(result.stdout)["choices"]
            self.assertGreater(len(choices), 1)
            self.assertEqual([choice["wrong"] for choice in choices], [0] * len(choices))
            self.assertEqual([one["kernel"] for one in self.tuned(folder)], [choice["kernel"] for choice in choices])
            answers = [run("run", STORIES, "Once", "-n", "8", "--temp", "0", XDG_CACHE_HOME=folder) for _ in range(2)]
            self.assertEqual([answer.returncode for answer in answers], [0, 0])
            self.assertEqual(answers[0].stdout, answers[1].stdout)
            (file,) = (pathlib.Path(folder) / "etna").glob("tuning-*.bin")
            file.write_bytes(b"damaged" * 100)
            damaged = run("run", STORIES, "Once", "-n", "8", "--temp", "0", XDG_CACHE_HOME=folder)
            self.assertEqual(damaged.returncode, 0)
            self.assertIn(b"is damaged or of another build, and is ignored", damaged.stderr)
            self.assertEqual(run("tune", "--reset", XDG_CACHE_HOME=folder).returncode, 0)
            self.assertEqual(self.tuned(folder), [])
            self.assertFalse(file.exists())


class Bench(unittest.TestCase):
    def test_each_batch_and_depth_of_a_model_is_measured(self):
        result = run("bench", "demo", "-p", "16", "-n", "6", "-b", "1,3", "-c", "0,40", "-r", "2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual([(row["depth"], row["batch"]) for row in report["rows"]], [(0, 1), (0, 3), (40, 1), (40, 3)])
        for row in report["rows"]:
            for figure in row["prompt_tok_s"], row["generation_tok_s"], row["first_token_ms"], row["per_token"]["host_us"]:
                self.assertGreater(figure["min"], 0)
                self.assertLessEqual(figure["min"], figure["median"])
                self.assertLessEqual(figure["median"], figure["max"])
            self.assertAlmostEqual(row["per_token"]["submits"], 1 / row["batch"])
            self.assertGreater(row["per_token"]["dispatches"], row["per_token"]["barriers"])
            self.assertGreater(row["weights_of_copy_rate"], 0)
            self.assertGreater(row["prompt_of_matrix_rate"], 0)
            self.assertLess(row["prompt_of_matrix_rate"], 1)
        self.assertGreater(report["device_peak_bytes"], report["rows"][0]["step_weight_bytes"])

    def test_texts_of_an_encoder_are_measured(self):
        result = run("bench", "demo-embed", "-b", "1,64", "-p", "32", "-r", "2", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual((report["text_tokens"], report["not_measured"]), (32, []))
        self.assertEqual([row["batch"] for row in report["rows"]], [1, 64])
        for row in report["rows"]:
            for figure in row["batch_ms"], row["texts_s"], row["tok_s"]:
                self.assertGreater(figure["min"], 0)
                self.assertLessEqual(figure["min"], figure["median"])
                self.assertLessEqual(figure["median"], figure["max"])
            self.assertAlmostEqual(row["tok_s"]["max"] / row["texts_s"]["max"], 32)
            self.assertAlmostEqual(row["texts_s"]["max"] * row["batch_ms"]["min"], 1000 * row["batch"], delta=0.01)
            self.assertGreater(row["of_matrix_rate"], 0)
            self.assertLess(row["of_matrix_rate"], 1)
        result = run("bench", "demo-embed", "-n", "8")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn(b"--generated-tokens: demo-embed embeds texts and generates none", result.stderr)

    def test_a_timeline_has_every_layer(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "step.json"
            result = run("bench", "demo", "-n", "4", "-b", "2", "-c", "0", "--timeline", str(file))
            self.assertEqual(result.returncode, 0, result.stderr)
            events = json.loads(file.read_text())["traceEvents"]
        names = {event["name"] for event in events if event["cat"] == "region"}
        self.assertLessEqual({"layer 0", "layer 1", "attention", "feed forward", "head"}, names)
        dispatches = [event for event in events if event["cat"] == "dispatch"]
        self.assertEqual(sorted(dispatches, key=lambda event: event["ts"]), dispatches)
        self.assertGreater(sum(event["dur"] for event in dispatches), 0)

    def test_kernels_are_measured_by_name(self):
        result = run("bench", "--kernels", "rms_norm 4096", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(len(report["kernels"]), 2)
        for kernel in report["kernels"]:
            self.assertGreater(kernel["bytes_s"], 0)
        result = run("bench", "--kernels", "no such kernel")
        self.assertEqual((result.returncode, result.stdout), (1, b""))

    def test_a_table_is_for_people(self):
        result = run("bench", "demo", "-p", "8", "-n", "4", "-b", "1", "-c", "0", "-r", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.decode().startswith("demo on "))
        for text in "of matrix rate", "weights GB/s", "prompts:", "generation:":
            self.assertIn(text, result.stdout.decode())


class Cache(unittest.TestCase):
    def test_compiled_kernels_are_cached_and_a_damaged_cache_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            def story():
                result = run("run", STORIES, "Once", "-n", "4", "--temp", "0", XDG_CACHE_HOME=folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotRegex(result.stderr.decode(), "cache|error|warning")
                return result.stdout

            first = story()
            kept, = (pathlib.Path(folder) / "etna").glob("pipelines-*")
            whole = kept.read_bytes()
            self.assertEqual(story(), first)
            kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
            self.assertEqual(story(), first)
            self.assertNotEqual(kept.read_bytes()[-1], whole[-1] ^ 1)

    def test_kernels_are_checked_once_and_devices_reports_it(self):
        with tempfile.TemporaryDirectory() as folder:
            def told(*arguments):
                result = run(*arguments, XDG_CACHE_HOME=folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                return result

            def self_check():
                devices = json.loads(told("devices", "--json").stdout)["devices"]
                return next(device["self_check"] for device in devices if device["chosen"])

            story = ("run", STORIES, "Once", "-n", "1", "-v")
            self.assertEqual(self_check(), {"state": "not_run", "checked": 0, "wrong": []})
            first = told(*story).stderr
            self.assertRegex(first, rb"checked \d+ kernels on ")
            for _ in range(20):  # a busy machine leaves some kernels for the next start
                if b"left for the next start" not in first:
                    break
                first = told(*story).stderr
            self.assertNotIn(b"checked", told(*story).stderr)
            after = self_check()
            self.assertEqual((after["state"], after["wrong"]), ("passed", []))
            self.assertGreater(after["checked"], 5)
            kept, = (pathlib.Path(folder) / "etna").glob("self-check-*")
            kept.write_bytes(kept.read_bytes()[:-1])
            self.assertIn(b"checked", told(*story).stderr)

    def test_an_unwritable_cache_folder_is_ignored(self):
        result = run("run", STORIES, "Once", "-n", "4", "--temp", "0", XDG_CACHE_HOME="/dev/null/cache")
        self.assertEqual(result.returncode, 0, result.stderr)


class Completion(unittest.TestCase):
    def test_names_of_files_are_data_to_bash(self):
        with tempfile.TemporaryDirectory() as folder:
            models = pathlib.Path(folder) / "etna" / "models"
            models.mkdir(parents=True)
            trap = pathlib.Path(folder) / "trap"
            names = ["plain", "two words", f"$(touch {trap.name})", "`touch trap`", "ok-00001-of-00003", "ok-00002-of-00003"]
            for name in names:
                (models / f"{name}.gguf").touch()
            script = (f"source <('{executable()}' completion bash); COMP_WORDS=(etna run ''); COMP_CWORD=2; _etna; "
                      "printf '%s\\n' \"${COMPREPLY[@]}\"")
            result = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S,
                                    env=environment(XDG_DATA_HOME=folder))
            self.assertEqual(result.stderr, "")
            self.assertFalse(trap.exists())
            self.assertEqual(sorted(result.stdout.splitlines()), sorted(["demo", "etna", "ok", *names[:4]]))


class Text(unittest.TestCase):
    def test_a_pipe_in_and_a_pipe_out(self):
        result = run("run", STORIES, "--raw", "-n", "32", "--temp", "0", text="Once upon a time\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith(b", there was a little girl named Lily."), result.stdout)
        self.assertTrue(result.stdout.endswith(b"\n"))

    def test_greedy_tokens_equal_the_reference(self):
        expected = json.loads((MODELS / "stories260K.expected.json").read_text())
        for case in expected["runs"]:
            begin = len(case["prompt_tokens"])
            prompt = case.get("prompt", "")  # the empty prompt is the begin token alone
            result = run("run", STORIES, prompt, "--raw", "-n", "80", "--temp", "0", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            answer = json.loads(result.stdout)
            self.assertEqual(answer["usage"]["prompt_tokens"], begin)
            self.assertEqual(answer["tokens"], case["tokens"][begin:begin + 80])

    def test_json_is_one_object_with_the_documented_members(self):
        result = run("run", STORIES, "Once", "-n", "5", "--json", "--seed", "3")
        answer = json.loads(result.stdout)
        self.assertEqual(sorted(answer), ["finish_reason", "model", "seed", "text", "timings", "tokens", "usage"])
        self.assertEqual((answer["model"], answer["seed"], answer["finish_reason"]), (str(STORIES), 3, "length"))
        self.assertEqual(len(answer["tokens"]), 5)
        self.assertGreater(answer["timings"]["load_ms"], 0)

    def test_logprobs_do_not_depend_on_the_sampler(self):
        def content(*more):
            result = run("run", STORIES, "Once upon", "-n", "12", "--json", "--logprobs", "20", *more)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)["logprobs"]["content"]

        greedy = content("--temp", "0")  # drawn on the device
        # The same through candidates and through all logits; a tiny temperature is greedy, too.
        for others in (("--temp", "1e-6", "--min-keep", "2"), ("--temp", "0", "--logit-bias", "7=-20"),
                       ("--temp", "1e-6", "--top-k", "0"), ("--temp", "1e-6", "--top-n-sigma", "3")):
            for ours, theirs in zip(greedy, content(*others), strict=True):
                self.assertEqual(ours["bytes"], theirs["bytes"], others)
                self.assertAlmostEqual(ours["logprob"], theirs["logprob"], delta=1e-5)
                self.assertEqual([one["bytes"] for one in ours["top_logprobs"]],
                                 [one["bytes"] for one in theirs["top_logprobs"]])
        for token in greedy:
            top = [one["logprob"] for one in token["top_logprobs"]]
            self.assertEqual(len(top), 20)
            self.assertEqual(token["logprob"], top[0])
            self.assertEqual(top, sorted(top, reverse=True))
            self.assertLessEqual(sum(math.exp(one) for one in top), 1 + 1e-5)

    def test_penalties_end_a_loop(self):
        def tokens(*more):
            result = run("run", STORIES, "the cat the cat the cat", "--raw", "-n", "40", "--temp", "0", "--json", *more)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)["tokens"]

        plain = tokens()
        for more in (("--repeat-penalty", "1.5"), ("--presence-penalty", "2"), ("--frequency-penalty", "1"),
                     ("--dry-multiplier", "2", "--dry-allowed-length", "1")):
            self.assertLess(len(set(plain)), len(set(tokens(*more))), more)
        last = set()  # with so large a penalty no token occurs twice
        for token in tokens("--repeat-penalty", "1", "--frequency-penalty", "100"):
            self.assertNotIn(token, last)
            last.add(token)

    def test_the_same_seed_gives_the_same_text(self):
        runs = [run("run", STORIES, "Once", "-n", "40", "--temp", "1", "--seed", seed).stdout for seed in "778"]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_a_model_in_a_file_and_by_name(self):
        folder = pathlib.Path(HOME.name) / "data" / "etna" / "models"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tiny.gguf").write_bytes(STORIES.read_bytes())
        arguments = ("Once", "-n", "8", "--temp", "0")
        by_name = run("run", "tiny", *arguments, XDG_DATA_HOME=str(folder.parents[1]))
        by_path = run("run", str(folder / "tiny.gguf"), *arguments)
        self.assertEqual(by_name.returncode, 0, by_name.stderr)
        self.assertEqual(by_name.stdout, by_path.stdout)
        self.assertEqual(by_name.stdout, run("run", STORIES, *arguments).stdout)

    def test_plans_for_other_vendors_give_the_same_text(self):
        texts = {run("run", STORIES, "Once", "-n", "24", "--temp", "0", "--plan-as", vendor).stdout
                 for vendor in ("nvidia", "amd", "intel", "lavapipe")}
        self.assertEqual(len(texts), 1, texts)

    def test_an_f32_cache_and_a_small_context(self):
        result = run("run", STORIES, "Once", "-c", "64", "--kv-type", "f32", "--temp", "0", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(json.loads(result.stdout)["usage"]["total_tokens"], 64)


class Demo(unittest.TestCase):
    """The built-in model, as after an installation."""

    def answer(self, *arguments, **more):
        result = run("run", "demo", *arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_it_adds(self):
        self.assertEqual(self.answer("What is 34 + 58?"), "92\n")
        self.assertEqual(self.answer(text="What is 34 + 58?\n"), "92\n")

    def test_it_repeats_counts_and_obeys(self):
        self.assertEqual(self.answer("Reply with: blue kettle"), "blue kettle\n")
        self.assertEqual(self.answer("Count to 7."), "1, 2, 3, 4, 5, 6, 7\n")
        self.assertIn("Iris", self.answer("What is your name?", "--system", "You are named Iris."))

    def test_it_thinks_on_stderr_if_requested(self):
        shown = run("run", "demo", "What is 12 + 30 - 7?", "--think", "--reasoning", "show")
        self.assertEqual((shown.returncode, shown.stdout), (0, b"35\n"), shown.stderr)
        self.assertIn(b"12 + 30 = 42", shown.stderr)
        hidden = run("run", "demo", "What is 12 + 30 - 7?", "--think", "--reasoning", "hide")
        self.assertEqual(hidden.stdout, shown.stdout)
        self.assertNotIn(b"42", hidden.stderr)

    def test_it_gives_the_same_text_on_every_plan(self):
        texts = {self.answer("What is the capital of France?", "--plan-as", vendor)
                 for vendor in ("nvidia", "amd", "intel", "lavapipe")}
        self.assertEqual(texts, {self.answer("What is the capital of France?")})
        self.assertIn("Paris", texts.pop())

    def test_the_draft_has_its_vocabulary(self):
        ids = {run("tokenize", model, "Hello there, 42").stdout for model in ("demo", "demo-draft")}
        self.assertEqual(len(ids), 1)
        self.assertNotEqual(run("run", "demo-draft", "Hello", "-n", "8").stdout, b"")


class Tokens(unittest.TestCase):
    def test_text_to_ids_and_back_without_a_device(self):
        empty = pathlib.Path(HOME.name) / "empty.json"
        empty.write_text("")
        no_driver = {"VK_ICD_FILENAMES": str(empty), "VK_DRIVER_FILES": str(empty)}
        expected = json.loads((MODELS / "stories260K.expected.json").read_text())["runs"]
        for case in expected:
            ids = run("tokenize", STORIES, text=case.get("prompt", ""), **no_driver)
            self.assertEqual(ids.returncode, 0, ids.stderr)
            self.assertEqual(json.loads(ids.stdout), case["prompt_tokens"])
        text = "Once upon\n\ta time: caf\u00e9 \U0001f642\n"
        ids = run("tokenize", STORIES, text=text, **no_driver).stdout.decode()
        self.assertEqual(run("tokenize", STORIES, "--decode", text=ids, **no_driver).stdout.decode(), text)

    def test_a_vocabulary_alone_is_enough(self):
        folder = MODELS.parent / "vocab"
        path = pathlib.Path(HOME.name) / "gpt-2.gguf"
        path.write_bytes(gzip.decompress((folder / "gpt-2.gguf.gz").read_bytes()))
        texts = (folder / "texts.inp").read_bytes().split(b"\n__ggml_vocab_test__\n")
        rows = (folder / "gpt-2.out").read_text().splitlines()
        for text, row in list(zip(texts, rows))[:10]:
            result = run("tokenize", str(path), text=text.decode())
            self.assertEqual(json.loads(result.stdout), [int(word) for word in row.split()])


class Ends(unittest.TestCase):
    def test_a_closed_pipe_ends_it_silently(self):
        shell = f"'{executable()}' run '{STORIES}' Once --temp 0 | head -c 5; echo \" ${{PIPESTATUS[0]}}\""
        result = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=LIMIT_S, env=environment(),
                                stdin=subprocess.DEVNULL)
        self.assertRegex(result.stdout.decode(), r"^.{5} 0\n$")
        self.assertNotIn(b"error", result.stderr)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([executable(), "run", STORIES, "Once", "-n", "4"], stdout=full, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, timeout=LIMIT_S, env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"error: cannot write to standard output", result.stderr)

    def test_a_closed_standard_output_is_an_error(self):
        result = subprocess.run(["bash", "-c", f"'{executable()}' run '{STORIES}' Once -n 4 >&-"], stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, timeout=LIMIT_S, env=environment())
        self.assertEqual(result.returncode, 1)

    def test_unwritable_output_is_an_error_in_every_command(self):
        request = "<<<'{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'"
        for command in ("--help", "--version", "completion bash", "run --help-all", "serve --routes", "serve --port 0 --store none",
                        "devices", "devices --json", "tokenize demo x", f"render demo {request}", "run demo Hello -n 4",
                        "run demo Hello -n 4 --json", "run demo Hello -n 4 --n 2", "run demo Hello -n 4 --n 2 --json",
                        "chat -n 4 <<<Hello"):
            for target in (">/dev/full", ">&-"):
                with self.subTest(command=command, target=target):
                    result = subprocess.run(["bash", "-c", f"'{executable()}' {command} {target}"], stderr=subprocess.PIPE,
                                            stdin=subprocess.DEVNULL, timeout=LIMIT_S, env=environment())
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertRegex(result.stderr.decode(), r"error: cannot write to standard output: .*\n\Z")

    def test_ctrl_c_keeps_the_text(self):
        with subprocess.Popen([executable(), "run", STORIES, "", "--temp", "0"],  # a story of more than 200 tokens
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            first = process.stdout.read(1)  # the generation has started
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=LIMIT_S)
        self.assertEqual(process.returncode, 130, errors)
        self.assertTrue((first + rest).endswith(b"\n"))

    def test_sigterm_and_sighup_keep_the_text_too(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(signal=number):
                with subprocess.Popen([executable(), "run", STORIES, "", "--temp", "0", "-c", "100000", "--ignore-eos"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=environment()) as process:
                    first = process.stdout.read(1)  # the generation has started
                    process.send_signal(number)
                    rest, errors = process.communicate(timeout=LIMIT_S)
                self.assertEqual(process.returncode, code, errors)
                self.assertTrue((first + rest).endswith(b"\n"))

    def at_terminal(self, *arguments):
        """Runs etna at a terminal without input. Returns (exit code, output)."""
        child, descriptor = pty.fork()
        if child == 0:
            os.execve(executable(), [executable(), *arguments], environment(TERM="dumb"))
        shown = b""
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            try:
                piece = os.read(descriptor, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), shown.decode()

    def test_the_prompt_is_not_read_from_a_terminal(self):
        code, shown = self.at_terminal("run", STORIES)
        self.assertEqual(code, 2)
        self.assertIn("no prompt given", shown)
        self.assertIn(f"`etna chat {STORIES}` holds a conversation", shown)

    def test_an_unknown_model_is_reported_first_at_a_terminal(self):
        code, shown = self.at_terminal("run", "llama9.2")
        self.assertEqual(code, 1)
        self.assertTrue(shown.startswith("error: no model `llama9.2`: no such file"), shown)
        code, shown = self.at_terminal("run", "What is 34 + 58?")
        self.assertEqual((code, shown), (2, "error: no model given\r\nhint: try `etna run demo 'What is 34 + 58?'`, or `etna run --help`\r\n"))

    def test_an_incomplete_answer_is_reported_at_a_terminal(self):
        code, shown = self.at_terminal("run", STORIES, "Once", "-n", "3", "--seed", "1")
        self.assertEqual(code, 0)
        self.assertIn("note: --max-tokens 3 reached; the answer is incomplete\r\n", shown)


class Failures(unittest.TestCase):
    def one_sentence(self, result, *parts):
        lines = result.stderr.decode().splitlines()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(len([line for line in lines if line.startswith("error: ")]), 1, lines)
        self.assertTrue(all(line.startswith(("error: ", "hint: ")) for line in lines), lines)
        for part in parts:
            self.assertIn(part, lines[0])

    def test_damaged_files(self):
        whole = STORIES.read_bytes()
        damages = {
            "empty": b"",
            "text": b"this is not a model\n",
            "header": whole[:10],
            "metadata": whole[:3000],
            "tensors": whole[:len(whole) // 2],
            "counts": whole[:8] + b"\xff" * 16 + whole[24:],
        }
        for name, content in damages.items():
            with self.subTest(name):
                path = pathlib.Path(HOME.name) / f"{name}.gguf"
                path.write_bytes(content)
                self.one_sentence(run("run", str(path), "x"), f"{name}.gguf")

    def test_a_folder_and_a_missing_file(self):
        folder = pathlib.Path(HOME.name) / "folder.gguf"
        folder.mkdir(exist_ok=True)
        self.one_sentence(run("run", str(folder), "x"), "folder.gguf")
        self.one_sentence(run("run", "./none.gguf", "x"), "none.gguf")

    def test_no_driver(self):
        empty = pathlib.Path(HOME.name) / "empty.json"
        empty.write_text("")
        self.one_sentence(run("run", STORIES, "x", VK_ICD_FILENAMES=str(empty), VK_DRIVER_FILES=str(empty)))

    def test_an_unknown_device(self):
        self.one_sentence(run("run", STORIES, "x", "--device", "no such device"), "no such device")

    def test_unusable_tools_and_messages_files(self):
        path = pathlib.Path(HOME.name) / "wrong.json"
        deep = '[{"name": "a", "parameters": {"x": ' + "[" * 60000 + "]" * 60000 + "}}]"
        for option, text, part in (("--tools", deep, b"nested"), ("--tools", '[{"name": ""}]', b"no name"),
                                   ("--messages", '{"messages": [{"role": "user", "content": "hi"}], "chat_template_kwargs": 5}', b"not an object")):
            path.write_text(text)
            prompt = ["hi"] if option == "--tools" else []
            result = run("run", "demo", *prompt, option, str(path), "--think")
            self.assertIn(result.returncode, (1, 2), result)
            self.assertIn(part, result.stderr)

    def test_a_prompt_longer_than_the_context(self):
        result = run("run", STORIES, text="dog " * 5000)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"but the context holds 2048", result.stderr)

    def test_usage(self):
        for arguments in (["rum"], ["run"], ["run", STORIES], ["run", STORIES, "x", "--temp", "hot"],
                          ["run", STORIES, "x", "--frobnicate"], []):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, b"")
                self.assertRegex(result.stderr.decode(), r"\Aerror: .*\nhint: .*\n\Z")


if __name__ == "__main__":
    HOME = tempfile.TemporaryDirectory(prefix="etna-e2e-")
    with HOME:
        run_tests(verbosity=2)
