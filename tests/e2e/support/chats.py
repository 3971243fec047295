"""Shared by the tests of `etna chat`: a temporary home, terminals and pipes."""

import json
import os
import pathlib
import subprocess
import unittest

from support.homes import new_home
from support.program import executable
from support.terminal import Terminal
from support.waiting import LIMIT_S

STORIES = str(pathlib.Path(__file__).resolve().parents[2] / "data" / "models" / "stories260K.gguf")
GREEDY = (STORIES, "--chat-template", "vicuna", "--temp", "0", "-n", "12")


def variables(home):
    kept = {name: os.environ[name] for name in ("PATH", "VK_ICD_FILENAMES", "VK_DRIVER_FILES", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(home), "LANG": "C.UTF-8"}


def piped(home, text, *arguments):
    """Runs the chat through a pipe. Returns (standard output, standard error)."""
    done = subprocess.run([executable(), "chat", *arguments], input=text.encode(), capture_output=True, timeout=LIMIT_S,
                          env=variables(home), check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def end_token():
    done = subprocess.run([executable(), "tokenize", STORIES, "</s>"], capture_output=True, check=True)
    return json.loads(done.stdout)[-1]


class ChatCase(unittest.TestCase):
    def setUp(self):
        folder = new_home("etna-chat-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def terminal(self, *arguments):
        terminal = Terminal([executable(), "chat", *arguments], variables(self.home))
        self.addCleanup(terminal.__exit__)
        terminal.wait_for(">>>")
        return terminal

    def answers(self, *messages):
        """Returns the answer to each message, through a pipe."""
        answers, before = [], ""
        for count in range(1, len(messages) + 1):
            text, _ = piped(self.home, "".join(f"{message}\n" for message in messages[:count]), *GREEDY)
            self.assertTrue(text.startswith(before))
            answers.append(text[len(before):].rstrip("\n"))
            before = text
        return answers

    def conversation(self, terminal):
        """Returns the screen from the first prompt."""
        screen = terminal.screen()
        return screen[screen.index(">>>"):]
