#!/usr/bin/env python3
"""What a terminal of 40 columns shows while etna loads, reads a prompt and embeds. Usage: progress_test.py ETNA"""

import pathlib
import re
import tempfile
import time

from support.chats import ChatCase, variables
from support.program import executable, run_tests
from support.terminal import Terminal
from support.waiting import wait_until


class Progress(ChatCase):
    def shown(self, *command, home=None, text="/dev/null"):
        """Runs etna in a narrow terminal, with the file `text` as input. Returns the different screens until its end."""
        script = "read line; input=$1; shift; exec \"$@\" < $input"
        terminal = Terminal(["sh", "-c", script, "sh", str(text), executable(), *command], variables(home or self.home))
        self.addCleanup(terminal.__exit__)
        terminal.resize(40, 24)
        terminal.keys("Enter")
        screens = []

        def has_ended():
            screen = terminal.screen()
            if screens[-1:] != [screen]:
                screens.append(screen)
            return "exit code" in screen

        wait_until(has_ended, lambda: screens[-1:], interval_s=0.05)
        self.assertIn("exit code 0", screens[-1])
        return screens

    def check(self, screens, pattern):
        """Checks that such lines were shown, and are gone at the end."""
        matches = [match for screen in screens for match in re.findall(pattern, screen)]
        self.assertTrue(matches, screens)
        self.assertNotRegex(screens[-1], pattern)
        for screen in screens:  # a line that wraps would be longer than 40 columns when joined
            for line in screen.split("\n"):
                if re.search(pattern, line):
                    self.assertLess(len(line), 40)
        return matches

    def test_a_long_prompt_is_counted(self):
        (self.home / "long.txt").write_text("the cat and the dog " * 200)  # about 1,000 tokens take over a second
        screens = self.shown("run", "demo", "--raw", "--file", str(self.home / "long.txt"), "-n", "4")
        self.check(screens, r"reading the prompt (?:\[[#.]+\] )?[0-9]+ of [0-9]+ tokens")

    def test_many_texts_are_counted(self):
        lines = self.home / "lines.txt"
        lines.write_text("".join(f"text number {i} with some more words in it, so that it takes a while\n" for i in range(1000)))
        output = self.home / "out.jsonl"
        screens = self.shown("embed", "demo-embed", "-o", str(output), text=lines)
        self.check(screens, r"embedding (?:\[[#.]+\] )?[0-9]+ of 1000 texts")
        self.assertEqual(output.read_text().count("\n"), 1000)

    def test_the_first_run_shows_kernels_that_are_compiled(self):
        silence_s_max = 5
        with tempfile.TemporaryDirectory(prefix="etna-cold-") as cold:
            start = time.monotonic()
            screens = self.shown("run", "demo", "What is 34 + 58?", "--temp", "0", home=pathlib.Path(cold))
            took_s = time.monotonic() - start
        self.assertIn("92", screens[-1])
        if took_s > silence_s_max:
            self.check(screens, r"(?:checking kernels|compiling kernels|reading the prompt) (?:\[[#.]+\] )?[0-9]+ of [0-9]+")


if __name__ == "__main__":
    run_tests(verbosity=2)
