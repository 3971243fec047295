#!/usr/bin/env python3
"""`etna chat` as a person meets it, in a terminal, and as a script does, through a pipe. Usage: chat_test.py ETNA"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from terminal import Terminal

ETNA = ""
LIMIT_S = 120
STORIES = str(pathlib.Path(__file__).resolve().parents[1] / "data" / "models" / "stories260K.gguf")
GREEDY = (STORIES, "--chat-template", "vicuna", "--temp", "0", "-n", "12")


def variables(home):
    kept = {name: os.environ[name] for name in ("PATH", "VK_ICD_FILENAMES", "VK_DRIVER_FILES", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(home), "LANG": "C.UTF-8"}


def piped(home, text, *arguments):
    """What a script gets: (standard output, standard error)."""
    done = subprocess.run([ETNA, "chat", *arguments], input=text.encode(), capture_output=True, timeout=LIMIT_S,
                          env=variables(home), check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode(), done.stderr.decode()


def end_token():
    done = subprocess.run([ETNA, "tokenize", STORIES, "</s>"], capture_output=True, check=True)
    return json.loads(done.stdout)[-1]


class Chat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-chat-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)

    def terminal(self, *arguments):
        terminal = Terminal([ETNA, "chat", *arguments], variables(self.home))
        self.addCleanup(terminal.__exit__)
        terminal.wait_for(">>>")
        return terminal

    def answers(self, *messages):
        """Each message's answer, as a pipe gives them."""
        answers, before = [], ""
        for count in range(1, len(messages) + 1):
            text, _ = piped(self.home, "".join(f"{message}\n" for message in messages[:count]), *GREEDY)
            self.assertTrue(text.startswith(before))
            answers.append(text[len(before):].rstrip("\n"))
            before = text
        return answers

    def conversation(self, terminal):
        """The screen from the first prompt on."""
        screen = terminal.screen()
        return screen[screen.index(">>>"):]


class Typing(Chat):
    def test_a_conversation_looks_as_it_should(self):
        first, second = self.answers("Hello", "And then?")
        terminal = self.terminal(*GREEDY)
        terminal.type("Hello")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type("And then?")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        self.assertEqual(self.conversation(terminal), f">>> Hello\n{first}\n>>> And then?\n{second}\n>>>")
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_a_line_can_be_edited_and_found_again(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("Helö wurld")
        terminal.keys("Left", "Left", "Left", "BSpace", "o", "End", "!", "Home")
        terminal.keys("C-f", "C-f", "C-f", "BSpace", "l", "l")
        terminal.wait_for(">>> Hellö world!")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.keys("Up")
        terminal.wait_for(lambda screen: screen.count("Hellö world!") == 2)
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")
        self.assertEqual((self.home / ".local/state/etna/history").stat().st_mode & 0o777, 0o600)
        again = self.terminal(*GREEDY)
        again.keys("Up")
        again.wait_for(">>> Hellö world!")

    def test_no_history_keeps_nothing(self):
        terminal = self.terminal(*GREEDY, "--no-history")
        terminal.type("secret")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")
        self.assertFalse((self.home / ".local/state").exists())

    def test_tab_completes_commands(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("/und")
        terminal.keys("Tab")
        terminal.wait_for(">>> /undo")
        terminal.keys("C-c")
        terminal.type("/s")
        terminal.keys("Tab")
        terminal.wait_for("/set  /show  /system  /save  /stats")

    def test_what_is_pasted_or_quoted_is_one_message(self):
        terminal = self.terminal(*GREEDY)
        terminal.paste("first line\nsecond line")
        terminal.wait_for("second line")
        self.assertEqual(terminal.screen().count(">>>"), 1)  # nothing is sent before Enter
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type('"""third')
        terminal.keys("Enter")
        terminal.wait_for("...")
        terminal.type('fourth"""')
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        terminal.type("/show messages")
        terminal.keys("Enter")
        screen = terminal.wait_for("user      fourth")
        for line in ("user      first line\nuser      second line\n", "user      third\nuser      fourth\n"):
            self.assertIn(line, screen)


class Stopping(Chat):
    def test_ctrl_c_stops_an_answer_and_keeps_the_chat(self):
        # The model may never end, so that there is an answer to stop.
        terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--temp", "0", "--logit-bias", f"{end_token()}=-inf")
        terminal.type("Tell me more")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: len(screen.splitlines()) > 5)
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.rstrip().endswith(">>>"))
        terminal.type("/stats")
        terminal.keys("Enter")
        terminal.wait_for("answer ")
        terminal.type("/set max-tokens 3")
        terminal.keys("Enter")
        terminal.type("Hello")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.rstrip().endswith(">>>") and ">>> Hello" in screen)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_ctrl_c_throws_a_line_away(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("not this")
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type("/show messages")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        self.assertNotIn("user", self.conversation(terminal))


class Commands(Chat):
    def test_undo_save_and_load(self):
        first, _ = self.answers("Hello", "And then?")
        saved = self.home / "saved.json"
        terminal = self.terminal(*GREEDY)
        for number, line in enumerate(("Hello", "And then?", "/undo", f"/save {saved}"), start=2):
            terminal.type(line)
            terminal.keys("Enter")
            terminal.wait_for(lambda screen, number=number: screen.count(">>>") == number)
        self.assertIn("note: taken back: `And then?`", terminal.screen())
        self.assertEqual(json.loads(saved.read_text()), {"messages": [{"role": "user", "content": "Hello"},
                                                                      {"role": "assistant", "content": first}]})
        terminal.type("/bye")
        terminal.keys("Enter")
        terminal.wait_for("exit code 0")
        again = self.terminal(*GREEDY)
        again.type(f"/load {saved}")
        again.keys("Enter")
        again.wait_for("has 1 messages of yours")
        again.type("/show messages")
        again.keys("Enter")
        again.wait_for("user      Hello")

    def test_a_tool_asks_before_it_runs(self):
        tools = self.home / "tools.json"
        tools.write_text(json.dumps([{"name": "mark", "parameters": {}, "command": "touch $HOME/was-run"}]))
        terminal = self.terminal(*GREEDY, "--tools", str(tools))
        terminal.type("/show tools")
        terminal.keys("Enter")
        terminal.wait_for("touch $HOME/was-run")
        self.assertFalse((self.home / "was-run").exists())


class Pipes(Chat):
    def test_each_line_is_answered(self):
        text, told = piped(self.home, "hi\nhow are you\n", *GREEDY)
        self.assertEqual(len(self.answers("hi", "how are you")), 2)
        self.assertTrue(text.endswith("\n"))
        self.assertNotIn("error", told)

    def test_the_second_turn_computes_only_what_is_new(self):
        _, told = piped(self.home, "hi\n/stats\nhow are you\n/stats\n", *GREEDY)
        prompts = [line for line in told.splitlines() if line.startswith("prompt")]
        self.assertEqual(len(prompts), 2)
        words = prompts[1].split()
        self.assertGreater(int(words[3]), int(words[1]) // 2, prompts)


class Demo(Chat):
    """The embedded model, which `etna chat` takes by itself."""

    def said(self, terminal, *lines):
        """The screen after these lines have been answered."""
        for line in lines:
            before = terminal.screen().count(">>>")
            terminal.type(line)
            terminal.keys("Enter")
            terminal.wait_for(lambda screen, before=before: screen.count(">>>") == before + 1 and screen.endswith(">>>"))
        return self.conversation(terminal)

    def test_it_says_what_it_is_and_remembers_a_name(self):
        terminal = self.terminal()
        self.assertIn("is no assistant", terminal.screen())
        screen = self.said(terminal, "My name is Tomas.", "What is 34 + 58?", "What is my name?")
        self.assertEqual(screen.count("92"), 1)
        self.assertIn("Tomas", screen.rsplit("What is my name?", 1)[1])

    def test_a_tool_runs_in_the_shell_and_its_result_becomes_the_answer(self):
        tools = self.home / "tools.json"
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        command = """printf '{"condition": "sunny", "temperature": %d}' ${#arg_city}; echo "$arg_city" > $HOME/asked"""
        tools.write_text(json.dumps([{"type": "function", "command": command, "function": {
            "name": "get_weather", "description": "Get the current weather of a city", "parameters": parameters}}]))
        terminal = self.terminal("--tools", str(tools))
        terminal.type("What is the weather in Lisbon?")
        terminal.keys("Enter")
        terminal.wait_for("[y]es, [N]o, [a]lways:")
        self.assertFalse((self.home / "asked").exists())
        terminal.type("y")
        terminal.keys("Enter")
        screen = terminal.wait_for(lambda screen: screen.endswith(">>>"))
        self.assertEqual((self.home / "asked").read_text(), "Lisbon\n")
        answer = screen.rsplit("[a]lways:", 1)[1]
        self.assertIn("sunny", answer)
        self.assertIn("6", answer)

    def test_thinking_is_shown_or_hidden(self):
        shown = self.said(self.terminal("--think"), "What is 12 + 30 - 7?")
        hidden = self.said(self.terminal("--think", "--reasoning", "hide"), "What is 12 + 30 - 7?")
        self.assertIn("12 + 30 = 42", shown)
        self.assertIn("35", shown)
        self.assertNotIn("think>", shown)
        self.assertEqual(hidden, ">>> What is 12 + 30 - 7?\n35\n>>>")


if __name__ == "__main__":
    ETNA = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
