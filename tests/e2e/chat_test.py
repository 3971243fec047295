#!/usr/bin/env python3
"""`etna chat` as a person meets it, in a terminal, and as a script does, through a pipe. Usage: chat_test.py ETNA

ETNA_TEST_ROUNDS is how often a terminal is resized, typed into, interrupted and left; 3 where it is unset."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

from terminal import Terminal

ETNA = ""
LIMIT_S = 120
ROUNDS = int(os.environ.get("ETNA_TEST_ROUNDS", "3"))
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
                                                                      {"role": "assistant", "content": first}],
                                                         "etna": {"settings": {"max-tokens": ["12"], "temp": ["0"]}}})
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


    def test_paths_may_begin_at_home(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("/save ~/saved.json")
        terminal.keys("Enter")
        terminal.wait_for("saved.json\n>>>")
        self.assertTrue((self.home / "saved.json").exists())


class Tools(Chat):
    """The embedded model calls tools."""

    def asked(self, command, *arguments):
        """The terminal after a message that makes the model call a tool with this command."""
        tools = self.home / "tools.json"
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        tools.write_text(json.dumps([{"type": "function", "command": command, "function": {
            "name": "get_weather", "description": "Get the current weather of a city", "parameters": parameters}}]))
        terminal = self.terminal("--tools", str(tools), *arguments)
        terminal.type("What is the weather in Lisbon?")
        terminal.keys("Enter")
        return terminal

    def goes_on(self, terminal):
        """The chat answers, and can be left."""
        terminal.wait_for(lambda screen: screen.endswith(">>>"))
        terminal.type("What is 34 + 58?")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.endswith(">>>") and "92" in screen)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_ctrl_c_at_the_question_is_no_and_keeps_the_chat(self):
        terminal = self.asked("touch $HOME/was-run")
        terminal.wait_for("[a]lways:")
        terminal.keys("C-c")
        self.goes_on(terminal)
        self.assertFalse((self.home / "was-run").exists())

    def test_ctrl_c_ends_a_tool_that_hangs_and_keeps_the_chat(self):
        terminal = self.asked("trap '' TERM; exec >&- 2>&-; touch $HOME/begun; while :; do sleep 1; done", "--yes")
        terminal.wait_for(lambda _: (self.home / "begun").exists())
        terminal.keys("C-c")
        terminal.keys("C-c")  # as impatient people do
        terminal.wait_for("get_weather: (the user stopped it)")
        self.goes_on(terminal)

    def test_a_tool_that_hangs_is_stopped_when_its_time_is_over(self):
        terminal = self.asked("exec >&- 2>&-; sleep 1000", "--yes", "--tool-timeout", "1")
        terminal.wait_for("get_weather: (it was stopped after 1 s)")
        terminal.wait_for(lambda screen: screen.endswith(">>>"))


class Signals(Chat):
    def test_they_end_a_pipe_between_answers(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with subprocess.Popen([ETNA, "chat", *GREEDY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=variables(self.home)) as chat:
                chat.stdin.write(b"Hello\n")
                chat.stdin.flush()
                chat.stdout.readline()  # the answer has come, and more lines may come
                chat.send_signal(number)
                self.assertEqual(chat.wait(LIMIT_S), code)

    def test_they_end_a_pipe_within_an_answer(self):
        endless = (STORIES, "--chat-template", "vicuna", "--temp", "0", "--logit-bias", f"{end_token()}=-inf", "-c", "100000")
        with subprocess.Popen([ETNA, "chat", *endless], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=variables(self.home)) as chat:
            chat.stdin.write(b"Hello\nnever answered\n")
            chat.stdin.flush()
            chat.stdout.read(20)
            chat.send_signal(signal.SIGTERM)
            self.assertEqual(chat.wait(LIMIT_S), 143)

    def test_ctrl_c_ends_a_pipe_that_waits_for_a_line(self):
        with subprocess.Popen([ETNA, "chat", *GREEDY], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=variables(self.home)) as chat:
            chat.stdin.write(b"Hello\n/show nothing\n")
            chat.stdin.flush()
            while b"to show" not in chat.stderr.readline():  # the answer is over
                pass
            chat.send_signal(signal.SIGINT)
            self.assertEqual(chat.wait(LIMIT_S), -signal.SIGINT)

    def test_they_end_a_terminal_and_leave_it_as_it_was(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            terminal = self.terminal(*GREEDY)
            terminal.type("half a line")
            terminal.wait_for("half a line")
            os.kill(terminal.process(), number)
            terminal.wait_for(f"exit code {code}")
            terminal.type("echoed")  # by the terminal itself, to cat
            terminal.keys("Enter")
            terminal.wait_for("echoed\nechoed")

    def test_a_stopped_program_goes_on_where_it_was(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("half a line")
        terminal.wait_for("half a line")
        process = terminal.process()
        os.kill(process, signal.SIGSTOP)
        os.kill(process, signal.SIGCONT)
        terminal.type(" and the rest")
        terminal.wait_for(">>> half a line and the rest")


class Resizing(Chat):
    def test_a_line_follows_the_size_of_the_terminal(self):
        terminal = self.terminal(*GREEDY)
        text = "a line that is long enough to need two rows of a narrow terminal"
        terminal.type(text)
        terminal.wait_for(text)
        terminal.resize(40, 10)
        terminal.type("!")
        terminal.wait_for(lambda screen: screen.replace("\n", "").endswith(text + "!"))
        terminal.resize(100, 30)
        terminal.keys("Home", "A")
        terminal.wait_for(f">>> A{text}!")
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.endswith(">>>"))
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_a_flood_of_sizes_while_a_line_is_edited_never_crashes(self):
        chance = random.Random(1)
        for _ in range(ROUNDS):
            terminal = self.terminal(*GREEDY)
            process = terminal.process()
            terminal.type("wörds and more wörds " * 6)
            for _ in range(20):
                terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                terminal.keys("Home", "x", "End", "BSpace", "Up", "Down")
                for _ in range(200):
                    os.kill(process, signal.SIGWINCH)
            terminal.resize(80, 24)
            terminal.keys("C-c")
            terminal.wait_for(lambda screen: screen.endswith(">>>"))
            terminal.keys("C-d")
            terminal.wait_for("exit code 0")

    def test_resizing_typing_stopping_and_leaving_never_crash(self):
        chance = random.Random(5)
        for _ in range(ROUNDS):
            terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--logit-bias", f"{end_token()}=-inf")
            for _ in range(3):
                for _ in range(8):
                    terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                    terminal.type("wörds " * chance.randint(1, 6))
                    terminal.keys(*chance.choices(("Home", "End", "Left", "BSpace", "Up", "Down", "C-k", "C-y", "C-r"), k=4))
                terminal.resize(80, 24)
                terminal.keys("C-g", "C-c")
                terminal.type("go on")
                terminal.keys("Enter")
                terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                terminal.keys("C-c")
            terminal.resize(80, 24)
            terminal.keys("C-c")
            terminal.wait_for(lambda screen: screen.endswith(">>>"))
            terminal.keys("C-d")
            terminal.wait_for("exit code 0")


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
