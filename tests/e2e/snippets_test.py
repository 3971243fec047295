#!/usr/bin/env python3
"""Runs the curl examples of the README, the man pages and the help, and other servers' snippets, unchanged except for host,
port and model. Usage: snippets_test.py ETNA"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support.program import executable, run_tests
from support.server import Server
from support.waiting import LIMIT_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
SNIPPETS = ROOT / "tests" / "data" / "snippets"
# The servers of the documentation's examples.
ADDRESS = re.compile(r"http://(127\.0\.0\.1|localhost)(:\d+)?(?=/)")
MODEL = re.compile(r"llama-3-70b|llama3")


def section(text, title):
    """The part of a page under this heading."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE).group(1)


def code_lines(markdown):
    """Lines of code blocks, fenced or indented, without their indentation; None between two blocks."""
    fenced = False
    for line in markdown.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            yield None
        elif fenced or line.startswith("    "):
            yield line if fenced else line[4:]
        else:
            yield None


def is_whole(command):
    """Returns whether a shell would run it and not wait for more lines."""
    return not command.endswith("\\") and subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False).returncode == 0


def manual_lines(page):
    """Returns the lines of a man page's examples without roff escapes; None between two examples."""
    for example in re.findall(r"^\.EX\n(.*?)^\.EE$", page, re.DOTALL | re.MULTILINE):
        yield from example.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").split("\n")
        yield None


def recorded_commands(lines):
    """Returns (command, output) of each command after a prompt, without the notes that go to a terminal."""
    found = []
    for line in lines:
        if line is not None and line.startswith("$ "):
            found.append((line[2:], ""))
        elif line is not None and found and not line.startswith("note: "):
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def curl_commands(lines):
    """Returns the commands that start with curl, also after a prompt, with all their lines."""
    command = None
    for line in lines:
        if command is None and line is not None and re.match(r"\s*(\$ )?curl ", line):
            command = re.sub(r"^\s*(\$ )?", "", line)
        elif command is not None and line is not None:
            command += "\n" + line
        if command is not None and (is_whole(command) or line is None):
            yield command
            command = None


class Snippets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("demo")
        # By default curl does not fail on an error status.
        (pathlib.Path(cls.server.home.name) / ".curlrc").write_text("silent\nshow-error\nfail-with-body\nno-buffer\n")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def here(self, text, server=None):
        return MODEL.sub("demo", ADDRESS.sub((server or self.server).address, text))

    def run_here(self, *command):
        """Returns the output of a program that can reach only this server."""
        environment = {**os.environ, "HOME": self.server.home.name, "CURL_HOME": self.server.home.name, "NO_PROXY": "*"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def run_curl(self, command, server=None):
        """Runs a curl command. Returns its JSON, or the chunks of a stream."""
        command = self.here(command, server)
        self.assertIn((server or self.server).address, command, "it reaches a server, but not this one")
        printed = self.run_here("bash", "-c", command)
        if not printed.startswith(("data:", ":", "event:")):
            return json.loads(printed) if printed.lstrip().startswith(("{", "[")) else printed
        data = [line[6:] for line in printed.split("\n") if line.startswith("data: ")]
        self.assertEqual(data[-1], "[DONE]", printed)
        return [json.loads(one) for one in data[:-1]]

    def run_all(self, commands):
        self.assertGreater(len(commands), 0, "no example was found")
        for command in commands:
            with self.subTest(command=command):
                answer = self.run_curl(command)
                self.assertTrue(answer)
                self.assertIsNone(answer.get("error"), answer)  # a response that succeeded has null
                if '"1, 2, 3, 4,"' in command:
                    self.assertEqual(answer["content"] if "content" in answer else answer["choices"][0]["text"], " 5, 6, 7, 8, 9")
                if "What is 34 + 58?" in command and isinstance(answer, dict):
                    said = answer["output_text"] if "output" in answer else answer["choices"][0]["message"]["content"]
                    self.assertEqual(said, "92")

    def test_examples_of_the_readme(self):
        self.run_all(list(curl_commands(code_lines(section((ROOT / "README.md").read_text(), "Use")))))

    def test_recording_of_the_readme(self):
        first = (ROOT / "README.md").read_text().split("\n|")[0]
        recorded = recorded_commands(code_lines(first))
        self.assertEqual([command.split()[1] for command, _ in recorded[:1] + recorded[2:3]], ["run", "serve"])
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "etna").symlink_to(executable())
            environment = {**os.environ, "HOME": folder, "PATH": f"{folder}:{os.environ['PATH']}", "NO_PROXY": "*"}
            for command, output in recorded:
                if command.startswith("etna serve"):
                    self.assertEqual(output, "http://127.0.0.1:8080\n")  # the server of this class answers
                    continue
                with self.subTest(command=command):
                    done = subprocess.run(["bash", "-euc", self.here(command)], env=environment, capture_output=True, text=True,
                                          timeout=LIMIT_S, check=False)  # fmt: skip
                    self.assertEqual((done.returncode, done.stdout), (0, output), done.stderr)

    def test_search_of_the_readme(self):
        blocks = "\n".join("\0" if line is None else line for line in code_lines((ROOT / "README.md").read_text())).split("\0")
        examples = [block for block in blocks if "etna embed" in block and "awk" in block]
        self.assertEqual(len(examples), 1)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "etna").symlink_to(executable())
            environment = {**os.environ, "HOME": folder, "PATH": f"{folder}:{os.environ['PATH']}"}
            done = subprocess.run(["bash", "-euc", examples[0]], cwd=folder, env=environment, capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "You live in Oslo.\n"), done.stderr)

    def test_examples_of_the_man_pages(self):
        for name in ("etna-api.7", "etna-grammar.7"):
            with self.subTest(page=name):
                self.run_all(list(curl_commands(manual_lines((ROOT / "man" / name).read_text()))))

    def test_examples_of_the_help(self):
        told = subprocess.run([executable(), "serve", "--help-all"], capture_output=True, text=True, check=True).stdout
        self.run_all(list(curl_commands(told.split("\n"))))

    def test_openvino_curl(self):
        server = Server("demo", "--ctx-size", "256")  # the answer fills the context
        self.addCleanup(server.stop)
        answer = self.run_curl((SNIPPETS / "openvino_completions.sh").read_text().strip(), server)
        self.assertEqual((answer["object"], answer["model"]), ("text_completion", "demo"))
        self.assertTrue(answer["choices"][0]["text"])
        # There, an answer continues until the model ends it or the context is full.
        self.assertIn(answer["choices"][0]["finish_reason"], ("stop", "length"))

    def test_dynamo_python(self):
        try:
            import requests  # noqa: F401, PLC0415
        except ImportError:
            self.fail(f"{sys.executable} has no `requests`; scripts/install-packages all-tests installs it (python3-requests)")
        printed = self.run_here(sys.executable, "-c", self.here((SNIPPETS / "dynamo_stream.py").read_text()))
        self.assertTrue(printed.strip())

    def test_dynamo_requests(self):
        for name in ("dynamo_chat.json", "dynamo_nvext.json"):
            with self.subTest(name):
                body = json.loads(self.here((SNIPPETS / name).read_text()))
                status, headers, text = self.server.request("POST", "/v1/chat/completions", body)
                self.assertEqual((status, headers.get("etna-ignored")), (200, None), text)
                self.assertTrue(text.endswith("data: [DONE]\n\n"), text)
                names = [line[7:] for line in text.split("\n") if line.startswith("event: ")]
                self.assertEqual(sorted(names), sorted(body["nvext"].get("annotations", [])))


class Extraction(unittest.TestCase):
    def test_examples_of_a_man_page_are_unescaped(self):
        page = ".SH USE\ntext\n.EX\ncurl a \\-d \\(aq{\n  \"b\": \"\\e\\e\"}\\(aq\ncurl c\n.EE\n.EX\ncurl d\n.EE\n"
        self.assertEqual(list(curl_commands(manual_lines(page))), ["curl a -d '{\n  \"b\": \"\\\\\"}'", "curl c", "curl d"])

    def test_recorded_commands_have_their_output(self):
        lines = ["$ a", "note: b", "c", "d", None, "$ e &", "f"]
        self.assertEqual(recorded_commands(lines), [("a", "c\nd\n"), ("e &", "f\n")])

    def test_commands_are_extracted_completely(self):
        page = "## Serving\ntext `curl x`\n\n    curl a -d '{\n      \"b\": 1}'\n    curl c \\\n      -d e\n\n```\n$ curl f\nout\n```\n## Next\n\n    curl g\n"
        found = list(curl_commands(code_lines(section(page, "Serving"))))
        self.assertEqual(found, ["curl a -d '{\n  \"b\": 1}'", "curl c \\\n  -d e", "curl f"])


if __name__ == "__main__":
    run_tests(verbosity=2)
